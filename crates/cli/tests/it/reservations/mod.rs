//! Path reservations: `atm reserve`, `atm release`, `atm reservations`, and the hook before an edit.

mod commands;
mod crowd;
mod hook;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::scene::{ATM, Answer, World};

/// The team `dev` with a working tree.
pub(crate) struct Shop {
    pub(crate) world: World,
    tree: PathBuf,
}

impl Shop {
    pub(crate) fn new() -> Self {
        let world = World::with_team();
        let tree = world.home().canonicalize().unwrap().join("shop");
        for folder in [".git", "src", "docs"] {
            fs::create_dir_all(tree.join(folder)).unwrap();
        }
        Self { world, tree }
    }

    pub(crate) fn tree(&self) -> &Path {
        &self.tree
    }

    /// The binary, about to be run in the tree.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        command.current_dir(&self.tree);
        command
    }

    fn atm(&self, args: &[&str]) -> Answer {
        Answer::of(&self.world, &self.command(args).output().unwrap())
    }

    pub(crate) fn ok(&self, args: &[&str]) -> Answer {
        let answer = self.atm(args);
        assert_eq!(answer.code, Some(0), "{args:?}: {answer:?}");
        answer
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[args, &["--json"]].concat()).stdout).unwrap()
    }

    /// The paths that are reserved, with their holders.
    fn held(&self) -> Vec<String> {
        let held = self.json(&["reservations"]);
        let one =
            |one: &Value| format!("{} {}", one["holder"].as_str().unwrap(), one["path"].as_str().unwrap());
        held.as_array().unwrap().iter().map(one).collect()
    }

    /// What the hook of a client says before a tool is called by a member; null, if it says nothing.
    fn hook(&self, client: &str, name: &str, tool: &str, input: &Value) -> Value {
        let event = if client == "gemini" { "BeforeTool" } else { "PreToolUse" };
        let call = json!({
            "session_id": format!("session of {name}"), "cwd": self.tree, "transcript_path": "/none",
            "hook_event_name": event, "tool_name": tool, "tool_input": input,
        });
        let args = ["hook", event, "--client", client, "--as", name, "-t", "dev"];
        let answer = self.world.pipe(&args, call.to_string());
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
        if answer.stdout.is_empty() { Value::Null } else { serde_json::from_str(&answer.stdout).unwrap() }
    }

    /// Whether a client of `name` may write a file.
    pub(crate) fn may_write(&self, name: &str, path: &str) -> bool {
        self.hook("claude", name, "Write", &json!({ "file_path": self.tree.join(path) })).is_null()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.world.state().join("hook.log")).unwrap_or_default()
    }

    /// A program by this name that runs `script`, in a folder of its own.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let folder = self.world.home().join("programs");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A shell that finds `atm`.
    fn run(&self, program: &Path) -> Command {
        let mut command = self.world.program(program.to_str().unwrap());
        command.current_dir(&self.tree).env("ATM", ATM);
        command
    }
}
