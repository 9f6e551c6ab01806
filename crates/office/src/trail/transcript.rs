//! Proof that a model saw a message: it is in the recipient's conversation.
//!
//! Clients keep each conversation as JSON Lines. A message that entered one stands there in a user's entry, between
//! `<teammate-message teammate_id="FROM"…>` and `</teammate-message>`. Transcripts are private: nothing of them is
//! kept but the fact, and how far they were read.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_wire::Stamp;
use atm_wire::json::{Object, string};
use atm_wire::team::{Member, TeamConfig};
use serde_json::value::RawValue;

use crate::mail::tag;

const CLOSING: &str = "</teammate-message>";
/// Newer clients keep a closing tag in a text from ending it.
const CLOSING_ESCAPED: &str = "<\\/teammate-message>";
/// How much of a transcript is read in one look. The rest is for the next.
const AT_A_TIME: u64 = 16 << 20;

/// How much of a transcript's end is searched for the last turn. Where a turn is longer than that, it is not known when
/// it began.
const LAST_TURN_WITHIN: u64 = 4 << 20;

/// A transcript as it stands now.
#[derive(Debug, Clone)]
pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
    pub(crate) inode: u64,
    pub(crate) length: u64,
    /// When the conversation last went on, in milliseconds since the epoch.
    pub(crate) changed_at: i64,
}

/// The transcripts that a member's mail shows up in.
pub(crate) fn transcripts_of(root: &Path, config: &TeamConfig, team: &str, name: &str) -> Vec<Transcript> {
    let projects = root.join("projects");
    let is_lead = config.lead().is_some_and(|lead| lead.name == name);
    let mut paths = Vec::new();
    for project in folders(&projects) {
        let Some(session) = config.lead_session_id.as_deref().filter(|session| is_plain(session)) else {
            break;
        };
        if is_lead {
            paths.push(project.join(format!("{session}.jsonl")));
        } else {
            paths.extend(subagents(&project.join(session).join("subagents"), team, name));
        }
    }
    if !is_lead {
        let cwd = config.member(name).and_then(|member: &Member| member.cwd.as_deref());
        let project = cwd.map(|cwd| projects.join(project_folder(cwd)));
        paths.extend(project.into_iter().flat_map(|project| own_sessions(&project, team, name)));
    }
    paths.into_iter().filter_map(|path| Transcript::at(&path)).collect()
}

impl Transcript {
    fn at(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            path: path.to_owned(),
            inode: found.ino(),
            length: found.len(),
            changed_at: found.mtime() * 1000 + found.mtime_nsec() / 1_000_000,
        })
    }

    /// When the last turn began, in milliseconds since the epoch: when the model was last addressed, by anything but what
    /// a tool gave back. A client that takes mail in the middle of a turn keeps it until that turn ends.
    pub(crate) fn last_turn(&self) -> Option<i64> {
        let mut file = File::open(&self.path).ok()?;
        let start = self.length.saturating_sub(LAST_TURN_WITHIN);
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut bytes = Vec::new();
        file.take(LAST_TURN_WITHIN).read_to_end(&mut bytes).ok()?;
        let is_inside = self.path.parent().is_some_and(|folder| folder.ends_with("subagents"));
        let text = String::from_utf8_lossy(&bytes);
        let (at, entry) = text.lines().rev().enumerate().find_map(|(at, line)| {
            let entry = line.contains("\"user\"").then(|| Object::parse(line).ok()).flatten()?;
            begins_turn(&entry, is_inside).then_some((at, entry))
        })?;
        match entry.get("timestamp").map(|stamp| Stamp::from_json(stamp.get())) {
            Some(Ok(stamp)) => Some(stamp.as_millis()),
            // An entry that does not say its time was written when the file was, if nothing came after it.
            _ => (at == 0).then_some(self.changed_at),
        }
    }

    /// What the model was told since `offset`: the texts of the user's entries, and how far this look came.
    pub(crate) fn heard_since(&self, offset: u64) -> std::io::Result<(Vec<String>, u64)> {
        let offset = if offset > self.length { 0 } else { offset };
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(AT_A_TIME).read_to_end(&mut bytes)?;
        // The last line may still be growing.
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let told = text.lines().filter(|line| line.contains("<teammate-message ")).filter_map(told);
        Ok((told.collect(), offset + whole as u64))
    }
}

