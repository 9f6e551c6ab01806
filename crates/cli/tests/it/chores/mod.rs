//! Chores: each step is taken once, by however many processes, whichever of them dies.

mod dying;
mod logging;
mod once;
mod picture;
mod tend;

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use serde_json::Value;

use crate::scene::World;

const TOGETHER: usize = 8;

/// Runs the same command in eight processes at once; gives the documents of all.
fn together(world: &World, args: &[&str]) -> Vec<Value> {
    let args = [args, &["--json"]].concat();
    let started: Vec<Child> = (0..TOGETHER).map(|_| world.command(&args).spawn().unwrap()).collect();
    let mut documents = Vec::new();
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        documents.push(serde_json::from_slice(&output.stdout).unwrap());
    }
    documents
}

/// All steps that these answers list.
fn steps(documents: &[Value]) -> Vec<Value> {
    documents.iter().flat_map(|document| document.as_array().unwrap().iter().cloned()).collect()
}

fn settings(world: &World, text: &str) {
    let config = world.home().join(".config/atm");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), text).unwrap();
}

/// Mail that was queued for bob, who came back and drained it.
fn drained(world: &World, text: &str) -> String {
    world.ok(&["member", "set", "bob", "--active", "false"]);
    let id = world.sent("bob", text);
    world.ok(&["member", "set", "bob", "--active", "true"]);
    drain(world, "bob");
    id
}

fn drain(world: &World, name: &str) {
    fs::write(world.inbox_file(name), "[]").unwrap();
}

/// Where `codex` is a test double that logs its arguments: the real one wants an account and a terminal.
struct Codex {
    world: World,
    folder: PathBuf,
}

impl Codex {
    /// With bob, who has a conversation, said that he is idle, and has mail.
    fn new() -> Self {
        let world = World::with_team();
        let folder = world.home().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("codex");
        fs::write(&program, "#!/bin/sh\necho called >> \"$HOME/codex.log\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        world.ok(&["member", "set", "bob", "--wake", "codex", "--session", "s-1"]);
        world.ok(&["--as", "bob", "idle"]);
        world.ok(&["--as", "alice", "send", "bob", "hello"]);
        Self { world, folder }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.clone()].into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(folders).unwrap());
        command
    }

    fn calls(&self) -> usize {
        fs::read_to_string(self.world.home().join("codex.log")).unwrap_or_default().lines().count()
    }

    /// The steps that one `atm tend` took.
    fn tend(&self) -> Vec<Value> {
        let output = self.command(&["tend", "--json"]).output().unwrap();
        let passes: Value = serde_json::from_slice(&output.stdout).unwrap();
        passes[0]["steps"].as_array().unwrap().clone()
    }
}
