//! The tasks: a board of three columns, or a list where there is no room for it.

use atm_office::tasks::TaskView;
use atm_wire::task::TaskId;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::frame::{labelled, lines, list, open, paragraph, row};
use crate::keys::Place;
use crate::state::{State, column_of};
use crate::text::{age, count};

/// From so many columns on it is a board.
const BOARD: u16 = 76;
const TITLES: [&str; 3] = ["To do", "In progress", "Done"];

pub(super) fn draw(state: &State, area: Rect, frame: &mut Frame) {
    let board = state.board();
    let number: usize = board.iter().map(Vec::len).sum();
    let team = state.team.as_ref().map(|team| format!(" of {team}")).unwrap_or_default();
    let title = format!("Tasks{team}: {}", count(number, "task", "tasks"));
    let inner = open(state, area, &title, state.place() == Place::Tasks, frame);
    if number == 0 {
        list(state, inner, (Vec::new(), None), true, &nothing(state), frame);
        return;
    }
    if inner.width < BOARD {
        let columns = usize::from(inner.width);
        let rows = board.iter().flatten().map(|task| in_list(state, task, columns)).collect();
        list(state, inner, (rows, Some(state.task)), true, "", frame);
        return;
    }
    let mut start = 0;
    for (at, tasks) in board.iter().enumerate() {
        let column = column(inner, at);
        let head = Rect { height: 1.min(column.height), ..column };
        let title = format!("{} {}", TITLES[at], tasks.len());
        paragraph(head, vec![Line::from(super::say(&title, state.theme.bold()))], 0, frame);
        let body = Rect { y: column.y + head.height, height: column.height - head.height, ..column };
        let selected = state.task.checked_sub(start).filter(|row| *row < tasks.len());
        let rows = tasks.iter().map(|task| on_board(state, task, usize::from(body.width))).collect();
        list(state, body, (rows, selected), selected.is_some(), "—", frame);
        start += tasks.len();
    }
}

fn nothing(state: &State) -> String {
    let trouble = state.team_row().and_then(|row| row.trouble.as_ref());
    match (state.known(), trouble) {
        (_, Some(trouble)) => format!("the tasks are not known: {}", trouble.what),
        (Some(known), None) => {
            let looked = age(state.now, known.picture.as_of);
            format!("the task list is empty (looked {looked} ago); `atm task create SUBJECT` begins it")
                .replace("now ago", "just now")
        }
        (None, None) => "looking…".to_owned(),
    }
}

/// A third of the board.
fn column(inner: Rect, at: usize) -> Rect {
    let third = inner.width / 3;
    let at = u16::try_from(at).unwrap_or(0);
    Rect { x: inner.x + at * third, width: third.saturating_sub(1), ..inner }
}

/// Which task is at a column and a line of the board or list.
pub(crate) fn task_at(state: &State, inner: Rect, column_at: u16, line: u16) -> Option<usize> {
    let board = state.board();
    let total: usize = board.iter().map(Vec::len).sum();
    let row_at = |selected: usize, rows: usize, height: u16, line: u16| {
        let at = crate::layout::first_row(selected, rows, height) + usize::from(line);
        (at < rows).then_some(at)
    };
    if inner.width < BOARD {
        return row_at(state.task, total, inner.height, line);
    }
    let at = usize::from(column_at.saturating_sub(inner.x) / (inner.width / 3).max(1)).min(2);
    let start: usize = board.iter().take(at).map(Vec::len).sum();
    let selected = state.task.checked_sub(start).filter(|row| *row < board[at].len()).unwrap_or(0);
    let row = row_at(selected, board[at].len(), inner.height.saturating_sub(1), line.checked_sub(1)?)?;
    Some(start + row)
}

fn ids(ids: &[TaskId]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(" ")
}

fn marks(task: &TaskView) -> String {
    let is_over = task.lease.as_ref().is_some_and(|lease| lease.expired);
    match (is_over, task.waits_for.is_empty()) {
        (true, _) => "claim over".to_owned(),
        (false, false) => format!("after {}", ids(&task.waits_for)),
        _ => task.owner.clone().unwrap_or_default(),
    }
}

fn style(state: &State, task: &TaskView) -> Style {
    let is_over = task.lease.as_ref().is_some_and(|lease| lease.expired);
    match (is_over, column_of(task)) {
        (true, _) => state.theme.attention(),
        (_, 2) => state.theme.dim(),
        (_, 0) if !task.waits_for.is_empty() => state.theme.dim(),
        _ => Style::new(),
    }
}

fn on_board(state: &State, task: &TaskView, columns: usize) -> Line<'static> {
    let number = format!("#{}", task.id);
    let wide = number.len().max(3);
    let marked = 12.min(columns / 3);
    row(&[
        (number, wide, state.theme.dim()),
        (task.subject.clone(), columns.saturating_sub(wide + marked + 2), style(state, task)),
        (marks(task), marked, state.theme.key()),
    ])
}

fn in_list(state: &State, task: &TaskView, columns: usize) -> Line<'static> {
    let where_it_is = ["to do", "doing", "done"][column_of(task)];
    row(&[
        (format!("#{}", task.id), 4, state.theme.dim()),
        (where_it_is.to_owned(), 5, state.theme.dim()),
        (task.subject.clone(), columns.saturating_sub(4 + 5 + 12 + 3), style(state, task)),
        (marks(task), 12, state.theme.key()),
    ])
}

/// All of the task that is meant.
pub(super) fn draw_detail(state: &State, area: Rect, frame: &mut Frame) {
    let theme = state.theme;
    let inner = open(state, area, "Task", false, frame);
    let Some(task) = state.meant_task() else { return };
    let label = |name: &str, text: &str| labelled(name, text, (theme.dim(), Style::new()));
    let mut content = vec![labelled(&format!("#{} ", task.id), &task.subject, (theme.dim(), theme.bold()))];
    content.push(label("owner ", task.owner.as_deref().unwrap_or("nobody")));
    if let Some(lease) = &task.lease {
        let words = if lease.expired { "over for" } else { "ends in" };
        let (from, to) =
            if lease.expired { (lease.expires_at, state.now) } else { (state.now, lease.expires_at) };
        content.push(label("claim ", &format!("{words} {}", age(to, from))));
    }
    if !task.blocked_by.is_empty() {
        content.push(label("after ", &ids(&task.blocked_by)));
    }
    if !task.blocks.is_empty() {
        content.push(label("before ", &ids(&task.blocks)));
    }
    content.push(Line::default());
    content.extend(lines(&task.description, inner.width, Style::new()));
    paragraph(inner, content, 0, frame);
}
