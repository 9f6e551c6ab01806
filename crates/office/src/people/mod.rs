//! Teams, their members, who leads and who is there.

pub mod alias;
pub mod dismiss;
pub mod join;
pub mod lead;
pub mod members;
pub mod nearest;
pub mod presence;
pub mod process;
pub mod teams;
