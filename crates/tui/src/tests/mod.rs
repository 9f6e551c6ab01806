//! The two pure halves: what an event does to the state, and what a state looks like.

mod fixture;
mod screens;
mod updates;
