//! Teams, their members, who leads and who is there.

pub(crate) mod agents;
pub mod alias;
pub mod ancestry;
pub mod dismiss;
pub mod exits;
pub mod join;
pub mod lead;
pub mod members;
pub mod nearest;
pub mod pane;
pub mod presence;
pub mod probe;
pub mod process;
pub mod removal;
pub mod sender;
pub mod several;
pub mod spawn_error;
pub mod teams;
