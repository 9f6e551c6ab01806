//! Words of the libraries are for every front: a library tells nobody to run a shell command.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::path::{Path, PathBuf};

/// Commands of the binary, as somebody would write them into a hint.
const COMMANDS: &[&str] = &[
    "ack",
    "archive",
    "artifacts",
    "attach",
    "broadcast",
    "clean",
    "config",
    "convert",
    "daemon",
    "demo",
    "doctor",
    "health",
    "heartbeat",
    "hook",
    "idle",
    "inbox",
    "install",
    "kill",
    "log",
    "mcp",
    "member",
    "members",
    "migrate",
    "notify",
    "peek",
    "pending",
    "plan",
    "read",
    "recall",
    "release",
    "reply",
    "request",
    "reserve",
    "respawn",
    "respond",
    "retry",
    "search",
    "send",
    "sessions",
    "shutdown",
    "spawn",
    "stats",
    "status",
    "task",
    "team",
    "tend",
    "thread",
    "track",
    "validate",
    "wake",
    "watch",
];

/// Strings that name a front and are evidence, not advice; and the line that is typed into a pane, where a shell or an
/// agent beside one reads it.
const ALLOWED: &[&str] = &["\"atm read\"", "\"atm hook\"", "\"atm mcp\"", "Read your mail, with `atm read`"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The commands that the code of a file names, outside of its comments and tests.
fn commands(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names_one = |line: &&str| {
        let after = line.split("atm ").skip(1);
        let mut words =
            after.map(|rest| rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default());
        line.contains("`atm") || words.any(|word| COMMANDS.contains(&word))
    };
    let is_allowed = |line: &&str| ALLOWED.iter().any(|allowed| line.contains(allowed));
    lines.filter(names_one).filter(|line| !is_allowed(line)).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn no_library_tells_anybody_to_run_a_command() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut wrong = Vec::new();
    for library in ["office", "store", "ledger", "panes", "mcp"] {
        let mut files = Vec::new();
        sources(&crates.join(library).join("src"), &mut files);
        assert!(files.len() > 5, "{library} has sources");
        for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
            let named = commands(&fs::read_to_string(file).unwrap());
            wrong.extend(named.into_iter().map(|line| format!("{}: {line}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_is_found_however_it_is_spelled() {
    assert_eq!(commands("let x = \"`atm log` shows it\";").len(), 1);
    assert_eq!(commands("format!(\"give it back: atm task release {id}\")").len(), 1);
    assert!(commands("// `atm log` shows it\nlet x = \"this atm can read it\";").is_empty());
}
