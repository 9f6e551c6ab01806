//! The agent clients: one module each, and the only list of them.
//!
//! A client's module answers, as a [`Profile`], everything that the rest of the program wants to know of it: how it is
//! recognised, which settings files it has and what of ours goes into them, how it is hooked, woken and started as a
//! member, and where its conversations are. Nothing here writes a file or decides about mail: what a settings file is to
//! become is computed, and written by the caller; what to run in order to wake a client is data, and whether it is run
//! is the office's decision.

pub mod check;
pub mod claude;
mod client;
mod codex;
pub mod command;
pub mod conversations;
mod cursor;
pub mod ear;
mod folders;
mod gemini;
pub mod hook;
pub mod http;
mod invocation;
pub mod launch;
mod opencode;
mod profile;
pub mod program;
mod qwen;
pub mod settings;
pub mod shell;
pub mod shown;
pub mod wake;

pub use client::{AgentClient, UnknownClient};
pub use command::CommandLine;
pub use folders::{Folders, Scope};
pub use invocation::Invocation;
pub use profile::{Plugin, PluginFile, Profile};
pub use shown::{Shape, Shown};
