//! Mail for an agent's prompt: what matters of it, in few tokens.
//!
//! A prompt has a budget. What goes in is whole messages in reading order; one that is too long for any prompt is cut, with
//! its id and the command that shows the rest. Notices that say little (idle, heartbeats) are folded into a line for all of
//! them. What does not fit is counted, and stays as it was.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;

use atm_office::view::{Kind, MessageView};
use atm_wire::{Stamp, brief, counted, visible};
use serde_json::Value;

use super::{ids::short as short_id, safe};

mod thread;

#[cfg(test)]
mod tests;

pub(crate) use thread::thread;

/// Bytes of a token, about: what tokenizers make of English and of code. Other languages need more tokens for their bytes,
/// and fewer for their characters.
const BYTES_OF_A_TOKEN: usize = 4;
/// As much of a name as stands in a line of several.
const LONGEST_NAME: usize = 16;
/// The longest number or id in a line of notices.
const LONGEST_NUMBER: usize = 8;
/// What shows what was left out, as much of it as goes into another prompt.
const MORE: &str = "atm read --format context";
/// Room for the line that says what was left out.
const REST: usize = 200;
/// And for the one that says that a message was cut.
const CUT: usize = 90;
/// How many names stand in one line.
const MOST_NAMES: usize = 8;

/// How much goes into a prompt, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget(pub(crate) usize);

impl Budget {
    /// Enough for a day's letters, and a hundredth of the smallest context window.
    pub(crate) const DEFAULT: Self = Self(2_000);
    /// With less there is no room for the words around a message.
    const SMALLEST: usize = 100;

    /// So many tokens, unless that is too few.
    pub(crate) fn of(tokens: usize) -> Result<Self, String> {
        let is_enough = tokens >= Self::SMALLEST;
        is_enough.then_some(Self(tokens)).ok_or_else(|| format!("at least {} tokens", Self::SMALLEST))
    }

    /// In bytes.
    pub(crate) fn bytes(self) -> usize {
        self.0.saturating_mul(BYTES_OF_A_TOKEN)
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::of(text.parse().map_err(|_| "not a number of tokens".to_owned())?)
    }
}

/// Mail as one text.
#[derive(Debug)]
pub(crate) struct Brief {
    pub(crate) text: String,
    /// For each message, whether it is in the text.
    pub(crate) shown: Vec<bool>,
}

/// As much of these messages as goes into `limit` bytes, of which there are `more` beside them. A message's own lines are
/// indented, so that none of them can pass for a heading.
pub(crate) fn brief(messages: &[MessageView], more: usize, limit: usize, now: Stamp) -> Brief {
    let Some(first) = messages.first() else { return Brief { text: String::new(), shown: Vec::new() } };
    let mut text = format!("Mail for {} (team {}):", safe::line(&first.to), safe::line(&first.team));
    let (mail, notices): (Vec<usize>, Vec<usize>) =
        (0..messages.len()).partition(|at| !Notice::is_one(&messages[*at]));
    let folded = fold(notices.iter().map(|at| &messages[*at]));
    let mut shown: Vec<bool> = messages.iter().map(Notice::is_one).collect();
    let room = limit.saturating_sub(folded.len() + 1 + brief::CLOSING.len() + REST);
    for at in mail {
        let (entry, is_whole) = entry(&messages[at], room, now);
        let is_first = !shown.iter().zip(messages).any(|(shown, message)| *shown && !Notice::is_one(message));
        if is_whole && text.len() + entry.len() <= room {
            text.push_str(&entry);
        } else if is_first {
            let id = short_id(&messages[at].id);
            let start = cut(&entry, room.saturating_sub(text.len() + CUT));
            text.push_str(start);
            let _ = write!(
                text,
                "\n- that was the start of {} bytes: `atm thread {id}` shows all",
                messages[at].text.len()
            );
            shown[at] = true;
            // Nothing goes behind a message that was cut.
            break;
        } else {
            break;
        }
        shown[at] = true;
    }
    text.push_str(&folded);
    let waiting: Vec<&MessageView> =
        messages.iter().zip(&shown).filter(|(_, shown)| !**shown).map(|(message, _)| message).collect();
    if waiting.len() + more > 0 {
        let from = names(waiting.iter().map(|message| message.from.as_str()));
        let from = if from.is_empty() { String::new() } else { format!(" from {from}") };
        let _ = write!(text, "\n- {} more wait{from}: {MORE}", waiting.len() + more);
    }
    text.push('\n');
    text.push_str(brief::CLOSING);
    Brief { text, shown }
}

