//! The examples of every help page, run as they stand.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::panes::Stage;
use crate::scene::{Answer, World};

/// A message that was sent to bob, as the examples name it.
const MESSAGE: &str = "7d1c9f02";
/// Two requests, as the examples name them.
const REQUESTS: [&str; 2] = ["5e0a11c2", "b7d3c40e"];
/// A conversation of a client.
const SESSION: &str = "0c8f1d8e-1d7a-4c55-9a52-3f6f0c4c7b11";

/// The examples on a help page, without the blanks before them.
fn examples(page: &str) -> Vec<String> {
    let (_, rest) = page.split_once("\nExamples:\n").unwrap_or_else(|| panic!("no examples: {page}"));
    let lines = rest.lines().take_while(|line| line.starts_with("  "));
    lines.map(|line| line.trim_start().to_owned()).collect()
}

impl Drop for Scene {
    fn drop(&mut self) {
        // An example may have started one; of most there is none.
        let _ = self.stage.world.command(&["daemon", "stop"]).output();
    }
}

/// The names of the commands that a help page lists.
fn below(page: &str) -> Vec<String> {
    let Some((_, rest)) = page.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = rest.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(ToOwned::to_owned).collect()
}

/// A team at work, in which every example can be run.
struct Scene {
    stage: Stage,
    message: String,
    requests: Vec<String>,
}

impl Scene {
    fn new(command: &str) -> Self {
        let stage = Stage::new();
        let world = &stage.world;
        let mut lines = vec![
            "member add alice",
            "member add bob",
            "task create Fix --owner bob",
            "task create Test --owner bob",
            "task create Release --blocked-by 1,2",
        ];
        match command.split(' ').collect::<Vec<_>>().as_slice() {
            ["team", "delete"] => lines.extend(["team create shop", "team create night"]),
            ["team", "restore"] => lines.push("team backup dev --out dev.tar.zst"),
            ["team", "import"] => lines.push("team export dev --out dev.json"),
            ["member", "remove"] => lines.push("member add carol"),
            ["member", "restore"] => {
                lines.extend(["member add carol", "member remove carol", "member remove alice"]);
            }
            ["task", "release" | "complete"] => {
                lines.extend(["--as bob task claim 1", "--as bob task claim 2"]);
            }
            ["send"] => lines.push("sessions alias front src/shop-frontend"),
            ["release"] => lines.push("--as bob reserve src/parser.rs"),
            ["daemon", "status" | "stop" | "logs"] => lines.push("daemon start"),
            ["notify", "test"] => lines.push("config set notify.desktop true"),
            ["artifacts", "get"] => lines.push("--as bob artifacts put report.md"),
            _ => {}
        }
        for (file, text) in [
            ("build.log", "error: no such file\n"),
            ("report.md", "# Report\n\nAll green.\n"),
            ("plan.md", "1. test\n2. mend\n"),
            (".atm.toml", "color = \"never\"\n"),
            ("event.json", "{\"hook_event_name\":\"SessionStart\",\"session_id\":\"none\",\"cwd\":\"/\"}"),
        ] {
            fs::write(world.home().join(file), text).unwrap();
        }
        for folder in [
            ".local/share/bash-completion/completions",
            ".zfunc",
            ".config/fish/completions",
            "bin",
            "src/shop-frontend",
        ] {
            fs::create_dir_all(world.home().join(folder)).unwrap();
        }
        // Clients that do nothing, and in a pane do not end; nothing is shown on a desktop.
        for client in ["claude", "codex", "notify-send", "xdg-open", "atm-bridge"] {
            let program = world.home().join("bin").join(client);
            fs::write(&program, "#!/bin/sh\n[ -t 0 ] && exec sleep 600\nexit 0\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for line in lines {
            world.ok(&line.split(' ').collect::<Vec<_>>());
        }
        let folder = world.root().join("tasks/dev/bob");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("output.log"), "one\ntwo\n").unwrap();
        let text = |document: &Value, key: &str| document[key].as_str().unwrap().to_owned();
        let message = text(&world.json(&["-t", "dev", "send", "bob", "please look at the build"]), "id");
        let ask = |line: &str| text(&world.json(&line.split(' ').collect::<Vec<_>>()), "request");
        let requests = match command {
            "plan approve" | "plan reject" => {
                vec![ask("--as bob plan submit A"), ask("--as alice plan submit B")]
            }
            "shutdown" => vec![ask("--as team-lead shutdown request bob")],
            "shutdown approve" | "shutdown reject" => {
                vec![ask("--as team-lead shutdown request bob"), ask("--as team-lead shutdown request alice")]
            }
            "respond" => {
                let question = "--as team-lead request bob task_status_request --no-wait";
                vec![ask(question), ask(question)]
            }
            _ => Vec::new(),
        };
        if ["kill", "respawn", "attach", "peek", "wake"].contains(&command) {
            for name in ["carol", "dave"] {
                stage.script(name, "while read -r line; do :; done");
            }
        }
        if command == "respawn" {
            for name in ["carol", "dave"] {
                stage.world.ok(&["kill", name]);
            }
        }
        Self { stage, message, requests }
    }

