//! A deterministic simulation of shared tasks: three machines, their files, a bucket, and all that goes wrong, by a seed.
//!
//! A failure names its seed; `ATM_SIM_SEED=N cargo test -p atm-bridge --test it tasks` runs that one alone.

mod bucket;
mod disk;
mod world;

use std::panic;

use world::World;

const SEEDS: u64 = 300;

fn run(seed: u64) {
    let mut world = World::new(seed);
    world.run();
    world.check();
}

/// No claim is granted twice at a time, no task is lost, no number is given twice, and all machines end with the same files.
#[test]
fn a_thousand_schedules_of_claims_edits_partitions_crashes_and_lost_buckets() {
    if let Ok(seed) = std::env::var("ATM_SIM_SEED") {
        return run(seed.parse().expect("a number"));
    }
    let failed: Vec<u64> = (0..SEEDS).filter(|&seed| panic::catch_unwind(|| run(seed)).is_err()).collect();
    assert!(failed.is_empty(), "{} seeds failed: ATM_SIM_SEED={}", failed.len(), failed[0]);
}
