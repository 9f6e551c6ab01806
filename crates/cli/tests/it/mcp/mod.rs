//! `atm mcp`: the real binary on its standard streams, as an agent client uses it.

pub(crate) mod client;
mod drop_in;
mod hidden;
mod hostile;
#[cfg(feature = "mcp-http")]
mod http;
#[cfg(feature = "mcp-http")]
mod http_delivery;
mod identity;
mod our_tools;
mod polling;
mod properties;
mod reservations;
mod resources;
mod scope;
mod sessions;
mod spawning;
mod transport;
