//! Mail for an agent's prompt: all of it, in few tokens.

use std::fmt::Write;

use atm_office::view::{Kind, MessageView};

use super::message::{fold_idle, is_idle, text};
use super::safe;

/// How many characters of an id are enough to answer it.
const SHORT_ID: usize = 8;

/// What stands below the mail.
const ANSWER: &str = "\nAnswer with: atm reply ID TEXT";
/// Room for the line that says what was left out.
const REST: usize = 80;

/// The mail as one text. A message's own lines are indented, so that none of them can pass for a heading.
pub(crate) fn context(messages: &[MessageView]) -> String {
    bounded(messages, 0, usize::MAX).0
}

/// The same in at most `limit` characters, as JavaScript counts them: so many of the first messages as go in whole, at
/// least one, which is cut if it has to be. Says how many those are. There are `more` than these messages.
pub(crate) fn bounded(messages: &[MessageView], more: usize, limit: usize) -> (String, usize) {
    let Some(first) = messages.first() else { return (String::new(), 0) };
    let mut out = format!("Mail for {} (team {}):", safe::line(&first.to), safe::line(&first.team));
    let room = limit.saturating_sub(ANSWER.len() + REST);
    let mut used = length(&out);
    let mut shown = 0;
    for run in fold_idle(messages) {
        let [.., last] = run else { continue };
        let entry = entry(run, last);
        let length = length(&entry);
        if used + length > room && shown > 0 {
            break;
        }
        if used + length > room {
            out.push_str(&cut(&entry, room.saturating_sub(used + REST)));
            let _ = write!(out, "\n- the rest was cut: atm thread {}", short_id(&last.id));
        } else {
            out.push_str(&entry);
        }
        used += length;
        shown += run.len();
    }
    let left = messages.len() - shown + more;
    if left > 0 {
        let _ = write!(out, "\n- and {left} more: atm read shows them");
    }
    out.push_str(ANSWER);
    (out, shown)
}

fn entry(run: &[MessageView], last: &MessageView) -> String {
    if is_idle(last) {
        let times = if run.len() > 1 { format!(" x{}", run.len()) } else { String::new() };
        return format!("\n- {} is idle{times}", safe::line(&last.from));
    }
    let kind =
        if last.kind == Kind::Protocol { format!(" {}", safe::line(&last.r#type)) } else { String::new() };
    let pending = if last.pending { " (waited while you were off)" } else { "" };
    let id = short_id(&last.id);
    let wanted = last.ack_by.as_ref().filter(|_| !last.read);
    let wanted =
        wanted.map(|by| format!(" (wants `atm ack {id}` by {})", clock_time(by))).unwrap_or_default();
    let mut entry = format!(
        "\n- from {}{kind} at {} [{id}]{pending}{wanted}",
        safe::line(&last.from),
        clock_time(&last.timestamp),
    );
    for line in text(last).lines() {
        entry.push_str("\n  ");
        entry.push_str(&safe::line(line));
    }
    entry
}

/// How long JavaScript says that a text is.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The start of a text, at most `room` long.
fn cut(text: &str, room: usize) -> String {
    let mut left = room;
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    };
    text.chars().take_while(fits).collect()
}

/// The end of an id: of a time-ordered id it is the part that differs.
fn short_id(id: &str) -> String {
    let start = id.char_indices().rev().nth(SHORT_ID - 1).map_or(0, |(at, _)| at);
    safe::line(&id[start..]).into_owned()
}

fn clock_time(timestamp: &str) -> String {
    let time = timestamp.get(11..16).filter(|_| timestamp.len() == 24).unwrap_or(timestamp);
    safe::line(time).into_owned()
}
