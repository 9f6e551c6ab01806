//! Taking a message back: out of the inbox as long as nobody has read it, and never there again.

use std::fs;

use atm_store::Layout;
use serde_json::{Value, json};

use crate::scene::{World, foreign_team, texts};

fn refused(world: &World, args: &[&str]) -> Value {
    let answer = world.atm(args);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    answer.error()
}

#[test]
fn what_nobody_has_read_goes_and_is_never_there_again() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, _team) = foreign_team(layout);
        world.ok(&["--as", "team-lead", "send", "bob", "first"]);
        let id = world.sent("bob", "second");
        let recalled = world.json(&["--as", "team-lead", "recall", "last"]);
        assert_eq!((&recalled["id"], &recalled["stage"]), (&json!(id), &json!("recalled")));
        assert_eq!((&recalled["was_written"], &recalled["warnings"]), (&json!(true), &json!([])));
        assert_eq!(texts(&world.json(&["inbox", "bob"])), ["first"], "{layout:?}");
        assert_eq!(world.stages(&id), ["accepted", "written", "recalled"], "{layout:?}");
        assert_eq!(world.json(&["pending"]), json!([]));
        // Again, by a part of its id: it stays so.
        let again = world.json(&["--as", "team-lead", "recall", &id[id.len() - 8..]]);
        assert!(again["warnings"][0].as_str().unwrap().contains("already"), "{again}");
        world.ok(&["tend"]);
        world.ok(&["--as", "team-lead", "send", "bob", "third"]);
        assert_eq!(texts(&world.json(&["--as", "bob", "read"])), ["first", "third"], "{layout:?}");
        assert_eq!(world.stage(&id), "recalled");
    }
}

#[test]
fn what_is_read_or_taken_or_not_ours_stays_and_it_is_said_why() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        let id = world.sent("bob", "please look");
        let error = refused(&world, &["--as", "bob", "recall", &id, "--json"]);
        assert_eq!(error["code"], "not_yours");
        assert!(error["message"].as_str().unwrap().contains("only team-lead can recall it"), "{error}");
        world.ok(&["--as", "bob", "read"]);
        let error = refused(&world, &["--as", "team-lead", "recall", &id, "--json"]);
        assert_eq!(error["code"], "not_recallable");
        assert!(error["message"].as_str().unwrap().ends_with("its reader has seen it"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("atm track"), "{error}");
        if layout == Layout::Array {
            let taken = world.sent("bob", "and this");
            fs::write(team.inbox("bob"), "[]").unwrap();
            let error = refused(&world, &["--as", "team-lead", "recall", &taken, "--json"]);
            assert!(error["message"].as_str().unwrap().ends_with("its reader's client took it"), "{error}");
            let read = world.sent("bob", "and that");
            let text = fs::read_to_string(team.inbox("bob")).unwrap();
            fs::write(
                team.inbox("bob"),
                text.replace("\"read\":false", "\"read\":true").replace("\"read\": false", "\"read\": true"),
            )
            .unwrap();
            let error = refused(&world, &["--as", "team-lead", "recall", &read, "--json"]);
            assert!(error["message"].as_str().unwrap().ends_with("it is marked as read"), "{error}");
        }
    }
    let world = World::with_team();
    assert_eq!(world.atm(&["recall", "last"]).code, Some(3), "the user sent nothing");
}

/// People saw the whole id here, and the end of it everywhere else.
#[test]
fn people_see_the_end_of_an_id_and_programs_all_of_it() {
    let world = World::with_team();
    let id = world.sent("bob", "never mind");
    let short = &id[id.len() - 8..];
    world.ok(&["--as", "bob", "read"]);
    let told = world.atm(&["--as", "team-lead", "recall", &id]);
    assert!(told.stderr.contains(&format!("message {short} ")), "{told:?}");
    assert!(told.stderr.contains(&format!("`atm track {short}`")), "{told:?}");
    assert!(refused(&world, &["--json", "--as", "team-lead", "recall", &id]).to_string().contains(&id));
    world.sent("bob", "the same again");
    let told = world.atm(&["--as", "team-lead", "recall", "last"]);
    assert!(!format!("{}{}", told.stdout, told.stderr).contains(&id[..13]), "{told:?}");
}

