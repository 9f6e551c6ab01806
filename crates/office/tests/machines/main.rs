//! One team over several machines, without a network: offices with roots and states of their own, and a bridge that is a
//! few calls in a row. Whatever it repeats or leaves out, each letter is in its inbox once, and its receipts come home.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod authority;
mod carrying;
mod collecting;
mod durable;
mod homes;
mod moving;
mod names;
mod outsiders;
mod peers;
mod receipts;
mod stopping;
mod waiting;
mod world;
