//! What lies above the rest: the help, a letter, a question, a decision, a screen.

use atm_wire::Stamp;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::frame::{lines, paragraph, row};
use super::{Clock, say};
use crate::command::{command, short};
use crate::edit::Edit;
use crate::event::{Act, Deed};
use crate::keys;
use crate::layout;
use crate::state::{Ask, Compose, Dialog, Field, State};
use crate::text::{age, cut, plain, width};
use crate::update::act_of;

/// So wide is the help, if there is room.
const HELP: u16 = 100;

pub(super) fn draw(state: &State, clock: Clock, frame: &mut Frame) {
    match &state.dialog {
        None => {}
        Some(Dialog::Help(first)) => help(state, *first, frame),
        Some(Dialog::Compose(letter)) => compose(state, letter, frame),
        Some(Dialog::Prompt(ask, edit)) => prompt(state, ask, edit, frame),
        Some(Dialog::Confirm(act)) => confirm(state, act, frame),
        Some(Dialog::Peek(peek, at, first)) => {
            let title = format!("Screen of {}@{}, {}", peek.name, peek.team, taken(state, clock, *at));
            let inner = above(state, (state.size.0, state.size.1), &title, frame);
            let rows = peek.lines.iter().map(|line| Line::from(say(line, Style::new()))).collect();
            paragraph(inner, rows, *first, frame);
        }
    }
}

fn taken(state: &State, clock: Clock, at: Stamp) -> String {
    format!("{} ({} ago)", clock(at), age(state.now, at)).replace("now ago", "now")
}

/// Clears an area and puts a frame around it; gives what is inside.
fn above(state: &State, (width, height): (u16, u16), title: &str, frame: &mut Frame) -> Rect {
    let area = layout::dialog(state, width, height);
    let title = cut(&plain(title), usize::from(area.width.saturating_sub(4)));
    let block = Block::new()
        .borders(Borders::ALL)
        .border_style(state.theme.frame(true))
        .title(Span::styled(format!(" {title} "), state.theme.bold()));
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    inner
}

/// How many rows a text has that lies above the rest, and how many of them are in sight.
pub(super) fn rows(state: &State) -> (usize, u16) {
    match &state.dialog {
        Some(Dialog::Help(_)) => {
            let inner = inner(layout::dialog(state, HELP, state.size.1));
            (help_lines(state, inner.width).len(), inner.height)
        }
        Some(Dialog::Peek(peek, ..)) => {
            (peek.lines.len(), inner(layout::dialog(state, state.size.0, state.size.1)).height)
        }
        _ => (0, 0),
    }
}

/// What is inside of a frame.
fn inner(area: Rect) -> Rect {
    Block::new().borders(Borders::ALL).inner(area)
}

fn help(state: &State, first: usize, frame: &mut Frame) {
    let inner = above(state, (HELP, state.size.1), "Keys", frame);
    paragraph(inner, help_lines(state, inner.width), first, frame);
}

fn help_lines(state: &State, width: u16) -> Vec<Line<'static>> {
    let theme = state.theme;
    let columns = usize::from(width);
    let places = if columns >= 80 { 24 } else { 0 };
    let mut rows: Vec<Line> = keys::help()
        .into_iter()
        .map(|(keys, where_they_count, what)| {
            let fixed = 14 + places + 1 + usize::from(places > 0);
            row(&[
                (keys, 14, theme.key()),
                (what.to_owned(), columns.saturating_sub(fixed), Style::new()),
                (where_they_count, places, theme.dim()),
            ])
        })
        .collect();
    rows.push(Line::default());
    let more = "The mouse chooses and scrolls. Every action says which `atm` command it is. Looking marks nothing as read.";
    rows.extend(lines(more, width, theme.dim()));
    rows
}

