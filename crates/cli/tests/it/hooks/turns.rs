//! Presented, read, presented again: what counts when.

use std::fs;

use atm_support::wait_until;
use serde_json::json;

use super::{Bob, nothing, text};
use crate::scene::{World, tree};

#[test]
fn what_was_presented_is_read_when_the_turn_ends_and_says_by_whom() {
    let bob = Bob::new("claude");
    bob.send("the build is red");
    bob.says("UserPromptSubmit", &nothing());
    bob.is_silent("PostToolUse", &nothing());
    assert_eq!(bob.unread().len(), 1, "presented is not read");
    bob.is_silent("Stop", &nothing());
    assert!(bob.unread().is_empty());
    let id = bob.world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    let track = bob.world.json(&["track", &id]);
    assert_eq!(track["stage"], "seen");
    assert!(track.to_string().contains("handed over by atm hook"), "{track}");
}

#[test]
fn a_session_that_dies_leaves_its_mail_unread_and_the_next_gets_it() {
    let mut bob = Bob::new("claude");
    bob.send("the build is red");
    bob.says("UserPromptSubmit", &nothing());
    bob.is_silent("PostToolUse", &nothing());
    // It died here. Another one comes, or the same again.
    bob.session = "session-2";
    assert!(text(&bob.says("SessionStart", &nothing())).contains("the build is red"));
    // Its first prompt fails, with nothing seen by anybody; the second one goes through.
    bob.is_silent("UserPromptSubmit", &nothing());
    bob.is_silent("UserPromptSubmit", &nothing());
    assert_eq!(bob.unread().len(), 1, "no turn has ended");
    bob.is_silent("Stop", &nothing());
    assert!(bob.unread().is_empty());

    bob.send("and the tests too");
    bob.says("PostToolUse", &nothing());
    let resumed = bob.says("SessionStart", &json!({ "source": "resume" }));
    assert!(text(&resumed).contains("and the tests too"));
    bob.is_silent("SessionEnd", &nothing());
    assert_eq!(bob.unread(), ["and the tests too"]);
}

#[test]
fn an_agent_is_kept_going_once_for_each_message_whatever_the_client_says() {
    for (client, event) in
        [("claude", "Stop"), ("codex", "Stop"), ("gemini", "AfterAgent"), ("cursor", "stop")]
    {
        let bob = Bob::new(client);
        bob.send_urgent("stop the release");
        let held = bob.says(event, &nothing());
        assert!(text(&held).contains("stop the release"), "{client}");
        // A client that forgets to say that it was held already.
        for _ in 0..3 {
            bob.is_silent(event, &nothing());
        }
        bob.send_urgent("and the deployment");
        assert!(text(&bob.says(event, &nothing())).contains("and the deployment"), "{client}");
        bob.is_silent(event, &json!({ "stop_hook_active": true }));
        assert!(bob.unread().is_empty(), "{client}");
        bob.send_urgent("third");
        bob.is_silent(event, &json!({ "stop_hook_active": true }));
        assert_eq!(bob.unread(), ["third"], "{client}: not shown, so not read");
    }
}

#[test]
fn mail_that_another_front_showed_keeps_the_agent_going_until_it_is_acknowledged_or_once() {
    for layout in ["array", "log"] {
        let mut bob = Bob::new("claude");
        bob.world.ok(&["team", "delete", "dev", "--force"]);
        bob.world.ok(&["team", "create", "dev", "--layout", layout]);
        bob.world.ok(&["member", "add", "bob"]);
        let read = |bob: &Bob| bob.world.ok(&["--as", "bob", "read"]);
        bob.is_silent("SessionStart", &nothing());
        bob.is_silent("UserPromptSubmit", &nothing());
        bob.send("no hurry");
        bob.send_urgent("stop the release");
        read(&bob);
        let held = bob.says("Stop", &nothing());
        assert!(text(&held).contains("stop the release") && !text(&held).contains("no hurry"), "{held}");
        bob.is_silent("Stop", &nothing());

        bob.is_silent("UserPromptSubmit", &nothing());
        bob.send_urgent("stop the deployment");
        read(&bob);
        bob.is_silent("PostToolUse", &nothing());
        bob.world.ok(&["--as", "bob", "ack", "last"]);
        bob.is_silent("Stop", &nothing());

        bob.is_silent("UserPromptSubmit", &nothing());
        bob.send_urgent("stop the press");
        read(&bob);
        // Another conversation did not see it.
        bob.session = "session-2";
        bob.is_silent("SessionStart", &nothing());
        bob.is_silent("UserPromptSubmit", &nothing());
        bob.is_silent("Stop", &nothing());
    }
}

