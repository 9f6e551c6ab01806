//! The first line and the last two: where one is, how fresh it is, what came of the last action, which keys there are.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::say;
use crate::keys;
use crate::state::{Link, State, Tab};
use crate::text::{age, cut, plain, width};
use crate::update::may;

/// The tabs as they stand in the first line, each with its first column.
fn tabs(state: &State) -> Vec<(Tab, usize, String)> {
    let is_small = state.size.0 < 80;
    let needs = state.known().map_or(0, |known| {
        let picture = &known.picture;
        let looks = picture.needs_a_look().len() + picture.sessions_waiting.len();
        looks + picture.for_you.len() + known.plans.len()
    });
    let mut at = if is_small { 0 } else { 5 };
    let shown = Tab::ALL.iter().enumerate().map(|(place, tab)| {
        let mark = if *tab == Tab::Needs && needs > 0 { format!(" {needs}") } else { String::new() };
        let title = if is_small && *tab == Tab::Needs { "Needs" } else { tab.title() };
        let label = format!(" {} {title}{mark} ", place + 1);
        let start = at;
        at += width(&label);
        (*tab, start, label)
    });
    shown.collect()
}

/// The tab at a column of the first line.
pub(crate) fn tab_at(state: &State, column: u16) -> Option<Tab> {
    let column = usize::from(column);
    let is_there =
        |(_, start, label): &&(Tab, usize, String)| *start <= column && column < start + width(label);
    tabs(state).iter().find(is_there).map(|(tab, ..)| *tab)
}

pub(super) fn draw(state: &State, area: Rect, frame: &mut Frame) {
    let theme = state.theme;
    let mut spans = Vec::new();
    let tabs = tabs(state);
    if tabs.first().is_some_and(|(_, start, _)| *start > 0) {
        spans.push(Span::styled(" atm ", theme.bold()));
    }
    let mut used = 0;
    for (tab, start, label) in tabs {
        let style = if tab == state.tab { theme.selected(true) } else { theme.dim() };
        used = start + width(&label);
        spans.push(Span::styled(label, style));
    }
    let (link, style) = match &state.link {
        Link::Opening => ("… opening".to_owned(), theme.dim()),
        Link::Live => ("● live".to_owned(), theme.good()),
        Link::Lost(_, since) => (format!("✗ no ledger for {}", age(state.now, *since)), theme.bad()),
    };
    let looked = state.known().map(|known| age(state.now, known.picture.as_of));
    let looked =
        looked.map_or_else(String::new, |looked| format!(", looked {looked} ago").replace("now ago", "now"));
    let team = state.team.as_ref().map(|team| format!("@{team}")).unwrap_or_default();
    let who = plain(&format!("{}{team}  ", state.me)).into_owned();
    let room = usize::from(area.width).saturating_sub(used + 1);
    let right = [
        vec![(who.clone(), theme.bold()), (link.clone(), style), (looked, theme.dim())],
        vec![(who, theme.bold()), (link.clone(), style)],
        vec![(link, style)],
    ];
    let length =
        |parts: &[(String, ratatui::style::Style)]| parts.iter().map(|(text, _)| width(text)).sum::<usize>();
    if let Some(parts) = right.into_iter().find(|parts| length(parts) <= room) {
        spans.push(Span::raw(" ".repeat(room - length(&parts) + 1)));
        spans.extend(parts.into_iter().map(|(text, style)| Span::styled(text, style)));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

/// What is under way, what is wrong with the ledger, or what came of the last action.
pub(super) fn draw_notice(state: &State, area: Rect, frame: &mut Frame) {
    let theme = state.theme;
    let columns = usize::from(area.width);
    let line = match (&state.busy, &state.notice, &state.link) {
        (Some(command), ..) => {
            Line::from(say(&cut(&plain(&format!("… {command}")), columns), theme.attention()))
        }
        (None, Some(notice), _) => {
            let (sign, style) = if notice.is_bad { ("✗", theme.bad()) } else { ("✓", theme.good()) };
            let ago = age(state.now, notice.at);
            let words = plain(&format!("{sign} {}", notice.words)).into_owned();
            let command =
                notice.command.as_ref().map(|command| plain(&format!("  $ {command}")).into_owned());
            let ago = if ago == "now" { String::new() } else { format!("  ({ago} ago)") };
            let rest = columns.saturating_sub(width(&words) + width(&ago));
            let mut spans = vec![Span::styled(cut(&words, columns), style)];
            spans.extend(
                command.filter(|_| rest > 12).map(|command| Span::styled(cut(&command, rest), theme.dim())),
            );
            spans.push(Span::styled(ago, theme.dim()));
            Line::from(spans)
        }
        (None, None, Link::Lost(trouble, _)) => {
            let hint = trouble.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            let words =
                format!("the ledger cannot be read, and what is shown may be old: {}{hint}", trouble.what);
            Line::from(say(&cut(&plain(&words), columns), theme.bad()))
        }
        _ => Line::default(),
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// The keys that do something here, as many as fit.
pub(super) fn draw_hints(state: &State, area: Rect, frame: &mut Frame) {
    let mut spans: Vec<Span> = Vec::new();
    let mut used = 0;
    // How to get help and out is said in any case.
    let all: Vec<(String, &str)> = keys::hints(state.place(), |action| may(state, action)).collect();
    let is_last = |hint: &str| matches!(hint, "help" | "quit");
    let last: usize =
        all.iter().filter(|(_, hint)| is_last(hint)).map(|(key, hint)| width(key) + width(hint) + 3).sum();
    for (key, hint) in &all {
        let wide = width(key) + width(hint) + 3;
        let room = usize::from(area.width).saturating_sub(if is_last(hint) { 0 } else { last });
        if used + wide > room + 2 {
            continue;
        }
        used += wide;
        spans.push(Span::styled(key.clone(), state.theme.key()));
        spans.push(Span::styled(format!(" {hint}  "), state.theme.dim()));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}
