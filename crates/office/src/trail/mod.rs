//! What became of each message: looks at files and transcripts, the rules that judge them, and the answers made from them.

pub mod archived;
pub mod care;
pub mod complete;
pub(crate) mod effects;
pub mod history;
pub(crate) mod intake;
pub(crate) mod judge;
pub mod pending;
pub(crate) mod putback;
pub(crate) mod reconcile;
pub mod track;
pub(crate) mod transcript;
