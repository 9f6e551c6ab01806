//! Every operation of upkeep fails once, in every way; then the answer is compared with the truth.
//!
//! The harness is the one of the office's own tests.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]
#![allow(dead_code, reason = "the harness also serves tests that are not here")]

#[path = "../../../office/tests/faults/cases.rs"]
mod cases;
#[path = "../../../office/tests/faults/checks.rs"]
mod checks;
#[path = "../../../office/tests/faults/plan.rs"]
mod plan;
#[path = "../../../office/tests/faults/power.rs"]
mod power;
#[path = "../../../office/tests/faults/recorder.rs"]
mod recorder;
#[path = "../../../office/tests/faults/world.rs"]
mod world;

mod archive;
mod convert;
mod restore;
