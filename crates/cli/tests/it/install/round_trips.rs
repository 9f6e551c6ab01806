//! Install, install again, uninstall: the same bytes as before.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::samples::Sample;
use crate::scene::World;

/// Where each client's own servers are, and how its files are read.
fn read(name: &str, text: &str) -> Value {
    let kind = name.rsplit_once('.').unwrap().1;
    if kind == "toml" {
        let table: toml::Table = toml::from_str(text).unwrap();
        return serde_json::to_value(table).unwrap();
    }
    if text.trim().is_empty() {
        return json!({});
    }
    let plain = atm_wire::json::loose::without_comments_and_commas(text);
    serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Whether all of `part` is in `whole`.
fn includes(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|there| includes(there, value)))
        }
        (Value::Array(whole), Value::Array(part)) => part.iter().all(|value| whole.contains(value)),
        _ => whole == part,
    }
}

/// Whether all that is not blank of `part` stands in `whole`, in its order: nothing was changed, only added.
fn only_adds(whole: &str, part: &str) -> bool {
    let mut whole = whole.chars();
    part.chars().filter(|c| !c.is_whitespace()).all(|wanted| whole.any(|c| c == wanted))
}

/// The changes of a report; none, if all is as it was.
fn changes(report: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(report).unwrap();
    let files = report["files"].as_array().unwrap().iter();
    files.filter(|file| file["change"] != "unchanged").map(ToString::to_string).collect()
}

#[test]
fn there_and_back_gives_the_same_bytes_and_twice_changes_nothing() {
    for sample in Sample::all() {
        let (world, client) = (sample.world(), sample.client.as_str());
        let mode = |name: &str| fs::metadata(world.home().join(name)).unwrap().permissions().mode() & 0o777;
        for (name, _) in &sample.files {
            fs::set_permissions(world.home().join(name), fs::Permissions::from_mode(0o640)).unwrap();
        }
        let ours = ["--team", "dev"];
        world.installs(&[&[client], &ours[..]].concat());
        for (name, text) in &sample.files {
            let now = world.get(name).unwrap();
            assert_ne!(now, *text, "{name}");
            assert!(now.contains("atm"), "{name}");
            assert!(only_adds(&now, text), "{} of {}: {now}", name, sample.case);
            assert!(includes(&read(name, &now), &read(name, text)), "{name} keeps what it had: {now}");
            assert_eq!(mode(name), 0o640, "{name}");
        }
        let after: Vec<_> = sample.files.iter().map(|(name, _)| world.get(name)).collect();
        let again = world.installs(&[&[client, "--json"], &ours[..]].concat());
        assert_eq!(changes(&again), [""; 0]);
        assert_eq!(sample.files.iter().map(|(name, _)| world.get(name)).collect::<Vec<_>>(), after);

        world.installs(&[client, "--uninstall"]);
        for (name, text) in &sample.files {
            assert_eq!(world.get(name).as_ref(), Some(text), "{name}");
            assert_eq!(mode(name), 0o640, "{name}");
        }
        assert_eq!(changes(&world.installs(&[client, "--uninstall", "--json"])), [""; 0]);
    }
}

#[test]
fn files_that_we_made_go_again() {
    for client in ["claude", "codex", "gemini", "qwen", "opencode", "cursor"] {
        for scope in ["--user", "--project"] {
            let world = World::new();
            let before = crate::scene::tree(&world.home());
            world.installs(&[client, scope]);
            let files = crate::scene::tree(&world.home());
            assert!(files.iter().any(|path| path.is_file()), "{client}");
            world.installs(&[client, scope, "--uninstall"]);
            assert_eq!(crate::scene::tree(&world.home()), before, "{client}");
        }
    }
}

/// Something of the user's, behind the first brace, or at the end of TOML.
fn edited(name: &str, text: &str) -> String {
    match name.rsplit_once('.').unwrap().1 {
        "toml" => format!("{text}\n[added]\nby = \"me\"\n"),
        _ if text.trim().is_empty() => "{ \"added\": {\"by\": \"me\"} }\n".to_owned(),
        _ => {
            let comma = if read(name, text).as_object().unwrap().is_empty() { "" } else { "," };
            text.replacen('{', &format!("{{ \"added\": {{\"by\": \"me\"}}{comma}"), 1)
        }
    }
}

