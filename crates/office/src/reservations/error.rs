//! What is refused about reservations.

use std::path::PathBuf;

use atm_wire::Stamp;

use super::ReservationView;
use crate::error::ErrorKind;
use crate::hint::Hint;

/// Why something does not happen to a reservation.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReservationError {
    /// Somebody else has reserved it, or a part of it.
    #[error("{}", held(by))]
    Held {
        /// The path that was wanted.
        path: String,
        /// The reservations in the way; never empty.
        by: Vec<ReservationView>,
    },
    /// There is no such reservation of who asks.
    #[error("{holder} has reserved nothing at {path:?}")]
    NotReserved {
        /// Who asked.
        holder: String,
        /// The path that was named.
        path: String,
        /// The reservation of a folder that covers the path, if there is one.
        within: Option<String>,
    },
    /// Only its holder, the holder's lead or the person at the keyboard may release it.
    #[error("{} may not release {}, which is reserved by {} until {}", who, by.path, by.address(), by.until)]
    NotYours {
        /// Who tried.
        who: String,
        /// The reservation.
        by: Box<ReservationView>,
    },
    /// Paths are reserved from inside their tree.
    #[error("{path:?} is outside the working tree {}", tree.display())]
    Outside {
        /// What was asked for.
        path: String,
        /// The tree of who asks.
        tree: PathBuf,
    },
    /// What was given cannot be a path.
    #[error("{path:?} {why}")]
    BadPath {
        /// What was given.
        path: String,
        /// Why.
        why: &'static str,
    },
    /// There are as many as one tree may have.
    #[error("the working tree {} has {most} reservations already", tree.display())]
    TooMany {
        /// The tree.
        tree: PathBuf,
        /// The limit.
        most: usize,
    },
}

fn held(by: &[ReservationView]) -> String {
    let Some(first) = by.first() else { return String::new() };
    let reason = first.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let (path, holder, until): (_, _, Stamp) = (&first.path, first.address(), first.until);
    let more = match by.len() {
        0 | 1 => String::new(),
        2 => "; so is another path".to_owned(),
        more => format!("; so are {} other paths", more - 1),
    };
    format!("{path} is reserved by {holder} until {until}{reason}{more}")
}

impl ReservationError {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Held { .. } | Self::NotYours { .. } | Self::TooMany { .. } => ErrorKind::Refused,
            Self::NotReserved { .. } => ErrorKind::NotFound,
            Self::Outside { .. } | Self::BadPath { .. } => ErrorKind::Invalid,
        }
    }

    /// A short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Held { .. } => "path_reserved",
            Self::NotReserved { .. } => "not_reserved",
            Self::NotYours { .. } => "not_yours",
            Self::Outside { .. } => "outside_tree",
            Self::BadPath { .. } => "bad_path",
            Self::TooMany { .. } => "too_many_reservations",
        }
    }

    /// What may help.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Held { path, by } => {
                let holder = by.first().and_then(ReservationView::mail_address);
                Hint::AskHolder { holder, path: path.clone() }
            }
            Self::NotYours { by, .. } => Hint::AskHolder { holder: by.mail_address(), path: by.path.clone() },
            Self::NotReserved { within: Some(folder), .. } => Hint::ReleaseFolder { folder: folder.clone() },
            Self::NotReserved { .. } | Self::TooMany { .. } => Hint::ListReservations,
            Self::Outside { .. } => Hint::EnterTree,
            Self::BadPath { .. } => return None,
        })
    }
}
