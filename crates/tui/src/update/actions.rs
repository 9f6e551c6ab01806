//! What each action does.

use atm_ledger::Stage;
use atm_office::trail::history::Remembered;
use atm_wire::task::TaskId;

use crate::edit::Edit;
use crate::event::{Act, Deed, Effect, Load, Trouble};
use crate::keys::{Action, Place};
use crate::need::Need;
use crate::state::{Ask, Dialog, State, Tab};

use super::moves::{self, Move};
use super::{complain, loaded, writing};

/// So many rows are a page.
const PAGE: isize = 10;

/// Takes an action in the place that has the keys.
pub(super) fn take(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Help => state.dialog = Some(Dialog::Help(0)),
        Action::Close => return close(state),
        Action::Down => return moves::go(state, Move::By(1)),
        Action::Up => return moves::go(state, Move::By(-1)),
        Action::PageDown => return moves::go(state, Move::By(PAGE)),
        Action::PageUp => return moves::go(state, Move::By(-PAGE)),
        Action::First => return moves::go(state, Move::First),
        Action::Last => return moves::go(state, Move::Last),
        Action::Next => moves::focus(state, true),
        Action::Previous => moves::focus(state, false),
        Action::Open => return open(state),
        Action::Show(tab) => state.tab = tab,
        Action::Search => {
            let words = state.mail.of.words.clone().unwrap_or_default();
            state.dialog = Some(Dialog::Prompt(Ask::Search, Edit::line(&words)));
        }
        Action::Refresh => {
            let teams = state.team_rows().iter().map(|row| Effect::Load(Load::Team(row.name.clone())));
            let mut effects: Vec<Effect> = teams.collect();
            effects.push(Effect::Load(Load::Teams));
            effects.extend(loaded::reload_mail(state));
            return effects;
        }
        Action::Compose => {
            let Some(team) = state.team.clone() else { return no_team(state) };
            let to = state.meant_member().filter(|name| name != state.me.as_str()).unwrap_or_default();
            writing::compose(state, team, &to, None);
        }
        Action::Send => return writing::send(state),
        Action::Editor => {
            if let Some(Dialog::Compose(compose)) = &state.dialog {
                return vec![Effect::Edit(compose.text.text())];
            }
        }
        Action::NextField => writing::next_field(state),
        Action::Accept => return writing::accept(state),
        Action::Yes => {
            if let Some(Dialog::Confirm(act)) = state.dialog.take() {
                return perform(state, act);
            }
        }
        deed => return about(state, deed),
    }
    Vec::new()
}

/// An action about the message, the member or the task that is meant.
fn about(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(team) = state.team.clone() else { return no_team(state) };
    let message = state.meant_message();
    let member = state.meant_member();
    let of_member = |deed: fn(String) -> Deed| member.clone().map(deed);
    let of_message = |deed: fn(String) -> Deed| message.clone().map(|(_, id)| deed(id));
    let deed = match action {
        Action::Reply => return reply(state),
        Action::Mute => return mute(state),
        Action::Acknowledge => of_message(|id| Deed::Acknowledge { id }),
        Action::MarkRead => of_message(|id| Deed::MarkRead { id }),
        Action::Recall => of_message(|id| Deed::Recall { id }),
        Action::Wake => of_member(|name| Deed::Wake { name }),
        Action::Peek => of_member(|name| Deed::Peek { name }),
        Action::Attach => of_member(|name| Deed::Attach { name }),
        Action::Approve => decision(state).map(|(request, is_plan)| {
            if is_plan { Deed::Approve { request } } else { Deed::ApproveShutdown { request } }
        }),
        Action::Reject => {
            if let Some((request, is_plan)) = decision(state) {
                let ask = if is_plan { Ask::Reject(request) } else { Ask::RejectShutdown(request) };
                state.dialog = Some(Dialog::Prompt(ask, Edit::line("")));
                return Vec::new();
            }
            None
        }
        Action::Shutdown => {
            if let Some(name) = member {
                state.dialog = Some(Dialog::Prompt(Ask::Shutdown(name), Edit::line("")));
                return Vec::new();
            }
            None
        }
        Action::Assign => {
            if let Some(task) = state.meant_task() {
                let ask = Ask::Assign(task.id);
                state.dialog = Some(Dialog::Prompt(ask, Edit::line("")));
                return Vec::new();
            }
            None
        }
        Action::Release => meant_task(state).map(|task| Deed::Release { task }),
        _ => None,
    };
    let Some(deed) = deed.filter(|_| may(state, action)) else {
        let what = why_not(action).to_owned();
        complain(state, &Trouble { what, hint: None }, None);
        return Vec::new();
    };
    // A message that a search found may be another team's.
    let team = match (&deed, message) {
        (Deed::Acknowledge { .. } | Deed::MarkRead { .. } | Deed::Recall { .. }, Some((team, _))) => team,
        _ => team,
    };
    let act = Act { team, deed };
    if matches!(act.deed, Deed::Recall { .. } | Deed::Approve { .. } | Deed::ApproveShutdown { .. }) {
        state.dialog = Some(Dialog::Confirm(act));
        return Vec::new();
    }
    perform(state, act)
}