/// The lines of a text that is being written, with its cursor; the row and column of the cursor on the screen.
fn written(edit: &Edit, columns: u16) -> (Vec<String>, (usize, usize)) {
    let columns = usize::from(columns).max(1);
    let (cursor_row, cursor_column) = edit.cursor();
    let mut shown = Vec::new();
    let mut cursor = (0, 0);
    for (at, line) in edit.lines().iter().enumerate() {
        let mut current = String::new();
        for (column, c) in line.chars().enumerate() {
            let spelled = plain(c.encode_utf8(&mut [0; 4])).into_owned();
            if width(&current) + width(&spelled) > columns {
                shown.push(std::mem::take(&mut current));
            }
            if (at, column) == (cursor_row, cursor_column) {
                cursor = (shown.len(), width(&current));
            }
            current.push_str(&spelled);
        }
        if at == cursor_row && cursor_column >= line.chars().count() {
            cursor = (shown.len(), width(&current).min(columns - 1));
        }
        shown.push(current);
    }
    (shown, cursor)
}

/// Draws a text that is being written; with the cursor, if it has the keys.
fn field(edit: &Edit, area: Rect, has_keys: bool, frame: &mut Frame) {
    let (shown, (row, column)) = written(edit, area.width);
    let height = usize::from(area.height).max(1);
    let first = (row + 1).saturating_sub(height);
    let lines: Vec<Line> = shown.into_iter().skip(first).take(height).map(Line::from).collect();
    frame.render_widget(Paragraph::new(lines), area);
    if has_keys && area.width > 0 && area.height > 0 {
        let clamp = |at: usize, most: u16| u16::try_from(at).unwrap_or(u16::MAX).min(most - 1);
        let (x, y) = (area.x + clamp(column, area.width), area.y + clamp(row - first, area.height));
        frame.set_cursor_position(Position { x, y });
    }
}

fn compose(state: &State, letter: &Compose, frame: &mut Frame) {
    let theme = state.theme;
    let title = match &letter.reply_to {
        Some(id) => format!("Answer to {} as {}@{}", short(id), state.me, letter.team),
        None => format!("Letter as {}@{}", state.me, letter.team),
    };
    let inner = above(state, (100, state.size.1.min(24)), &title, frame);
    if inner.height < 3 {
        return field(&letter.text, inner, true, frame);
    }
    let label = "To: ";
    let head = Rect { height: 1, ..inner };
    frame.render_widget(Paragraph::new(Line::from(Span::styled(label, theme.dim()))), head);
    let wide = u16::try_from(width(label)).unwrap_or(0).min(inner.width);
    let to = Rect { x: inner.x + wide, width: inner.width - wide, ..head };
    field(&letter.to, to, letter.field == Field::To, frame);
    let text = Rect { y: inner.y + 1, height: inner.height - 2, ..inner };
    field(&letter.text, text, letter.field == Field::Text, frame);
    let command = format!("$ {}", command(&act_of(letter), &state.me, state.lead()));
    let foot = Rect { y: inner.y + inner.height - 1, height: 1, ..inner };
    let command = cut(&plain(&command), usize::from(foot.width));
    frame.render_widget(Paragraph::new(Line::from(Span::styled(command, theme.dim()))), foot);
}

fn prompt(state: &State, ask: &Ask, edit: &Edit, frame: &mut Frame) {
    let title = match ask {
        Ask::Search => "Search all mail: words, or \"a phrase\"".to_owned(),
        Ask::Reject(request) => format!("Reject {request}: what is to be changed?"),
        Ask::RejectShutdown(request) => format!("Stay, and answer {request}: why?"),
        Ask::Shutdown(name) => format!("Ask {name} to end, as the lead: why? (may be empty)"),
        Ask::Assign(task) => format!("Task {task}: whose is it?"),
    };
    let inner = above(state, (80, 3), &title, frame);
    field(edit, inner, true, frame);
}

fn confirm(state: &State, act: &Act, frame: &mut Frame) {
    let theme = state.theme;
    let question = match &act.deed {
        Deed::Recall { .. } => "Take this message back?".to_owned(),
        Deed::Approve { request } => format!("Approve {request}, as the lead of {}?", act.team),
        Deed::Shutdown { name, .. } => format!("Ask {name} to end, as the lead of {}?", act.team),
        Deed::ApproveShutdown { .. } => format!("End {}?", state.me),
        _ => "Do this?".to_owned(),
    };
    let inner = above(state, (80, 7), "Sure?", frame);
    let mut content = lines(&question, inner.width, theme.bold());
    content.push(Line::default());
    content.extend(lines(&format!("$ {}", command(act, &state.me, state.lead())), inner.width, theme.dim()));
    paragraph(inner, content, 0, frame);
}
