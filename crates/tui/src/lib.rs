//! The terminal UI: teams, members, mail with its stages, tasks, what needs a look, and what happens, live.
//!
//! A front: it renders the office's views and calls the same functions as the commands; no rule of mail is here. Three parts:
//!
//! - `update` is a pure function from a state and an event to the next state and the effects that are wanted;
//! - `draw` is a pure function from a state to a screen;
//! - [`run`] is the rest: the terminal, the thread that reads keys, the threads that carry out effects with the office, and the
//!   one that follows the ledger's events.
//!
//! The keys are one table, `keys`, from which keys are looked up, hints are made, and the help is written.

mod command;
mod draw;
mod edit;
mod event;
mod keys;
mod layout;
mod live;
mod need;
mod run;
mod screen;
mod settings;
mod state;
mod text;
mod theme;
mod update;
mod worker;

pub use run::{Ended, UiError, run};
pub use screen::restore;
pub use settings::Settings;
pub use theme::Theme;

#[cfg(test)]
mod tests;
