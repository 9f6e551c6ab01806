//! We and other programs, as processes, on one inbox: what anybody was told is sent is there at the end, once.
//!
//! Clients and Python tools do not know each other's locks, so mail is lost between those two whatever we do. Each kind
//! is therefore tested with us alone.

use std::thread;

use atm_support::{Foreign, Running, TestTeam, drafts};

use crate::scene::{array_team, sorted};

const WRITERS: usize = 4;
const EACH: usize = 15;

/// Appends from as many threads as there are others; gives the accepted texts.
fn append_from_threads(team: &TestTeam) -> Vec<String> {
    thread::scope(|scope| {
        let writer = |number: usize| {
            let bob = team.mailbox("bob");
            let drafts = drafts(&format!("ours {number} "), EACH);
            for draft in &drafts {
                bob.append(std::slice::from_ref(draft), false).unwrap();
            }
            drafts.into_iter().map(|draft| draft.text).collect::<Vec<_>>()
        };
        let writers: Vec<_> = (0..WRITERS).map(|number| scope.spawn(move || writer(number))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    })
}

fn assert_all_arrive_once(team: &TestTeam, before: Vec<String>, others: Vec<Running>) {
    let mut accepted = before;
    accepted.extend(append_from_threads(team));
    for other in others {
        let sent = other.finish().texts();
        assert_eq!(sent.len(), EACH);
        accepted.extend(sent);
    }
    assert_eq!(sorted(team.texts("bob")), sorted(accepted));
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
    assert!(team.env().set_aside().is_empty(), "no half-written file was taken for a broken one");
}

#[test]
fn beside_clients_that_write_in_place_and_by_rename() {
    let team = array_team();
    let inbox = team.inbox("bob");
    team.mailbox("bob").create().unwrap();
    let client = |number: usize| {
        let client = Foreign::client(&inbox).sending(&format!("client {number} "), EACH);
        if number.is_multiple_of(2) { client } else { client.renaming().flag("--gen3") }
    };
    let clients = (0..WRITERS).map(|number| client(number).start()).collect();
    assert_all_arrive_once(&team, Vec::new(), clients);
}

#[test]
fn beside_clients_that_write_a_large_inbox_in_place_and_by_rename() {
    // Large enough to be copied in pieces, while clients truncate what is being copied.
    let team = array_team();
    let inbox = team.inbox("bob");
    team.mailbox("bob").append(&drafts(&"long ".repeat(200), 600), false).unwrap();
    assert!(team.inbox_bytes("bob").len() > 1 << 20);
    let before = team.texts("bob");
    let in_place = Foreign::client(&inbox).sending("in place ", EACH).start();
    let by_rename = Foreign::client(&inbox).sending("by rename ", EACH).renaming().start();
    assert_all_arrive_once(&team, before, vec![in_place, by_rename]);
}

#[test]
fn beside_python_tools_that_write_in_place_and_by_rename() {
    let team = array_team();
    let inbox = team.inbox("bob");
    let tool = |number: usize| {
        let tool = Foreign::python(&inbox).sending(&format!("python {number} "), EACH);
        if number.is_multiple_of(2) { tool } else { tool.renaming().with("--indent", "2") }
    };
    let tools = (0..WRITERS).map(|number| tool(number).start()).collect();
    assert_all_arrive_once(&team, Vec::new(), tools);
}

#[test]
fn a_client_that_drains_the_inbox_gets_each_message_once() {
    let team = array_team();
    team.mailbox("bob").create().unwrap();
    let client = Foreign::client(&team.inbox("bob"))
        .renaming()
        .with("--verb", "drain")
        .with("--count", "40")
        .with("--pause-ms", "5")
        .start();
    let accepted = append_from_threads(&team);
    let mut got = client.finish().texts();
    got.extend(team.texts("bob"));
    assert_eq!(sorted(got), sorted(accepted));
}

#[test]
fn clients_and_we_mark_beside_each_other_and_no_message_is_lost() {
    let team = array_team();
    team.mailbox("bob").create().unwrap();
    let client = Foreign::client(&team.inbox("bob"))
        .with("--verb", "mark-read")
        .with("--count", "40")
        .with("--pause-ms", "5")
        .start();
    let bob = team.mailbox("bob");
    let drafts = drafts("m", 40);
    for draft in &drafts {
        bob.append(std::slice::from_ref(draft), false).unwrap();
        bob.take(1).unwrap();
    }
    client.finish();
    assert_eq!(team.texts("bob"), drafts.into_iter().map(|draft| draft.text).collect::<Vec<_>>());
}
