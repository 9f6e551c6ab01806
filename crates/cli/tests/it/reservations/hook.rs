//! The hook before a tool is called, in every client's format.

use std::fs;

use serde_json::{Value, json};

use super::Shop;
use crate::client_process::ClientProcess;
use crate::scene::ATM;

/// Why an edit was refused, in the client's own format.
fn reason(document: &Value) -> &str {
    let output = &document["hookSpecificOutput"];
    let reason = match (&output["permissionDecision"], &document["decision"], &document["permission"]) {
        (Value::String(deny), ..) if deny == "deny" => &output["permissionDecisionReason"],
        (_, Value::String(deny), _) if deny == "deny" => &document["reason"],
        (.., Value::String(deny)) if deny == "deny" => &document["agent_message"],
        _ => panic!("it is no refusal: {document}"),
    };
    reason.as_str().unwrap()
}

/// The editing tools of each client, as it calls them, with a path below `src`.
fn edits(shop: &Shop) -> Vec<(&'static str, &'static str, Value)> {
    let file = shop.tree.join("src/a.rs");
    let patch = "*** Begin Patch\n*** Update File: docs/a.md\n@@\n-x\n+y\n*** Add File: src/new.rs\n+y\n*** End Patch\n";
    vec![
        ("claude", "Write", json!({ "file_path": file, "content": "x" })),
        ("claude", "Edit", json!({ "file_path": file, "old_string": "x", "new_string": "y" })),
        ("claude", "MultiEdit", json!({ "file_path": file, "edits": [] })),
        ("claude", "NotebookEdit", json!({ "notebook_path": file, "new_source": "x" })),
        ("codex", "apply_patch", json!({ "command": patch })),
        ("gemini", "write_file", json!({ "file_path": file, "content": "x" })),
        ("gemini", "replace", json!({ "file_path": "src/a.rs", "old_string": "x" })),
        ("qwen", "write_file", json!({ "file_path": file, "content": "x" })),
        ("qwen", "edit", json!({ "file_path": file, "old_string": "x", "new_string": "y" })),
        ("cursor", "Write", json!({ "file_path": file })),
        // The plugin of OpenCode calls the hook of Claude Code.
        ("claude", "edit", json!({ "filePath": file })),
        ("claude", "apply_patch", json!({ "patchText": patch })),
    ]
}

#[test]
fn an_edit_of_what_another_holds_is_refused_with_who_why_until_when_and_how_to_ask() {
    let shop = Shop::new();
    for (client, tool, input) in edits(&shop) {
        assert_eq!(shop.hook(client, "alice", tool, &input), Value::Null, "{client} {tool}: nobody holds it");
    }
    let until =
        shop.json(&["--as", "bob", "reserve", "src", "--reason", "the lexer \u{1b}[31m"])[0]["until"].clone();
    for (client, tool, input) in edits(&shop) {
        let refused = shop.hook(client, "alice", tool, &input);
        let reason = reason(&refused);
        for part in
            ["src/", "bob@dev", until.as_str().unwrap(), "the lexer", "atm send bob@dev", "send_message"]
        {
            assert!(reason.contains(part), "{client} {tool} {part}: {reason}");
        }
        assert!(!reason.contains('\u{1b}'), "{reason:?}");
        assert_eq!(shop.hook(client, "bob", tool, &input), Value::Null, "{client} {tool}: its holder edits");
    }
    shop.ok(&["--as", "bob", "release"]);
    for (client, tool, input) in edits(&shop) {
        assert_eq!(shop.hook(client, "alice", tool, &input), Value::Null, "{client} {tool}: released");
    }
    assert_eq!(shop.log(), "");
}

