//! Teams, their members, who leads and who is there.

pub(crate) mod agents;
pub mod alias;
pub mod dismiss;
pub mod join;
pub mod lead;
pub mod members;
pub mod nearest;
pub mod presence;
pub mod probe;
pub mod process;
pub mod teams;
