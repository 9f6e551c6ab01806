//! The bridge as processes, with a real server: machines are separate roots, each with its own ledger.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod access;
mod answers;
mod backlog;
mod cluster;
mod commands;
mod credentials;
mod crossing;
mod dead;
mod gone;
mod guide;
mod held;
mod limits;
mod moving;
mod namesakes;
mod permissions;
mod presence;
mod refused;
mod schema;
mod server;
mod sharing;
mod surface;
mod task_homes;
mod tasks;
mod troubles;
mod world;