/// A message in words; and whether that is all of it: what is far beyond `room` is not rendered.
fn entry(message: &MessageView, room: usize, now: Stamp) -> (String, bool) {
    let is_protocol = message.kind == Kind::Protocol;
    let kind = if is_protocol { format!(" {}", safe::line(&message.r#type)) } else { String::new() };
    let pending = if message.pending { brief::WAITED } else { "" };
    let by = message.ack_by.as_ref().map(|by| format!(" by {}", time(by, now))).unwrap_or_default();
    let is_wanted = message.owes_ack();
    let wanted = if is_wanted { brief::wanted(&message.id, &by) } else { String::new() };
    let heading = brief::heading(&message.from, &kind, &time(&message.timestamp, now), &message.id);
    let mut entry = format!("\n{heading}{pending}{wanted}");
    let text = message.words();
    let start = cut(&text, room);
    for line in start.lines() {
        entry.push_str("\n  ");
        entry.push_str(&safe::line(line));
    }
    (entry, start.len() == text.len())
}

/// Mail that says no more than that somebody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Notice {
    Idle,
    AtWork,
}

impl Notice {
    fn of(message: &MessageView) -> Option<Self> {
        match message.r#type.as_str() {
            "idle_notification" => Some(Self::Idle),
            "heartbeat" => Some(Self::AtWork),
            _ => None,
        }
    }

    fn is_one(message: &MessageView) -> bool {
        Self::of(message).is_some() && !message.wants_ack()
    }

    fn words(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::AtWork => "at work",
        }
    }
}

/// One line for each sort of notice: who, how often, and what the last one says.
fn fold<'a>(notices: impl Iterator<Item = &'a MessageView>) -> String {
    let mut all: BTreeMap<Notice, Vec<(&str, usize, String)>> = BTreeMap::new();
    for message in notices {
        let Some(notice) = Notice::of(message) else { continue };
        let senders = all.entry(notice).or_default();
        match senders.iter_mut().find(|(from, ..)| *from == message.from) {
            Some((_, times, last)) => (*times, *last) = (*times + 1, progress(message)),
            None => senders.push((&message.from, 1, progress(message))),
        }
    }
    let mut text = String::new();
    for (notice, senders) in &all {
        let _ = write!(text, "\n- {}: ", notice.words());
        let each = senders.iter().take(MOST_NAMES).map(|(from, times, last)| {
            let times = if *times > 1 { format!(" x{times}") } else { String::new() };
            format!("{}{times}{last}", visible::name(from))
        });
        text.push_str(&each.collect::<Vec<_>>().join(", "));
        text.push_str(&others(senders.len()));
    }
    text
}

/// How far a heartbeat says that its sender is.
fn progress(message: &MessageView) -> String {
    let payload = message.payload.as_ref().map(|payload| serde_json::from_str::<Value>(payload.get()));
    let Some(Ok(payload)) = payload else { return String::new() };
    let short = |value: &Value| match value {
        Value::String(text) => Some(cut(text, LONGEST_NUMBER).to_owned()),
        Value::Number(number) => Some(cut(&number.to_string(), LONGEST_NUMBER).to_owned()),
        _ => None,
    };
    let task =
        ["taskId", "task_id"].iter().find_map(|key| short(&payload[*key])).map(|task| format!("task {task}"));
    let progress = short(&payload["progress"]).map(|progress| format!("{progress}%"));
    let said: Vec<String> = task.into_iter().chain(progress).collect();
    if said.is_empty() { String::new() } else { format!(" ({})", safe::line(&said.join(", "))) }
}

/// The senders, each once.
fn names<'a>(senders: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = Vec::new();
    for sender in senders {
        if !known.contains(&sender) && known.len() <= MOST_NAMES {
            known.push(sender);
        }
    }
    let first: Vec<_> =
        known.iter().take(MOST_NAMES / 2).map(|name| cut(name, LONGEST_NAME)).map(visible::name).collect();
    let others = if known.len() > first.len() { ", …" } else { "" };
    format!("{}{others}", first.join(", "))
}

fn others(all: usize) -> String {
    if all > MOST_NAMES { format!(" and {}", counted(all - MOST_NAMES, "other")) } else { String::new() }
}

/// The start of a text, at most `room` bytes long.
fn cut(text: &str, room: usize) -> &str {
    let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

/// The time of the day in UTC, with the date if that is not today's.
fn time(timestamp: &str, now: Stamp) -> String {
    let is_ours = timestamp.len() == 24 && timestamp.ends_with('Z');
    let parts = timestamp.get(..10).zip(timestamp.get(11..16)).filter(|_| is_ours);
    let time = match parts {
        Some((date, time)) if now.to_string().starts_with(date) => format!("{time}Z"),
        Some((date, time)) => format!("{date} {time}Z"),
        None => timestamp.to_owned(),
    };
    safe::line(&time).into_owned()
}
