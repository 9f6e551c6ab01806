//! Mail counts as shown only if somebody could see it: not on a stream that is closed, full, or not open for writing.

use serde_json::json;

use crate::scene::{Answer, World};

fn shell(world: &World, line: &str) -> Answer {
    Answer::of(world, &world.shell().args(["-c", line]).output().unwrap())
}

fn unread(world: &World) -> usize {
    world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len()
}

#[test]
fn what_could_not_be_shown_is_not_marked_as_read() {
    for how in [">&-", "> /dev/full", "<>/dev/null >&0", "1</dev/null", ">&- 2>&-", "<&- >&- 2>&-"] {
        for format in ["", "--json", "--format context"] {
            let world = World::with_team();
            world.sent("bob", "hello");
            let answer = shell(&world, &format!("atm --as bob read {format} {how}"));
            assert_eq!(answer.code, Some(7), "{how} {format}: {answer:?}");
            assert_eq!(unread(&world), 1, "{how} {format}");
            if !how.contains("2>&-") {
                assert!(answer.stderr.contains("cannot"), "{how} {format}: {answer:?}");
            }
        }
    }
}

#[test]
fn throwing_it_away_on_purpose_marks_it() {
    for how in ["> /dev/null", "> /dev/null 2>&1", ">> /dev/null", "| cat", "2>&-", "<&-"] {
        let world = World::with_team();
        world.sent("bob", "hello");
        let answer = shell(&world, &format!("atm --as bob read {how}"));
        assert_eq!(answer.code, Some(0), "{how}: {answer:?}");
        assert_eq!(unread(&world), 0, "{how}");
    }
}

#[test]
fn what_is_not_consumed_needs_nobody_to_see_it() {
    let world = World::with_team();
    for command in ["send bob hello", "--as bob read --peek", "inbox bob", "members", "status"] {
        let answer = shell(&world, &format!("atm {command} >&-"));
        assert_eq!(answer.code, Some(0), "{command}: {answer:?}");
    }
    assert_eq!(unread(&world), 1);
}

#[test]
fn a_hook_that_nobody_hears_presents_nothing() {
    let input = json!({ "session_id": "s", "cwd": "/" }).to_string();
    let hook = |event: &str, how: &str| {
        format!("printf '%s' '{input}' | atm hook {event} --client claude --as bob -t dev {how}")
    };
    for how in [">&-", "> /dev/full", "1</dev/null"] {
        let world = World::with_team();
        world.sent("bob", "hello");
        let answer = shell(&world, &hook("SessionStart", how));
        assert_eq!(answer.code, Some(0), "{how}: {answer:?}");
        assert_eq!(shell(&world, &hook("Stop", "")).code, Some(0));
        assert_eq!(unread(&world), 1, "{how}: it was never before the model");
        let log = std::fs::read_to_string(world.state().join("hook.log")).unwrap();
        assert!(log.contains("nothing was presented"), "{how}: {log}");
        let heard = shell(&world, &hook("UserPromptSubmit", ""));
        assert!(heard.stdout.contains("hello"), "{how}: {heard:?}");
    }
    // The one moment that is told through stderr.
    let world = World::with_team();
    world.ok(&["--as", "team-lead", "send", "bob", "hello", "--ack-by", "5m"]);
    shell(&world, &hook("TeammateIdle", "2>&-"));
    let heard = shell(&world, &hook("TeammateIdle", ""));
    assert!(heard.stderr.contains("hello"), "{heard:?}");
}

#[test]
fn a_server_that_nobody_hears_does_not_start() {
    let world = World::with_team();
    world.sent("bob", "hello");
    for how in [">&-", "1</dev/null"] {
        let answer = shell(&world, &format!("atm mcp --as bob -t dev {how}"));
        assert_eq!(answer.code, Some(7), "{how}: {answer:?}");
    }
    assert_eq!(unread(&world), 1);
}

#[test]
fn nobody_is_woken_who_cannot_hear_it() {
    let world = World::with_team();
    world.sent("bob", "hello");
    let answer = shell(&world, "atm --as bob wake wait --for 1s 2>&-");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let answer = shell(&world, "atm --as bob wake wait --for 30s");
    assert_eq!(answer.code, Some(2), "the wake is still to come: {answer:?}");
}
