//! What fronts show: one picture of a team, and a message in its `--json` shape.

mod attention;
mod files;
mod message;
pub mod mute;
mod picture;
mod words;

pub use attention::{Attention, Reason, Remedy};
pub(crate) use files::add_files;
pub use files::{NamedFile, Unchecked, Viewer};
pub use message::{Extra, Kind, MessageView};
pub use picture::{TaskCounts, TeamPicture};
pub use words::gist;