/// Whether a text that the model was told has this message in it, with or without the tag of mail that waited: it may
/// have got one, or another one, since it was written.
pub(crate) fn has_message(told: &str, from: &str, text: &str) -> bool {
    let opening = format!("<teammate-message teammate_id=\"{}\"", from.replace('"', "&quot;"));
    let plain = tag::without(text);
    let bodies = [plain.to_owned(), plain.replace(CLOSING, CLOSING_ESCAPED)];
    told.match_indices(&opening).any(|(at, _)| {
        let rest = &told[at + opening.len()..];
        let Some(end) = rest.find(">\n") else { return false };
        bodies.iter().any(|body| {
            tag::without(&rest[end + 2..])
                .strip_prefix(body.as_str())
                .is_some_and(|after| after.starts_with(&format!("\n{CLOSING}")))
        })
    })
}

/// Whether an entry begins a turn of its conversation. In the lead's own, members that run inside it have entries too.
fn begins_turn(entry: &Object, is_inside: bool) -> bool {
    let is = |key: &str| entry.get(key).is_some_and(|value| value.get() == "true");
    if entry.string("type").as_deref() != Some("user")
        || is("isMeta")
        || is("isCompactSummary")
        || (is("isSidechain") && !is_inside)
    {
        return false;
    }
    let message = entry.get("message").and_then(|message| Object::parse(message.get()).ok());
    let Some(content) = message.as_ref().and_then(|message| message.get("content")) else { return false };
    let parts: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let is_result = |part: &&RawValue| {
        let part = Object::parse(part.get()).ok();
        part.is_some_and(|part| part.string("type").as_deref() == Some("tool_result"))
    };
    !parts.iter().any(is_result)
}

/// The text of a user's entry.
fn told(line: &str) -> Option<String> {
    let entry = Object::parse(line).ok()?;
    if entry.string("type").as_deref() != Some("user") {
        return None;
    }
    let message = Object::parse(entry.get("message")?.get()).ok()?;
    let content = message.get("content")?;
    if let Some(text) = string(content) {
        return Some(text.into_owned());
    }
    let parts: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let texts = parts
        .iter()
        .filter_map(|part| Object::parse(part.get()).ok()?.string("text").map(std::borrow::Cow::into_owned));
    Some(texts.collect::<Vec<_>>().join("\n\n"))
}

/// Members that run inside the lead's process: beside each transcript a note says whose it is.
fn subagents(folder: &Path, team: &str, name: &str) -> Vec<PathBuf> {
    let note_fits = |path: &Path| {
        let note = fs::read_to_string(path.with_extension("meta.json")).unwrap_or_default();
        let Ok(note) = Object::parse(&note) else { return false };
        let is = |key: &str, wanted: &str| note.string(key).is_some_and(|value| value == wanted);
        match note.get("name") {
            Some(_) => is("name", name) && (note.get("teamName").is_none() || is("teamName", team)),
            None => is("agentType", name),
        }
    };
    files(folder).into_iter().filter(|path| has_extension(path, "jsonl") && note_fits(path)).collect()
}

/// Members in processes of their own: their entries say team and name.
fn own_sessions(project: &Path, team: &str, name: &str) -> Vec<PathBuf> {
    files(project)
        .into_iter()
        .filter(|path| has_extension(path, "jsonl") && is_session_of(path, team, name))
        .collect()
}

fn is_session_of(path: &Path, team: &str, name: &str) -> bool {
    let mut head = Vec::new();
    let Ok(file) = File::open(path) else { return false };
    if file.take(1 << 16).read_to_end(&mut head).is_err() {
        return false;
    }
    String::from_utf8_lossy(&head)
        .lines()
        .filter_map(|line| {
            Object::parse(line).ok().map(|entry| {
                let is = |key: &str, wanted: &str| entry.string(key).is_some_and(|value| value == wanted);
                is("teamName", team) && is("agentName", name)
            })
        })
        .any(|fits| fits)
}

