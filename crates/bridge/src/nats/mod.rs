//! The server, by the client library: thin effects without decisions.

pub mod bounds;
mod bucket;
pub mod connect;
pub mod doctor;
pub mod entries;
mod kept;
mod link;
mod names;
mod objects;
pub mod places;
pub mod setup;
mod words;

pub use bucket::{Bucket, Set, Standing};
pub use connect::{Obstacle, Options, Word, connect};
pub use link::{Arrived, DeadLetter, Fetched, Lag, Link, Stored};
pub use names::Names;
pub use objects::Brought;

/// The server could not do it.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// No connection.
    #[error("no connection to {url}: {why}")]
    Connect {
        /// Where to.
        url: String,
        /// What stands in the way.
        obstacle: Obstacle,
        /// Why not.
        why: String,
    },
    /// Not the address of a server.
    #[error("{url} is not the address of a server: {why}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// An old server.
    #[error("nats-server {version} is too old: 2.11 or newer is needed")]
    TooOld {
        /// Which one it is.
        version: String,
    },
    /// A file for the connection cannot be used.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// Something that `init` makes is not there, or may not be used.
    #[error("{what}: {why}")]
    Missing {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// A request failed.
    #[error("cannot {doing}: {why}")]
    Request {
        /// What was wanted.
        doing: &'static str,
        /// Why not.
        why: String,
    },
    /// The server answered that it did not do it: nothing is changed.
    #[error("cannot {doing}: {why}")]
    Refused {
        /// What was wanted.
        doing: &'static str,
        /// Why not.
        why: String,
    },
}

impl NatsError {
    pub(crate) fn request(doing: &'static str) -> impl Fn(&dyn std::fmt::Display) -> Self {
        move |why| Self::Request { doing, why: why.to_string() }
    }
}
