//! What is on disk: the formats of agent teams, as the programs that share them write them.
//!
//! Nothing here touches a file or a clock. Reading is lenient (every dialect that real programs write is
//! understood) and lossless (edits are spliced into the original bytes, so unknown keys, key order and number
//! spelling survive). What we create ourselves is strict.

pub mod archive;
pub mod artifact;
pub mod backup;
pub mod brief;
pub mod color;
pub mod count;
pub mod cursor;
pub mod json;
pub mod lint;
pub mod machine;
pub mod message;
pub mod metadata;
pub mod migrate;
pub mod name;
pub mod payload;
pub mod schema;
pub mod stamp;
pub mod status;
pub mod task;
pub mod team;
pub mod visible;

pub use artifact::ArtifactName;
pub use color::Color;
pub use count::counted;
pub use machine::MachineName;
pub use message::{Draft, Message};
pub use name::{Address, MemberName, NameError, TeamName};
pub use stamp::Stamp;
