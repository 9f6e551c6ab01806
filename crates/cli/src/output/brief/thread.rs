//! A conversation for an agent's prompt.

use std::fmt::Write;

use atm_office::trail::history::Remembered;
use atm_wire::brief::CLOSING;
use atm_wire::{Stamp, visible};

use super::{CUT, REST, cut, safe, short_id, time};

/// As much of a conversation as goes into `limit` bytes, of which `more` messages were left out before: the one that is meant,
/// and of the others the newest, in the order of times.
pub(crate) fn thread(messages: &[Remembered], meant: &str, more: usize, limit: usize, now: Stamp) -> String {
    let Some(first) = messages.first() else { return String::new() };
    let mut text = format!("Conversation in team {}:", safe::line(&first.team));
    let mut room = limit.saturating_sub(text.len() + 1 + CLOSING.len() + REST);
    let is_meant = |at: &usize| messages[*at].id == meant;
    let newest_first = (0..messages.len()).rev();
    let order = newest_first.clone().filter(is_meant).chain(newest_first.filter(|at| !is_meant(at)));
    let mut shown: Vec<(usize, String)> = Vec::new();
    for at in order {
        let whole = entry(&messages[at], now);
        if whole.len() <= room {
            room -= whole.len();
            shown.push((at, whole));
        } else if shown.is_empty() {
            let id = short_id(&messages[at].id);
            let mut start = cut(&whole, room.saturating_sub(CUT)).to_owned();
            let long = messages[at].text.len();
            let _ =
                write!(start, "\n- that was the start of {long} bytes: `atm thread {id} --last 1` shows all");
            shown.push((at, start));
            break;
        } else {
            break;
        }
    }
    shown.sort_by_key(|(at, _)| *at);
    let left_out = messages.len() - shown.len() + more;
    text.extend(shown.into_iter().map(|(_, entry)| entry));
    if left_out > 0 {
        let _ = write!(text, "\n- {left_out} more: atm thread {} --all", short_id(meant));
    }
    text.push('\n');
    text.push_str(CLOSING);
    text
}

fn entry(message: &Remembered, now: Stamp) -> String {
    let (from, to) = (visible::name(&message.from), visible::name(&message.to));
    let id = short_id(&message.id);
    let mut entry =
        format!("\n- from {from} to {to} at {} [{id}]", time(&message.timestamp.to_string(), now));
    for line in message.words().lines() {
        entry.push_str("\n  ");
        entry.push_str(&safe::line(line));
    }
    entry
}
