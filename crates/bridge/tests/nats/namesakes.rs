//! Two machines of one name.

use std::fs;

use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, pair};

/// They took each other's mail, and nobody was told.
fn notice_each_other(is_copy: bool) {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    let number = laptop.create("ann", "dig a hole").id.to_string();
    hub.wait_for_task(&number, "dig a hole");
    let mut other = Machine::new("laptop", &server.url(), &["ann"]);
    if is_copy {
        let key = |machine: &Machine| machine.env().state().join("bridge/key");
        other.key();
        fs::copy(key(&laptop), key(&other)).unwrap();
    }
    other.trust(&hub, &[]);
    other.start();
    let is_doubled = |machine: &Machine| machine.status()["namesakeSince"].is_string();
    wait_until("both know of it", || is_doubled(&laptop) && is_doubled(&other));
    let sent = hub.send("bob", "ann", "for the first one");
    let answer = laptop.send("ann", "bob", "from the first one");
    wait_until("the leads are told", || {
        [&laptop, &other].iter().all(|one| one.texts("team-lead").len() == 1)
    });
    assert!(laptop.texts("team-lead")[0].contains("atm bridge run --machine NAME"));
    let shown = String::from_utf8(laptop.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("another bridge is called laptop, too"), "{shown}");
    let doctor = laptop.run(&laptop.at_server(&["doctor"]));
    assert_eq!(doctor.status.code(), Some(6), "{}", String::from_utf8_lossy(&doctor.stdout));
    assert!(other.texts("ann").is_empty() && laptop.texts("ann").is_empty());
    // Each would set back what the other one puts.
    let refused = laptop.claim("ann", &number).unwrap_err();
    assert_eq!(refused.code(), "tasks_out_of_reach", "{refused}");
    // The other one has another name from now on.
    other.kill();
    wait_until("it is alone", || !is_doubled(&laptop));
    wait_until("tasks are had again", || laptop.claim("ann", &number).is_ok());
    wait_until("mail is carried", || {
        hub.stage(&sent.id) == "written" && laptop.stage(&answer.id) == "written"
    });
    assert_eq!((laptop.texts("ann").len(), hub.texts("bob").len(), other.texts("ann").len()), (1, 1, 0));
}

#[test]
fn two_machines_of_one_name_notice_each_other_and_carry_nothing() {
    notice_each_other(false);
}

#[test]
fn so_do_a_machine_and_its_copy() {
    notice_each_other(true);
}
