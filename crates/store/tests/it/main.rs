//! The store as its users see it: real files, other programs beside it, processes that die.
//!
//! One binary, because each would be linked on its own.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]
#![allow(clippy::disallowed_methods, reason = "tests prepare and look at files directly")]

mod append;
mod archive;
mod archive_beside_others;
mod archive_parts;
mod backup;
mod backup_hostile;
mod bad_content;
mod beside_others;
mod child;
mod config;
mod death;
mod large;
mod locks;
mod log;
mod log_recipes;
mod log_rotation;
mod marks;
mod properties;
mod readers;
mod recall;
mod scene;
mod take_back;
mod tasks;
mod torn_writer;
mod witnesses;
