//! The tasks as a picture: a box a task, what waits to the right of what it waits for.

use std::collections::BTreeMap;
use std::fmt::Write;

use atm_office::tasks::TaskView;
use atm_wire::task::{Status, TaskId};

use super::graph::links;
use crate::output::safe::line;

const BOX_WIDTH: usize = 200;
const BOX_HEIGHT: usize = 44;
const GAP_X: usize = 60;
const GAP_Y: usize = 16;
const MARGIN: usize = 12;
/// How many characters fit into a box.
const TITLE: usize = 26;

pub(super) fn draw(tasks: &BTreeMap<TaskId, &TaskView>) -> String {
    let places = places(tasks);
    let most = |pick: fn(&(usize, usize)) -> usize| places.values().map(pick).max().unwrap_or(0) + 1;
    let (columns, rows) = (most(|place| place.0), most(|place| place.1));
    let (width, height) = (
        2 * MARGIN + columns * (BOX_WIDTH + GAP_X) - GAP_X,
        2 * MARGIN + rows * (BOX_HEIGHT + GAP_Y) - GAP_Y,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\"><title>{} tasks</title><defs><marker id=\"arrow\" markerWidth=\"8\" \
         markerHeight=\"8\" refX=\"8\" refY=\"4\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#666\"/></marker></defs>",
        tasks.len()
    );
    let corner = |id: &TaskId| {
        let (column, row) = places.get(id).copied().unwrap_or_default();
        (MARGIN + column * (BOX_WIDTH + GAP_X), MARGIN + row * (BOX_HEIGHT + GAP_Y))
    };
    for (before, after) in links(tasks) {
        let ((x1, y1), (x2, y2)) = (corner(&before), corner(&after));
        let (x1, y1, y2) = (x1 + BOX_WIDTH, y1 + BOX_HEIGHT / 2, y2 + BOX_HEIGHT / 2);
        // Around the boxes in between, not behind them.
        let bend = if x2 > x1 + GAP_X { BOX_HEIGHT } else { 0 };
        let _ = write!(
            svg,
            "<path d=\"M{x1},{y1} C{},{} {},{} {x2},{y2}\" fill=\"none\" stroke=\"#666\" marker-end=\"url(#arrow)\"/>",
            x1 + GAP_X,
            y1 + bend,
            x2.saturating_sub(GAP_X),
            y2 + bend,
        );
    }
    for (id, task) in tasks {
        let (x, y) = corner(id);
        let fill = match task.status {
            Status::Completed => "#cdebd3",
            Status::InProgress => "#fde9b8",
            _ => "#eeeeee",
        };
        let owner = task.owner.as_deref().map(|owner| format!(", {owner}")).unwrap_or_default();
        let _ = write!(
            svg,
            "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"6\" \
             fill=\"{fill}\" stroke=\"#999\"/><text x=\"{}\" y=\"{}\">{id} {}</text><text x=\"{}\" y=\"{}\" fill=\"#666\">{}\
             </text></g>",
            escape(&line(&task.subject)),
            x + 8,
            y + 18,
            escape(&cut(&task.subject)),
            x + 8,
            y + 35,
            escape(&cut(&format!("{}{owner}", task.status))),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Column and row of each task: it stands right of all that it waits for.
fn places(tasks: &BTreeMap<TaskId, &TaskView>) -> BTreeMap<TaskId, (usize, usize)> {
    let links = links(tasks);
    let mut columns: BTreeMap<TaskId, usize> = tasks.keys().map(|id| (*id, 0)).collect();
    // As many rounds as there are tasks are enough, and an end where others made them wait for each other.
    for _ in 0..tasks.len() {
        let mut moved = false;
        for (before, after) in &links {
            let least = (columns[before] + 1).min(tasks.len() - 1);
            if columns[after] < least {
                columns.insert(*after, least);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut place = |column: usize| {
        let row = taken.entry(column).or_default();
        *row += 1;
        (column, *row - 1)
    };
    columns.into_iter().map(|(id, column)| (id, place(column))).collect()
}

fn cut(text: &str) -> String {
    let text = line(text);
    let mut short: String = text.chars().take(TITLE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Text for XML, in which nothing is invisible any more.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        let shown = |text: &str| escape(&line(text));
        assert_eq!(shown("</text><script>\u{1b}\"&"), "&lt;/text&gt;&lt;script&gt;\\x1b&quot;&amp;");
        assert_eq!(shown("\u{202e}cod\u{200b}e\u{ffff}"), "\\u{202e}cod\\u{200b}e\\u{ffff}");
        assert_eq!(cut("\u{2066}x"), "\\u{2066}x");
    }
}
