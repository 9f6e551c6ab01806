//! Waiting: for mail as it comes, for events as they are recorded, and for anything that changes in teams. Watching consumes nothing.

mod events;
mod hub;
mod stream;

pub use events::{EventStream, EventView, Happening, Since};
pub use hub::{Change, Hub, TeamsWatch, Wake};
pub use stream::MailStream;
