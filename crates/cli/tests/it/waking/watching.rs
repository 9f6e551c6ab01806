//! `atm wake --watch`: mail wakes its recipient when it comes.

use std::fs::{self, File};

use atm_support::wait_until;
use rustix::process::Signal;
use serde_json::Value;

use super::codex::Codex;
use crate::scene::Started;

#[test]
fn mail_wakes_when_it_comes_and_when_its_recipient_has_done_its_work() {
    let codex = Codex::logging();
    codex.world.ok(&["--as", "bob", "read"]);
    let mut command = codex.command(&["wake", "--all", "--watch", "--json"]);
    let said = codex.world.home().join("said");
    command.stdout(File::create(&said).unwrap());
    let woken = || {
        let said = fs::read_to_string(&said).unwrap();
        let lines = said.lines().map_while(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|one| one["name"] == "bob" && one["woken"] == true).count()
    };
    let mut watching = Started::of(command.spawn().unwrap(), &codex.world);
    watching.wait_until_it_watches();
    codex.world.ok(&["--as", "alice", "send", "bob", "second"]);
    codex.world.ok(&["--as", "bob", "send", "alice", "still at it"]);
    assert_eq!(codex.log(), "", "it works on the first");
    codex.world.ok(&["--as", "bob", "idle"]);
    wait_until("it is told", || woken() == 1);
    codex.world.ok(&["--as", "bob", "read"]);
    codex.world.ok(&["--as", "bob", "idle"]);
    codex.world.ok(&["--as", "alice", "send", "bob", "third"]);
    wait_until("it is woken for new mail", || woken() == 2);
    assert_eq!(codex.log().lines().count(), 2);
    watching.signal(Signal::INT);
    assert_eq!(watching.finish().code, Some(130));
}

#[test]
fn it_ends_in_time_and_says_a_reason_once() {
    let codex = Codex::logging();
    codex.world.ok(&["--as", "bob", "heartbeat"]);
    let watched = codex.world.ok(&["wake", "bob", "--watch", "--for", "4s"]);
    assert_eq!(watched.lines().count(), 1, "{watched}");
    assert!(watched.contains("bob@dev is busy: its last word was not that it is idle, nor do"), "{watched}");
    let nobody = codex.world.atm(&["wake", "bobb", "--watch"]);
    assert_eq!(nobody.code, Some(3));
    assert_eq!(codex.world.atm(&["wake", "bob", "--for", "4s"]).code, Some(2));
    assert_eq!(codex.world.atm(&["wake", "bob", "--watch", "--dry-run"]).code, Some(2));
}
