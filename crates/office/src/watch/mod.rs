//! Waiting: for mail as it comes, and for anything that changes in teams. Watching consumes nothing.

mod hub;
mod stream;

pub use hub::{Change, Hub, TeamsWatch, Wake};
pub use stream::MailStream;
