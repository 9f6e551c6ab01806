//! What is refused, before anything is changed.

use std::fs;

use insta::assert_snapshot;

use crate::scene::{World, tree};

/// Fails with this code and changes nothing.
fn refuses(world: &World, args: &[&str], code: i32) -> String {
    let files = || -> Vec<_> {
        tree(&world.home()).into_iter().filter(|p| p.is_file()).map(|p| (fs::read(&p).unwrap(), p)).collect()
    };
    let before = files();
    let answer = world.install(args);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(code), ""), "{answer:?}");
    assert_eq!(files(), before, "{args:?}");
    world.mask(&answer.stderr)
}

#[test]
fn files_that_the_client_would_not_understand_are_left_alone() {
    let world = World::new();
    world.put(".claude/settings.json", "{\n  // a comment\n  \"model\": \"opus\"\n}\n");
    assert_snapshot!(refuses(&world, &["claude"], 6), @"
    error: [HOME]/.claude/settings.json: is no JSON object: key must be a string at line 2 column 3
      hint: nothing was changed; mend the file first
    ");
    for (client, file, text) in [
        ("gemini", ".gemini/settings.json", "{\"a\": 1, /* comments are fine, commas are not */ }"),
        ("cursor", ".cursor/hooks.json", "[]"),
        ("cursor", ".cursor/hooks.json", "\u{feff}{}"),
        ("cursor", ".cursor/hooks.json", "{\"hooks\": {\"stop\": {}}}"),
        ("cursor", ".cursor/hooks.json", "{\"hooks\": 7}"),
        ("gemini", ".gemini/settings.json", "{\"mcpServers\": []}"),
        ("codex", ".codex/config.toml", "model = \n"),
        ("codex", ".codex/config.toml", "mcp_servers = 7\n"),
        ("opencode", ".config/opencode/opencode.json", "{\"mcp\": null /* open"),
    ] {
        let world = World::new();
        world.put(file, text);
        let said = refuses(&world, &[client], 6);
        assert!(said.contains(file.rsplit_once('/').unwrap().1), "{said}");
    }
    let world = World::new();
    world.put(".cursor/mcp.json", "");
    fs::write(world.home().join(".cursor/mcp.json"), [0xff]).unwrap();
    refuses(&world, &["cursor"], 6);
}

#[test]
fn a_plugin_file_of_somebody_else_is_not_overwritten() {
    let world = World::new();
    world.put(".config/opencode/plugins/atm.js", "export const Mine = 1;\n");
    assert_snapshot!(refuses(&world, &["opencode"], 4), @"
    error: [HOME]/.config/opencode/plugins/atm.js: a file is there already, and is not ours
      hint: nothing was changed; rename or remove it first
    ");
    world.put("plugin/README.md", "mine");
    assert!(refuses(&world, &["claude", "--plugin", "plugin"], 4).contains("no plugin of ours"));
    assert!(refuses(&world, &["codex", "--plugin", "other"], 2).contains("only Claude Code"));
}

#[test]
fn a_server_of_somebody_else_keeps_its_name() {
    for (client, file, text) in [
        ("claude", ".claude.json", r#"{"mcpServers": {"atm": {"command": "teller"}}}"#),
        ("codex", ".codex/config.toml", "[mcp_servers.atm]\ncommand = \"teller\"\n"),
        ("gemini", ".gemini/settings.json", r#"{"mcpServers": {"atm": {"url": "http://localhost"}}}"#),
        ("opencode", ".config/opencode/opencode.json", r#"{"mcp": {"atm": {"command": ["teller", "atm"]}}}"#),
        ("cursor", ".cursor/mcp.json", r#"{"mcpServers": {"atm": null}}"#),
    ] {
        let world = World::new();
        world.put(file, text);
        let said = refuses(&world, &[client], 4);
        assert!(said.contains("the server `atm` is there already, and is not ours"), "{said}");
        world.installs(&[client, "--uninstall"]);
        assert_eq!(world.get(file).as_deref(), Some(text), "{client}");
        world.program_is("claude", "exit 1");
        if client == "claude" {
            refuses(&world, &[client], 4);
            world.installs(&[client, "--uninstall"]);
        }
    }
}

#[test]
fn a_file_that_cannot_be_run_is_no_program() {
    let world = World::new();
    world.put("bin/claude", "#!/bin/sh\nexit 1\n");
    world.installs(&["claude"]);
    assert!(world.get(".claude.json").unwrap().contains("\"atm\""));
    assert_eq!(world.install(&["claude", "--check"]).code, Some(3));
}

#[test]
fn a_wrong_command_line_says_so() {
    let world = World::new();
    refuses(&world, &[], 2);
    refuses(&world, &["emacs"], 2);
    refuses(&world, &["claude", "--user", "--project"], 2);
    refuses(&world, &["claude", "--check", "--uninstall"], 2);
    assert!(refuses(&world, &["codex", "--wake"], 2).contains("only Claude Code"));
    assert!(refuses(&world, &["claude", "--as", "../bob"], 2).contains("member name"));
    assert!(refuses(&world, &["claude", "--team", "a/b"], 2).contains("team name"));
}

#[test]
fn claude_codes_own_refusal_is_told() {
    let world = World::new();
    world.program_is("claude", "echo 'no such option' >&2; exit 1");
    let answer = world.install(&["claude"]);
    assert_eq!(answer.code, Some(7));
    assert!(answer.stderr.contains("no such option") && answer.stderr.contains("by hand"), "{answer:?}");
    world.put(".claude.json", "{");
    assert!(refuses(&world, &["claude"], 6).contains(".claude.json"));
}

#[test]
fn without_a_home_there_is_nothing_to_set_up() {
    let world = World::new();
    let output = world.command(&["install", "cursor"]).env("HOME", "").output().unwrap();
    assert_ne!(output.status.code(), Some(0));
}

/// With the lead's name in the user's settings, every session took the lead's mail, and the lead never saw it.
#[test]
fn a_name_in_settings_for_all_sessions_is_refused_with_the_way_out() {
    let world = World::new();
    assert_snapshot!(refuses(&world, &["claude", "--as", "team-lead"], 4), @"
    error: your own settings are for all your sessions, and each would take the mail of team-lead
      hint: `atm install claude` finds out who each session is; `atm install claude --project --as team-lead` makes the clients of this folder that member
    ");
    for client in ["codex", "gemini", "opencode", "cursor"] {
        refuses(&world, &[client, "--as", "bob", "--user", "--dry-run"], 4);
    }
    // A variable of the session that installs it is not written, either.
    let output = world.command(&["install", "claude"]).env("ATM_AS", "bob").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!world.get(".claude/settings.json").unwrap().contains("bob"));
    assert!(!world.get(".claude.json").unwrap().contains("bob"));
    world.installs(&["claude", "--uninstall", "--as", "team-lead"]);
}
