//! Sessions as mailboxes: every session of a client can be written to, whether it belongs to a team or not.
//!
//! A mailbox is a folder that sessions work in. Mail for it is in our own team [`TEAM`], which nobody has to create: it goes
//! to the session that works there now or, if none does, to the first that takes a turn there later. Where several sessions
//! work in one folder, a letter names the one that it is for; should that one end, the others may have it.
//!
//! Which sessions there are is known from what hooks and servers of ours noted when a client called them (`register`) and
//! from the client's own registry, which is only read.

mod address;
mod alias;
mod asker;
mod conversations;
mod forget;
mod here;
mod list;
mod mailbox;
pub mod peers;
mod portion;
mod register;
mod route;
mod tail;
mod take;
mod unread;
mod waiting;

use atm_wire::TeamName;

pub use address::{Destination, short_id};
pub(crate) use forget::{Noted, forgettable};
pub(crate) use list::Live;
pub use list::SessionView;
pub(crate) use portion::{Portion, Share};
pub use register::Arrival;
pub(crate) use register::Registered;
pub use route::{FindSession, Recipient, Route, Sender};
pub(crate) use take::is_for_another;
pub use waiting::WaitingSession;

/// The team of all mailboxes that are folders.
pub const TEAM: &str = "sessions";

/// Whom its name is kept for.
pub(crate) const MAILBOXES: &str = "the mailboxes of sessions";

/// Its name.
#[expect(clippy::missing_panics_doc, reason = "a constant that a test parses")]
pub fn team_name() -> TeamName {
    TeamName::parse(TEAM).expect("a constant that is fit to be a name")
}

/// Whether a team is that of sessions.
pub fn is_team(team: &TeamName) -> bool {
    team.as_str() == TEAM
}

#[cfg(test)]
mod tests;
