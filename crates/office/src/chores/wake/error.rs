//! Why a member is not woken.

use atm_wire::team::Manner;

use crate::error::ErrorKind;
use crate::hint::{Hint, name_in};

/// Why a member could not be woken.
#[derive(Debug, thiserror::Error)]
pub enum WakeError {
    /// Nothing says how.
    #[error("nothing says how to wake {who}")]
    NoWay {
        /// Who.
        who: String,
    },
    /// The way needs something that is not known.
    #[error("to wake {who} by {manner}, its {what} has to be known")]
    Unknown {
        /// Who.
        who: String,
        /// The way.
        manner: Manner,
        /// What is missing.
        what: &'static str,
    },
    /// It stands in a command line, so it has to be plain.
    #[error("the session {0:?} is none: letters, digits, `.`, `_` and `-`, at most 128, no `-` first")]
    BadSession(String),
    /// Nothing is sent to other machines.
    #[error("the server {0:?} is none on this machine: it is http://127.0.0.1:PORT")]
    BadServer(String),
    /// Nobody is woken who is awake.
    #[error("{who} is busy: {why}")]
    Busy {
        /// Who.
        who: String,
        /// With what.
        why: String,
    },
    /// The way would only store the line.
    #[error("no process has the conversation of {who} open: {way} would keep the line until one does")]
    NotOpen {
        /// Who.
        who: String,
        /// The way.
        way: &'static str,
    },
    /// It was tried, and failed.
    #[error("{who} could not be woken by {way}: {why}")]
    Failed {
        /// Who.
        who: String,
        /// By which way.
        way: &'static str,
        /// Why not.
        why: String,
    },
}

impl WakeError {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::BadSession(_) | Self::BadServer(_) => ErrorKind::Invalid,
            Self::NoWay { .. } | Self::Unknown { .. } | Self::Busy { .. } | Self::NotOpen { .. } => {
                ErrorKind::Refused
            }
            Self::Failed { .. } => ErrorKind::Io,
        }
    }

    /// A short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWay { .. } => "no_way",
            Self::Unknown { .. } => "not_known",
            Self::BadSession(_) => "bad_session",
            Self::BadServer(_) => "bad_server",
            Self::Busy { .. } => "busy_member",
            Self::NotOpen { .. } => "not_open",
            Self::Failed { .. } => "not_woken",
        }
    }

    /// What may help.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NoWay { who } => Hint::SetWake { name: name_in(who) },
            Self::Unknown { who, what, .. } => Hint::SetWakeDetail { name: name_in(who), what },
            Self::Busy { .. } => Hint::MailWaits,
            Self::NotOpen { who, .. } => Hint::QueueWake { name: name_in(who) },
            Self::Failed { .. } => Hint::WakeAgain,
            Self::BadSession(_) | Self::BadServer(_) => return None,
        })
    }
}
