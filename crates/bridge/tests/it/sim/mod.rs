//! A deterministic simulation: the bridge's engine over a network, a server, clocks and crashes that follow from a seed.
//!
//! A failure names its seed; `ATM_SIM_SEED=N cargo test -p atm-bridge --test it sim` runs that one alone, and `ATM_SIM_SEEDS=N` so
//! many instead of a thousand, from `ATM_SIM_FROM=N` on.

mod check;
mod distrust;
pub(crate) mod ledger;
mod moves;
mod network;
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
    let seeds = std::env::var("ATM_SIM_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    let from = std::env::var("ATM_SIM_FROM").map_or(0, |from| from.parse::<u64>().expect("a number"));
    let failed: Vec<u64> =
        (from..from + seeds).filter(|&seed| panic::catch_unwind(|| run(seed)).is_err()).collect();
    assert!(failed.is_empty(), "{} seeds failed: ATM_SIM_SEED={failed:?}", failed.len());
}

/// Each letter is published once or twice, or once more where machines hear of it one after the other, and the first of each lane now
/// and then. Without an answer it is every 15 seconds.
#[test]
fn mail_for_a_member_that_no_machine_has_costs_next_to_nothing() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        let (letters, away, back) = world.send_to_nobody();
        let machines = world.nodes.len() as u64;
        assert!(away <= 3 * letters + 8 * machines, "seed {seed}: {away} times for {letters} letters");
        assert!(back <= 3 * letters, "seed {seed}: {back} times for {letters} letters");
        world.check();
        world.check_moves();
    }
}

/// The one that trusts published all of it every 15 seconds, for ever.
#[test]
fn mail_for_a_machine_that_does_not_trust_its_sender_costs_next_to_nothing_and_comes_when_it_does() {
    for seed in 0..10 {
        let mut world = World::new(seed);
        let costs = world.send_to_one_that_distrusts();
        let (letters, seconds) = (costs.letters, costs.seconds);
        assert!(
            costs.meanwhile <= 5 * letters + seconds / 15,
            "seed {seed}: {costs:?} are more than one letter every 15 seconds"
        );
        assert!(costs.meanwhile >= seconds / 30, "seed {seed}: {costs:?} are not as many");
        assert!(costs.then <= 2 * letters, "seed {seed}: {costs:?}");
        // Heartbeats tell every five seconds what was processed.
        assert!(costs.answered_within <= 25, "seed {seed}: {costs:?}");
        world.check();
        world.check_moves();
    }
}