    /// Runs an example, with the ids that it has here, in haste, on a tmux server of its own.
    fn run(&self, line: &str) -> Answer {
        let world: &World = &self.stage.world;
        let mut line = line.replace(MESSAGE, &self.message);
        for (known, there) in REQUESTS.iter().zip(&self.requests) {
            line = line.replace(known, there);
        }
        let socket = self.stage.socket();
        let socket = socket.to_str().unwrap();
        for (verb, more) in [
            ("atm spawn ", format!("--socket {socket} ")),
            ("atm respawn ", format!("--socket {socket} ")),
            ("atm attach", " --json".to_owned()),
            // In a terminal, it stays until somebody leaves.
            ("atm ui", " --json".to_owned()),
        ] {
            line = line.replace(verb, &format!("{verb}{more}"));
        }
        let mut words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
        for at in 1..words.len() {
            if ["--for", "--timeout"].contains(&words[at - 1].as_str()) {
                "1ms".clone_into(&mut words[at]);
            }
        }
        let mut shell = world.shell();
        let path =
            shell.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value?)).unwrap().to_owned();
        let bin = world.home().join("bin");
        let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
        shell.env("PATH", path).env("TMPDIR", world.home()).env("CLAUDE_CODE_SESSION_ID", SESSION);
        let output = shell.args(["-c", &words.join(" ")]).output().unwrap();
        Answer::of(world, &output)
    }
}

/// Runs all examples of a command and of those below it.
fn run_all(command: &str) {
    let page = World::new().ok(&command.split(' ').chain(["--help"]).collect::<Vec<_>>());
    let lines = examples(&page);
    assert!(lines.len() >= 2, "{command}: {page}");
    let scene = Scene::new(command);
    for line in lines {
        let answer = scene.run(&line);
        let waits = line.contains("--timeout ");
        let is_fine = answer.code == Some(0) || (waits && answer.code == Some(8));
        assert!(is_fine, "{command}: $ {line}\n{}", answer.shown());
    }
    drop(scene);
    for name in below(&page) {
        run_all(&format!("{command} {name}"));
    }
}

/// The commands of a group, as the overview shows them.
fn group(wanted: &str) -> Vec<String> {
    let page = World::new().ok(&["help"]);
    let mut inside = false;
    let mut names = Vec::new();
    for line in page.lines() {
        let (head, rest) = line.split_at_checked(7).unwrap_or((line, ""));
        if !head.trim().is_empty() {
            inside = head.trim() == wanted;
        }
        if inside && !rest.is_empty() {
            let column = |from: usize| rest.get(from..).and_then(|rest| rest.split(' ').next());
            names.extend([column(0), column(36)].into_iter().flatten().map(ToOwned::to_owned));
        }
    }
    names
}

fn run_group(name: &str) {
    let commands = group(name);
    assert!(commands.len() >= 7, "{name}: {commands:?}");
    for command in &commands {
        run_all(command);
    }
}

#[test]
fn every_example_of_see_works() {
    run_group("See");
}

#[test]
fn every_example_of_talk_works() {
    run_group("Talk");
}

#[test]
fn every_example_of_work_works() {
    run_group("Work");
}

#[test]
fn every_example_of_run_works() {
    run_group("Run");
}

#[test]
fn every_example_of_care_works() {
    run_group("Care");
}

#[test]
fn every_example_of_set_up_works() {
    run_group("Set up");
}
