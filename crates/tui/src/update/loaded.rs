//! What was looked up gets its place in the state. What was chosen stays chosen.

use atm_wire::TeamName;

use crate::event::{Effect, Load, Loaded, MailKey};
use crate::state::{Shown, State, TeamRow};

pub(super) fn take(state: &mut State, loaded: Loaded) -> Vec<Effect> {
    match loaded {
        Loaded::Teams(Ok(names)) => teams(state, names),
        Loaded::Teams(Err(trouble)) => {
            state.teams_trouble = Some(trouble);
            state.teams.get_or_insert_default();
            Vec::new()
        }
        Loaded::Team(name, known) => {
            let row = state.teams.iter_mut().flatten().find(|row| row.name == name);
            if let Some(row) = row {
                match known {
                    Ok(known) => (row.known, row.trouble) = (Some(known), None),
                    Err(trouble) => row.trouble = Some(trouble),
                }
            }
            keep_in_range(state);
            Vec::new()
        }
        Loaded::Mail(of, at, rows) => {
            // The answer to a question that is not asked any more.
            if of != state.mail.of {
                return Vec::new();
            }
            match rows {
                Ok(rows) => {
                    state.mail.rows = rows;
                    state.mail.as_of = Some(at);
                    state.mail.trouble = None;
                }
                Err(trouble) => state.mail.trouble = Some(trouble),
            }
            show_chosen(state)
        }
        Loaded::Message(id, at, opened) => {
            if id == state.message.id {
                match opened {
                    Ok(opened) => {
                        state.message = Shown { id, opened: Some(opened), as_of: Some(at), trouble: None };
                    }
                    Err(trouble) => state.message.trouble = Some(trouble),
                }
            }
            Vec::new()
        }
    }
}

/// The teams that there are now; what is known of those that stay is kept.
fn teams(state: &mut State, names: Vec<TeamName>) -> Vec<Effect> {
    let mut known = state.teams.take().unwrap_or_default();
    let mut effects = Vec::new();
    let mut rows = Vec::new();
    for name in names {
        let old = known.iter().position(|row| row.name == name).map(|at| known.swap_remove(at));
        if old.is_none() {
            effects.push(Effect::Load(Load::Team(name.clone())));
        }
        rows.push(old.unwrap_or(TeamRow { name, known: None, trouble: None }));
    }
    state.teams = Some(rows);
    state.teams_trouble = None;
    let is_there = state.team_row().is_some();
    if !is_there {
        let first = state.team_rows().first().map(|row| row.name.clone());
        if first != state.team {
            state.team = first;
            state.member = None;
            effects.extend(list_mail(state));
        }
    }
    effects
}

/// Lists the mail of the member that is meant, or of the search.
pub(super) fn list_mail(state: &mut State) -> Vec<Effect> {
    let words = state.mail.of.words.clone();
    let of = match words {
        Some(words) => MailKey { words: Some(words), ..MailKey::default() },
        None => MailKey { team: state.team.clone(), with: state.member.clone(), words: None },
    };
    if of != state.mail.of {
        state.mail = crate::state::Mail { of, ..Default::default() };
        state.message = Shown::default();
        state.scroll = 0;
    }
    reload_mail(state).into_iter().collect()
}

/// Looks up the listed mail again.
pub(super) fn reload_mail(state: &State) -> Option<Effect> {
    let is_asked = state.mail.of.team.is_some() || state.mail.of.words.is_some();
    is_asked.then(|| Effect::Load(Load::Mail(state.mail.of.clone())))
}

/// The message that is shown whole, and its team.
pub(super) fn shown_message(state: &State) -> Option<(TeamName, String)> {
    let row = state.mail.rows.iter().find(|row| row.id == state.message.id)?;
    Some((TeamName::parse(&row.team).ok()?, row.id.clone()))
}

/// Shows the message that is meant in the list; looks it up if that is another one, or came further.
pub(super) fn show_chosen(state: &mut State) -> Vec<Effect> {
    let Some(row) = state.listed() else {
        state.message = Shown::default();
        return Vec::new();
    };
    let shown = state.message.opened.as_ref().map(|opened| opened.track.stage);
    if row.id == state.message.id && shown == Some(row.stage) {
        return Vec::new();
    }
    let (id, team) = (row.id.clone(), TeamName::parse(&row.team));
    if id != state.message.id {
        state.message = Shown { id: id.clone(), ..Shown::default() };
        state.scroll = 0;
    }
    team.ok().map(|team| Effect::Load(Load::Message(team, id))).into_iter().collect()
}

/// Rows that are gone are not meant any more.
fn keep_in_range(state: &mut State) {
    state.need = state.need.min(state.needs().len().saturating_sub(1));
    let tasks: usize = state.board().iter().map(Vec::len).sum();
    state.task = state.task.min(tasks.saturating_sub(1));
    let is_gone = |name: &String| state.members().iter().all(|member| member.name != *name);
    if state.known().is_some() && state.member.as_ref().is_some_and(is_gone) {
        state.member = None;
    }
}
