//! Whose session it is: a hook without a name finds out, and a session that is nobody takes nothing.
//!
//! The inputs are as Claude Code sends them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client_process::ClientProcess;
use crate::scene::{ATM, World, texts};

const LEAD: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const OTHER: &str = "5c1d2e3f-0000-4a9e-9d0f-1f2e3d4c5b6a";
const CLEARED: &str = "77aa88bb-1111-4a9e-9d0f-1f2e3d4c5b6a";

struct Client<'a> {
    world: &'a World,
    process: ClientProcess,
    session: String,
}

impl<'a> Client<'a> {
    fn start(world: &'a World, session: &str, words: &[&str]) -> Self {
        Self { world, process: ClientProcess::start(world, words), session: session.to_owned() }
    }

    fn registers(&self) {
        let entry = json!({ "sessionId": self.session, "cwd": "/p", "kind": "interactive" });
        self.process.registers(self.world, entry);
    }

    fn transcript(&self) -> PathBuf {
        self.world.root().join("projects/-p").join(format!("{}.jsonl", self.session))
    }

    /// Calls a hook as the settings have it; `extra` are more arguments, and `more` more of the client's words.
    fn calls(&mut self, event: &str, extra: &[&str], more: &Value) -> (i64, String, String) {
        let mut said = json!({
            "session_id": self.session, "transcript_path": self.transcript(), "cwd": self.world.home(),
            "permission_mode": "default", "hook_event_name": event,
        });
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let words = [&[ATM, "hook", event, "--client", "claude"], extra].concat();
        self.process.call(&words, &said, (&json!({}), None))
    }

    fn prompt_says(&mut self, more: &Value) -> String {
        let (code, stdout, stderr) = self.calls("UserPromptSubmit", &[], more);
        assert_eq!((code, stderr.as_str()), (0, ""));
        stdout
    }
}

/// A team that a client leads in the session [`LEAD`].
fn team() -> World {
    let world = World::with_team();
    change(&world, |config| config["leadSessionId"] = LEAD.into());
    world
}

