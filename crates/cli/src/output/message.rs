//! Messages for people.

use std::io;

use anstyle::Style;
use atm_ledger::{MARK_END, MARK_START};
use atm_office::trail::history::Remembered;
use atm_office::view::MessageView;

use super::paint::Paint;
use super::{Out, fit, ids, safe};

/// So many lines of a text are shown where it may be cut.
const LINES: usize = 12;
/// And so many characters, of a text in few lines.
const CHARACTERS: usize = 1_200;
/// A name is not cut to less than this.
const LEAST_NAME: usize = 8;

/// What a reader wants to see of each message's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flags {
    /// Whether it is read.
    Shown,
    /// All of it is unread, so that goes without saying.
    Hidden,
}

/// How much of a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it.
    Whole,
    /// Its start, and how to see the rest.
    Start,
}

/// The line above a message.
struct Head<'a> {
    from: &'a str,
    color: Option<&'a str>,
    to: String,
    when: String,
    marks: Vec<(String, Style)>,
    id: &'a str,
}

/// Shows messages; runs of idle notices from one sender are folded into one line.
pub(crate) fn show(out: &mut Out, messages: &[MessageView], flags: Flags, extent: Extent) -> io::Result<()> {
    for run in fold_idle(messages) {
        match run {
            [message] => show_one(out, message, flags, extent)?,
            [.., last] => {
                let name = out.paint.name(&last.from, last.color.as_deref());
                let when = out.times.moment_of(&last.timestamp);
                out.line(format!("{name} idle, {} notices, last {}", run.len(), safe::line(&when)))?;
            }
            [] => {}
        }
    }
    Ok(())
}

