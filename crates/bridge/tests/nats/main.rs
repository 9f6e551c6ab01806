//! The bridge as processes, with a real server: machines are separate roots, each with its own ledger.

mod commands;
mod crossing;
mod permissions;
mod refused;
mod server;
mod troubles;
mod world;
