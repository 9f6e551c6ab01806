//! Messages for people.

use std::io;

use atm_office::view::{Kind, MessageView};

use super::{Out, safe};

/// What a reader wants to see of each message's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flags {
    /// Whether it is read.
    Shown,
    /// All of it is unread, so that goes without saying.
    Hidden,
}

/// Shows messages; runs of idle notices from one sender are folded into one line.
pub(crate) fn show(out: &mut Out, messages: &[MessageView], flags: Flags) -> io::Result<()> {
    for run in fold_idle(messages) {
        match run {
            [message] => show_one(out, message, flags)?,
            [.., last] => {
                let name = out.paint.name(&last.from, last.color.as_deref());
                let line =
                    format!("{name} idle, {} notices, last {}", run.len(), safe::line(&last.timestamp));
                out.line(line)?;
            }
            [] => {}
        }
    }
    Ok(())
}

fn show_one(out: &mut Out, message: &MessageView, flags: Flags) -> io::Result<()> {
    let paint = out.paint;
    let mut head = format!(
        "{} → {}  {}",
        paint.name(&message.from, message.color.as_deref()),
        safe::line(&message.to),
        paint.dim(&safe::line(&message.timestamp)),
    );
    for (flag, shown) in [("unread", flags == Flags::Shown && !message.read), ("pending", message.pending)] {
        if shown {
            head = format!("{head}  {}", paint.attention(flag));
        }
    }
    if message.r#type != "message" {
        head = format!("{head}  {}", paint.bold(&safe::line(&message.r#type)));
    }
    head = format!("{head}  {}", paint.dim(&safe::line(&message.id)));
    out.line(head)?;
    for line in text(message).lines() {
        out.line(format!("  {}", safe::line(line)))?;
    }
    Ok(())
}

/// What to show of a message: its words, or its payload's fields.
pub(crate) fn text(message: &MessageView) -> String {
    let Some(payload) = message.payload.as_ref().filter(|_| message.kind == Kind::Protocol) else {
        return message.text.clone();
    };
    let Ok(fields) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(payload.get()) else {
        return message.text.clone();
    };
    let shown = fields.iter().filter(|(key, _)| !["type", "from", "timestamp"].contains(&key.as_str()));
    let line = |(key, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    };
    shown.map(line).collect::<Vec<_>>().join("\n")
}

/// Splits messages into runs: idle notices of one sender in a row make one, everything else is alone.
pub(crate) fn fold_idle(messages: &[MessageView]) -> impl Iterator<Item = &[MessageView]> {
    messages.chunk_by(|a, b| is_idle(a) && is_idle(b) && a.from == b.from)
}

pub(crate) fn is_idle(message: &MessageView) -> bool {
    message.r#type == "idle_notification"
}
