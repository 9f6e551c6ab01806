//! The daemon: the same rules as every command, with a clock and eyes.
//!
//! It owns no state that is not on disk. It watches all teams below a root, looks at those in which something changed, so
//! that what clients do is recorded before they undo it, judges who is there, and runs the chores when they are due. Every
//! command works the same without it, beside it, and beside one that hangs.
//!
//! [`schedule`] decides what to do next, as a pure function of what happened; [`Daemon::run`] is the loop around it.

mod concerned;
pub mod control;
mod daemon;
mod deaths;
mod error;
pub mod journal;
mod last;
mod lock;
mod machine;
mod panics;
pub mod peers;
mod program;
mod registry;
mod run;
pub mod schedule;
mod settings;
mod status;
mod supervise;
mod visit;
mod watching;
mod workers;

pub use atm_store::Holder;
pub use daemon::{Chores, Daemon, Ended, Settings};
pub use error::DaemonError;
pub use last::{LastRun, Stopped};
pub use lock::holder;
pub use panics::{Panic, begin_again};
pub use settings::SettingsFiles;
pub use status::{Check, Status, Trouble};
pub use supervise::Supervised;
