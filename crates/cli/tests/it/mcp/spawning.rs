//! Teammates that a tool starts: a real tmux, and a test double of the agent client.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use super::client::Client;
use crate::scene::World;

/// A world whose tmux servers are its own, and are killed on every path.
struct Stage {
    world: World,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.in_it(&mut Command::new("tmux")).args(["-L", "atm", "kill-server"]).output();
    }
}

impl Stage {
    fn new() -> Self {
        let world = World::new();
        world.ok(&["team", "create", "dev"]);
        let bin = world.home().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("claude"), "#!/bin/sh\nexec sleep 600\n").unwrap();
        fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { world }
    }

    fn in_it<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let path = env::var_os("PATH").unwrap_or_default();
        let path = [self.world.home().join("bin")].into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(path).unwrap()).env("TMUX_TMPDIR", self.world.home())
    }

    fn lead(&self) -> Client {
        let mut command = self.world.command(&["mcp", "--team", "dev"]);
        let mut client = Client::of(self.in_it(&mut command));
        client.greet();
        client
    }
}

#[test]
fn a_teammate_is_started_ended_and_brought_back_with_its_mail() {
    let stage = Stage::new();
    let mut lead = stage.lead();
    let bob = json!({ "name": "bob", "prompt": "Write the parser" });
    let started = lead.call("spawn_teammate", bob.clone());
    assert_eq!((&started["agent_id"], &started["team_name"]), (&json!("bob@dev"), &json!("dev")));
    assert!(lead.refused("spawn_teammate", bob.clone()).contains("bob@dev runs already"));
    let status = lead.call("check_teammate", json!({ "agent_name": "bob", "include_output": true }));
    assert_eq!((&status["alive"], &status["their_unread_count"]), (&json!(true), &json!(1)), "{status}");
    let inbox = stage.world.json(&["inbox", "bob"]);
    assert_eq!((&inbox[0]["type"], &inbox[0]["text"]), (&json!("system_init"), &json!("Write the parser")));

    let mut kill = stage.world.command(&["kill", "bob"]);
    assert!(stage.in_it(&mut kill).status().unwrap().success());
    let status = lead.call("check_teammate", json!({ "agent_name": "bob" }));
    assert_eq!(status["alive"], false, "{status}");
    lead.call("spawn_teammate", bob);
    let status = lead.call("check_teammate", json!({ "agent_name": "bob" }));
    assert_eq!((&status["alive"], &status["their_unread_count"]), (&json!(true), &json!(1)), "{status}");

    lead.call("force_kill_teammate", json!({ "agent_name": "bob" }));
    assert_eq!(lead.call("read_config", json!({}))["members"].as_array().unwrap().len(), 1);
    assert!(lead.refused("check_teammate", json!({ "agent_name": "bob" })).contains("bob is not a teammate"));
}

#[test]
fn what_cannot_be_started_is_said() {
    let stage = Stage::new();
    let mut lead = stage.lead();
    let words = lead.refused("spawn_teammate", json!({ "name": "B", "prompt": "x" }));
    assert!(words.contains("member name \"B\""), "{words}");
    fs::remove_file(stage.world.home().join("bin/claude")).unwrap();
    let missing = json!({ "name": "eve", "prompt": "x", "backend_type": "gemini" });
    assert!(lead.refused("spawn_teammate", missing).starts_with("there is no program \"gemini\""));
}
