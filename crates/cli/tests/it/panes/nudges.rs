//! Waking a member: only one that waits, only once for each mail.

use atm_support::wait_until;

use super::Stage;
use crate::scene::ATM;

/// A member whose pane shows what is typed there, and does nothing else.
fn listener(stage: &Stage, name: &str) {
    stage.script(name, "stty -echo; echo ready; while read -r line; do echo \"got <$line>\"; done");
    stage.wait_for_screen(name, "ready");
}

fn idle(stage: &Stage, name: &str) {
    stage.world.ok(&["--as", name, "idle"]);
}

#[test]
fn one_that_said_it_is_idle_is_nudged_once_for_each_mail() {
    let stage = Stage::new();
    let world = &stage.world;
    listener(&stage, "bob");
    assert_eq!(world.json(&["wake", "bob", "--type"])["why"], "it has read all its mail");

    world.ok(&["send", "bob", "first"]);
    idle(&stage, "bob");
    let nudged = world.json(&["wake", "bob", "--type"]);
    assert_eq!((&nudged["woken"], &nudged["unread"]), (&true.into(), &1.into()));
    stage.wait_for_screen("bob", "got <You have 1 unread message from user.");
    for _ in 0..3 {
        assert_eq!(
            world.json(&["wake", "bob", "--type"])["why"],
            "it was nudged for all of this mail already"
        );
    }

    world.ok(&["send", "bob", "second"]);
    assert_eq!(world.json(&["wake", "bob", "--type", "two\nlines\u{1b}[31m"])["woken"], true);
    stage.wait_for_screen("bob", r"got <two lines\x1b[31m>");
    assert_eq!(stage.screen("bob").matches("got <").count(), 2);
}

#[test]
fn one_that_has_read_is_not_nudged() {
    let stage = Stage::new();
    listener(&stage, "bob");
    stage.world.ok(&["send", "bob", "first"]);
    idle(&stage, "bob");
    stage.world.ok(&["--as", "bob", "read"]);
    let nudged = stage.world.json(&["wake", "bob", "--type"]);
    assert_eq!((&nudged["woken"], &nudged["unread"]), (&false.into(), &0.into()));
    assert!(!stage.screen("bob").contains("got"));
}

#[test]
fn one_that_is_busy_is_never_typed_at() {
    let stage = Stage::new();
    let world = &stage.world;
    let refused = |name: &str, why: &str| {
        let answer = world.atm(&["wake", name, "--type", "--json"]);
        let error = answer.error();
        assert_eq!((answer.code, error["code"].as_str()), (Some(4), Some("busy_pane")), "{answer:?}");
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    };
    listener(&stage, "bob");
    world.ok(&["send", "bob", "first"]);
    refused("bob", "did not say that it is idle");
    idle(&stage, "bob");
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["send", "bob", "second"]);
    refused("bob", "did not say that it is idle"); // it works on the first
    idle(&stage, "bob");
    world.ok(&["--as", "bob", "send", "team-lead", "one more thing"]);
    refused("bob", "did not say that it is idle");

    stage.script("eve", "while :; do echo x; sleep 0.01; done");
    idle(&stage, "eve");
    world.ok(&["send", "eve", "first"]);
    refused("eve", "its screen moves");

    idle(&stage, "bob");
    let pane = stage.entry("bob")["tmuxPaneId"].as_str().unwrap().to_owned();
    stage.tmux(&["copy-mode", "-t", &pane]);
    refused("bob", "somebody scrolls");
    stage.tmux(&["send-keys", "-t", &pane, "-X", "cancel"]);
    assert_eq!(world.json(&["wake", "bob", "--type"])["woken"], true);
    assert_eq!(stage.screen("bob").matches("got <").count(), 1);
}

#[test]
fn a_shell_at_its_prompt_is_told_the_command() {
    let stage = Stage::new();
    let bin = std::path::Path::new(ATM).parent().unwrap();
    stage.spawn("bob", &["--", "env", &format!("PATH={}:/usr/bin:/bin", bin.display()), "sh", "-i"]);
    stage.world.ok(&["send", "bob", "do look here"]);
    let nudge = || stage.world.atm(&["wake", "bob", "--type", "--json"]);
    wait_until("the shell is at its prompt", || nudge().code == Some(0));
    stage.wait_for_screen("bob", "do look here");
    wait_until("it is read", || {
        stage.world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().is_empty()
    });
}

#[test]
fn many_nudges_at_once_type_one_line() {
    let stage = Stage::new();
    listener(&stage, "bob");
    stage.world.ok(&["send", "bob", "first"]);
    idle(&stage, "bob");
    let typed: Vec<bool> = std::thread::scope(|scope| {
        let nudge = || stage.world.json(&["wake", "bob", "--type"])["woken"].as_bool().unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(nudge)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(typed.iter().filter(|typed| **typed).count(), 1, "{typed:?}");
    stage.wait_for_screen("bob", "got <");
    assert_eq!(stage.screen("bob").matches("got <").count(), 1);
}
