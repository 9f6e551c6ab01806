//! Push: new mail enters a session's conversation as it comes, through the socket that its client hands to its children.
//!
//! Several letters go into one frame, each with its id. The frame's event lists them before it is given to the client; the
//! client keeps the frame's id beside the text, so one entry of the conversation proves exactly these letters. `pace` keeps
//! within the client's limits, the budget of a turn bounds what a turn is given, and `fate` says when a frame that is not
//! shown is lost. What is on its way by push is offered by no hook, and the other way round.
//!
//! Only the mailboxes of sessions are pushed to. The client of a team's member looks into its inbox itself.

mod fate;
mod pace;
mod plan;
mod pusher;
mod session;
mod text;

pub use pace::{Limits, Pace};
pub use session::Push;
