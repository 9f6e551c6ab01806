//! Members in tmux: they are started in panes, shown, and ended.
//!
//! The rules of mail are the office's. It asks about panes through the trait
//! [`PaneHost`](atm_office::people::pane::PaneHost), which [`Tmux`] implements: a front gives it to its office with
//! [`with_panes`](atm_office::Office::with_panes). The verbs are functions over a [`Team`](atm_office::Team), one file each.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (root, state) = ("root", "state");
//! use atm_office::Office;
//! use atm_panes::{SpawnPlan, Tmux, kill, spawn};
//! use atm_store::{Root, State};
//!
//! let office = Office::new(Root::new(root), State::new(state)).with_panes(Tmux::default());
//! let mut team = office.team(&"demo".parse()?)?;
//! let started = spawn(&mut team, &SpawnPlan::new("bob", &["sh"]))?;
//! kill(&mut team, &started.name)?;
//! # Ok(())
//! # }
//! ```

mod backend;
mod dismiss;
mod kill;
mod screen;
mod spawn;
mod tmux;

pub use backend::{Backend, PaneSpec, Place, Program, backend};
pub use dismiss::{Dismissed, dismiss};
pub use kill::{Killed, kill};
pub use screen::{Peek, pane_to_show, screen};
pub use spawn::{SpawnPlan, Started, check_backend, respawn, spawn};
pub use tmux::{Server, Tmux};