/// The folder in which clients keep the conversations of a working folder.
fn project_folder(cwd: &str) -> String {
    cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A session's id is foreign text: it must not lead anywhere else.
fn is_plain(session: &str) -> bool {
    !session.is_empty() && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_whole_or_not_at_all() {
        let told = "Another session sent a message:\n<teammate-message teammate_id=\"bob\" color=\"blue\" summary=\"s\">\nhello\n</teammate-message>\n\n<teammate-message teammate_id=\"eve\">\nhello\nworld\n</teammate-message>";
        assert!(has_message(told, "bob", "hello"));
        assert!(has_message(told, "eve", "hello\nworld"));
        assert!(!has_message(told, "eve", "hello"), "only a part of it");
        assert!(!has_message(told, "carol", "hello"));
    }

    /// Mail that was offered again was never found: its text in the conversation had another tag than in the ledger.
    #[test]
    fn a_tag_that_came_or_changed_later_does_not_matter() {
        let told = "<teammate-message teammate_id=\"bob\">\n[PENDING ACTION - offered again, number 1] hello\n</teammate-message>";
        assert!(has_message(told, "bob", "hello"));
        assert!(has_message(told, "bob", "[PENDING ACTION - queued while offline at noon] hello"));
        assert!(!has_message(told, "bob", "[PENDING ACTION - queued while offline at noon] hell"));
    }

    /// Mail that was taken in the middle of a long turn was called lost, because the conversation went on.
    #[test]
    fn a_turn_begins_where_the_model_is_addressed_and_not_where_a_tool_answers() {
        let begins = |entry: &str, is_inside| begins_turn(&Object::parse(entry).unwrap(), is_inside);
        let user = |more: &str, content: &str| {
            format!(r#"{{"type":"user"{more},"message":{{"role":"user","content":{content}}}}}"#)
        };
        assert!(begins(&user("", r#""hello""#), false));
        assert!(begins(&user("", r#"[{"type":"text","text":"hello"}]"#), false));
        assert!(!begins(&user("", r#"[{"type":"tool_result","content":"x"}]"#), false));
        assert!(!begins(&user(r#","isMeta":true"#, r#""caveat""#), false));
        assert!(!begins(&user(r#","isCompactSummary":true"#, r#""so far""#), false));
        assert!(!begins(&user(r#","isSidechain":true"#, r#""of a member""#), false));
        assert!(begins(&user(r#","isSidechain":true"#, r#""of a member""#), true));
        assert!(!begins(r#"{"type":"assistant","message":{"content":"hello"}}"#, false));
    }

    #[test]
    fn no_transcript_makes_the_reader_panic() {
        let fixtures = atm_support::client_fixtures().join("transcripts/lead-2.1.325.jsonl");
        let real = fs::read(fixtures).unwrap();
        bolero::check!().with_iterations(2000).with_type::<(Vec<(u16, u8)>, u16)>().for_each(
            move |(changes, cut)| {
                let mut bytes = real.clone();
                for (at, byte) in changes {
                    let at = usize::from(*at) % bytes.len();
                    bytes[at] = *byte;
                }
                bytes.truncate(usize::from(*cut));
                for line in String::from_utf8_lossy(&bytes).lines() {
                    if let Some(text) = told(line) {
                        has_message(&text, "alice", "hello");
                    }
                }
            },
        );
    }

    #[test]
    fn a_closing_tag_in_the_text_is_found_in_both_spellings() {
        let text = "x </teammate-message> y";
        let old = format!("<teammate-message teammate_id=\"b\">\n{text}\n</teammate-message>");
        let new = "<teammate-message teammate_id=\"b\">\nx <\\/teammate-message> y\n</teammate-message>";
        assert!(has_message(&old, "b", text) && has_message(new, "b", text));
    }
}
