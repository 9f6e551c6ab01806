//! Mail itself: what a caller wants sent, how it is delivered, read, answered and acknowledged.

pub mod ack;
pub(crate) mod address;
mod backlog;
pub mod broadcast;
pub(crate) mod deliver;
pub(crate) mod derived;
pub(crate) mod digest;
pub(crate) mod equals;
pub mod first_words;
pub mod hook;
pub mod inbox;
pub(crate) mod outbox;
pub mod pages;
pub mod partly;
pub mod push;
pub mod read;
pub mod recall;
pub mod reply;
pub mod request;
pub mod send;
pub mod summary;
pub(crate) mod tag;
pub(crate) mod underway;
