//! A deterministic simulation: the bridge's engine over a network, a server, clocks and crashes that follow from a seed.
//!
//! A failure names its seed; `ATM_SIM_SEED=N cargo test -p atm-bridge --test it sim` runs that one alone.

pub(crate) mod ledger;
mod moves;
pub(crate) mod random;
mod stream;
mod troubles;
mod world;

use std::panic;

use world::World;

const SEEDS: u64 = 1_000;

fn run(seed: u64) {
    let mut world = World::new(seed);
    world.run();
    world.check();
    world.check_moves();
}

/// Every accepted letter ends exactly once in the right file, in order, and its receipts come home.
#[test]
fn a_thousand_schedules_of_loss_delay_duplication_and_crashes() {
    if let Ok(seed) = std::env::var("ATM_SIM_SEED") {
        return run(seed.parse().expect("a number"));
    }
    let failed: Vec<u64> = (0..SEEDS).filter(|&seed| panic::catch_unwind(|| run(seed)).is_err()).collect();
    assert!(failed.is_empty(), "{} seeds failed: ATM_SIM_SEED={}", failed.len(), failed[0]);
}
