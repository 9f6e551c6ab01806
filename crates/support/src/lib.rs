//! What every crate's tests stand on: a throw-away world of files, and the other programs that write them.
//!
//! [`TestEnv`] is one temp folder with a root, a state and a home of its own; nothing of the user's is seen or touched.
//! [`Foreign`] runs the test doubles in `foreign/` as real processes, with their own locks and their own bugs.
//! [`SessionDouble`] is a session of Claude Code with its registry entry, socket and transcript.
//! [`wait_until`] takes the place of every sleep.
#![expect(clippy::missing_panics_doc, reason = "a helper that fails is a test that fails")]

mod env;
mod fixtures;
mod foreign;
pub mod picture;
mod session;
mod team;
mod wait;

pub use env::TestEnv;
pub use fixtures::{client_fixtures, client_inboxes, draft, drafts};
pub use foreign::{Foreign, Running, Said};
pub use session::{Inbound, SessionDouble};
pub use team::TestTeam;
pub use wait::{wait_until, wait_until_visible};
