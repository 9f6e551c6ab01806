//! Every session of a client is a mailbox: mail for a folder reaches the session that works there, or the next one.
//!
//! The client is a test double: a process that lives as long as its session and calls the hooks itself, with inputs as Claude
//! Code sends them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::scene::{ATM, World};

/// Reads `[arguments, input]` a line, calls `atm` with it in its session's environment, and prints what came of it.
const CLIENT: &str = r"
import json, os, subprocess, sys
for line in sys.stdin:
    words, said = json.loads(line)
    env = dict(os.environ, CLAUDE_CODE_SESSION_ID=said['session_id'])
    done = subprocess.run(words, input=json.dumps(said), capture_output=True, text=True, env=env, cwd=said['cwd'])
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
";

const FIRST: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const SECOND: &str = "5c1d2e3f-0000-4a9e-9d0f-1f2e3d4c5b6a";

struct Session<'a> {
    world: &'a World,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: String,
    folder: PathBuf,
}

impl<'a> Session<'a> {
    /// A session in a folder below the home folder, which is made; its first hook was called.
    fn start(world: &'a World, id: &str, folder: &str) -> Self {
        let mut session = Self::silent(world, id, folder);
        assert_eq!(session.hook("SessionStart"), "");
        session
    }

    fn silent(world: &'a World, id: &str, folder: &str) -> Self {
        let folder = world.home().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let mut child = world
            .program("python3")
            .args(["-c", CLIENT])
            .env_remove("ATM_AS")
            .env_remove("ATM_TEAM")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { world, child, input, output, id: id.to_owned(), folder }
    }

    /// What the client's own registry says of it.
    fn registers(&self, name: &str, status: &str) {
        let pid = self.child.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let since = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
        let entry = json!({
            "pid": pid, "sessionId": self.id, "cwd": self.folder, "procStart": since, "name": name, "status": status,
        });
        let folder = self.world.root().join("sessions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{pid}.json")), entry.to_string()).unwrap();
    }

    fn run(&mut self, words: &[&str], event: &str) -> (i64, String, String) {
        let said = json!({ "session_id": self.id, "cwd": self.folder, "hook_event_name": event });
        writeln!(self.input, "{}", json!([words, said])).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Calls a hook; gives the text that it puts before the model.
    fn hook(&mut self, event: &str) -> String {
        let (code, stdout, stderr) = self.run(&[ATM, "hook", event, "--client", "claude"], event);
        assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
        let answer: Value = serde_json::from_str(&stdout).unwrap_or_default();
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
        context.or(answer["reason"].as_str()).unwrap_or_default().to_owned()
    }

    /// Runs a command of ours as the session's agent would.
    fn atm(&mut self, words: &[&str]) -> (i64, String, String) {
        self.run(&[&[ATM], words].concat(), "")
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
    assert!(next.hook("SessionStart").contains("when you are back"));
    let mut later = Session::silent(&world, "77aa88bb-1111", "shop");
    assert_eq!(later.hook("SessionStart"), "", "it is before another's model");
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
    world.ok(&["send", "b/shop", "to one of them"]);
    world.ok(&["sessions", "alias", "left", "a/shop"]);
    world.ok(&["send", "left", "by its alias"]);
    let folder = world.home().join("frontend");
    world.ok(&["send", folder.to_str().unwrap(), "by its path"]);
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
