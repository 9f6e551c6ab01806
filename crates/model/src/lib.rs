//! A model of the way a message is committed, beside every other program that writes or reads the same inbox.
//!
//! [`state`] has the state and what can happen; [`ours`] and [`others`] have who does it, step by step; [`rules`] the decisions that are under test; [`properties`] what has to
//! be true in every state. `tests/holds.rs` explores what is built, `tests/rejected.rs` the rules that were rejected.

mod commit;
pub mod ids;
mod look;
pub mod others;
pub mod ours;
pub mod properties;
pub mod rules;
pub mod state;

pub use ids::{Entry, Id, Ids};
pub use rules::Rules;
pub use state::{Action, Commit, Setup, State};
