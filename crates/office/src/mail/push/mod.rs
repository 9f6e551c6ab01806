//! Push: new mail enters a session's conversation as it comes, through the socket that its client hands to its children.
//!
//! Several letters go into one frame, each with its id. The frame's event lists them before it is given to the client; the
//! client keeps the frame's id beside the text, so one entry of the conversation proves exactly these letters. `pace` keeps
//! within the client's limits, the budget of a turn bounds what a turn is given, and `fate` says when a frame that is not
//! shown is lost. `channel` says which letters push may offer and which a hook, `settle` what became of frames; both are kept in
//! the note on the conversation, so that any number of processes, servers and hooks, act on the same.
//!
//! Only the mailboxes of sessions are pushed to. The client of a team's member looks into its inbox itself.

mod channel;
mod evidence;
mod fate;
mod pace;
mod plan;
mod pusher;
mod session;
mod settle;
mod text;
mod watched;

/// Who it was that held a frame, in the evidence: the program that undid a letter has another name.
pub(crate) const CLIENT: &str = "its client";

pub(crate) use channel::{Channels, is_pushable};
pub(crate) use fate::{Doing, Moment};
pub use pace::{Limits, Pace};
pub use session::Push;
