//! An export for mail programs: an mbox file.
//!
//! Each message begins with a line `From sender date`; a line of a text that looks like it gets a `>` in front. A text
//! that mail programs would break (very long lines) is sent as quoted-printable; what a reader cannot see is spelled out.

use std::fmt::Write as _;
use std::io::{self, Write};

use atm_wire::team::TeamConfig;
use atm_wire::{Stamp, visible};
use serde_json::value::RawValue;

use super::{Exported, Head, Place, Writer};

/// Lines of mail must not be longer, in bytes.
const LONGEST_LINE: usize = 998;
/// An encoded line has this many characters at most.
const ENCODED_LINE: usize = 72;
/// An encoded word holds so many bytes.
const WORD: usize = 42;

/// An mbox.
pub(super) struct Mbox<'a> {
    out: &'a mut dyn Write,
    team: String,
}

impl<'a> Mbox<'a> {
    pub(super) fn new(out: &'a mut dyn Write, team: &str) -> Self {
        Self { out, team: team.to_owned() }
    }
}

impl Writer for Mbox<'_> {
    fn head(&mut self, _: &Head, _: &TeamConfig) -> io::Result<()> {
        Ok(())
    }

    fn tasks(&mut self, _: &[Box<RawValue>]) -> io::Result<()> {
        Ok(())
    }

    fn mail(&mut self, _: &str, messages: &[Exported]) -> io::Result<()> {
        messages.iter().try_for_each(|message| self.out.write_all(render(message, &self.team).as_bytes()))
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn render(message: &Exported, team: &str) -> String {
    let view = &message.view;
    let sent = message.sent_at.unwrap_or(Stamp::from_millis(0));
    let mut text = format!("From {} {}\n", token(&view.from), sent.mbox_date());
    let mut header = |name: &str, value: &str| {
        let _ = writeln!(text, "{name}: {value}");
    };
    header("From", &address(&view.from, team));
    header("To", &address(&view.to, team));
    header("Date", &sent.mail_date());
    let first = view.text.lines().next().unwrap_or_default();
    header("Subject", &encoded(view.summary.as_deref().unwrap_or(first)));
    header("Message-ID", &id(&view.id, team));
    if let Some(reply_to) = &message.reply_to {
        header("In-Reply-To", &id(reply_to, team));
    }
    header("X-Atm-Id", &encoded(&view.id));
    header("X-Atm-Team", &encoded(team));
    header("X-Atm-Type", &encoded(&view.r#type));
    header(
        "X-Atm-Where",
        match message.r#where {
            Place::Inbox => "inbox",
            Place::Archive => "archive",
            Place::History => "history",
        },
    );
    if let Some(stage) = message.stage {
        header("X-Atm-Stage", stage.as_str());
    }
    for file in view.files.iter().filter(|file| file.unchecked.is_some()) {
        header("X-Atm-File", &encoded(&file.words()));
    }
    header("Status", if view.read { "RO" } else { "O" });
    header("MIME-Version", "1.0");
    header("Content-Type", "text/plain; charset=utf-8");
    let body = visible::lines(&view.text);
    if body.lines().any(|line| line.len() > LONGEST_LINE) {
        header("Content-Transfer-Encoding", "quoted-printable");
        text.push('\n');
        text.push_str(&quoted_printable(&body));
    } else {
        header("Content-Transfer-Encoding", "8bit");
        text.push('\n');
        for line in body.split('\n') {
            if line.trim_start_matches('>').starts_with("From ") {
                text.push('>');
            }
            text.push_str(line);
            text.push('\n');
        }
    }
    text.push('\n');
    text
}

/// A name in the line that begins a message.
fn token(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect()
}

/// `name@team`, with the name before it where it is not fit for that.
fn address(name: &str, team: &str) -> String {
    let safe = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
    };
    let address = format!("{}@{}", safe(name), safe(team));
    if safe(name) == name { address } else { format!("{} <{address}>", encoded_words(&visible::line(name))) }
}

fn id(id: &str, team: &str) -> String {
    let safe: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.@".contains(c) { c } else { '-' }).collect();
    format!("<{}@{}>", safe.replace('@', "-at-"), token(team))
}

/// A header's value, on one line: as it is, or in encoded words where it is not plain or too long.
fn encoded(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = visible::line(&text).into_owned();
    let is_plain = text.len() <= ENCODED_LINE
        && text.trim() == text
        && !text.contains("=?")
        && text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if is_plain { text } else { encoded_words(&text) }
}

fn encoded_words(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(WORD);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (word, more) = rest.split_at(end);
        let mut quoted = String::new();
        for byte in word.bytes() {
            if byte.is_ascii_alphanumeric() {
                quoted.push(char::from(byte));
            } else {
                let _ = write!(quoted, "={byte:02X}");
            }
        }
        words.push(format!("=?utf-8?Q?{quoted}?="));
        rest = more;
    }
    // White space between encoded words is not part of them.
    words.join("\n ")
}

/// A text in lines of letters that nothing on the way changes.
fn quoted_printable(text: &str) -> String {
    let mut out = String::new();
    for line in text.split('\n') {
        let mut length = 0;
        for (at, byte) in line.bytes().enumerate() {
            if length + 3 > ENCODED_LINE {
                out.push_str("=\n");
                length = 0;
            }
            let is_plain = match byte {
                b' ' | b'\t' => at + 1 < line.len(),
                // So that no line begins like a message.
                b'F' => length > 0,
                b'=' => false,
                byte => byte.is_ascii_graphic(),
            };
            if is_plain {
                out.push(char::from(byte));
                length += 1;
            } else {
                let _ = write!(out, "={byte:02X}");
                length += 3;
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_one_thing_whatever_is_in_them() {
        assert_eq!(encoded("plain words"), "plain words");
        assert_eq!(encoded("a\nBcc: x\r"), encoded("a Bcc: x "));
        for text in ["é", " leading", "é\nBcc: x", "=?utf-8?Q?x?=", &"long ".repeat(40)] {
            let header = encoded(text);
            assert!(header.lines().all(|line| line.trim_start().starts_with("=?utf-8?Q?")), "{header}");
            assert!(header.lines().skip(1).all(|line| line.starts_with(' ')), "{header}");
        }
        assert_eq!(address("bob", "dev"), "bob@dev");
        assert_eq!(address("a b>", "dev"), "=?utf-8?Q?a=20b=3E?= <a-b-@dev>");
        assert_eq!(address("a\u{202e}", "dev"), r"=?utf-8?Q?a=5Cu=7B202e=7D?= <a-@dev>");
    }

    #[test]
    fn no_encoded_line_begins_like_a_message_or_is_long() {
        let text = format!("From me\n{}\u{1b}\nF \n", "From ".repeat(300));
        let encoded = quoted_printable(&text);
        assert!(encoded.lines().all(|line| !line.starts_with("From") && line.len() <= 76), "{encoded}");
    }
}
