//! The teams, and the members of the one that is meant.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::frame::{list, open, row};
use crate::keys::Place;
use crate::state::{State, TeamRow};
use crate::text::{age, width};

pub(super) fn draw_teams(state: &State, area: Rect, frame: &mut Frame) {
    let has_keys = state.place() == Place::Teams;
    let inner = open(state, area, "Teams", has_keys, frame);
    let rows: Vec<Line> =
        state.team_rows().iter().map(|row| team(state, row, usize::from(inner.width))).collect();
    let nothing = match (&state.teams, &state.teams_trouble) {
        (_, Some(trouble)) => trouble.what.clone(),
        (None, None) => "looking…".to_owned(),
        _ => "no team yet: `atm team create NAME` makes one, `atm demo` shows one".to_owned(),
    };
    list(state, inner, (rows, Some(state.team_index())), has_keys, &nothing, frame);
}

fn team(state: &State, team: &TeamRow, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let (mail, needs) = team.known.as_ref().map_or((0, 0), |known| {
        (known.picture.for_you.len(), known.picture.needs_a_look().len() + known.plans.len())
    });
    let mark = |sign: &str, number: usize| if number > 0 { format!("{sign}{number}") } else { String::new() };
    let marks = match (&team.known, &team.trouble) {
        (_, Some(_)) => "✗".to_owned(),
        (None, None) => "…".to_owned(),
        _ => [mark("✉", mail), mark("!", needs)]
            .into_iter()
            .filter(|m| !m.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
    };
    let wide = width(&marks);
    row(&[
        (team.name.to_string(), columns.saturating_sub(wide + 1), theme.bold()),
        (marks, wide, theme.attention()),
    ])
}

pub(super) fn draw_members(state: &State, area: Rect, frame: &mut Frame) {
    let has_keys = state.place() == Place::Members;
    let theme = state.theme;
    let team = state.team.as_ref().map(|team| format!(" of {team}")).unwrap_or_default();
    let inner = open(state, area, &format!("Members{team}"), has_keys, frame);
    let columns = usize::from(inner.width);
    let trouble = state.team_row().and_then(|row| row.trouble.as_ref());
    if state.known().is_none() {
        let nothing = match (trouble, &state.teams) {
            (Some(trouble), _) => trouble.what.as_str(),
            (None, Some(teams)) if teams.is_empty() => "nobody: there is no team",
            _ => "looking…",
        };
        list(state, inner, (Vec::new(), None), has_keys, nothing, frame);
        return;
    }
    // Of a wide list, since when one is in its state.
    let wide = if columns >= 30 { 7 } else { 0 };
    let mut rows = vec![row(&[("everybody".to_owned(), columns, theme.dim())])];
    rows.extend(state.members().iter().map(|member| {
        let lead = if member.lead { "★" } else { "" };
        let unread = if member.unread > 0 { format!("✉{}", member.unread) } else { String::new() };
        let marks = format!("{unread}{lead}");
        let marked = width(&marks);
        let state_word = member.activity.clone().unwrap_or_else(|| member.state.as_str().to_owned());
        let since = member.since.or(member.last_seen).map(|at| age(state.now, at)).unwrap_or_default();
        // Each column behind the name has a blank before it.
        let behind: usize =
            [marked, 8, wide].iter().filter(|columns| **columns > 0).map(|columns| columns + 1).sum();
        row(&[
            (member.name.clone(), columns.saturating_sub(behind), theme.member(member.color.as_deref())),
            (marks, marked, theme.attention()),
            (state_word, 8, theme.presence(member.state)),
            (since, wide, theme.dim()),
        ])
    }));
    list(state, inner, (rows, Some(state.member_index())), has_keys, "", frame);
}
