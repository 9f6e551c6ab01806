//! Writing: letters, and answers to questions.

use atm_wire::TeamName;

use crate::edit::Edit;
use crate::event::{Act, Deed, Effect, MailKey, Trouble};
use crate::keys::Key;
use crate::state::{Ask, Compose, Dialog, Field, Mail, State, Tab};

use super::actions::perform;
use super::complain;
use super::loaded::list_mail;

/// Opens a letter; one that was left before, if it is for the same.
pub(super) fn compose(state: &mut State, team: TeamName, to: &str, reply_to: Option<String>) {
    let left = state.draft.take().filter(|draft| {
        draft.team == team && draft.reply_to == reply_to && (draft.to.text() == to || to.is_empty())
    });
    let field = if to.is_empty() { Field::To } else { Field::Text };
    state.dialog = Some(Dialog::Compose(left.unwrap_or_else(|| Compose {
        team,
        to: Edit::line(to),
        text: Edit::new(""),
        reply_to,
        field,
    })));
}

/// A key that has no other meaning here.
pub(super) fn key(state: &mut State, key: Key) {
    if let Some(edit) = edit(state) {
        edit.key(key);
    }
}

/// Text that was pasted.
pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(edit) = edit(state) {
        edit.insert(text);
    }
}

fn edit(state: &mut State) -> Option<&mut Edit> {
    match state.dialog.as_mut()? {
        Dialog::Compose(compose) => {
            Some(if compose.field == Field::To { &mut compose.to } else { &mut compose.text })
        }
        Dialog::Prompt(_, edit) => Some(edit),
        _ => None,
    }
}

/// From the recipient to the text, and back. Whom an answer is for is not chosen.
pub(super) fn next_field(state: &mut State) {
    if let Some(Dialog::Compose(compose)) = &mut state.dialog
        && compose.reply_to.is_none()
    {
        compose.field = if compose.field == Field::To { Field::Text } else { Field::To };
    }
}

/// The letter as the editor left it.
pub(super) fn edited(state: &mut State, text: &str) {
    if let Some(Dialog::Compose(compose)) = &mut state.dialog {
        compose.text = Edit::new(text.trim_end());
        compose.field = Field::Text;
    }
}

/// What sending the letter would be.
pub(crate) fn act_of(compose: &Compose) -> Act {
    let (to, text) = (compose.to.text().trim().to_owned(), compose.text.text());
    let deed = match &compose.reply_to {
        Some(id) => Deed::Reply { id: id.clone(), text },
        None => Deed::Send { to, text },
    };
    Act { team: compose.team.clone(), deed }
}

pub(super) fn send(state: &mut State) -> Vec<Effect> {
    let Some(Dialog::Compose(compose)) = &state.dialog else { return Vec::new() };
    let missing = if compose.to.is_blank() {
        Some("to whom? the letter has no recipient")
    } else if compose.text.is_blank() {
        Some("the letter has no text")
    } else {
        None
    };
    if let Some(what) = missing {
        complain(state, &Trouble { what: what.to_owned(), hint: None }, None);
        return Vec::new();
    }
    let act = act_of(compose);
    // Until it is sent, it is kept: an error shows it again.
    state.draft = Some(compose.clone());
    state.dialog = None;
    perform(state, act)
}

/// Leaves a dialog; a letter is kept.
pub(super) fn leave(state: &mut State) {
    if let Some(Dialog::Compose(compose)) = state.dialog.take()
        && !compose.text.is_blank()
    {
        state.draft = Some(compose);
    }
}

/// Takes the answer to a question.
pub(super) fn accept(state: &mut State) -> Vec<Effect> {
    let Some(Dialog::Prompt(ask, edit)) = state.dialog.take() else { return Vec::new() };
    let answer = edit.text().trim().to_owned();
    if ask == Ask::Search {
        return search(state, answer);
    }
    let Some(team) = state.team.clone() else { return Vec::new() };
    let is_needed = matches!(ask, Ask::Reject(_) | Ask::RejectShutdown(_) | Ask::Assign(_));
    if is_needed && answer.is_empty() {
        complain(
            state,
            &Trouble { what: "nothing was said, so nothing was done".to_owned(), hint: None },
            None,
        );
        return Vec::new();
    }
    let deed = match ask {
        Ask::Reject(request) => Deed::Reject { request, feedback: answer },
        Ask::RejectShutdown(request) => Deed::RejectShutdown { request, reason: answer },
        Ask::Shutdown(name) => {
            // What ends a member is asked once more, with the command that it is.
            let deed = Deed::Shutdown { name, reason: answer };
            state.dialog = Some(Dialog::Confirm(Act { team, deed }));
            return Vec::new();
        }
        Ask::Assign(task) => Deed::Assign { task, to: answer },
        Ask::Search => return Vec::new(),
    };
    perform(state, Act { team, deed })
}

/// Lists what has these words; without words, what was listed before.
pub(super) fn search(state: &mut State, words: String) -> Vec<Effect> {
    state.tab = Tab::Mail;
    state.focus = crate::keys::Place::Mail;
    let of = MailKey { words: (!words.is_empty()).then_some(words), ..state.mail.of.clone() };
    state.mail = Mail { of, ..Mail::default() };
    list_mail(state)
}
