//! The pure half of the UI: a state and an event give the next state and the effects that are wanted.

mod actions;
mod loaded;
mod moves;
mod writing;

use atm_office::watch::{EventView, Happening};
use atm_wire::Stamp;

use crate::event::{Act, Deed, Effect, Event, Load, Outcome, Trouble};
use crate::keys::{self, Key};
use crate::state::{Dialog, LOG, Link, Notice, State};

pub(crate) use actions::may;
pub(crate) use writing::act_of;

/// The team that is meant is looked at again after so many milliseconds, also when nothing happens: presence and waiting
/// change with the time alone.
const LOOK_AGAIN: i64 = 5_000;
/// A notice is shown for so many milliseconds.
const NOTICE: i64 = 30_000;

/// Takes one event.
pub(crate) fn update(state: &mut State, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(key) => on_key(state, key),
        Event::Paste(text) => {
            writing::paste(state, &text);
            Vec::new()
        }
        Event::Click(column, row) => moves::click(state, column, row),
        Event::Wheel(column, row, is_down) => moves::wheel(state, column, row, is_down),
        Event::Resize(width, height) => {
            state.size = (width, height);
            Vec::new()
        }
        Event::Tick(now) => on_tick(state, now),
        Event::News(events) => on_news(state, events),
        Event::Followed(link) => on_followed(state, link),
        Event::Loaded(loaded) => loaded::take(state, *loaded),
        Event::Done(act, outcome) => {
            state.busy = None;
            let command = crate::command::command(&act, &state.me, state.lead());
            match outcome {
                Ok(Outcome::Said(words)) => {
                    if is_letter(&act) {
                        state.draft = None;
                    }
                    notice(state, words, Some(command), false);
                    let mut effects = vec![Effect::Load(Load::Team(act.team))];
                    effects.extend(loaded::reload_mail(state));
                    return effects;
                }
                Ok(Outcome::Screen(peek)) => state.dialog = Some(Dialog::Peek(peek, state.now, usize::MAX)),
                Ok(Outcome::Pane(args, is_inside)) => {
                    notice(state, "back from tmux".to_owned(), Some(command), false);
                    return vec![Effect::Tmux(args, is_inside)];
                }
                Err(trouble) => {
                    complain(state, &trouble, Some(command));
                    // What was written is there again, to be mended.
                    if is_letter(&act) && state.dialog.is_none() {
                        state.dialog = state.draft.take().map(Dialog::Compose);
                    }
                }
            }
            Vec::new()
        }
        Event::Edited(text) => {
            match text {
                Ok(text) => writing::edited(state, &text),
                Err(trouble) => complain(state, &trouble, None),
            }
            Vec::new()
        }
        Event::Over => vec![Effect::Quit],
    }
}

fn is_letter(act: &Act) -> bool {
    matches!(act.deed, Deed::Send { .. } | Deed::Reply { .. })
}

/// What is wanted before anything happened.
pub(crate) fn begin(state: &State) -> Vec<Effect> {
    let mut effects = vec![Effect::Load(Load::Teams)];
    effects.extend(state.team.clone().map(|team| Effect::Load(Load::Team(team))));
    effects.extend(loaded::reload_mail(state));
    effects
}

fn on_key(state: &mut State, key: Key) -> Vec<Effect> {
    let place = state.place();
    if let Some(action) = keys::action(place, key) {
        return actions::take(state, action);
    }
    writing::key(state, key);
    Vec::new()
}

fn on_tick(state: &mut State, now: Stamp) -> Vec<Effect> {
    state.now = now;
    if state.notice.as_ref().is_some_and(|notice| now.as_millis() - notice.at.as_millis() > NOTICE) {
        state.notice = None;
    }
    let looked = state.known().map(|known| known.picture.as_of.as_millis());
    let is_old = looked.is_some_and(|at| now.as_millis() - at >= LOOK_AGAIN);
    match &state.team {
        Some(team) if is_old => vec![Effect::Load(Load::Team(team.clone()))],
        _ => Vec::new(),
    }
}

fn on_news(state: &mut State, events: Vec<EventView>) -> Vec<Effect> {
    let mut effects: Vec<Effect> = Vec::new();
    let mut want = |load: Load| {
        let effect = Effect::Load(load);
        if !effects.contains(&effect) {
            effects.push(effect);
        }
    };
    let mut is_reset = false;
    for event in &events {
        is_reset |= event.what == Happening::Reset;
        let row = state.team_rows().iter().find(|row| row.name.as_str() == event.team);
        match row {
            Some(row) => want(Load::Team(row.name.clone())),
            // One that came meanwhile.
            None => want(Load::Teams),
        }
        let is_listed = state.mail.of.words.is_some()
            || state.mail.of.team.as_ref().is_some_and(|team| team.as_str() == event.team);
        if is_listed && is_about_mail(&event.what) {
            want(Load::Mail(state.mail.of.clone()));
        }
        if concerns(&event.what, &state.message.id)
            && let Some((team, id)) = loaded::shown_message(state)
        {
            want(Load::Message(team, id));
        }
    }
    if state.log_back > 0 {
        state.log_back = state.log_back.saturating_add(events.len());
    }
    state.log.extend(events);
    let surplus = state.log.len().saturating_sub(LOG);
    state.log.drain(..surplus);
    state.log_back = state.log_back.min(state.log.len().saturating_sub(1));
    if is_reset {
        let words = "the ledger is another one: what it knew is gone, the files are read again";
        notice(state, words.to_owned(), None, true);
        effects.push(Effect::Load(Load::Teams));
    }
    effects
}

/// Whether messages look different after it.
fn is_about_mail(what: &Happening) -> bool {
    matches!(
        what,
        Happening::Message { .. } | Happening::Stage { .. } | Happening::Team { .. } | Happening::Reset
    )
}

/// Whether it is about the message of this id.
fn concerns(what: &Happening, shown: &str) -> bool {
    match what {
        Happening::Message { id, .. } | Happening::Stage { id, .. } | Happening::Note { id, .. } => {
            id == shown
        }
        Happening::Reset => true,
        _ => false,
    }
}

fn on_followed(state: &mut State, link: Result<(), Trouble>) -> Vec<Effect> {
    let was_lost = matches!(state.link, Link::Lost(..));
    match link {
        Ok(()) => {
            state.link = Link::Live;
            if was_lost {
                notice(state, "the ledger can be read again".to_owned(), None, false);
                let mut effects = vec![Effect::Load(Load::Teams)];
                effects.extend(state.team.clone().map(|team| Effect::Load(Load::Team(team))));
                effects.extend(loaded::reload_mail(state));
                return effects;
            }
        }
        Err(trouble) => match &mut state.link {
            Link::Lost(why, _) => *why = trouble,
            link => *link = Link::Lost(trouble, state.now),
        },
    }
    Vec::new()
}

fn notice(state: &mut State, words: String, command: Option<String>, is_bad: bool) {
    state.notice = Some(Notice { words, command, is_bad, at: state.now });
}

/// Says that something went wrong.
fn complain(state: &mut State, trouble: &Trouble, command: Option<String>) {
    let hint = trouble.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    notice(state, format!("{}{hint}", trouble.what), command, true);
}