#[test]
fn what_a_hook_has_shown_is_not_taken_back() {
    let world = World::with_team();
    let id = world.sent("bob", "the build is red");
    let input = json!({"session_id": "s", "cwd": "/", "transcript_path": "/none", "hook_event_name": "UserPromptSubmit"});
    let hook = ["hook", "UserPromptSubmit", "--client", "claude", "--as", "bob", "-t", "dev"];
    assert!(world.pipe(&hook, input.to_string()).stdout.contains("the build is red"));
    let error = refused(&world, &["--as", "team-lead", "recall", &id, "--json"]);
    assert!(error["message"].as_str().unwrap().contains("shown to its reader"), "{error}");
}

#[test]
fn what_is_accepted_and_not_written_is_not_written_any_more() {
    let world = World::with_team();
    let mut command = world.command(&["--as", "team-lead", "send", "bob", "never mind"]);
    assert!(!command.env("ATM_TEST_DIE_AT", "accepted").output().unwrap().status.success());
    // A client holds its lock, so the look that comes first cannot write it.
    fs::create_dir(world.inbox_file("bob").with_extension("json.lock")).unwrap();
    let recalled = world.json(&["--as", "team-lead", "recall", "last"]);
    assert_eq!(recalled["was_written"], false, "{recalled}");
    fs::remove_dir(world.inbox_file("bob").with_extension("json.lock")).unwrap();
    world.ok(&["log"]);
    assert!(world.json(&["inbox", "bob"]).as_array().unwrap().is_empty());
    assert_eq!(world.stage(recalled["id"].as_str().unwrap()), "recalled");
}

/// A writer without a lock that undoes other mail brings back what was put there, and not this.
#[test]
fn what_is_recalled_is_not_put_back() {
    let world = World::with_team();
    world.ok(&["--as", "alice", "send", "bob", "stays"]);
    let old = fs::read(world.inbox_file("bob")).unwrap();
    let id = world.sent("bob", "goes");
    world.ok(&["--as", "team-lead", "recall", &id]);
    fs::write(world.inbox_file("bob"), old).unwrap();
    world.ok(&["log"]);
    assert_eq!(world.texts_for("bob"), ["stays"]);
    assert_eq!(world.stage(&id), "recalled");
}

#[test]
fn wherever_it_dies_the_message_is_there_or_recalled() {
    let cases =
        [(Layout::Array, &atm_store::points::RECALL[..]), (Layout::Log, &atm_store::points::RECALL_LINE[..])];
    for (layout, points) in cases {
        for point in points {
            let (world, _team) = foreign_team(layout);
            world.ok(&["--as", "alice", "send", "bob", "before"]);
            let id = world.sent("bob", "take it back");
            let mut command = world.command(&["--as", "team-lead", "recall", &id]);
            let ended = command.env("ATM_TEST_DIE_AT", point).output().unwrap().status;
            assert!(!ended.success(), "{layout:?}: the process got past {point}");
            let stage = world.stage(&id);
            let there = texts(&world.json(&["inbox", "bob"]));
            let is_there = there == ["before", "take it back"];
            assert!(is_there || there == ["before"], "{layout:?} {point}: {there:?}");
            let expected = if is_there { "written" } else { "recalled" };
            assert_eq!(stage, expected, "{layout:?} {point}");
            // And the next one does what is left to do.
            world.ok(&["--as", "team-lead", "recall", &id]);
            assert_eq!(texts(&world.json(&["inbox", "bob"])), ["before"], "{layout:?} {point}");
            assert_eq!(world.stage(&id), "recalled", "{layout:?} {point}");
        }
    }
}

/// Who died before it took anything out must not be taken for the one who did.
#[test]
fn what_a_client_takes_after_such_a_death_is_taken() {
    let world = World::with_team();
    world.ok(&["--as", "alice", "send", "bob", "before"]);
    let id = world.sent("bob", "take it back");
    for point in ["recalling", "noted"] {
        let mut command = world.command(&["--as", "team-lead", "recall", &id]);
        assert!(!command.env("ATM_TEST_DIE_AT", point).output().unwrap().status.success());
    }
    fs::write(world.inbox_file("bob"), "[]").unwrap();
    assert_eq!(world.stage(&id), "taken");
}
