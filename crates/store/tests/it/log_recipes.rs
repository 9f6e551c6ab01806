//! Shell recipes on our files, and we on theirs.

use std::path::PathBuf;
use std::thread;

use atm_support::{Foreign, TestTeam, draft, drafts};

use crate::scene::{listed, log_team, sorted, take, unread};

fn state(team: &TestTeam) -> PathBuf {
    team.inbox("bob").with_file_name("state.json")
}

fn read_new(team: &TestTeam) -> Vec<String> {
    Foreign::shell_reader(&team.inbox("bob"), &state(team)).run().texts()
}

#[test]
fn the_recipe_reads_what_we_wrote_and_we_know_what_it_read() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    assert_eq!(read_new(&team), ["m0", "m1", "m2"]);
    assert!(unread(&bob).is_empty());
    bob.append(&[draft("m3")], false).unwrap();
    assert_eq!(read_new(&team), ["m3"]);
    assert!(read_new(&team).is_empty());
}

#[test]
fn we_read_what_the_recipe_wrote_and_it_knows_what_we_read() {
    let team = log_team();
    Foreign::shell(&team.inbox("bob")).sending("s", 3).run();
    let bob = team.mailbox("bob");
    assert_eq!(take(&bob, 2), ["s0", "s1"]);
    assert_eq!(read_new(&team), ["s2"]);
    assert!(unread(&bob).is_empty());
}

#[test]
fn readers_by_turns_get_each_message_once() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let mut got = Vec::new();
    for turn in 0..3 {
        bob.append(&drafts(&format!("ours {turn} "), 2), false).unwrap();
        Foreign::shell(&team.inbox("bob")).sending(&format!("theirs {turn} "), 2).run();
        got.extend(take(&bob, 1));
        got.extend(read_new(&team));
        bob.append(&[draft(&format!("late {turn}"))], false).unwrap();
        got.extend(take(&bob, 9));
    }
    assert_eq!(got, listed(&bob));
}

#[test]
fn appends_beside_shells_that_lock_and_shells_that_do_not_lose_nothing() {
    let team = log_team();
    let inbox = team.inbox("bob");
    let shells: Vec<_> = (0..4)
        .map(|number| {
            let shell = Foreign::shell(&inbox).sending(&format!("shell {number} "), 20);
            if number % 2 == 0 { shell.flag("--lock").start() } else { shell.start() }
        })
        .collect();
    let ours = |number: usize| {
        let bob = team.mailbox("bob");
        for draft in drafts(&format!("ours {number} "), 20) {
            bob.append(&[draft], false).unwrap();
        }
    };
    thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || ours(number));
        }
    });
    let mut accepted: Vec<_> = shells.into_iter().flat_map(|shell| shell.finish().texts()).collect();
    accepted.extend((0..4).flat_map(|number| (0..20).map(move |turn| format!("ours {number} {turn}"))));
    assert_eq!(sorted(team.texts("bob")), sorted(accepted));
    assert!(team.mailbox("bob").list().unwrap().warnings.is_empty());
}
