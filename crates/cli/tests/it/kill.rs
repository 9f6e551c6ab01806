//! Killed without a warning, at any moment: what was accepted is there, once, and the next send clears away the rest.

use std::thread;
use std::time::{Duration, Instant};

use atm_store::Layout;
use atm_support::{Foreign, TestTeam, drafts};
use rustix::process::Signal;

use crate::scene::{Dice, World, foreign_team, texts};

const ROUNDS: usize = 400;

/// How long a send takes here, about.
fn usual_time(world: &World) -> Duration {
    let start = Instant::now();
    for _ in 0..5 {
        world.ok(&["send", "bob", "warming up"]);
    }
    start.elapsed() / 5
}

/// Kills sends at moments all over their time; gives the texts of those that were accepted, and of those that were not.
fn kill_sends(world: &World) -> (Vec<String>, Vec<String>) {
    let most = u64::try_from(usual_time(world).as_micros()).unwrap() * 5 / 4;
    let mut dice = Dice::new(42);
    let (mut accepted, mut killed) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let text = format!("round {round}");
        let mut send = world.start(&["send", "bob", &text]);
        thread::sleep(Duration::from_micros(dice.below(most)));
        send.signal(Signal::KILL);
        match send.finish().code {
            Some(0) => accepted.push(text),
            None => killed.push(text),
            Some(code) => panic!("{text} ended with {code}"),
        }
    }
    (accepted, killed)
}

fn assert_nothing_is_lost(world: &World, team: &TestTeam) {
    let (accepted, killed) = kill_sends(world);
    assert!(!killed.is_empty(), "not one was killed in time");
    world.ok(&["send", "bob", "the last one"]);

    // As readers see it: a line that was cut short by the kill is no message.
    let there = texts(&world.json(&["inbox", "bob"]));
    let count = |text: &String| there.iter().filter(|other| *other == text).count();
    for text in &accepted {
        assert_eq!(count(text), 1, "{text} was accepted");
    }
    for text in &killed {
        assert!(count(text) <= 1, "{text} is there {} times", count(text));
    }
    assert_eq!(there.last().map(String::as_str), Some("the last one"));
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
    assert!(team.env().set_aside().is_empty(), "no half-written inbox was ever seen");
}

#[test]
fn sends_into_an_array() {
    let (world, team) = foreign_team(Layout::Array);
    team.mailbox("bob").append(&drafts(&"long ".repeat(80), 500), false).unwrap();
    assert_nothing_is_lost(&world, &team);
    // The clients' own lock is free, too.
    let sent = Foreign::client(&team.inbox("bob")).sending("client ", 1).renaming().run();
    assert_eq!(sent.texts(), ["client 0"]);
    assert!(team.texts("bob").contains(&"client 0".to_owned()));
}

#[test]
fn sends_into_a_log() {
    let (world, team) = foreign_team(Layout::Log);
    team.mailbox("bob").append(&drafts(&"long ".repeat(80), 200), false).unwrap();
    assert_nothing_is_lost(&world, &team);
    // Of a message that was being written, a part may be left on a line of its own, and nothing else.
    let start = r#"{"type":"message","#;
    for line in String::from_utf8(team.inbox_bytes("bob")).unwrap().lines() {
        let is_whole = serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(is_whole || line.starts_with(start) || start.starts_with(line), "{line}");
    }
    let sent = Foreign::shell(&team.inbox("bob")).flag("--lock").sending("shell ", 1).run();
    assert_eq!(sent.texts(), ["shell 0"]);
}

#[test]
fn readers_mark_nothing_that_they_did_not_show() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        let mut dice = Dice::new(11);
        let most = u64::try_from(usual_time(&world).as_micros()).unwrap() * 5 / 4;
        world.ok(&["--as", "bob", "read"]);
        for round in 0..40 {
            let text = format!("round {round}");
            world.ok(&["send", "bob", &text]);
            let mut read = world.start(&["--as", "bob", "read"]);
            thread::sleep(Duration::from_micros(dice.below(most)));
            read.signal(Signal::KILL);
            let shown = read.finish().stdout.contains(&text);
            let left = world.json(&["--as", "bob", "read"]);
            assert!(shown || left[0]["text"] == text.as_str(), "{text} was marked and never shown");
        }
        assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
    }
}