#[test]
fn reading_and_shells_are_never_refused() {
    let shop = Shop::new();
    shop.ok(&["--as", "bob", "reserve", "."]);
    let file = shop.tree.join("src/a.rs");
    for (client, tool, input) in [
        ("claude", "Read", json!({ "file_path": file })),
        ("claude", "Grep", json!({ "path": file })),
        ("claude", "Bash", json!({ "command": "rm -rf src" })),
        ("gemini", "read_file", json!({ "absolute_path": file })),
        ("codex", "Bash", json!({ "command": "cat src/a.rs" })),
        ("claude", "Write", json!({ "content": "x" })),
        ("claude", "Write", json!({ "file_path": "/elsewhere/a.rs" })),
    ] {
        assert_eq!(shop.hook(client, "alice", tool, &input), Value::Null, "{client} {tool}");
    }
}

/// Links, `..` and names that differ by case where the file system tells no difference are one file.
#[test]
fn another_name_of_a_file_is_no_way_around() {
    let shop = Shop::new();
    fs::write(shop.tree.join("src/a.rs"), "").unwrap();
    std::os::unix::fs::symlink(shop.tree.join("src"), shop.tree.join("link")).unwrap();
    std::os::unix::fs::symlink(shop.tree.join("src/a.rs"), shop.world.home().join("a.rs")).unwrap();
    shop.ok(&["--as", "bob", "reserve", "link/a.rs"]);
    assert_eq!(shop.held(), ["bob src/a.rs"]);
    for path in ["src/a.rs", "link/a.rs", "docs/../src/a.rs", "../a.rs", "src/./a.rs"] {
        assert!(!shop.may_write("alice", path), "{path}");
    }
    assert!(shop.may_write("alice", "src/b.rs"));
}