#[test]
fn after_the_users_own_edits_only_ours_goes() {
    for sample in Sample::all() {
        let (world, client) = (sample.world(), sample.client.as_str());
        world.installs(&[client, "--team", "ops"]);
        for (name, _) in &sample.files {
            world.put(name, &edited(name, &world.get(name).unwrap()));
        }
        // Installing again, for another team, keeps the user's edit, too.
        world.installs(&[client, "--team", "qa-two"]);
        world.installs(&[client, "--uninstall"]);
        for (name, text) in &sample.files {
            let now = world.get(name).unwrap();
            assert!(!now.contains("qa-two") && !now.contains("ops"), "{name}");
            let case = &sample.case;
            assert_eq!(read(name, &now)["added"], json!({ "by": "me" }), "{name} of {case}: {now}");
            let said = |text: &str| text.split_whitespace().collect::<String>();
            let wanted = edited(name, text);
            assert_eq!(said(&now), said(&wanted), "{name} of {case}: nothing but ours\n{now}\n{wanted}");
        }
    }
}

#[test]
fn a_hook_that_a_user_moved_into_a_group_of_their_own_is_found() {
    let world = World::new();
    let mine = json!({ "type": "command", "command": "say done" });
    let ours = json!({ "type": "command", "command": "atm", "args": ["hook", "Stop"], "timeout": 99 });
    let settings = json!({ "hooks": { "Stop": [{ "matcher": "", "hooks": [mine, ours] }] } });
    world.put(".claude/settings.json", &serde_json::to_string_pretty(&settings).unwrap());
    world.installs(&["claude"]);
    let now = read("settings.json", &world.get(".claude/settings.json").unwrap());
    let stop = now["hooks"]["Stop"].as_array().unwrap();
    assert_eq!(stop.len(), 2, "{now}");
    assert_eq!(stop[0], json!({ "matcher": "", "hooks": [mine] }));
    assert_eq!(now.to_string().matches("\"hook\",\"Stop\"").count(), 1, "once: {now}");
}

