//! Lists and texts in their frames.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::say;
use crate::layout;
use crate::state::State;
use crate::text::{cut, fit, width, wrap};

/// A cell of a row: its text, its width and its style.
pub(super) type Cell = (String, usize, Style);

/// A row of cells, a blank between them.
pub(super) fn row(cells: &[Cell]) -> Line<'static> {
    let mut spans: Vec<Span> = Vec::new();
    for (text, columns, style) in cells.iter().filter(|(_, columns, _)| *columns > 0) {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        let text = crate::text::plain(text);
        spans.push(Span::styled(fit(&text, *columns), *style));
    }
    Line::from(spans)
}

/// The frame around a part of the screen, with its title; gives what is inside.
pub(super) fn open(state: &State, area: Rect, title: &str, has_keys: bool, frame: &mut Frame) -> Rect {
    let borders = if layout::has_frames(state) { Borders::ALL } else { Borders::TOP };
    let room = usize::from(area.width.saturating_sub(4));
    let title = cut(&crate::text::plain(title), room);
    let style = state.theme.frame(has_keys);
    let block = Block::new()
        .borders(borders)
        .border_style(style)
        .title(Span::styled(format!(" {title} "), if has_keys { style } else { state.theme.bold() }));
    frame.render_widget(block, area);
    layout::inner(state, area)
}

/// A list in a frame; what stands for nothing, if there are no rows.
pub(super) fn list(
    state: &State,
    inner: Rect,
    (rows, selected): (Vec<Line<'static>>, Option<usize>),
    has_keys: bool,
    nothing: &str,
    frame: &mut Frame,
) {
    if rows.is_empty() {
        paragraph(inner, lines(nothing, inner.width, state.theme.dim()), 0, frame);
        return;
    }
    let first = layout::first_row(selected.unwrap_or(0), rows.len(), inner.height);
    let shown = rows.into_iter().enumerate().skip(first).take(usize::from(inner.height));
    let lines: Vec<Line> = shown
        .map(|(at, line)| {
            if Some(at) != selected {
                return line;
            }
            // To the edge, so that one sees which row is meant, without colours too.
            let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
            let rest = usize::from(inner.width).saturating_sub(used);
            let mut spans = line.spans;
            spans.push(Span::raw(" ".repeat(rest)));
            Line::from(spans).style(state.theme.selected(has_keys))
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

/// Lines from a row on, as far as there are; never further than the last screen of them.
pub(super) fn paragraph(area: Rect, lines: Vec<Line<'static>>, first: usize, frame: &mut Frame) {
    let most = lines.len().saturating_sub(usize::from(area.height));
    let shown: Vec<Line> = lines.into_iter().skip(first.min(most)).take(usize::from(area.height)).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

/// Foreign text in lines.
pub(super) fn lines(text: &str, columns: u16, style: Style) -> Vec<Line<'static>> {
    wrap(text, usize::from(columns)).into_iter().map(|line| Line::from(Span::styled(line, style))).collect()
}

/// A line with a head in a style of its own.
pub(super) fn labelled(label: &str, text: &str, (head, style): (Style, Style)) -> Line<'static> {
    Line::from(vec![say(label, head), say(text, style)])
}
