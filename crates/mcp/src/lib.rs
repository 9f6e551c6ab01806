//! The MCP server: a team's mail and tasks as tools of any agent client.
//!
//! [`Server`] is the service; what carries it is apart from it ([`stdio`], and `http`). Every tool parses its arguments, calls
//! the office in a thread of its own, and shapes the answer; rules are the office's. Names and shapes of the first
//! fourteen tools are those of the Python server `claude-teams`, so that its users change a command and
//! nothing else.

mod answer;
mod arguments;
mod calls;
mod desk;
mod handover;
mod hint;
#[cfg(feature = "http")]
pub mod http;
mod page;
mod prompts;
mod resources;
mod server;
mod settings;
mod squeeze;
pub mod stdio;
mod subscriptions;
mod tools;
mod trouble;
mod words;

pub use server::Server;
pub use settings::{Profile, Settings, Spawning};
