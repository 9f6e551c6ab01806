//! Columns that fit the terminal.

use anstyle::Style;

use super::paint::Paint;
use super::{fit, safe};

/// What stands between two columns.
const GAP: usize = 2;
/// Narrower than this, no column says anything.
const LEAST: usize = 4;

/// A column, and what becomes of it where there is not enough room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    head: &'static str,
    fit: Fit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Stays as it is, as long as the others can give way.
    Whole,
    /// Is never cut: half of it says nothing.
    Fixed,
    /// Is cut, down to this width at first.
    Cut(usize),
    /// Is left out; the higher, the sooner.
    Spare(u8),
}

/// A column that is shown whole.
pub(crate) const fn whole(head: &'static str) -> Column {
    Column { head, fit: Fit::Whole }
}

/// A column of times or ids: half of one says nothing.
pub(crate) const fn fixed(head: &'static str) -> Column {
    Column { head, fit: Fit::Fixed }
}

/// A column of longer texts, which are cut, down to `least` columns.
pub(crate) const fn cut(head: &'static str, least: usize) -> Column {
    Column { head, fit: Fit::Cut(least) }
}

/// A column that is left out where there is no room for it; the higher, the sooner.
pub(crate) const fn spare(head: &'static str, order: u8) -> Column {
    Column { head, fit: Fit::Spare(order) }
}

/// What stands in a column of a row: foreign text is made visible.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(text: &str, style: Style) -> Self {
        Self { text: safe::line(text).into_owned(), style }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text.as_ref(), Style::new())
    }
}

/// The lines of a table, each at most `room` wide, if that is limited.
pub(crate) fn lines(
    columns: &[Column],
    rows: &[Vec<Cell>],
    room: Option<usize>,
    paint: Paint,
) -> Vec<String> {
    let natural: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| fit::width(&cell.text));
            cells.chain([fit::width(column.head)]).max().unwrap_or(0)
        })
        .collect();
    let widths = widths(columns, &natural, room);
    let head: Vec<Cell> = columns.iter().map(|column| Cell::styled(column.head, Paint::HEAD)).collect();
    [&head].into_iter().chain(rows).map(|row| line(row, &widths, paint)).collect()
}

fn line(row: &[Cell], widths: &[Option<usize>], paint: Paint) -> String {
    let mut line = String::new();
    // Spaces are only put before the next text, so that none stand at the end of a line.
    let mut spaces = 0;
    for (cell, width) in row.iter().zip(widths) {
        let Some(width) = *width else { continue };
        let text = fit::cut(&cell.text, width);
        if !text.is_empty() {
            line.push_str(&" ".repeat(spaces));
            line.push_str(&paint.styled(cell.style, &text));
            spaces = 0;
        }
        spaces += width.saturating_sub(fit::width(&text)) + GAP;
    }
    line
}

/// How wide each column is; none for those that are left out.
fn widths(columns: &[Column], natural: &[usize], room: Option<usize>) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let Some(room) = room else { return widths };
    let least = |at: usize| match columns[at].fit {
        Fit::Cut(least) => Some(least),
        _ => None,
    };
    // Texts first, each down to where it still says something.
    shrink(&mut widths, room, least);
    while total(&widths) > room {
        let order = |at: &usize| match columns[*at].fit {
            Fit::Spare(order) if widths[*at].is_some() => Some(order),
            _ => None,
        };
        let Some(at) = (0..columns.len()).filter(|at| order(at).is_some()).max_by_key(order) else { break };
        widths[at] = None;
        // What that gives is for the texts.
        for at in (0..columns.len()).filter(|at| least(*at).is_some()) {
            widths[at] = Some(natural[at]);
        }
        shrink(&mut widths, room, least);
    }
    shrink(&mut widths, room, |at| (columns[at].fit != Fit::Fixed).then_some(LEAST));
    // What is still too much is left out, from the end.
    while total(&widths) > room && widths.iter().flatten().count() > 1 {
        let end = widths.iter().rposition(Option::is_some).unwrap_or(0);
        widths[end] = None;
    }
    widths
}

/// How wide a line is.
fn total(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1)
}

/// Makes the widest column that may be narrower so, until it fits or none may.
fn shrink(widths: &mut [Option<usize>], room: usize, least: impl Fn(usize) -> Option<usize>) {
    while total(widths) > room {
        let spare = |at: &usize| widths[*at].filter(|width| least(*at).is_some_and(|least| *width > least));
        let Some(widest) = (0..widths.len()).filter(|at| spare(at).is_some()).max_by_key(spare) else {
            return;
        };
        widths[widest] = widths[widest].map(|width| width - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a narrow terminal the date of older mail was cut, and the time was gone.
    #[test]
    fn times_and_ids_are_whole_however_little_room_there_is() {
        let columns = [fixed("SENT"), cut("FROM", 9), whole("STAGE"), cut("WHAT", 16), fixed("ID")];
        let row = ["2026-11-15 18:41", "team-lead", "written", "idle_notification", "7906ec53"];
        let lines = lines(&columns, &[row.map(Cell::from).to_vec()], Some(50), Paint::new(false));
        assert!(lines[1].starts_with("2026-11-15 18:41  ") && lines[1].ends_with("  7906ec53"), "{lines:?}");
        assert!(lines.iter().all(|line| fit::width(line) <= 50), "{lines:?}");
    }
}
