//! The command line as its users see it: the real binary, real files, and other programs beside it.
//!
//! One binary, because each would be linked on its own.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod access;
mod answers;
mod archive;
mod backup;
mod choosing_a_team;
mod chores;
mod closed_pipe;
mod closed_streams;
mod commands;
mod completion;
mod convert;
mod crowd;
mod daemon;
mod demo;
mod disk;
mod doctor;
mod hidden_text;
mod hooks;
mod hostile_text;
mod install;
mod interrupt;
mod json_shapes;
mod kill;
mod large_inbox;
mod ledger;
mod leftovers;
mod limits;
mod links;
mod locks;
mod looking;
mod mcp;
mod mending_teams;
mod migrate;
mod newcomer;
mod once;
mod opens;
mod panes;
mod partly;
mod picture;
mod protocol;
mod readme;
mod scene;
mod schema;
mod story;
mod tasks;
mod terminal;
mod trust;
mod two_readers;
mod upkeep;
mod validate;
mod wake;
mod waking;
mod wrong_names;
