//! The tasks of shared teams: the bucket, which all machines have, and the files of this one, kept the same.
//!
//! | module | is |
//! |---|---|
//! | [`mirror`] | the state machine: what to put into the bucket, what to write into files; what a claim gets |
//! | [`entries`] | the bucket, as the mirror sees it, and the trait that stands for it |
//! | [`files`] | the task files, the same way |
//! | [`memory`] | what is remembered of both across restarts |
//!
//! [`mirror::Mirror`] has no network, clock, file or thread: these are behind the traits, so that the simulation runs the
//! same code. Nothing that it remembers is needed for what is promised of claims, except that a machine puts its claims
//! again into a bucket that was made anew.

pub mod entries;
pub mod files;
mod given_up;
pub mod memory;
pub mod mirror;
mod numbers;
mod reach;
mod renumber;
pub mod request;
mod settle;
