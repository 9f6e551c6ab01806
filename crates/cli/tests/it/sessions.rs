//! Every session of a client is a mailbox: mail for a folder reaches the session that works there, or the next one.
//!
//! The clients are processes of their own, which call the hooks with inputs as Claude Code and others send them.

use std::fs;

use serde_json::{Value, json};

use crate::client_process::ClientProcess;
use crate::scene::{ATM, World, texts};
use crate::session::Session;

const FIRST: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const SECOND: &str = "5c1d2e3f-0000-4a9e-9d0f-1f2e3d4c5b6a";

#[test]
fn mail_for_a_folder_reaches_the_session_that_works_there_and_the_answer_comes_back() {
    let world = World::new();
    let mut shop = Session::start(&world, FIRST, "shop-frontend");
    let mut api = Session::start(&world, SECOND, "api");
    assert!(!world.root().join("teams").exists(), "nothing is made before somebody writes");
    let (code, stdout, _) = api.atm(&["send", "shop-frontend", "is the build green?", "--json"]);
    let sent: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(code, 0);
    assert_eq!(
        [&sent["team"], &sent["to"], &sent["from"], &sent["status"]],
        ["sessions", "shop-frontend", "api", "delivered"]
    );
    assert_eq!(api.hook("UserPromptSubmit"), "", "it is not for this one");
    let said = shop.hook("UserPromptSubmit");
    assert!(said.contains("is the build green?") && said.contains("from api"), "{said}");
    assert_eq!(shop.hook("PostToolUse"), "", "once");
    let id = sent["id"].as_str().unwrap();
    let (code, _, stderr) = shop.atm(&["reply", id, "yes"]);
    assert_eq!(code, 0, "{stderr}");
    shop.hook("Stop");
    assert_eq!(world.json(&["track", id])["stage"], "done");
    let said = api.hook("UserPromptSubmit");
    assert!(said.contains("yes") && said.contains("from shop-frontend"), "{said}");
    // A team that people made is still the one that is meant.
    world.ok(&["team", "create", "dev"]);
    assert_eq!(world.json(&["status"])["team"], "dev");
    world.ok(&["doctor"]);
}

/// What other clients' sessions were told to answer with failed, and what they wrote was from the person at the keyboard.
#[test]
fn sessions_of_clients_without_a_variable_write_and_answer_as_who_they_are() {
    let world = World::new();
    for (client, prompt) in [
        ("codex", "UserPromptSubmit"),
        ("gemini", "BeforeAgent"),
        ("qwen", "UserPromptSubmit"),
        ("opencode", "user-prompt-submit"),
    ] {
        let mut session = Session::silent(&world, &format!("{client}-session"), &format!("at-{client}"));
        session.client = client;
        session.process = ClientProcess::named(&world, client);
        session.hook("SessionStart");
        let sent = world.json(&["send", &format!("at-{client}"), "is it green?"]);
        let said = session.hook(prompt);
        assert!(said.contains("is it green?"), "{client}: {said}");
        let (code, _, stderr) = session.atm(&["reply", sent["id"].as_str().unwrap(), "yes"]);
        assert_eq!(code, 0, "{client}: {stderr}");
        let (_, stdout, _) = session.atm(&["send", &format!("at-{client}"), "to myself", "--json"]);
        let own: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(own["from"], format!("at-{client}"), "{stdout}");
    }
}

/// A script's run swallowed the mail that waited for its folder.
#[test]
fn a_single_run_of_another_client_leaves_the_mail_of_its_folder_and_takes_what_names_it() {
    let world = World::new();
    let mut script = Session::silent(&world, FIRST, "shop");
    script.client = "codex";
    script.process = ClientProcess::single_run_of_codex(&world);
    assert_eq!(script.hook("SessionStart"), "");
    world.ok(&["send", "shop", "for the next one"]);
    let sent = world.json(&["send", FIRST, "for the run"]);
    assert_eq!(sent["status"], "delivered", "{sent}");
    let said = script.hook("UserPromptSubmit");
    assert!(said.contains("for the run") && !said.contains("for the next one"), "{said}");
    script.hook("Stop");
    drop(script);
    let said = Session::start(&world, SECOND, "shop").hook("UserPromptSubmit");
    assert!(said.contains("for the next one") && !said.contains("for the run"), "{said}");
}

