//! One message: its words, its stages with their evidence, its conversation.

use atm_ledger::Stage;
use atm_office::trail::track::TrackStage;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::frame::{labelled, lines, open, paragraph};
use super::{Clock, say};
use crate::command::short;
use crate::event::Opened;
use crate::keys::Place;
use crate::state::State;
use crate::text::{age, cut, plain};

pub(super) fn draw(state: &State, clock: Clock, area: Rect, frame: &mut Frame) {
    let has_keys = state.place() == Place::Message;
    let title = match (&state.message.id, &state.message.as_of) {
        (id, _) if id.is_empty() => "Message".to_owned(),
        (id, None) => format!("Message {}", short(id)),
        (id, Some(at)) => {
            format!("Message {}, looked {} ago", short(id), age(state.now, *at)).replace("now ago", "now")
        }
    };
    let inner = open(state, area, &title, has_keys, frame);
    let content = content(state, clock, inner.width);
    paragraph(inner, content, state.scroll, frame);
}

pub(super) fn content(state: &State, clock: Clock, columns: u16) -> Vec<Line<'static>> {
    let theme = state.theme;
    let Some(row) = state.listed() else {
        return lines("no message is meant", columns, theme.dim());
    };
    let when = format!("{} ({} ago)", clock(row.timestamp), age(state.now, row.timestamp))
        .replace("now ago", "just now");
    let mut content = vec![labelled(
        &format!("{} → {}@{}", row.from, row.to, row.team),
        &format!("  {when}"),
        (theme.bold(), theme.dim()),
    )];
    if row.r#type != "message" {
        content.push(labelled("type ", &row.r#type, (theme.dim(), theme.bold())));
    }
    let opened = state.message.opened.as_ref();
    content.push(way(state, row.stage, opened.map_or(&[], |opened| &opened.track.stages)));
    content.push(Line::default());
    content.extend(lines(&row.words(), columns, ratatui::style::Style::new()));
    content.push(Line::default());
    match (opened, &state.message.trouble) {
        (_, Some(trouble)) => {
            content.extend(lines(
                &format!("its stages cannot be told: {}", trouble.what),
                columns,
                theme.bad(),
            ));
        }
        (None, None) => content.extend(lines("its stages: looking…", columns, theme.dim())),
        (Some(opened), None) => {
            evidence(state, clock, opened, columns, &mut content);
            thread(state, opened, columns, &mut content);
        }
    }
    content
}

/// The stages that it reached, in one line.
fn way(state: &State, highest: Stage, reached: &[TrackStage]) -> Line<'static> {
    let theme = state.theme;
    let mut spans = Vec::new();
    for one in reached {
        if !spans.is_empty() {
            spans.push(Span::styled(" → ", theme.dim()));
        }
        spans.push(Span::styled(one.stage.as_str(), theme.stage(one.stage)));
    }
    if spans.is_empty() {
        spans.push(Span::styled(highest.as_str(), theme.stage(highest)));
    }
    Line::from(spans)
}

/// Each stage with the time and how we know.
fn evidence(state: &State, clock: Clock, opened: &Opened, columns: u16, content: &mut Vec<Line<'static>>) {
    let theme = state.theme;
    content.push(Line::from(Span::styled("Stages", theme.bold())));
    for stage in &opened.track.stages {
        let said = &stage.evidence;
        let bound = if said.no_later_than { ", then or earlier" } else { "" };
        let by = said.by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
        let sign = if said.unproved { "?" } else { "✓" };
        content.push(Line::from(vec![
            Span::styled(format!("{sign} {:<9}", stage.stage.as_str()), theme.stage(stage.stage)),
            say(
                &format!(" {} ({} ago)", clock(stage.at), age(state.now, stage.at))
                    .replace("now ago", "just now"),
                theme.dim(),
            ),
        ]));
        let file = said.file.as_ref().map(|file| format!(" ({file})")).unwrap_or_default();
        let why = format!("{}{bound}{by}{file}", said.what);
        content.extend(lines(&why, columns.saturating_sub(4), theme.dim()).into_iter().map(indented));
    }
}

fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw("    "));
    line
}

/// The other messages of its conversation, a line each.
fn thread(state: &State, opened: &Opened, columns: u16, content: &mut Vec<Line<'static>>) {
    if opened.thread.len() < 2 {
        return;
    }
    let theme = state.theme;
    content.push(Line::default());
    content.push(Line::from(Span::styled("Conversation", theme.bold())));
    for one in &opened.thread {
        let is_this = one.id == opened.track.message.id;
        let sign = if is_this { "▸" } else { " " };
        let words = format!("{sign} {:>6} {}: {}", age(state.now, one.timestamp), one.from, one.gist());
        let style = if is_this { theme.bold() } else { ratatui::style::Style::new() };
        content.push(Line::from(Span::styled(cut(&plain(&words), usize::from(columns)), style)));
    }
}
