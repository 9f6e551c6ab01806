//! The rules of mail: teams and members, sending, looking, reading, waiting.
//!
//! Every front (the command line, servers, hooks) parses its input, calls the [`Office`] and shows the answer; what is
//! allowed and what happens is decided here, once. The office never prints, never reads the environment, and gets
//! its clock as an argument.

pub mod ack;
pub mod alias;
pub mod archive;
mod archived;
pub mod artifacts;
pub mod backup;
mod books;
pub mod broadcast;
pub mod clock;
pub mod dismiss;
pub mod doctor;
mod effects;
pub mod error;
pub mod export;
pub mod health;
pub mod history;
pub mod hook;
pub mod import;
pub mod inbox;
pub mod join;
pub mod members;
pub mod merge;
pub mod nearest;
pub mod office;
mod outbox;
pub mod pane;
pub mod pending;
pub mod phantoms;
pub mod presence;
mod process;
pub mod protocol;
pub mod read;
mod reconcile;
pub mod repair;
pub mod reply;
pub mod request;
pub mod retry;
pub mod send;
pub mod spawn;
pub mod summary;
mod tag;
pub mod tasks;
pub mod teams;
pub mod track;
mod transcript;
mod underway;
pub mod upkeep;
pub mod validate;
pub mod view;
pub mod watch;

pub use error::{ExitCode, OfficeError};
pub use office::Office;
pub use underway::abandon;