#[test]
fn an_agent_that_was_shown_mail_and_did_not_acknowledge_it_is_kept_going_once() {
    let bob = Bob::new("claude");
    let wants = |text: &str| {
        let sent = bob.world.json(&["--as", "alice", "send", "bob", text, "--ack-by", "10m"]);
        sent["id"].as_str().unwrap().to_owned()
    };
    wants("freeze the branch");
    assert!(text(&bob.says("UserPromptSubmit", &nothing())).contains("freeze the branch"));
    assert!(
        text(&bob.says("Stop", &nothing())).contains("freeze the branch"),
        "it is owed an acknowledgment"
    );
    bob.is_silent("Stop", &nothing());
    bob.is_silent("Stop", &nothing());
    assert!(bob.unread().is_empty(), "shown, so read when the turn ended");

    let id = wants("thaw it again");
    bob.says("UserPromptSubmit", &nothing());
    bob.world.ok(&["--as", "bob", "ack", &id]);
    bob.is_silent("Stop", &nothing());
    assert!(bob.unread().is_empty());
}

#[test]
fn mail_that_waited_for_an_agent_keeps_it_going_and_ordinary_mail_does_not() {
    let bob = Bob::new("claude");
    bob.send("no hurry");
    bob.is_silent("Stop", &nothing());
    bob.world.ok(&["member", "set", "bob", "--active", "false"]);
    bob.send("when you are back");
    let held = bob.says("Stop", &nothing());
    let (first, second) = text(&held).split_once("no hurry").expect("all that is new comes along");
    assert!(first.contains("when you are back") && !second.contains("when you are back"), "its reason first");
}

#[test]
fn when_there_is_nothing_no_ledger_is_opened_and_nothing_written() {
    let bob = Bob::new("claude");
    bob.send("the build is red");
    bob.says("UserPromptSubmit", &nothing());
    bob.is_silent("Stop", &nothing());
    let inbox = bob.world.root().join("teams/dev/inboxes/bob.json");
    crate::scene::set_modified(&inbox, std::time::SystemTime::now() - std::time::Duration::from_secs(60));
    bob.is_silent("PostToolUse", &nothing());
    let files = || -> Vec<_> {
        let files = tree(&bob.world.state()).into_iter().filter(|path| path.is_file());
        files.map(|path| (fs::metadata(&path).unwrap().modified().unwrap(), path)).collect()
    };
    // The ledger is asked once whether anything waits, after its files have come of age; then they tell.
    wait_until("nothing is written any more", || {
        let before = files();
        bob.is_silent("PostToolUse", &nothing());
        files() == before
    });
    // Who opened it now would find no database.
    let ledger = bob.world.state().join("log.db");
    let (length, changed) = (fs::metadata(&ledger).unwrap().len(), fs::metadata(&ledger).unwrap().modified());
    fs::write(&ledger, "x".repeat(usize::try_from(length).unwrap())).unwrap();
    crate::scene::set_modified(&ledger, changed.unwrap());
    let before = files();
    for event in ["UserPromptSubmit", "PostToolUse", "PostToolUse"] {
        bob.is_silent(event, &nothing());
    }
    assert_eq!(files(), before);
    // That a turn is over is recorded, in the note on this conversation alone.
    bob.is_silent("Stop", &nothing());
    let others = |mut files: Vec<(_, std::path::PathBuf)>| {
        files.retain(|(_, path)| !path.starts_with(bob.world.state().join("hooks")));
        files
    };
    assert_eq!(others(files()), others(before));
    let before = files();
    bob.is_silent("Stop", &nothing());
    assert_eq!(files(), before);
    assert_eq!(bob.log(), "");
}

#[test]
fn two_hooks_at_once_present_a_message_once() {
    let bob = Bob::new("claude");
    bob.send("the build is red");
    let calls: Vec<_> = std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..6).map(|_| scope.spawn(|| bob.hook("PostToolUse", &nothing()).stdout)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(calls.iter().filter(|said| said.contains("the build is red")).count(), 1, "{calls:?}");
}

#[test]
fn who_it_is_is_told_from_the_teams_own_files() {
    let world = World::with_team();
    world.ok(&["--as", "bob", "send", "team-lead", "please decide"]);
    let config = world.root().join("teams/dev/config.json");
    let text = fs::read_to_string(&config).unwrap();
    let mut team: serde_json::Value = serde_json::from_str(&text).unwrap();
    team["leadSessionId"] = "lead-session".into();
    fs::write(&config, team.to_string()).unwrap();
    let ask = |session: &str| {
        let answer = world.pipe(&["hook", "UserPromptSubmit"], json!({ "session_id": session }).to_string());
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
        answer.stdout
    };
    assert_eq!(ask("somebody else's"), "", "nobody's mail for a session that we do not know");
    assert!(ask("lead-session").contains("please decide"));
}

#[test]
fn an_agent_inside_the_session_does_not_get_its_mail() {
    let bob = Bob::new("claude");
    bob.send("the build is red");
    bob.is_silent("PostToolUse", &json!({ "agent_id": "a0123", "agent_type": "Explore" }));
    assert!(text(&bob.says("PostToolUse", &nothing())).contains("the build is red"));
}
