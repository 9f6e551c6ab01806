//! The dashboard: an HTTP API and a live web page over the office.
//!
//! A front like the command line: it parses, calls the office in a thread of its own, and renders. [`serve`] listens, lets in
//! who has the token (`guard`) and answers by two routers: `api` for programs, `page` for people. Events come from the
//! log by cursor (`feed`); nothing is kept in memory that a restart would lose.

mod api;
mod app;
mod feed;
mod finish;
mod guard;
mod limits;
mod metrics;
mod page;
mod problem;
mod serve;
mod session;
mod settings;

pub use serve::{Listening, serve};
pub use settings::Settings;
