//! What became of messages, for people: a table of many, the way of one.

use std::io;

use atm_office::trail::history::Remembered;
use atm_office::trail::pending::Waiting;
use atm_office::trail::track::Track;

use super::paint::Paint;
use super::table::{Cell, cut, fixed, spare, whole};
use super::times::brief_age;
use super::{Out, fit, ids, safe};

/// Messages in the order of their times, a line each.
pub(crate) fn show(out: &mut Out, messages: &[Remembered]) -> io::Result<()> {
    let rows: Vec<Vec<Cell>> = messages
        .iter()
        .map(|message| {
            vec![
                out.times.in_order(message.timestamp).into(),
                (&message.from).into(),
                format!("{}@{}", message.to, message.team).into(),
                stage(message),
                what(message),
                Cell::styled(&ids::short(&message.id), Paint::DIM),
            ]
        })
        .collect();
    out.table(
        &[fixed("SENT"), cut("FROM", 9), cut("TO", 10), whole("STAGE"), cut("WHAT", 16), fixed("ID")],
        rows,
    )
}

/// What waits for whom, a line each.
pub(crate) fn show_waiting<'a>(
    out: &mut Out,
    waiting: impl IntoIterator<Item = &'a Waiting>,
) -> io::Result<()> {
    let rows = waiting.into_iter().map(|waiting| {
        let message = &waiting.message;
        vec![
            brief_age(waiting.waited_ms).into(),
            (&message.to).into(),
            (&message.from).into(),
            stage(message),
            what(message),
            waiting.why.words(None).into(),
            Cell::styled(&ids::short(&message.id), Paint::DIM),
        ]
    });
    out.table(
        &[
            whole("WAITED"),
            cut("FOR", 8),
            cut("FROM", 8),
            spare("STAGE", 1),
            cut("WHAT", 12),
            cut("WHY", 12),
            whole("ID"),
        ],
        rows,
    )
}

fn stage(message: &Remembered) -> Cell {
    Cell::styled(&message.stage_words(), Paint::of_stage(message.stage))
}

fn what(message: &Remembered) -> Cell {
    message.gist().into()
}

/// A message's way, a line for each stage.
pub(crate) fn show_track(out: &mut Out, track: &Track) -> io::Result<()> {
    let message = &track.message;
    let summary = message.summary.as_deref().map(|summary| format!(": {summary}")).unwrap_or_default();
    let head = format!("{} → {}@{}{summary}", message.from, message.to, message.team);
    let id = ids::short(&message.id);
    let room = out.screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(fit::width(&id) + 2));
    let head = out.paint.bold(&fit::cut(&safe::line(&head), room));
    out.line(format!("{head}  {}", out.paint.dim(&id)))?;
    let word = |yes: bool| if yes { out.paint.good("yes") } else { out.paint.attention("no") };
    out.line(format!("  arrived {}, processed {}", word(track.arrived), word(track.processed)))?;
    if let Some(what) = &track.waits_for {
        out.line(format!("  waits for {}", safe::line(what)))?;
    }
    out.line(format!("  {}  sent", out.times.exact(message.timestamp)))?;
    for stage in &track.stages {
        let mut why = stage.evidence.what.clone();
        if stage.evidence.no_later_than {
            why = format!("{why}, then or earlier");
        }
        if let Some(by) = &stage.evidence.by {
            why = format!("{why}, by {by}");
        }
        if let Some(machine) = &stage.evidence.machine {
            why = format!("{why}, on machine {machine}");
        }
        if let (Some(before), Some(after)) = (&stage.evidence.before, &stage.evidence.after) {
            why = format!("{why}; before: {before}; after: {after}");
        }
        if let Some(file) = &stage.evidence.file {
            why = format!("{why} ({file})");
        }
        let name = format!("{:<9}", stage.stage.as_str());
        let name = out.paint.styled(Paint::of_stage(stage.stage), &name);
        out.hanging(&format!("  {}  {name}  ", out.times.exact(stage.at)), &why)?;
    }
    Ok(())
}
