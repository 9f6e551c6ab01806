//! Mail for an agent's prompt: all of it, in few tokens.

use std::fmt::Write;

use atm_office::view::{Kind, MessageView};

use super::message::{fold_idle, is_idle, text};
use super::safe;

/// How many characters of an id are enough to answer it.
const SHORT_ID: usize = 8;

/// The mail as one text. A message's own lines are indented, so that none of them can pass for a heading.
pub(crate) fn context(messages: &[MessageView]) -> String {
    let Some(first) = messages.first() else { return String::new() };
    let mut out = format!("Mail for {} (team {}):", safe::line(&first.to), safe::line(&first.team));
    for run in fold_idle(messages) {
        let [.., last] = run else { continue };
        if is_idle(last) {
            let times = if run.len() > 1 { format!(" x{}", run.len()) } else { String::new() };
            let _ = write!(out, "\n- {} is idle{times}", safe::line(&last.from));
            continue;
        }
        let kind = if last.kind == Kind::Protocol {
            format!(" {}", safe::line(&last.r#type))
        } else {
            String::new()
        };
        let pending = if last.pending { " (waited while you were off)" } else { "" };
        let _ = write!(
            out,
            "\n- from {}{kind} at {} [{}]{pending}",
            safe::line(&last.from),
            clock_time(&last.timestamp),
            short_id(&last.id)
        );
        for line in text(last).lines() {
            out.push_str("\n  ");
            out.push_str(&safe::line(line));
        }
    }
    out.push_str("\nAnswer with: atm reply ID TEXT");
    out
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
