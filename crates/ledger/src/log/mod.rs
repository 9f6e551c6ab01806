//! `log.db`: what happened, in order, and what decisions rest on. All else is made from it.

pub(crate) mod append;
pub(crate) mod equals;
pub(crate) mod event;
pub(crate) mod feed;
pub(crate) mod schema;