fn show_one(out: &mut Out, message: &MessageView, flags: Flags, extent: Extent) -> io::Result<()> {
    let mut marks = Vec::new();
    for (flag, shown) in [("unread", flags == Flags::Shown && !message.read), ("pending", message.pending)] {
        if shown {
            marks.push((flag.to_owned(), Paint::ATTENTION));
        }
    }
    if message.r#type != "message" {
        marks.push((message.r#type.clone(), Style::new().bold()));
    }
    let head = Head {
        from: &message.from,
        color: message.color.as_deref(),
        to: message.to.clone(),
        when: out.times.moment_of(&message.timestamp),
        marks,
        id: &message.id,
    };
    show_head(out, &head)?;
    show_text(out, &message.words(), &message.id, extent)?;
    if message.owes_ack() {
        let by = message.ack_by.as_deref().map(|by| format!(" by {}", out.times.moment_of(by)));
        let (by, id) = (by.unwrap_or_default(), ids::short(&message.id));
        let wanted = format!("wants an acknowledgment{by}: atm ack {id}");
        let wanted = safe::line(&wanted);
        let lines = match out.screen.columns {
            Some(columns) => fit::wrap(&wanted, columns.saturating_sub(2)),
            None => vec![wanted.into_owned()],
        };
        for line in lines {
            out.line(format!("  {}", out.paint.attention(&line)))?;
        }
    }
    Ok(())
}

/// The line above a message of the history.
pub(crate) fn show_head_of(out: &mut Out, message: &Remembered) -> io::Result<()> {
    let head = Head {
        from: &message.from,
        color: None,
        to: format!("{}@{}", message.to, message.team),
        when: out.times.moment(message.timestamp),
        marks: vec![(message.stage_words(), Paint::of_stage(message.stage))],
        id: &message.id,
    };
    show_head(out, &head)
}

fn show_head(out: &mut Out, head: &Head) -> io::Result<()> {
    let paint = out.paint;
    let (from, to, id) = (safe::line(head.from), safe::line(&head.to), ids::short(head.id));
    let mut used = fit::width(" →   ") + fit::width(&id) + 2;
    let mut rest = String::new();
    for (mark, style) in head.marks.iter().map(|(mark, style)| (safe::line(mark), style)) {
        used += fit::width(&mark) + 2;
        rest = format!("{rest}  {}", paint.styled(*style, &mark));
    }
    let mut when = safe::line(&head.when);
    let room = |when: &str| {
        let left = |columns: usize| columns.saturating_sub(used + fit::width(when));
        out.screen.columns.map_or(usize::MAX, left)
    };
    if room(&when) < fit::width(&from) + fit::width(&to)
        && let Some((time, _)) = when.split_once(" (")
    {
        when = time.to_owned().into();
    }
    let room = room(&when);
    // The longer of the two names is cut first.
    let (wide_from, wide_to) = (fit::width(&from), fit::width(&to));
    let for_from = room.saturating_sub(wide_to).max(room / 2).max(LEAST_NAME);
    let for_to = room.saturating_sub(wide_from.min(for_from)).max(LEAST_NAME);
    let from = paint.styled(Paint::of_member(head.color), &fit::cut(&from, for_from));
    let (to, when) = (fit::cut(&to, for_to), paint.dim(&when));
    out.line(format!("{from} → {to}  {when}{rest}  {}", paint.dim(&id)))
}

/// A message's text below its head.
pub(crate) fn show_text(out: &mut Out, text: &str, id: &str, extent: Extent) -> io::Result<()> {
    let wrap = |line: &str| match out.screen.columns {
        Some(columns) => fit::wrap(line, columns.saturating_sub(2)),
        None => vec![line.to_owned()],
    };
    let mut left = if extent == Extent::Start { CHARACTERS } else { usize::MAX };
    let most = if extent == Extent::Start { LINES } else { usize::MAX };
    let mut shown = Vec::new();
    let mut is_cut = false;
    for line in text.lines() {
        is_cut = left == 0 || shown.len() >= most;
        if is_cut {
            break;
        }
        let start: String = line.chars().take(left).collect();
        is_cut = start.len() < line.len();
        left -= start.chars().count();
        shown.extend(wrap(&safe::line(&start)));
        if is_cut {
            break;
        }
    }
    // One line more is not worth saying that it is missing.
    is_cut |= shown.len() > most.saturating_add(1);
    if is_cut {
        shown.truncate(most);
    }
    for line in &shown {
        out.line(format!("  {line}").trim_end())?;
    }
    if is_cut {
        let rest = format!("… the rest: atm thread {}", ids::short(id));
        out.line(format!("  {}", out.paint.dim(&rest)))?;
    }
    Ok(())
}

/// Where a search found its words.
pub(crate) fn show_found(out: &mut Out, message: &Remembered) -> io::Result<()> {
    let found = safe::line(message.found.as_deref().unwrap_or(&message.text));
    let pieces = match out.screen.columns {
        Some(columns) => fit::wrap(&found, columns.saturating_sub(2)),
        None => vec![found.into_owned()],
    };
    for piece in pieces {
        out.line(format!("  {}", highlight(&piece, |word| out.paint.attention(word))))?;
    }
    for named in message.files.iter().filter(|named| named.unchecked.is_some()) {
        out.hanging("  ", &named.words())?;
    }
    Ok(())
}

/// Paints what stands between the marks.
fn highlight(text: &str, paint: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for part in text.split_inclusive(MARK_END) {
        match (part.find(MARK_START), part.strip_suffix(MARK_END)) {
            (Some(start), Some(marked)) => {
                out.push_str(&part[..start]);
                out.push_str(&paint(marked.get(start + MARK_START.len_utf8()..).unwrap_or_default()));
            }
            _ => out.push_str(part),
        }
    }
    out
}

/// Splits messages into runs: idle notices of one sender in a row make one, everything else is alone.
pub(crate) fn fold_idle(messages: &[MessageView]) -> impl Iterator<Item = &[MessageView]> {
    messages.chunk_by(|a, b| is_idle(a) && is_idle(b) && a.from == b.from && !a.wants_ack() && !b.wants_ack())
}

pub(crate) fn is_idle(message: &MessageView) -> bool {
    message.r#type == "idle_notification"
}