#[test]
fn a_hook_that_wakes_comes_and_goes() {
    let world = World::new();
    let stop = || {
        let settings = read("settings.json", &world.get(".claude/settings.json").unwrap());
        settings.pointer("/hooks/Stop/0/hooks").cloned().unwrap()
    };
    let as_bob = ["claude", "--team", "dev"];
    let waking = [&as_bob[..], &["--wake"]].concat();
    world.installs(&waking);
    let wait = json!({
        "type": "command", "command": "atm", "asyncRewake": true, "timeout": 86400,
        "args": ["wake", "wait", "--root", world.root(), "--state", world.state(), "--team", "dev"],
    });
    assert_eq!(stop()[1], wait);
    assert_eq!(changes(&world.installs(&[&waking[..], &["--json"]].concat())), [""; 0]);
    world.installs(&as_bob);
    assert_eq!(stop().as_array().unwrap().len(), 1, "without the flag it does not wake");
    world.installs(&waking);
    world.installs(&["claude", "--uninstall"]);
    assert_eq!(world.get(".claude/settings.json"), None);
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let world = World::new();
    world.put(".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n");
    let before = crate::scene::tree(world.home().parent().unwrap());
    assert_snapshot!(world.mask(&world.installs(&["cursor", "--dry-run", "--as", "bob@dev", "--project"])), @r#"
    would be changed [HOME]/.cursor/mcp.json
      --- [HOME]/.cursor/mcp.json
      +++ [HOME]/.cursor/mcp.json
      @@ -1,5 +1,17 @@
       {
         "mcpServers": {
      -    "other": {}
      +    "other": {},
      +    "atm": {
      +      "args": [
      +        "mcp"
      +      ],
      +      "command": "atm",
      +      "env": {
      +        "ATM_AS": "bob",
      +        "ATM_ROOT": "[ROOT]",
      +        "ATM_STATE": "[STATE]",
      +        "ATM_TEAM": "dev"
      +      }
      +    }
         }
       }
    would be created [HOME]/.cursor/hooks.json
      --- /dev/null
      +++ [HOME]/.cursor/hooks.json
      @@ -0,0 +1,21 @@
      +{
      +  "version": 1,
      +  "hooks": {
      +    "sessionStart": [
      +      {
      +        "command": "atm hook sessionStart --client cursor --root [ROOT] --state [STATE] --team dev --as bob"
      +      }
      +    ],
      +    "beforeSubmitPrompt": [
      +      {
      +        "command": "atm hook beforeSubmitPrompt --client cursor --root [ROOT] --state [STATE] --team dev --as bob"
      +      }
      +    ],
      +    "stop": [
      +      {
      +        "command": "atm hook stop --client cursor --root [ROOT] --state [STATE] --team dev --as bob",
      +        "loop_limit": 5
      +      }
      +    ]
      +  }
      +}
    Cursor: Cursor lists the server under Settings, MCP: switch it on there if it is off
    "#);
    assert_eq!(crate::scene::tree(world.home().parent().unwrap()), before, "not even our state");
}

#[test]
fn claude_codes_own_command_edits_the_file_that_it_rewrites() {
    let world = World::new();
    let log = world.home().join("calls");
    world.program_is("claude", &format!("echo \"$@\" >> {}", log.display()));
    world.put(".claude.json", r#"{"mcpServers":{"atm":{"command":"/old/atm"}}}"#);
    let calls = || world.mask(&fs::read_to_string(&log).unwrap_or_default());
    world.installs(&["claude", "--team", "dev", "--dry-run"]);
    assert_eq!(calls(), "");
    world.installs(&["claude", "--team", "dev"]);
    assert_snapshot!(calls(), @r#"
    mcp remove atm -s user
    mcp add-json -s user atm {"args":["mcp"],"command":"/old/atm","env":{"ATM_ROOT":"[ROOT]","ATM_STATE":"[STATE]","ATM_TEAM":"dev"},"type":"stdio"}
    "#);
    assert_eq!(world.get(".claude.json").unwrap(), r#"{"mcpServers":{"atm":{"command":"/old/atm"}}}"#);
    let env = json!({ "ATM_ROOT": world.root(), "ATM_STATE": world.state(), "ATM_TEAM": "dev" });
    let server =
        json!({ "type": "stdio", "command": "/old/atm", "args": ["mcp"], "env": env, "alwaysLoad": true });
    let there = json!({ "mcpServers": { "atm": server } });
    world.put(".claude.json", &there.to_string());
    fs::remove_file(&log).unwrap();
    world.installs(&["claude", "--team", "dev"]);
    assert_eq!(calls(), "", "it is as it should be");
    world.installs(&["claude", "--uninstall"]);
    assert_eq!(calls(), "mcp remove atm -s user\n");
    // A project's file is nobody's but the project's.
    world.installs(&["claude", "--project"]);
    assert_eq!(calls(), "mcp remove atm -s user\n");
    assert!(world.get(".mcp.json").unwrap().contains("\"atm\""));
}

#[test]
fn clients_are_found_where_their_variables_say() {
    let world = World::new();
    let at = |name: &str| world.home().join(name);
    for (client, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", "cc/settings.json"),
        ("claude", "CLAUDE_CONFIG_DIR", "cc/.claude.json"),
        ("codex", "CODEX_HOME", "cc/config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "cc/opencode/opencode.json"),
    ] {
        let mut command = world.command(&["install", client]);
        let output = command.env("PATH", "/nowhere").env(variable, at("cc")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("`atm` is not on your path"), "{output:?}");
        assert!(at(file).is_file(), "{file}");
    }
}

#[test]
fn what_was_set_up_is_what_the_hook_command_understands() {
    let world = World::with_team();
    world.ok(&["send", "bob", "the build is red"]);
    world.installs(&["codex", "--as", "bob", "--team", "dev", "--project"]);
    let hooks = read("hooks.json", &world.get(".codex/hooks.json").unwrap());
    let line = hooks.pointer("/hooks/UserPromptSubmit/0/hooks/0/command").unwrap().as_str().unwrap();
    let mut shell = world.program("sh");
    let output = shell.env_remove("ATM_ROOT").env_remove("ATM_STATE").args(["-c", line]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("the build is red"), "{line}: {output:?}");
}
