//! A deterministic simulation of shared tasks: three machines, their files, a bucket, and all that goes wrong, by a seed.
//!
//! A failure names its seed; `ATM_SIM_SEED=N cargo test -p atm-bridge --test it tasks` runs that one alone.

mod bucket;
mod cases;
mod changes;
mod costs;
mod disk;
mod faults;
mod movers;
mod numbers;
mod realm;
mod troubles;
mod world;

use std::panic;

use world::World;

const SEEDS: u64 = 1_000;

fn run(seed: u64) -> [usize; 7] {
    let mut world = World::new(seed);
    world.run();
    world.check();
    world.check_movers();
    let World { granted, changed, refused, rivals, set_backs, moves, kept, .. } = world;
    [granted, changed, refused, rivals, set_backs, moves, kept]
}

/// No claim is granted twice at a time, no task is lost, no number is given twice, and all machines end with the same files.
#[test]
fn a_thousand_schedules_of_claims_edits_partitions_crashes_and_lost_buckets() {
    if let Ok(seed) = std::env::var("ATM_SIM_SEED") {
        run(seed.parse().expect("a number"));
        return;
    }
    // `ATM_SIM_FROM=1000` runs as many others.
    let from = std::env::var("ATM_SIM_FROM").map_or(0, |from| from.parse().expect("a number"));
    let seeds = from..from + SEEDS;
    let runs: Vec<(u64, Option<[usize; 7]>)> =
        seeds.map(|seed| (seed, panic::catch_unwind(|| run(seed)).ok())).collect();
    let failed: Vec<u64> = runs.iter().filter(|(_, run)| run.is_none()).map(|(seed, _)| *seed).collect();
    assert!(failed.is_empty(), "{} seeds failed: ATM_SIM_SEED={}", failed.len(), failed[0]);
    let mut all = [0; 7];
    for run in runs.into_iter().filter_map(|(_, run)| run) {
        all.iter_mut().zip(run).for_each(|(all, run)| *all += run);
    }
    let seeds = usize::try_from(SEEDS).unwrap();
    let [granted, changed, refused, rivals, set_backs, moves, kept] = all;
    let is_busy = granted > 5 * seeds && changed > seeds / 2 && rivals > seeds / 4;
    let is_moved = moves > seeds && kept > seeds / 20;
    assert!(
        is_busy && is_moved && refused > seeds / 10 && set_backs > seeds / 10,
        "granted, changed, refused, rivals, set back, moves, kept by who moved: {all:?}"
    );
}
