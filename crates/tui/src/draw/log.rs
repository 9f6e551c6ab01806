//! What happens, as the ledger records it; the newest at the bottom.

use atm_office::watch::{EventView, Happening};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::Clock;
use super::frame::{list, open, row};
use crate::command::short;
use crate::keys::Place;
use crate::state::{Link, State};
use crate::text::{count, plain};

pub(super) fn draw(state: &State, clock: Clock, area: Rect, frame: &mut Frame) {
    let back = if state.log_back > 0 { ", scrolled back" } else { "" };
    let title = format!("Log of all teams: {}{back}", count(state.log.len(), "event", "events"));
    let inner = open(state, area, &title, state.place() == Place::Log, frame);
    let columns = usize::from(inner.width);
    let rows: Vec<Line> = state.log.iter().map(|event| line(state, clock, event, columns)).collect();
    let selected = state.log.len().saturating_sub(1 + state.log_back);
    let nothing = match &state.link {
        Link::Opening => "looking…",
        Link::Live => "nothing has happened yet; what does appears here",
        Link::Lost(..) => "the ledger cannot be read",
    };
    // At the end the newest is the last line.
    let height = usize::from(inner.height);
    let first = (selected + 1).saturating_sub(height);
    let shown: Vec<Line> = rows.into_iter().skip(first).take(height).collect();
    let meant = (state.log_back > 0).then(|| selected - first);
    list(state, inner, (shown, meant), true, nothing, frame);
}

fn line(state: &State, clock: Clock, event: &EventView, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let (kind, what, style) = words(state, &event.what);
    let at = event.at.map(clock).unwrap_or_default();
    let wide = crate::text::width(&plain(&at)).min(19);
    let team = if columns >= 70 { 12 } else { 0 };
    let fixed = wide + 9 + team + 2 + usize::from(team > 0);
    row(&[
        (at, wide, theme.dim()),
        (event.team.clone(), team, theme.dim()),
        (kind, 9, style),
        (what, columns.saturating_sub(fixed), Style::new()),
    ])
}

/// What happened: in a word, in a sentence, and how it looks.
fn words(state: &State, what: &Happening) -> (String, String, Style) {
    let theme = state.theme;
    match what {
        Happening::Message { from, to, stage, summary, r#type, text, .. } => {
            let gist = atm_office::view::gist(summary.as_deref(), r#type, text);
            (stage.to_string(), format!("{from} → {to}: {gist}"), theme.stage(*stage))
        }
        Happening::Stage { id, to, stage } => {
            (stage.to_string(), format!("message {} for {to}", short(id)), theme.stage(*stage))
        }
        Happening::Note { id, to, note } => {
            ((*note).to_owned(), format!("message {} for {to}", short(id)), theme.attention())
        }
        Happening::Presence { member, state: now, was } => {
            let was = was.as_ref().map(|was| format!(", was {was}")).unwrap_or_default();
            ("member".to_owned(), format!("{member} is {now}{was}"), theme.bold())
        }
        Happening::Task { task, change, changed, now, was } => {
            let subject = now.as_ref().or(was.as_ref()).map(|task| task.subject.clone()).unwrap_or_default();
            let changed =
                if changed.is_empty() { String::new() } else { format!(" ({})", changed.join(", ")) };
            ("task".to_owned(), format!("#{task} {change}{changed}: {subject}"), theme.bold())
        }
        Happening::Team { .. } => {
            ("team".to_owned(), "another team has this name from here on".to_owned(), theme.bold())
        }
        Happening::Reset => (
            "reset".to_owned(),
            "the ledger is another one; what happened before is not known".to_owned(),
            theme.bad(),
        ),
    }
}