fn change(world: &World, change: impl FnOnce(&mut Value)) {
    let file = world.root().join("teams/dev/config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut config);
    fs::write(&file, config.to_string()).unwrap();
}

fn unread(world: &World, name: &str) -> Vec<String> {
    texts(&world.json(&["inbox", name, "--unread"]))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// With a name in the user's settings every session took the lead's mail.
#[test]
fn the_leads_session_gets_its_mail_and_another_in_the_same_folder_none() {
    let world = team();
    world.ok(&["--as", "bob", "send", "team-lead", "please decide", "--ack-by", "5m"]);
    let mut other = Client::start(&world, OTHER, &[]);
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"] {
        assert_eq!(other.calls(event, &[], &json!({})), (0, String::new(), String::new()), "{event}");
    }
    assert_eq!(unread(&world, "team-lead"), ["please decide"], "nothing is taken");
    assert!(!world.state().join("hook.log").exists(), "and nothing is said of it");
    let mut lead = Client::start(&world, LEAD, &[]);
    let said = lead.prompt_says(&json!({ "prompt": "go on" }));
    assert!(said.contains("please decide"), "{said}");
    assert_eq!(other.prompt_says(&json!({})), "");
}

#[test]
fn a_member_in_a_process_of_its_own_is_known_by_its_command_line() {
    let world = team();
    world.ok(&["--as", "team-lead", "send", "bob", "for bob"]);
    world.ok(&["--as", "bob", "send", "team-lead", "for the lead"]);
    let words = ["--agent-id", "bob@dev", "--agent-name", "bob", "--team-name", "dev"];
    let mut bob = Client::start(&world, OTHER, &words);
    let said = bob.prompt_says(&json!({}));
    assert!(said.contains("for bob") && !said.contains("for the lead"), "{said}");
    // An environment that it has from its lead does not make it the lead.
    assert_eq!(bob.calls("UserPromptSubmit", &["--as", "team-lead", "-t", "dev"], &json!({})).1, "");
    assert_eq!(unread(&world, "team-lead"), ["for the lead"]);
    let mut stranger = Client::start(&world, CLEARED, &["--agent-id", "bob@nowhere"]);
    assert_eq!(stranger.prompt_says(&json!({})), "");
}

#[test]
fn a_member_inside_the_leads_session_gets_its_own_mail() {
    let world = team();
    world.ok(&["team", "create", "other"]);
    world.ok(&["-t", "other", "member", "add", "bob"]);
    world.ok(&["-t", "dev", "--as", "team-lead", "send", "bob", "for bob", "--ack-by", "5m"]);
    world.ok(&["-t", "other", "--as", "team-lead", "send", "bob", "for another bob", "--ack-by", "5m"]);
    world.ok(&["-t", "dev", "--as", "alice", "send", "team-lead", "for the lead"]);
    let mut lead = Client::start(&world, LEAD, &[]);
    let tool = |agent: &str| json!({ "agent_id": agent, "tool_name": "Bash" });
    assert_eq!(lead.calls("PostToolUse", &[], &tool("a0123456789")).1, "", "an agent that is no member");
    assert_eq!(lead.calls("PostToolUse", &[], &tool("bob@other")).1, "", "of a team that it does not lead");
    let said = lead.calls("PostToolUse", &[], &tool("bob@dev")).1;
    assert!(said.contains("for bob") && !said.contains("for the lead"), "{said}");
    let said = lead.calls("PostToolUse", &[], &json!({ "tool_name": "Bash" })).1;
    assert!(said.contains("for the lead") && !said.contains("for bob"), "{said}");

    world.ok(&["-t", "dev", "--as", "alice", "send", "bob", "hurry", "--ack-by", "5m"]);
    let idles = |team: &str| json!({ "teammate_name": "bob", "team_name": team });
    assert_eq!(lead.calls("TeammateIdle", &[], &idles("other")), (0, String::new(), String::new()));
    let (code, _, said) = lead.calls("TeammateIdle", &[], &idles("dev"));
    assert!(code == 2 && said.contains("hurry"), "{said}");
    // A name by settings is in the team of the settings, whatever the input says.
    let named = ["--as", "team-lead", "-t", "dev"];
    assert_eq!(lead.calls("TeammateIdle", &named, &idles("other")).0, 0);
    assert_eq!(texts(&world.json(&["-t", "other", "inbox", "bob", "--unread"])), ["for another bob"]);
}

#[test]
fn after_clear_the_process_is_the_same_and_so_is_the_lead() {
    let world = team();
    let mut lead = Client::start(&world, LEAD, &[]);
    assert_eq!(lead.prompt_says(&json!({})), "");
    world.ok(&["--as", "bob", "send", "team-lead", "please decide"]);
    CLEARED.clone_into(&mut lead.session);
    let mut other = Client::start(&world, OTHER, &[]);
    assert_eq!(other.prompt_says(&json!({})), "");
    let said = lead.calls("SessionStart", &[], &json!({ "source": "clear" })).1;
    assert!(said.contains("please decide"), "{said}");
    // The configuration may name the process, and nobody saw the session of before.
    let world = team();
    let mut lead = Client::start(&world, CLEARED, &[]);
    let pid = lead.process.pid();
    change(&world, |config| config["leadProcess"] = json!({ "pid": pid }));
    world.ok(&["--as", "bob", "send", "team-lead", "again"]);
    assert!(lead.prompt_says(&json!({})).contains("again"));
    let mut other = Client::start(&world, LEAD, &[]);
    assert_eq!(other.prompt_says(&json!({})), "", "its process is not the one that leads");
}

#[test]
fn a_conversation_that_is_resumed_is_whose_it_was() {
    let world = team();
    world.ok(&["--as", "bob", "send", "team-lead", "please decide"]);
    world.ok(&["--as", "alice", "send", "bob", "for bob"]);
    let entry = |more: &str| format!("{{\"type\":\"user\"{more},\"message\":{{}}}}\n");
    let of_team = entry(",\"teamName\":\"dev\"").repeat(5);
    let first = Client::start(&world, LEAD, &[]);
    first.registers();
    // Another process, another session, and the conversation of before.
    let mut resumed = Client::start(&world, CLEARED, &[]);
    write(&resumed.transcript(), &of_team);
    if cfg!(target_os = "linux") {
        assert_eq!(resumed.prompt_says(&json!({})), "", "the lead runs elsewhere");
    }
    drop(first);
    assert!(resumed.prompt_says(&json!({})).contains("please decide"));
    // A member whose client does not show its command line.
    let mut bob = Client::start(&world, OTHER, &[]);
    write(&bob.transcript(), &entry(",\"teamName\":\"dev\",\"agentName\":\"bob\""));
    assert!(bob.prompt_says(&json!({})).contains("for bob"));
    // A plain session, which says nothing of a team.
    let mut plain = Client::start(&world, "99999999-1111-4a9e-9d0f-1f2e3d4c5b6a", &[]);
    write(&plain.transcript(), &entry("").repeat(6));
    assert_eq!(plain.prompt_says(&json!({})), "");
}

#[test]
fn a_name_in_the_settings_does_not_outvote_the_session_that_leads() {
    let world = team();
    world.ok(&["--as", "bob", "send", "team-lead", "please decide"]);
    let named = ["--as", "team-lead", "-t", "dev"];
    let mut lead = Client::start(&world, LEAD, &[]);
    lead.registers();
    let mut other = Client::start(&world, OTHER, &[]);
    if cfg!(target_os = "linux") {
        assert_eq!(other.calls("UserPromptSubmit", &named, &json!({})).1, "");
    }
    assert!(lead.calls("UserPromptSubmit", &named, &json!({})).1.contains("please decide"));
    // Where the lead's session is over, who is named is believed.
    world.ok(&["--as", "bob", "send", "team-lead", "once more"]);
    drop(lead);
    assert!(other.calls("UserPromptSubmit", &named, &json!({})).1.contains("once more"));
}
