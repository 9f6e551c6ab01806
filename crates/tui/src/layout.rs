//! Where everything is on the screen: for drawing, and for knowing what was clicked.

use ratatui::layout::Rect;

use crate::keys::Place;
use crate::state::{State, Tab};

/// From so many columns on, lists stand side by side.
const MEDIUM: u16 = 80;
/// From so many on, all four do.
const WIDE: u16 = 140;
/// From so many rows on, what is meant is shown below its list.
const TALL: u16 = 20;

/// The parts of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) header: Rect,
    pub(crate) panes: Vec<(Place, Rect)>,
    /// What is said about the row that is meant.
    pub(crate) detail: Option<Rect>,
    pub(crate) notice: Rect,
    pub(crate) hints: Rect,
}

/// Whether lists have frames around them: on a small screen a line above is enough.
pub(crate) fn has_frames(state: &State) -> bool {
    state.size.0 >= MEDIUM
}

/// The inner part of a list.
pub(crate) fn inner(state: &State, area: Rect) -> Rect {
    let side = u16::from(has_frames(state));
    Rect {
        x: area.x + side.min(area.width),
        y: area.y + 1.min(area.height),
        width: area.width.saturating_sub(2 * side),
        height: area.height.saturating_sub(1 + side),
    }
}

pub(crate) fn areas(state: &State) -> Areas {
    let (width, height) = state.size;
    let row = |y: u16| Rect { x: 0, y: y.min(height), width, height: u16::from(y < height) };
    let body = Rect { x: 0, y: 1.min(height), width, height: height.saturating_sub(3) };
    let (panes, detail) = match state.tab {
        Tab::Mail => (mail(state, body), None),
        Tab::Needs => with_detail(Place::Needs, body),
        Tab::Tasks => with_detail(Place::Tasks, body),
        Tab::Log => (vec![(Place::Log, body)], None),
    };
    let (notice, hints) = (row(height.saturating_sub(2)), row(height.saturating_sub(1)));
    Areas { header: row(0), panes, detail, notice, hints }
}

fn mail(state: &State, body: Rect) -> Vec<(Place, Rect)> {
    if body.width < MEDIUM {
        return vec![(state.focus, body)];
    }
    let teams = u16::try_from(state.team_rows().len()).unwrap_or(u16::MAX);
    if body.width < WIDE {
        let (left, right) = beside(body, 28);
        let (above, below) = stacked(left, teams.saturating_add(2).clamp(3, (left.height / 3).max(3)));
        let (list, message) = stacked(right, right.height * 2 / 5);
        return vec![
            (Place::Teams, above),
            (Place::Members, below),
            (Place::Mail, list),
            (Place::Message, message),
        ];
    }
    let (teams, rest) = beside(body, 22);
    let (members, rest) = beside(rest, 34);
    let (list, message) = beside(rest, rest.width / 2);
    vec![(Place::Teams, teams), (Place::Members, members), (Place::Mail, list), (Place::Message, message)]
}

fn with_detail(place: Place, body: Rect) -> (Vec<(Place, Rect)>, Option<Rect>) {
    if body.width >= WIDE {
        let (list, detail) = beside(body, body.width * 3 / 5);
        return (vec![(place, list)], Some(detail));
    }
    if body.height < TALL {
        return (vec![(place, body)], None);
    }
    let (list, detail) = stacked(body, body.height * 3 / 5);
    (vec![(place, list)], Some(detail))
}

fn beside(area: Rect, width: u16) -> (Rect, Rect) {
    let width = width.min(area.width);
    let left = Rect { width, ..area };
    (left, Rect { x: area.x + width, width: area.width - width, ..area })
}

fn stacked(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let above = Rect { height, ..area };
    (above, Rect { y: area.y + height, height: area.height - height, ..area })
}

/// The first row that is shown of a list, so that the one that is meant is in sight, and in the middle if there is room.
pub(crate) fn first_row(selected: usize, rows: usize, height: u16) -> usize {
    let height = usize::from(height);
    selected.saturating_sub(height / 2).min(rows.saturating_sub(height))
}

/// What lies at a column and a row of the screen.
pub(crate) fn at(state: &State, column: u16, row: u16) -> Option<(Place, Rect)> {
    let is_there = |area: &Rect| {
        area.x <= column && column < area.x + area.width && area.y <= row && row < area.y + area.height
    };
    areas(state).panes.into_iter().find(|(_, area)| is_there(area))
}

/// The area of something that lies above the rest.
pub(crate) fn dialog(state: &State, width: u16, height: u16) -> Rect {
    let (wide, high) = state.size;
    let (width, height) = (width.min(wide), height.min(high.saturating_sub(2)));
    // What came of the last action, and the keys, stay in sight.
    Rect { x: (wide - width) / 2, y: (high.saturating_sub(2) - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_that_is_meant_is_always_in_sight() {
        for rows in [0_usize, 1, 5, 40] {
            for height in [0_u16, 1, 3, 10, 80] {
                for selected in 0..rows {
                    let first = first_row(selected, rows, height);
                    assert!(first <= selected, "{selected} of {rows} in {height}");
                    assert!(
                        height == 0 || selected < first + usize::from(height),
                        "{selected} of {rows} in {height}"
                    );
                }
            }
        }
    }
}