#[test]
fn mail_waits_for_the_next_session_of_a_folder() {
    let world = World::new();
    drop(Session::start(&world, FIRST, "shop"));
    let sent = world.atm(&["send", "shop", "when you are back", "--json"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.stdout.contains("\"queued\"") && sent.stdout.contains("waits for the next one"), "{sent:?}");
    let listed = world.json(&["sessions"]);
    assert_eq!(
        [&listed[0]["name"], &listed[0]["state"], &listed[0]["unread"], &listed[0]["session"]],
        [&json!("shop"), &json!("offline"), &json!(1), &Value::Null]
    );
    let mut next = Session::silent(&world, SECOND, "shop");
    let mut later = Session::start(&world, "77aa88bb-1111", "shop");
    assert_eq!(next.hook("SessionStart"), "", "it takes no turn yet");
    assert!(next.hook("UserPromptSubmit").contains("when you are back"));
    assert_eq!(later.hook("UserPromptSubmit"), "", "it is before another's model");
    // One that ends without the end of its turn has not read it.
    drop(next);
    assert!(later.hook("UserPromptSubmit").contains("when you are back"));
    later.hook("Stop");
    assert_eq!(world.json(&["sessions"])[0]["unread"], 0);
}

#[test]
fn of_two_sessions_in_one_folder_the_sender_names_one() {
    let world = World::new();
    let mut left = Session::start(&world, FIRST, "shop");
    let mut right = Session::start(&world, SECOND, "shop");
    left.registers("left", "idle");
    right.registers("right", "busy");
    let which = world.atm(&["send", "shop", "hello"]);
    assert_eq!(which.code, Some(3), "{which:?}");
    assert!(which.stderr.contains("left, right"), "{which:?}");
    world.ok(&["send", "right", "for the right one"]);
    world.ok(&["send", &FIRST[..8], "for the left one"]);
    let states: Vec<Value> =
        world.json(&["sessions"]).as_array().unwrap().iter().map(|s| s["state"].clone()).collect();
    assert!(states.contains(&json!("idle")) && states.contains(&json!("online")), "{states:?}");
    let said = left.hook("UserPromptSubmit");
    assert!(said.contains("for the left one") && !said.contains("right one"), "{said}");
    // The other one ends before its next turn: its mail is for who is there.
    right.hook("SessionEnd");
    drop(right);
    let said = left.hook("PostToolUse");
    assert!(said.contains("for the right one"), "{said}");
}

/// Whichever session of a folder ran `atm read` first took the mail that named the other one, which never saw it.
#[test]
fn an_agent_reads_what_is_for_its_own_session() {
    let world = World::new();
    let mut left = Session::start(&world, FIRST, "shop");
    let mut right = Session::start(&world, SECOND, "shop");
    left.registers("left", "busy");
    right.registers("right", "busy");
    let sent = world.json(&["send", "right", "for the right one"]);
    let id = sent["id"].as_str().unwrap();
    for words in [&["read"][..], &["read", "--peek"], &["read", "-t", "sessions", "--as", "shop"]] {
        let (code, stdout, stderr) = left.atm(words);
        assert_eq!((code, stdout.trim()), (0, "no new mail"), "{words:?}: {stderr}");
    }
    assert_ne!(world.json(&["track", id])["stage"], "seen");
    let (_, stdout, _) = right.atm(&["read", "--peek"]);
    assert!(stdout.contains("for the right one"), "{stdout}");
    // Who sits at a keyboard and is no session sees all of it.
    assert_eq!(
        texts(&world.json(&["read", "--peek", "-t", "sessions", "--as", "shop"])),
        ["for the right one"]
    );
    let (_, stdout, _) = right.atm(&["read"]);
    assert!(stdout.contains("for the right one"), "{stdout}");
    assert_eq!(world.json(&["track", id])["stage"], "seen");
}

/// Once there was a mailbox of the folder's name, and no other team, mail for the folder named no session.
#[test]
fn of_two_sessions_in_one_folder_the_sender_names_one_also_when_mail_came_before() {
    let world = World::new();
    let left = Session::start(&world, FIRST, "shop");
    left.registers("left", "idle");
    world.ok(&["send", "shop", "for the only one"]);
    let mut right = Session::silent(&world, SECOND, "shop");
    right.hook("SessionStart");
    right.registers("right", "busy");
    for name in ["shop", "shop@sessions"] {
        let which = world.atm(&["send", name, "hello"]);
        assert_eq!(which.code, Some(3), "{which:?}");
        assert!(which.stderr.contains("left, right"), "{which:?}");
    }
    let asked = world.atm(&["request", "shop", "status_request", "--no-wait"]);
    assert_eq!(asked.code, Some(3), "{asked:?}");
    world.ok(&["request", "left", "status_request", "--no-wait"]);
}

/// Proof of what a session was shown was looked for in conversations of Claude Code alone.
#[test]
fn what_sessions_of_other_clients_were_shown_is_proved_by_their_own_conversations() {
    let world = World::new();
    let thread = "0199a0b1-0000-7000-8000-000000000001";
    let mut codex = Session { client: "codex", ..Session::silent(&world, thread, "shop") };
    let rollouts = world.home().join(".codex/sessions/2026/11/17");
    fs::create_dir_all(&rollouts).unwrap();
    let rollout = rollouts.join(format!("rollout-2026-11-17T10-00-00-{thread}.jsonl"));
    fs::write(&rollout, "").unwrap();
    codex.transcript = Some(rollout.clone());
    codex.hook("SessionStart");
    let sent = world.json(&["send", "shop", "the build is red"]);
    let said = codex.hook("UserPromptSubmit");
    assert!(said.contains("the build is red"), "{said}");
    let id = sent["id"].as_str().unwrap();
    let seen = || -> Vec<Value> {
        let track = world.json(&["track", id]);
        let stages = track["stages"].as_array().unwrap().iter();
        stages.filter(|stage| stage["stage"] == "seen").map(|stage| stage["evidence"].clone()).collect()
    };
    assert_eq!(seen(), Vec::<Value>::new(), "that it was presented is no proof");
    let content = json!([{ "type": "input_text", "text": said }]);
    let message = json!({ "type": "message", "id": "msg_1", "role": "developer", "content": content });
    let entry = json!({ "timestamp": sent["timestamp"], "type": "response_item", "payload": message });
    fs::write(&rollout, format!("{entry}\n")).unwrap();
    let proof = seen();
    assert_eq!(proof.len(), 1, "{proof:?}");
    assert_eq!(proof[0]["what"], "in the recipient's conversation, with its id");
    assert_eq!(proof[0]["file"], rollout.to_str().unwrap());
    // The end of a turn looks there, too, before it marks.
    let sent = world.json(&["send", "shop", "and now it is green"]);
    let said = codex.hook("PostToolUse");
    let content = json!([{ "type": "input_text", "text": said }]);
    let message = json!({ "type": "message", "id": "msg_2", "role": "developer", "content": content });
    let more = json!({ "timestamp": sent["timestamp"], "type": "response_item", "payload": message });
    fs::write(&rollout, format!("{entry}\n{more}\n")).unwrap();
    codex.hook("Stop");
    drop(codex);
    fs::remove_file(&rollout).unwrap();
    let stages = world.json(&["track", sent["id"].as_str().unwrap()])["stages"].to_string();
    assert!(stages.contains("in the recipient's conversation, with its id"), "{stages}");
}

/// Most clients do not tell when their user has answered: it was shown as waiting while the tool ran that was let run.
#[test]
fn a_session_does_not_wait_for_its_user_when_its_conversation_goes_on_or_its_client_says_so() {
    let world = World::new();
    let waits = |world: &World, folder: &str| {
        let shown = world.json(&["status", folder, "--why"])["activity"].clone();
        let listed = world.json(&["sessions"]);
        let of_this = listed.as_array().unwrap().iter().find(|one| one["name"] == folder).unwrap();
        assert_eq!(shown == "waiting for permission", of_this["activity"] == "waiting for permission");
        shown == "waiting for permission"
    };
    let rollouts = world.home().join(".codex/sessions/2026/11/17");
    fs::create_dir_all(&rollouts).unwrap();
    let rollout = rollouts.join(format!("rollout-2026-11-17T12-00-00-{FIRST}.jsonl"));
    fs::write(&rollout, "{}\n").unwrap();
    let silent = Session::silent(&world, FIRST, "codex-shop");
    let mut codex = Session { client: "codex", transcript: Some(rollout.clone()), ..silent };
    let mut opencode = Session { client: "opencode", ..Session::silent(&world, "ses_1", "open-shop") };
    for has_mailbox in [false, true] {
        for session in [&mut codex, &mut opencode] {
            session.hook("UserPromptSubmit");
            session.asks();
        }
        assert!(waits(&world, "codex-shop") && waits(&world, "open-shop"), "{has_mailbox}");
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        fs::File::options().append(true).open(&rollout).unwrap().set_modified(later).unwrap();
        let said = json!({ "session_id": opencode.id, "cwd": opencode.folder, "notification_type": "permission_answered" });
        let words = [ATM, "hook", "permission-request", "--client", "opencode"];
        let done = opencode.process.call(&words, &said, (&json!({}), Some(&opencode.folder)));
        assert_eq!(done, (0, String::new(), String::new()));
        assert!(!waits(&world, "codex-shop") && !waits(&world, "open-shop"), "{has_mailbox}");
        let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        fs::File::options().append(true).open(&rollout).unwrap().set_modified(earlier).unwrap();
        for folder in ["codex-shop", "open-shop"] {
            world.ok(&["send", folder, "hello"]);
        }
    }
}

/// What a session does was known of Claude Code alone, and of no session why.
#[test]
fn every_clients_session_tells_why_it_is_there_and_when_it_needs_its_user() {
    let world = World::new();
    for (client, title) in [("codex", "Codex"), ("gemini", "Gemini CLI"), ("qwen", "Qwen Code")] {
        let folder = format!("{client}-shop");
        let mut session = Session { client, ..Session::silent(&world, &format!("{client}-0001"), &folder) };
        session.hook("SessionStart");
        let status = |world: &World| world.json(&["status", &folder, "--why"]);
        let there = status(&world);
        assert_eq!((&there["state"], &there["team"]), (&json!("online"), &json!("sessions")), "{there}");
        let why = there["evidence"][0]["what"].as_str().unwrap().to_owned();
        let pid = session.process.pid();
        assert_eq!(why, format!("process {pid} of {title} runs, which called its hooks"));
        assert!(!world.root().join("teams/sessions").join(&folder).exists(), "nothing is made for a look");
        // The same once somebody wrote to it.
        world.ok(&["send", &folder, "hello"]);
        session.hook(if client == "gemini" { "BeforeAgent" } else { "UserPromptSubmit" });
        session.asks();
        let waits = status(&world);
        assert_eq!(waits["activity"], "waiting for permission", "{waits}");
        let listed = world.json(&["sessions"]);
        let of_this = listed.as_array().unwrap().iter().find(|one| one["name"] == folder.as_str()).unwrap();
        assert_eq!(of_this["activity"], "waiting for permission", "{listed}");
        let picture = world.json(&["status", "-t", "sessions"]);
        let needs: Vec<&Value> = picture["attention"].as_array().unwrap().iter().collect();
        assert!(
            needs.iter().any(|one| one["reason"] == "waits_for_user" && one["who"] == folder.as_str()),
            "{picture}"
        );
        // A session has no pane whose screen could be looked at.
        let shown = world.ok(&["status", "-t", "sessions"]);
        let hint = format!("status {folder} --why");
        assert!(shown.contains(&hint) && !shown.contains("peek"), "{shown}");
        session.hook(if client == "gemini" { "AfterTool" } else { "PostToolUse" });
        assert_ne!(status(&world)["activity"], "waiting for permission");
        session.hook(if client == "gemini" { "AfterAgent" } else { "Stop" });
        assert_eq!(status(&world)["state"], "idle");
        drop(session);
        let gone = status(&world);
        assert_eq!(gone["state"], "offline", "{gone}");
        let why = gone["evidence"][0]["what"].as_str().unwrap();
        assert_eq!(why, format!("process {pid} of {title}, which called its hooks, has ended"));
    }
}

/// A session that waited for its user needed nobody's look as long as nobody had written to it, or beside a team.
#[test]
fn a_session_that_waits_for_its_user_needs_a_look_without_mail_and_beside_a_team() {
    let world = World::new();
    let shop = Session::start(&world, FIRST, "shop");
    shop.registers("left", "waiting");
    let needs = "needs you: session shop is waiting: atm status shop --why";
    assert!(world.ok::<&str>(&[]).contains(needs), "there is no team");
    world.ok(&["team", "create", "dev"]);
    for has_mailbox in [false, true] {
        for words in [vec![], vec!["status"], vec!["status", "--all-teams"]] {
            let shown = world.ok(&words);
            let of_team = has_mailbox && words.contains(&"--all-teams");
            assert_eq!(shown.contains(needs), !of_team, "{has_mailbox} {words:?}: {shown}");
            assert!(!of_team || shown.contains("shop (waits for you"), "{shown}");
        }
        let beside = |words: &[&str]| -> Vec<Value> {
            let answer = world.json(words);
            let pictures = answer.as_array().cloned().unwrap_or_else(|| vec![answer]);
            pictures
                .iter()
                .flat_map(|picture| picture["sessions_waiting"].as_array().unwrap().clone())
                .collect()
        };
        let [session] = &beside(&["status"])[..] else { panic!("one session waits") };
        assert_eq!((&session["session"], &session["client"]), (&json!(FIRST), &json!("claude")), "{session}");
        assert_eq!((&session["name"], &session["waits_for"]), (&json!("shop"), &Value::Null), "{session}");
        assert_eq!(beside(&["status", "--all-teams"]).len(), usize::from(!has_mailbox));
        assert_eq!(beside(&["status", "-t", "dev"]), [] as [Value; 0], "one team was asked about");
        assert_eq!(world.ok(&["status", "--line"]), "✉0 !1\n", "{has_mailbox}");
        let lines = world.ok(&["status", "--line", "--all-teams"]);
        let expected = if has_mailbox { "dev ✉0 !0\nsessions ✉0 !1\n" } else { "✉0 !1\n" };
        assert_eq!(lines, expected, "{has_mailbox}");
        assert!(!world.ok(&["status", "-t", "dev"]).contains(needs), "one team was asked about");
        world.ok(&["send", "shop", "hello"]);
    }
    shop.registers("left", "busy");
    assert_eq!(world.ok(&["status", "--line"]), "✉0 !0\n");
}

#[test]
fn names_that_fit_nothing_or_several_fail_with_what_may_be_meant() {
    let world = World::new();
    for (id, folder) in [(FIRST, "a/shop"), (SECOND, "b/shop"), ("77aa88bb-1111", "frontend")] {
        drop(Session::start(&world, id, folder));
    }
    let several = world.atm(&["send", "shop", "hello"]);
    assert_eq!(several.code, Some(3), "{several:?}");
    assert!(several.stderr.contains("a/shop, b/shop"), "{several:?}");
    let none = world.atm(&["send", "fronted", "hello", "--json"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    assert!(none.stderr.contains("no_such_session") && none.stderr.contains("frontend"), "{none:?}");
    // Only the last part of what it is called is typed wrong.
    let none = world.atm(&["send", "shpo", "hello"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    assert!(none.stderr.contains("a/shop") && none.stderr.contains("b/shop"), "{none:?}");
    // As `atm sessions` calls it.
    let why = world.json(&["status", "b/shop", "--why"]);
    assert_eq!([&why["team"], &why["state"]], ["sessions", "offline"], "{why}");
    assert_eq!(world.atm(&["status", "c/shop"]).code, Some(3));
    world.ok(&["send", "b/shop", "to one of them"]);
    world.ok(&["sessions", "alias", "left", "a/shop"]);
    world.ok(&["send", "left", "by its alias"]);
    let folder = world.home().join("frontend");
    world.ok(&["send", folder.to_str().unwrap(), "by its path"]);
    // A path is one of a session, of a folder without one, or of nothing, which cannot be a name either.
    fs::create_dir(world.home().join("empty")).unwrap();
    for (path, code, words) in [
        ("./empty", 3, "no_such_session"),
        ("a/shpo", 3, "no_such_session"),
        ("./fronted", 2, "frontend"),
        ("../../../x", 2, "must not contain"),
        ("frontend/../../x", 2, "must not contain"),
    ] {
        let answer = world.atm(&["send", path, "hello", "--json"]);
        assert_eq!(answer.code, Some(code), "{path}: {answer:?}");
        assert!(answer.stderr.contains(words), "{path}: {answer:?}");
    }
    let unread = |name: &str| {
        let listed = world.json(&["sessions"]);
        let found = listed.as_array().unwrap().iter().find(|session| session["name"] == name);
        found.map(|session| session["unread"].clone())
    };
    for name in ["a/shop", "b/shop", "frontend"] {
        assert_eq!(unread(name), Some(json!(1)), "{name}");
    }
    // Members come first, and nobody else is written to where a team is named.
    world.ok(&["team", "create", "dev"]);
    world.ok(&["member", "add", "frontend"]);
    assert_eq!(world.json(&["send", "frontend", "to the member"])["team"], "dev");
    assert_eq!(world.json(&["send", "b/shop", "to the folder"])["team"], "sessions");
    assert_eq!(world.json(&["send", "left", "to the session"])["team"], "sessions");
    assert_eq!(world.atm(&["-t", "dev", "send", "left", "hello"]).code, Some(3));
    let kept = world.atm(&["team", "create", "sessions"]);
    assert_eq!(kept.code, Some(4), "{kept:?}");
}

/// Where only sessions are, people were told of members and teams that they do not have.
#[test]
fn who_has_no_team_is_told_of_sessions() {
    let world = World::new();
    let none = world.atm(&["send", "frontend", "hello"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    assert!(none.stderr.contains("`atm install claude`"), "{none:?}");
    drop(Session::start(&world, FIRST, "frontend"));
    for has_mailbox in [false, true] {
        let none = world.atm(&["status", "fronted", "--why", "--json"]);
        assert_eq!(none.code, Some(3), "{has_mailbox}: {none:?}");
        assert!(none.stderr.contains("no_such_session") && none.stderr.contains("frontend"), "{none:?}");
        world.ok(&["send", "frontend", "hello"]);
    }
    world.ok(&["team", "create", "dev"]);
    world.ok(&["member", "add", "front"]);
    let none = world.atm(&["status", "fronted", "--json"]);
    assert!(none.stderr.contains("no_such_member") && none.stderr.contains("front, frontend"), "{none:?}");
    assert_eq!(world.json(&["status", "frontend"])["team"], "sessions");
    let installed = world.ok(&["install", "claude"]);
    assert!(installed.contains("mail for its folder"), "{installed}");
}

#[test]
fn an_alias_is_for_a_folder_that_is_there_and_says_what_it_changes() {
    let world = World::new();
    for folder in ["a/shop", "b/web"] {
        fs::create_dir_all(world.home().join(folder)).unwrap();
    }
    let gone = Session::start(&world, FIRST, "gone");
    drop(gone);
    fs::remove_dir(world.home().join("gone")).unwrap();
    world.ok(&["sessions", "alias", "front", "a/shop"]);
    for (words, code, said) in [
        (vec!["front", "a/shpo"], 2, "there is no folder at"),
        (vec!["Front X", "a/shop"], 2, "alias \"Front X\""),
        (vec!["frnt", "--remove"], 3, "did you mean front?"),
        (vec!["frnt", "--remove"], 3, "no alias is called \"frnt\""),
        (vec!["old", "gone"], 0, "old stands for"),
        (vec!["front", "b/web"], 0, "before, it was"),
        // A folder that is called so would be written to no more, without a word.
        (vec!["gone", "a/shop"], 0, "warning: gone"),
    ] {
        let answer = world.atm(&[&["sessions", "alias"], words.as_slice()].concat());
        assert_eq!(answer.code, Some(code), "{words:?}: {answer:?}");
        assert!(format!("{}{}", answer.stdout, answer.stderr).contains(said), "{words:?}: {answer:?}");
    }
    assert_eq!(world.json(&["send", "front", "hello"])["to"], "web", "the mistake changed nothing");
}
