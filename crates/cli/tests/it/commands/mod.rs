//! Every command as a new user would type it, with all that it says.

mod completing;
mod config;
mod errors;
mod examples;
mod help;
mod history;
mod inbox;
mod many;
mod members;
mod programs;
mod read;
mod reply;
mod send;
mod setting_up;
mod status;
mod teams;
mod watch;
