//! What needs a person or waits, one row each.

use atm_office::protocol::plan::PlanView;
use atm_office::sessions::WaitingSession;
use atm_office::trail::pending::Waiting;
use atm_office::view::mute::{Mute, Muted};
use atm_office::view::{Attention, MessageView};

/// Something that needs a person, waits, or is muted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Need<'a> {
    /// A plan that nobody has decided.
    Plan(&'a PlanView),
    /// Unread mail for the one who looks.
    ForYou(&'a MessageView),
    /// What somebody should look at.
    Look(&'a Attention),
    /// A session beside the team that waits for its user.
    Session(&'a WaitingSession),
    /// What waits as it should.
    Waits(&'a Waiting),
    /// What is left out for a while.
    Muted(&'a Mute),
}

impl Need<'_> {
    /// The message that it is about.
    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Plan(plan) => Some(&plan.id),
            Self::ForYou(message) => Some(&message.id),
            Self::Look(attention) => attention.message.as_deref(),
            Self::Session(_) => None,
            Self::Waits(waiting) => Some(&waiting.message.id),
            Self::Muted(mute) => (mute.kind == Muted::Message).then_some(&mute.what),
        }
    }

    /// Whom it is about.
    pub(crate) fn who(&self) -> Option<&str> {
        match self {
            Self::Plan(plan) => Some(&plan.from),
            Self::ForYou(message) => Some(&message.from),
            Self::Look(attention) => attention.who.as_deref(),
            // It is no member of the team that actions are in.
            Self::Session(_) => None,
            Self::Waits(waiting) => Some(&waiting.message.to),
            Self::Muted(mute) => (mute.kind == Muted::Member).then_some(&mute.what),
        }
    }

    /// What a person would mute to hear no more of it.
    pub(crate) fn subject(&self) -> Option<(Muted, &str)> {
        match self {
            Self::Look(attention) => attention.subject(),
            Self::Muted(mute) => Some((mute.kind, &mute.what)),
            other => other.message().map(|id| (Muted::Message, id)),
        }
    }
}
