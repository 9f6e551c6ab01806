//! Moving: the row that is meant, the part of the screen that has the keys, the mouse.

use crate::draw;
use crate::event::Effect;
use crate::keys::Place;
use crate::layout;
use crate::state::{Dialog, State, Tab};

use super::loaded::{list_mail, show_chosen};

/// The order of the parts of the first tab.
const PARTS: [Place; 4] = [Place::Teams, Place::Members, Place::Mail, Place::Message];

/// Where to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// So many rows: down, or up if it is less than nothing.
    By(isize),
    First,
    Last,
}

impl Move {
    /// From a row of so many.
    fn from(self, row: usize, rows: usize) -> usize {
        let last = rows.saturating_sub(1);
        match self {
            Self::By(by) => row.saturating_add_signed(by).min(last),
            Self::First => 0,
            Self::Last => last,
        }
    }
}

/// Moves in the place that has the keys.
pub(super) fn go(state: &mut State, to: Move) -> Vec<Effect> {
    go_in(state, state.place(), to)
}

fn go_in(state: &mut State, place: Place, to: Move) -> Vec<Effect> {
    match place {
        Place::Teams => {
            let at = to.from(state.team_index(), state.team_rows().len());
            choose_team(state, at)
        }
        Place::Members => {
            let at = to.from(state.member_index(), state.members().len() + 1);
            choose_member(state, at)
        }
        Place::Mail => {
            let at = to.from(state.mail.selected(), state.mail.rows.len());
            choose_mail(state, at)
        }
        Place::Message => {
            let last = draw::last_first_row(state, place);
            state.scroll = to.from(state.scroll.min(last), last + 1);
            Vec::new()
        }
        Place::Needs => {
            state.need = to.from(state.need, state.needs().len());
            Vec::new()
        }
        Place::Tasks => {
            state.task = to.from(state.task, state.board().iter().map(Vec::len).sum());
            Vec::new()
        }
        Place::Log => {
            // The newest is at the bottom, so the way down is the way back to it.
            let rows = state.log.len();
            let row = rows.saturating_sub(1 + state.log_back);
            state.log_back = rows.saturating_sub(1 + to.from(row, rows));
            Vec::new()
        }
        Place::Help | Place::Peek => {
            let last = draw::last_first_row(state, place);
            if let Some(Dialog::Help(row) | Dialog::Peek(_, _, row)) = &mut state.dialog {
                *row = to.from((*row).min(last), last + 1);
            }
            Vec::new()
        }
        Place::Compose | Place::Prompt | Place::Confirm => Vec::new(),
    }
}

fn choose_team(state: &mut State, at: usize) -> Vec<Effect> {
    let Some(row) = state.team_rows().get(at) else { return Vec::new() };
    if state.team.as_ref() == Some(&row.name) {
        return Vec::new();
    }
    state.team = Some(row.name.clone());
    state.member = None;
    (state.need, state.task) = (0, 0);
    list_mail(state)
}

fn choose_member(state: &mut State, at: usize) -> Vec<Effect> {
    let name = at.checked_sub(1).and_then(|at| state.members().get(at)).map(|member| member.name.clone());
    if name == state.member {
        return Vec::new();
    }
    state.member = name;
    state.mail.of.words = None;
    list_mail(state)
}

fn choose_mail(state: &mut State, at: usize) -> Vec<Effect> {
    // Who is at the newest stays there when a newer one comes.
    state.mail.chosen = if at == 0 { None } else { state.mail.rows.get(at).map(|row| row.id.clone()) };
    show_chosen(state)
}

/// Means a message of the list, wherever it is.
pub(super) fn choose_message(state: &mut State, id: &str) {
    state.mail.chosen = Some(id.to_owned());
}

/// The next part of the screen has the keys, or the one before.
pub(super) fn focus(state: &mut State, forward: bool) {
    match state.tab {
        Tab::Mail => {
            let at = PARTS.iter().position(|part| *part == state.focus).unwrap_or(0);
            let step = if forward { 1 } else { PARTS.len() - 1 };
            state.focus = PARTS[(at + step) % PARTS.len()];
        }
        Tab::Tasks => state.task = other_column(state, forward),
        Tab::Needs | Tab::Log => {}
    }
}

/// The first task of the next column that has any, or of the one before.
fn other_column(state: &State, forward: bool) -> usize {
    let lengths = state.board().map(|column| column.len());
    let starts = [0, lengths[0], lengths[0] + lengths[1]];
    let here = (0..3).rev().find(|at| lengths[*at] > 0 && starts[*at] <= state.task).unwrap_or(0);
    let order: Vec<usize> = if forward { (here + 1..3).collect() } else { (0..here).rev().collect() };
    order.into_iter().find(|at| lengths[*at] > 0).map_or(state.task, |at| starts[at])
}

/// A click: what is there has the keys, and the row is meant.
pub(super) fn click(state: &mut State, column: u16, row: u16) -> Vec<Effect> {
    if state.dialog.is_some() {
        return Vec::new();
    }
    if row == 0 {
        if let Some(tab) = draw::tab_at(state, column) {
            state.tab = tab;
        }
        return Vec::new();
    }
    let Some((place, area)) = layout::at(state, column, row) else { return Vec::new() };
    if state.tab == Tab::Mail {
        state.focus = place;
    }
    let inner = layout::inner(state, area);
    let Some(line) = row.checked_sub(inner.y).filter(|line| *line < inner.height) else { return Vec::new() };
    let row_at = |selected: usize, rows: usize| {
        let at = layout::first_row(selected, rows, inner.height) + usize::from(line);
        (at < rows).then_some(at)
    };
    match place {
        Place::Teams => row_at(state.team_index(), state.team_rows().len())
            .map_or_else(Vec::new, |at| choose_team(state, at)),
        Place::Members => row_at(state.member_index(), state.members().len() + 1)
            .map_or_else(Vec::new, |at| choose_member(state, at)),
        Place::Mail => row_at(state.mail.selected(), state.mail.rows.len())
            .map_or_else(Vec::new, |at| choose_mail(state, at)),
        Place::Needs => {
            state.need = row_at(state.need, state.needs().len()).unwrap_or(state.need);
            Vec::new()
        }
        Place::Tasks => {
            if let Some(at) = draw::task_at(state, inner, column, line) {
                state.task = at;
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// The wheel moves in what it is over, and does not take the keys there.
pub(super) fn wheel(state: &mut State, column: u16, row: u16, is_down: bool) -> Vec<Effect> {
    let by = Move::By(if is_down { 3 } else { -3 });
    if state.dialog.is_some() {
        return go(state, by);
    }
    let by = |place| {
        if place == Place::Message || place == Place::Log {
            by
        } else {
            Move::By(if is_down { 1 } else { -1 })
        }
    };
    layout::at(state, column, row).map_or_else(Vec::new, |(place, _)| go_in(state, place, by(place)))
}