/// A text that was cut in the middle of an emoji hid the path, and the edit went through without a word.
#[test]
fn an_edit_is_refused_whatever_its_text_is_and_one_without_a_readable_path_is_in_the_log() {
    let shop = Shop::new();
    shop.ok(&["--as", "bob", "reserve", "src"]);
    let edit = |arguments: &str| {
        let cwd = shop.tree.display();
        let call =
            format!(r#"{{"session_id":"s","cwd":"{cwd}","tool_name":"Edit","tool_input":{arguments}}}"#);
        let args = ["hook", "PreToolUse", "--client", "claude", "--as", "alice", "-t", "dev"];
        let answer = shop.world.pipe(&args, call);
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
        answer.stdout
    };
    let refused = edit(r#"{"file_path":"src/a.rs","old_string":"\ud83d","new_string":""}"#);
    assert!(reason(&serde_json::from_str(&refused).unwrap()).contains("reserved by bob@dev"), "{refused}");
    assert_eq!(shop.log(), "");
    assert_eq!(edit(r#"{"file":"src/a.rs"}"#), "");
    assert!(shop.log().contains("a call of the tool \"Edit\" was not checked"), "{}", shop.log());
}

/// A hook that fails must not stop an agent's work: the edit goes on, and the trouble is in the log.
#[test]
fn our_own_trouble_refuses_nothing() {
    let shop = Shop::new();
    shop.ok(&["--as", "bob", "reserve", "src"]);
    assert!(!shop.may_write("alice", "src/a.rs"));
    let folder = shop.world.state().join("reservations");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    for broken in ["{", "", "[1]", "{\"version\":9}"] {
        fs::write(&file, broken).unwrap();
        assert!(shop.may_write("alice", "src/a.rs"), "{broken:?}");
    }
    assert!(shop.log().contains(file.to_str().unwrap()), "{}", shop.log());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(shop.may_write("alice", "src/a.rs"));
    // A claim of being somebody in a team that is not there.
    fs::remove_dir(&file).unwrap();
    shop.ok(&["--as", "bob", "reserve", "src"]);
    let call = json!({ "session_id": "s", "cwd": shop.tree, "tool_name": "Write", "tool_input": { "file_path": "src/a.rs" } });
    let args = ["hook", "PreToolUse", "--client", "claude", "--as", "carol", "-t", "none"];
    let answer = shop.world.pipe(&args, call.to_string());
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""), "{answer:?}");
}

#[test]
fn a_session_that_ends_gives_back_what_it_held() {
    let shop = Shop::new();
    let reserve = |session: &str, path: &str| {
        let made = shop
            .command(&["--as", "bob", "reserve", path, "-q"])
            .env("CLAUDE_CODE_SESSION_ID", session)
            .status();
        assert!(made.unwrap().success());
    };
    reserve("session of bob", "src");
    reserve("another", "docs");
    let end = json!({ "session_id": "session of bob", "cwd": shop.tree, "hook_event_name": "SessionEnd" });
    let args = ["hook", "SessionEnd", "--client", "claude", "--as", "bob", "-t", "dev"];
    assert_eq!(shop.world.pipe(&args, end.to_string()).code, Some(0));
    assert_eq!(shop.held(), ["bob docs"]);
}

/// Most people run sessions that are nobody in a team: each is told from the other by its session.
#[test]
fn sessions_without_a_name_keep_out_of_each_others_way() {
    let shop = Shop::new();
    let reserve = |session: &str, path: &str| {
        let made = shop.command(&["reserve", path, "-q"]).env("CLAUDE_CODE_SESSION_ID", session).status();
        made.unwrap().code()
    };
    let may_write = |session: &str| {
        let input = json!({ "file_path": shop.tree.join("src/a.rs") });
        let call =
            json!({ "session_id": session, "cwd": shop.tree, "tool_name": "Write", "tool_input": input });
        let answer = shop.world.pipe(&["hook", "PreToolUse", "--client", "claude"], call.to_string());
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.stdout.is_empty()
    };
    assert_eq!((reserve("one", "src"), reserve("two", "src")), (Some(0), Some(4)));
    assert!(may_write("one") && !may_write("two"));
}

/// They were all called `user`, whom nobody can ask.
#[test]
fn a_session_that_is_nobody_in_a_team_is_named_and_can_be_asked() {
    let shop = Shop::new();
    let (first, second) = ("0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a", "5c1d2e3f-0000-4a9e-9d0f-1f2e3d4c5b6a");
    let mut processes = [first, second].map(|id| (id, ClientProcess::start(&shop.world, &[])));
    let mut call = |place: usize, words: &[&str], more: Value| {
        let (id, process) = &mut processes[place];
        let mut said = json!({ "session_id": id, "cwd": shop.tree, "transcript_path": null });
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let variables = json!({ "CLAUDE_CODE_SESSION_ID": id });
        let (code, stdout, stderr) =
            process.call(&[&[ATM], words].concat(), &said, (&variables, Some(&shop.tree)));
        assert_eq!(code, 0, "{words:?}: {stderr}");
        stdout
    };
    for place in [0, 1] {
        call(place, &["hook", "SessionStart", "--client", "claude"], json!({}));
    }
    call(0, &["reserve", "src", "--reason", "the lexer"], json!({}));
    let listed = shop.json(&["reservations"]);
    assert_eq!(
        [&listed[0]["holder"], &listed[0]["session"], &listed[0]["team"]],
        [&json!("session 0b7e1c52"), &json!(first), &Value::Null]
    );
    let edit = json!({ "tool_name": "Write", "tool_input": { "file_path": shop.tree.join("src/a.rs") } });
    let refused = call(1, &["hook", "PreToolUse", "--client", "claude"], edit.clone());
    let refused: Value = serde_json::from_str(&refused).unwrap();
    let told = reason(&refused);
    for part in ["reserved by session 0b7e1c52 until", "the lexer", "`atm send 0b7e1c52 \"may I edit"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let refused = shop.atm(&["reserve", "src"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("atm send 0b7e1c52"), "{refused:?}");
    // As it was told.
    call(1, &["send", "0b7e1c52", "may I edit src/a.rs?"], json!({}));
    let shown = call(0, &["hook", "UserPromptSubmit", "--client", "claude"], json!({}));
    assert!(shown.contains("may I edit src/a.rs?"), "{shown}");
    assert_eq!(call(0, &["hook", "PreToolUse", "--client", "claude"], edit), "", "its holder edits");
}
