//! `atm completions` and `atm man`

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::scene::{World, tree};

/// Every command that can be typed, without `atm`.
pub(super) const COMMANDS: &[&str] = &[
    "demo",
    "team",
    "team create",
    "team list",
    "team show",
    "team delete",
    "team join",
    "team alias",
    "team backup",
    "team convert",
    "team restore",
    "team export",
    "team import",
    "member",
    "member add",
    "member remove",
    "member restore",
    "member set",
    "members",
    "sessions",
    "sessions alias",
    "send",
    "broadcast",
    "reply",
    "inbox",
    "read",
    "watch",
    "web",
    "status",
    "ack",
    "request",
    "respond",
    "recall",
    "track",
    "pending",
    "mute",
    "retry",
    "search",
    "tend",
    "thread",
    "log",
    "stats",
    "validate",
    "doctor",
    "archive",
    "clean",
    "migrate",
    "mcp",
    "config",
    "config set",
    "config trust",
    "bridge",
    "notify",
    "notify test",
    "daemon",
    "daemon install",
    "daemon logs",
    "daemon run",
    "daemon start",
    "daemon status",
    "daemon stop",
    "daemon uninstall",
    "hook",
    "schema",
    "install",
    "primer",
    "completions",
    "man",
    "health",
    "reserve",
    "release",
    "reservations",
    "heartbeat",
    "help",
    "idle",
    "plan",
    "plan approve",
    "plan list",
    "plan reject",
    "plan submit",
    "shutdown",
    "shutdown approve",
    "shutdown reject",
    "shutdown request",
    "spawn",
    "kill",
    "respawn",
    "attach",
    "ui",
    "peek",
    "wake",
    "wake wait",
    "task",
    "task assign",
    "task block",
    "task claim",
    "task complete",
    "task create",
    "task delete",
    "task graph",
    "task list",
    "task release",
    "task show",
    "task status",
    "task status-request",
    "task unblock",
    "task update",
    "artifacts",
    "artifacts get",
    "artifacts list",
    "artifacts put",
    "artifacts report",
    "artifacts tail",
];

#[test]
fn every_shell_gets_a_script_that_asks_us() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = world.ok(&["completions", shell]);
        assert!(script.contains("ATM_COMPLETE") && script.contains("atm"), "{shell}: {script}");
    }
    assert_snapshot!(world.session("atm completions tcsh"), @"
    $ atm completions tcsh
    2> error: invalid value 'tcsh' for '<SHELL>'
    2>   [possible values: bash, elvish, fish, powershell, zsh]
    2>
    2>   tip: a similar value exists: 'zsh'
    2>
    2> For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let world = World::new();
    let page = world.ok(&["man"]);
    assert!(page.contains(".TH atm 1") && page.contains("Durable mail for teams of coding agents"), "{page}");

    let folder = world.home().join("share/man/man1");
    assert_snapshot!(world.session("atm man share/man/man1"), @"
    $ atm man share/man/man1
    wrote the pages to share/man/man1
    ");
    let written: Vec<String> =
        tree(&folder).iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let mut expected: Vec<_> =
        COMMANDS.iter().map(|name| format!("atm-{}.1", name.replace(' ', "-"))).collect();
    expected.push("atm.1".to_owned());
    expected.sort();
    assert_eq!(written, expected);
}

#[test]
fn manual_pages_have_the_sections_that_a_manual_page_has_and_are_clean_roff() {
    let world = World::new();
    let folder = world.home().join("man1");
    world.ok(&["man", folder.to_str().unwrap()]);
    let has_groff = Command::new("groff").arg("--version").output().is_ok();
    for path in tree(&folder) {
        let page = fs::read_to_string(&path).unwrap();
        for heading in ["SYNOPSIS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"]
        {
            let is_there =
                page.lines().any(|line| line.trim_start_matches(".SH ").trim_matches('"') == heading);
            assert!(is_there, "{}: no {heading}", path.display());
        }
        if has_groff {
            let shown = Command::new("groff")
                .args(["-man", "-Kutf8", "-Tutf8", "-ww", "-z"])
                .arg(&path)
                .output()
                .unwrap();
            assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
        }
    }
    let page = world.ok(&["man"]);
    for words in ["ATM_ROOT", "CLAUDE_CONFIG_DIR", "config.toml", "log.db"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    if has_groff {
        let page = folder.join("atm-send.1");
        let shown = Command::new("groff").args(["-man", "-Tascii", "-P-cbou"]).arg(page).output().unwrap();
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(text.contains("atm send bob \"please look at the build\""), "{text}");
        assert!(text.contains("'{\"to\":\"bob\",\"text\":\"one\"}'"), "{text}");
    }
}

#[test]
fn a_folder_for_manual_pages_that_cannot_be_made_is_said() {
    let world = World::new();
    fs::write(world.home().join("file"), "").unwrap();
    assert_snapshot!(world.session("atm man file/man1"), @"
    $ atm man file/man1
    2> error: cannot write the pages to file/man1: Not a directory (os error 20)
    [exit 7]
    ");
}
