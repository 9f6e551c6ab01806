//! The rules that were rejected: for each, the checker finds how it breaks a promise, and the shortest way there is printed.

use atm_model::others::Kind;
use atm_model::properties::{
    BOUNDED, FOREIGN, MARKS, NEVER_LOST, NOT_THERE, ONCE, RECALLED, STAGES, TAKEN_NEEDS_A_READER, THERE,
};
use atm_model::rules::Undone;
use atm_model::{Commit, Rules, Setup};
use stateright::{Checker, HasDiscoveries, Model};

/// The same world must be sound with the rules that are built, so that the rule alone is to blame.
fn assert_breaks(property: &'static str, rules: Rules, setup: &Setup) {
    let run = |rules, finish| {
        let commit = Commit { rules, setup: setup.clone() };
        commit.checker().threads(1).finish_when(finish).spawn_bfs().join()
    };
    let wanted = HasDiscoveries::AnyOf([property].into());
    let found = run(rules, wanted.clone()).discovery(property);
    let path = found.unwrap_or_else(|| panic!("no way was found to break: {property}"));
    println!("{property}: not with this rule:");
    for action in path.into_actions() {
        println!("    {action:?}");
    }
    assert!(
        run(Rules::BUILT, wanted).discovery(property).is_none(),
        "{property}: broken without the rule, too"
    );
}

#[test]
fn comparing_times_puts_back_what_was_drained() {
    let others = vec![(Kind::Drainer, 2), (Kind::Client, 1)];
    let setup = Setup { sends: 1, looks: 1, others, turns: 2, ..Setup::default() };
    let undone = Undone::NotNewer { whole_seconds: true };
    assert_breaks(ONCE, Rules { undone, ..Rules::BUILT }, &setup);
}

#[test]
fn comparing_times_takes_what_was_undone_for_processed() {
    // The inbox of the report: one read message, and a writer that read the file before ours came.
    let others = vec![(Kind::Lockless, 1)];
    let setup = Setup { sends: 1, looks: 1, others, old: Some(true), ..Setup::default() };
    let undone = Undone::NotNewer { whole_seconds: false };
    assert_breaks(TAKEN_NEEDS_A_READER, Rules { undone, ..Rules::BUILT }, &setup);
}

#[test]
fn gone_with_its_neighbours_is_no_proof() {
    // Undone, and then everything else drained, before anybody looked.
    let others = vec![(Kind::Lockless, 1), (Kind::Drainer, 1)];
    let setup = Setup { sends: 1, looks: 1, others, old: Some(false), ..Setup::default() };
    let rules = Rules { gone_is_only_likely: false, ..Rules::BUILT };
    assert_breaks(STAGES, rules, &setup);
    assert_breaks(NEVER_LOST, rules, &setup);
}

#[test]
fn no_row_is_no_sign_that_somebody_wrote_it() {
    let setup = Setup { sends: 1, faults: 2, ..Setup::default() };
    assert_breaks(THERE, Rules { no_row_is_not_written: false, ..Rules::BUILT }, &setup);
}

#[test]
fn taking_back_beside_the_holder_of_the_queue() {
    let setup = Setup { sends: 2, stops: 1, ..Setup::default() };
    assert_breaks(NOT_THERE, Rules { take_back_in_queue: false, ..Rules::BUILT }, &setup);
}

#[test]
fn putting_back_again_and_again() {
    let others = vec![(Kind::Lockless, 4)];
    let setup = Setup { sends: 1, looks: 5, others, old: Some(true), ..Setup::default() };
    assert_breaks(BOUNDED, Rules { put_backs: u8::MAX, ..Rules::BUILT }, &setup);
}

#[test]
fn marking_everything_that_is_there() {
    let setup = Setup { sends: 1, reads: 1, old: Some(false), ..Setup::default() };
    let rules = Rules { mark_receipts_only: false, ..Rules::BUILT };
    assert_breaks(MARKS, rules, &setup);
    assert_breaks(NEVER_LOST, rules, &setup);
}

#[test]
fn writing_without_a_queue() {
    let others = vec![(Kind::Drainer, 2)];
    let setup = Setup { sends: 2, others, turns: 2, ..Setup::default() };
    assert_breaks(ONCE, Rules { queue: false, ..Rules::BUILT }, &setup);
}

#[test]
fn writing_without_a_compare() {
    for writer in [Kind::Client, Kind::Flocker] {
        let setup = Setup { sends: 1, others: vec![(writer, 1)], ..Setup::default() };
        assert_breaks(FOREIGN, Rules { compare: false, ..Rules::BUILT }, &setup);
    }
}

#[test]
fn recording_only_after_the_write() {
    let others = vec![(Kind::Lockless, 1)];
    let setup = Setup { sends: 1, looks: 1, others, faults: 1, ..Setup::default() };
    assert_breaks(NEVER_LOST, Rules { accept_first: false, ..Rules::BUILT }, &setup);
}

#[test]
fn forgetting_a_commit_that_could_not_be_recorded() {
    let others = vec![(Kind::Drainer, 2)];
    let setup = Setup { sends: 1, looks: 1, others, turns: 2, faults: 1, ..Setup::default() };
    assert_breaks(ONCE, Rules { keep_unrecorded_note: false, ..Rules::BUILT }, &setup);
}

#[test]
fn recalling_beside_the_holder_of_the_queue() {
    let others = vec![(Kind::Drainer, 1)];
    let setup = Setup { sends: 1, recalls: 1, others, turns: 1, ..Setup::default() };
    assert_breaks(RECALLED, Rules { recall_in_queue: false, ..Rules::BUILT }, &setup);
}
