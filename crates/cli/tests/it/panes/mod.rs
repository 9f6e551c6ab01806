//! Members in tmux: a real one, on a server of each test's own.

mod crashes;
mod headless;
mod lifecycle;
mod nudges;
mod refusals;
mod shutdown;
mod turns;

use std::path::PathBuf;
use std::process::Command;

use atm_support::wait_until;
use serde_json::Value;

use crate::scene::{Answer, World};

/// A world with the team `dev` and a tmux server, which is killed on every path.
pub(crate) struct Stage {
    pub(crate) world: World,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let world = World::new();
        world.ok(&["team", "create", "dev"]);
        Self { world }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.world.root().with_file_name("tmux")
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let said = Command::new("tmux").arg("-S").arg(self.socket()).args(args).output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    /// `atm spawn` or `atm respawn` on this server.
    pub(crate) fn start(&self, verb: &str, name: &str, more: &[&str]) -> Answer {
        let socket = self.socket();
        let mut args = vec![verb, name, "--json", "--socket", socket.to_str().unwrap()];
        args.extend(more);
        self.world.atm(&args)
    }

    pub(crate) fn spawn(&self, name: &str, more: &[&str]) -> Value {
        let answer = self.start("spawn", name, more);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        serde_json::from_str(&answer.stdout).unwrap()
    }

    /// A member that runs a script, and can be told to by the file `go` in its home.
    pub(crate) fn script(&self, name: &str, script: &str) -> Value {
        self.spawn(name, &["--", "sh", "-c", script])
    }

    /// A member's entry in `config.json`.
    pub(crate) fn entry(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.world.root().join("teams/dev/config.json")).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        let members = config["members"].as_array().unwrap();
        members.iter().find(|member| member["name"] == name).cloned().unwrap_or(Value::Null)
    }

    pub(crate) fn state(&self, name: &str) -> String {
        let members = self.world.json(&["members"]);
        let member =
            members.as_array().unwrap().iter().find(|member| member["name"] == name).unwrap().clone();
        member["state"].as_str().unwrap().to_owned()
    }

    pub(crate) fn screen(&self, name: &str) -> String {
        self.world.ok(&["peek", name])
    }

    pub(crate) fn wait_for_screen(&self, name: &str, words: &str) {
        wait_until(&format!("{name}'s screen shows {words:?}"), || self.screen(name).contains(words));
    }

    pub(crate) fn panes(&self) -> usize {
        self.tmux(&["list-panes", "-a"]).lines().count()
    }
}
