//! A deterministic simulation of shared tasks: three machines, their files, a bucket, and all that goes wrong, by a seed.
//!
//! A failure names its seed; `ATM_SIM_SEED=N cargo test -p atm-bridge --test it tasks` runs that one alone.

mod bucket;
mod disk;
mod world;

use std::panic;

use world::World;

const SEEDS: u64 = 200;

fn run(seed: u64) -> usize {
    let mut world = World::new(seed);
    world.run();
    world.check();
    world.granted
}

/// No claim is granted twice at a time, no task is lost, no number is given twice, and all machines end with the same files.
#[test]
fn hundreds_of_schedules_of_claims_edits_partitions_crashes_and_lost_buckets() {
    if let Ok(seed) = std::env::var("ATM_SIM_SEED") {
        run(seed.parse().expect("a number"));
        return;
    }
    let runs: Vec<Option<usize>> = (0..SEEDS).map(|seed| panic::catch_unwind(|| run(seed)).ok()).collect();
    let failed: Vec<usize> = (0..runs.len()).filter(|&seed| runs[seed].is_none()).collect();
    assert!(failed.is_empty(), "{} seeds failed: ATM_SIM_SEED={}", failed.len(), failed[0]);
    let granted: usize = runs.into_iter().flatten().sum();
    assert!(granted > 10 * usize::try_from(SEEDS).unwrap(), "only {granted} claims were granted");
}