/// Begins what is to be done.
pub(super) fn perform(state: &mut State, act: Act) -> Vec<Effect> {
    state.busy = Some(crate::command::command(&act, &state.me, state.lead()));
    vec![Effect::Do(act)]
}

/// The task that is meant, on the board or in what needs somebody.
fn meant_task(state: &State) -> Option<TaskId> {
    match state.place() {
        Place::Tasks => state.meant_task().map(|task| task.id),
        _ => match state.needs().get(state.need)? {
            Need::Look(attention) => attention.task.as_ref()?.parse().ok(),
            _ => None,
        },
    }
}

/// The request that can be decided where the keys are, and whether it is a plan; a shutdown is for the one who is asked.
fn decision(state: &State) -> Option<(String, bool)> {
    if let Some(plan) = state.meant_plan() {
        return Some((plan.request.clone(), true));
    }
    let message = meant(state)?;
    let is_mine = message.to == state.me.as_str() && message.r#type == "shutdown_request";
    let payload: serde_json::Value = serde_json::from_str(&message.text).ok().filter(|_| is_mine)?;
    let request = payload.get("requestId").or_else(|| payload.get("request_id"))?.as_str()?;
    Some((request.to_owned(), false))
}

/// The listed message that is meant.
fn meant(state: &State) -> Option<&Remembered> {
    matches!(state.place(), Place::Mail | Place::Message).then(|| state.listed()).flatten()
}

/// Whether an action makes sense now: what does not is not hinted at, and says why when it is tried. What the office
/// refuses is for the office to say.
pub(crate) fn may(state: &State, action: Action) -> bool {
    let message = || meant(state);
    let is_mine = || {
        message().is_some_and(|message| message.to == state.me.as_str())
            || matches!(state.needs().get(state.need), Some(Need::ForYou(_)) if state.place() == Place::Needs)
    };
    match action {
        Action::Reply => state.meant_message().is_some(),
        Action::Mute => state.meant_subject().is_some(),
        Action::Acknowledge => is_mine(),
        Action::MarkRead => is_mine() && message().is_none_or(|message| message.stage < Stage::Seen),
        Action::Recall => {
            message().is_some_and(|message| message.from == state.me.as_str() && message.stage < Stage::Taken)
        }
        Action::Wake | Action::Peek | Action::Attach | Action::Shutdown => {
            let name = state.meant_member();
            name.is_some_and(|name| state.members().iter().any(|member| member.name == name))
        }
        Action::Approve | Action::Reject => decision(state).is_some(),
        Action::Assign => state.meant_task().is_some(),
        Action::Release => meant_task(state).is_some(),
        Action::NextField => {
            matches!(&state.dialog, Some(Dialog::Compose(compose)) if compose.reply_to.is_none())
        }
        _ => true,
    }
}

