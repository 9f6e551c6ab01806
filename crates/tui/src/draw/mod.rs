//! The pure half that draws: a state gives a screen. Foreign text goes through [`say`], which makes it visible.

mod dialog;
mod frame;
mod header;
mod log;
mod mail;
mod message;
mod needs;
mod people;
mod tasks;

use atm_wire::Stamp;
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::keys::Place;
use crate::layout;
use crate::state::State;
use crate::text::plain;

pub(crate) use header::tab_at;
pub(crate) use tasks::task_at;

/// The person's clock.
pub(crate) type Clock<'a> = &'a dyn Fn(Stamp) -> String;

/// Text on the screen. All foreign text gets there by this.
fn say(text: &str, style: Style) -> Span<'static> {
    Span::styled(plain(text).into_owned(), style)
}

/// The greatest first row of a text that can be scrolled: at it, the last line is in sight.
pub(crate) fn last_first_row(state: &State, place: Place) -> usize {
    let (rows, height) = match place {
        Place::Message => {
            let area = layout::areas(state).panes.into_iter().find(|(there, _)| *there == place);
            let Some((_, area)) = area else { return 0 };
            let inner = layout::inner(state, area);
            // How a time is spelled does not change how many lines there are.
            (message::content(state, &|_| String::new(), inner.width).len(), inner.height)
        }
        _ => dialog::rows(state),
    };
    rows.saturating_sub(usize::from(height))
}

/// Draws everything.
pub(crate) fn draw(state: &State, clock: Clock, frame: &mut Frame) {
    let areas = layout::areas(state);
    header::draw(state, areas.header, frame);
    for (place, area) in &areas.panes {
        match place {
            Place::Teams => people::draw_teams(state, *area, frame),
            Place::Members => people::draw_members(state, *area, frame),
            Place::Mail => mail::draw(state, *area, frame),
            Place::Message => message::draw(state, clock, *area, frame),
            Place::Tasks => tasks::draw(state, *area, frame),
            Place::Needs => needs::draw(state, *area, frame),
            _ => log::draw(state, clock, *area, frame),
        }
    }
    if let Some(area) = areas.detail {
        match state.place() {
            Place::Tasks => tasks::draw_detail(state, area, frame),
            _ if state.tab == crate::state::Tab::Tasks => tasks::draw_detail(state, area, frame),
            _ => needs::draw_detail(state, clock, area, frame),
        }
    }
    header::draw_notice(state, areas.notice, frame);
    header::draw_hints(state, areas.hints, frame);
    dialog::draw(state, clock, frame);
}
