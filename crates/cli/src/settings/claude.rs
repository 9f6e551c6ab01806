//! The table `[claude]`: what is not a public contract of Claude Code, and so has to be asked for.

use serde::Deserialize;

/// The table `[claude]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claude {
    /// Whether a daemon lists members and sessions of other clients in Claude Code's own list of agents.
    pub(super) native_peers: Option<bool>,
}
