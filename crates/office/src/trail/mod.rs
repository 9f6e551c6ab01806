//! What became of each message: looks at files and transcripts, the rules that judge them, and the answers made from them.

pub mod archived;
pub mod care;
pub(crate) mod closing;
pub mod complete;
pub(crate) mod effects;
mod flaws;
mod frame;
pub mod history;
mod incarnation;
pub(crate) mod intake;
pub mod look;
pub mod pending;
pub(crate) mod putback;
pub(crate) mod seen;
pub mod track;
pub(crate) mod transcript;
pub(crate) mod turns;