fn why_not(action: Action) -> &'static str {
    match action {
        Action::Acknowledge | Action::MarkRead => "this is no unread message of yours",
        Action::Recall => "only a message of yours that nobody took can be recalled",
        Action::Approve | Action::Reject => "there is no open plan here, nor a request to you",
        Action::Assign | Action::Release => "no task is meant",
        Action::Reply => "no message is meant",
        Action::Mute => "nothing that can be muted is meant",
        _ => "no member is meant",
    }
}

/// Answers the message that is meant, in its thread; writes to its sender if it was for somebody else.
fn reply(state: &mut State) -> Vec<Effect> {
    let Some((team, id)) = state.meant_message() else {
        complain(state, &Trouble { what: why_not(Action::Reply).to_owned(), hint: None }, None);
        return Vec::new();
    };
    let (from, is_mine) = match (meant(state), state.needs().get(state.need)) {
        (Some(message), _) => (message.from.clone(), message.to == state.me.as_str()),
        (None, Some(Need::ForYou(message))) => (message.from.clone(), true),
        (None, need) => (need.and_then(|need| need.who()).unwrap_or_default().to_owned(), false),
    };
    writing::compose(state, team, &from, is_mine.then_some(id));
    Vec::new()
}

/// Mutes what is meant, or ends its mute.
fn mute(state: &mut State) -> Vec<Effect> {
    let Some((team, kind, what)) = state.meant_subject() else {
        complain(state, &Trouble { what: why_not(Action::Mute).to_owned(), hint: None }, None);
        return Vec::new();
    };
    let is_muted = state.is_muted(&team, kind, &what);
    let deed = if is_muted { Deed::Unmute { kind, what } } else { Deed::Mute { kind, what } };
    perform(state, Act { team, deed })
}

fn no_team(state: &mut State) -> Vec<Effect> {
    let what = "there is no team yet".to_owned();
    complain(state, &Trouble { what, hint: Some("`atm team create NAME` makes one".to_owned()) }, None);
    Vec::new()
}

/// Out of a dialog, out of a search, or to the list before.
fn close(state: &mut State) -> Vec<Effect> {
    if state.dialog.is_some() {
        writing::leave(state);
    } else if state.tab != Tab::Mail {
        state.tab = Tab::Mail;
    } else if state.mail.of.words.is_some() {
        return writing::search(state, String::new());
    } else {
        state.focus = match state.focus {
            Place::Message => Place::Mail,
            Place::Mail => Place::Members,
            _ => Place::Teams,
        };
    }
    Vec::new()
}

/// Opens what is meant.
fn open(state: &mut State) -> Vec<Effect> {
    match state.place() {
        Place::Teams => state.focus = Place::Members,
        Place::Members => state.focus = Place::Mail,
        Place::Mail => state.focus = Place::Message,
        Place::Needs => return open_need(state),
        Place::Tasks => {
            if let Some(owner) = state.meant_task().and_then(|task| task.owner.clone()) {
                return show_member(state, Some(owner));
            }
        }
        _ => {}
    }
    Vec::new()
}

/// Shows the message that needs somebody, or the mail of the member that does.
fn open_need(state: &mut State) -> Vec<Effect> {
    let needs = state.needs();
    // A session beside the team has no mail here.
    let Some(need) = needs.get(state.need).filter(|need| !matches!(need, Need::Session(_))) else {
        return Vec::new();
    };
    let (id, who) = (need.message().map(ToOwned::to_owned), need.who().map(ToOwned::to_owned));
    match id {
        Some(id) => {
            let effects = show_member(state, None);
            moves::choose_message(state, &id);
            state.focus = Place::Message;
            effects.into_iter().chain(loaded::show_chosen(state)).collect()
        }
        None => show_member(state, who),
    }
}

/// The mail of a member, or of everybody.
fn show_member(state: &mut State, name: Option<String>) -> Vec<Effect> {
    state.tab = Tab::Mail;
    state.focus = Place::Mail;
    state.member = name;
    state.mail.of.words = None;
    loaded::list_mail(state)
}
