//! What programs need of the command line: ids, schemas, settings, schedulers.

use std::fs;

use insta::assert_snapshot;

use super::setting_up::COMMANDS;
use crate::scene::{ATM, World};

#[test]
fn a_message_with_an_id_of_the_callers_is_written_once() {
    let world = World::with_team();
    let send = ["send", "bob", "build 4711 is done", "--id", "build-4711", "--json"];
    for _ in 0..2 {
        let answer: serde_json::Value = serde_json::from_str(&world.ok(&send)).unwrap();
        assert_eq!(answer["id"], "build-4711");
    }
    assert_eq!(world.json(&["inbox", "bob"]).as_array().unwrap().len(), 1);
    // A client has taken it since.
    let inbox = world.root().join("teams/dev/inboxes/bob.json");
    fs::write(&inbox, "[]").unwrap();
    world.ok(&send);
    assert_eq!(fs::read_to_string(&inbox).unwrap().trim(), "[]");
    // To somebody else it is another message.
    world.ok(&["send", "alice", "build 4711 is done", "--id", "build-4711"]);
    assert_eq!(world.json(&["inbox", "alice"]).as_array().unwrap().len(), 1);
    for bad in ["short", "with blanks", "line\nbreak", ""] {
        assert_eq!(world.atm(&["send", "bob", "x", "--id", bad]).code, Some(2), "{bad:?}");
    }
}

#[test]
fn quiet_says_the_id_of_what_was_made_and_nothing_else() {
    let world = World::with_team();
    let one = |text: String| {
        let line = text.strip_suffix('\n').unwrap().to_owned();
        assert!(!line.is_empty() && !line.contains(['\n', ' ']), "{text:?}");
        line
    };
    let id = one(world.ok(&["-q", "send", "bob", "hello"]));
    assert_eq!(world.json(&["inbox", "bob"])[0]["id"], id.as_str());
    one(world.ok(&["-q", "--as", "bob", "reply", &id, "yes"]));
    assert_eq!(world.ok(&["-q", "--as", "team-lead", "broadcast", "all"]).lines().count(), 2);
    assert_eq!(one(world.ok(&["-q", "task", "create", "Fix"])), "1");
    assert_eq!(one(world.ok(&["-q", "task", "create", "Test", "--owner", "bob"])), "2");
}

#[test]
fn a_command_leads_to_the_schema_of_its_answer() {
    let world = World::new();
    // They print something else than JSON, or have only commands below them.
    let without = [
        "team",
        "member",
        "task",
        "plan",
        "shutdown",
        "artifacts",
        "bridge",
        "daemon",
        "notify",
        "daemon run",
        "completions",
        "man",
        "help",
        "hook",
        "mcp",
    ];
    // Written as files of their own.
    let files = ["team export", "team import"];
    for command in COMMANDS.iter().filter(|command| !without.contains(command) && !files.contains(command)) {
        let words: Vec<&str> = ["schema"].into_iter().chain(command.split(' ')).collect();
        let answer = world.atm(&words);
        assert_eq!(answer.code, Some(0), "{command}: {answer:?}");
    }
    assert!(world.ok(&["schema", "send"]).contains("urn:atm:schema:sent"));
    assert!(world.ok(&["schema", "inbox"]).contains("urn:atm:schema:messages"));
    let answer = world.atm(&["schema", "man", "--json"]);
    assert_eq!(answer.error()["message"], "`atm man` has no answer in JSON");
    let answer = world.atm(&["schema", "member", "--json"]);
    assert_eq!(answer.error()["message"], "each command of `atm member` has an answer of its own");
    assert!(answer.error()["hint"].as_str().unwrap().contains("atm schema member add, "), "{answer:?}");
    let answer = world.atm(&["schema", "send", "bob", "--json"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
}

/// The table of capabilities named commands that there are not.
#[test]
fn the_commands_that_documents_name_are_there() {
    let table = include_str!("../../../../../docs/CONFORMANCE.md");
    let named = table.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("atm "));
    for call in named {
        let words: Vec<&str> = call.split(' ').collect();
        assert!(COMMANDS.iter().any(|command| command.split(' ').next() == Some(words[0])), "atm {call}");
        let below = COMMANDS.iter().filter_map(|command| command.strip_prefix(&format!("{} ", words[0])));
        let below: Vec<&str> = below.collect();
        if let Some(second) = words.get(1).filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())) {
            assert!(below.is_empty() || below.contains(second), "atm {call}");
        }
    }
}

#[test]
fn settings_are_set_with_their_comments_kept() {
    let world = World::new();
    let file = world.home().join(".config/atm/config.toml");
    assert_snapshot!(world.session("
        atm config set team dev
        atm config set team dev
        atm config set delivery.retry_after 5m,1h
        atm config set colour never
        atm config set color pink
        atm config set team
        ATM_TEAM=other atm config set team night --json
    "), @r#"
    $ atm config set team dev
    team is now "dev" in [HOME]/.config/atm/config.toml
    $ atm config set team dev
    team was already "dev" in [HOME]/.config/atm/config.toml
    $ atm config set delivery.retry_after 5m,1h
    delivery.retry_after is now ["5m", "1h"] in [HOME]/.config/atm/config.toml
    $ atm config set colour never
    2> error: there is no setting "colour"
    2>   hint: did you mean color, root?
    [exit 2]
    $ atm config set color pink
    2> error: color = "pink": must be auto, always or never
    2>   hint: nothing was changed
    [exit 2]
    $ atm config set team
    2> error: the following required arguments were not provided:
    2>   <VALUE>
    2>
    2> Usage: atm config set <KEY> <VALUE>
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ ATM_TEAM=other atm config set team night --json
    {
      "file": "[HOME]/.config/atm/config.toml",
      "key": "team",
      "value": "\"night\"",
      "before": "\"dev\"",
      "changed": true,
      "warnings": [
        "team is set by $ATM_TEAM, which counts before this file"
      ]
    }
    2> warning: team is set by $ATM_TEAM, which counts before this file
    "#);
    // What is listed can be set: `context.budget` could not.
    let listed = world.ok(&["config"]);
    let keys = listed.lines().filter_map(|line| line.split_whitespace().next());
    let keys: Vec<&str> = keys.filter(|key| key.contains('.') && !key.contains('/')).collect();
    assert!(keys.contains(&"context.budget"), "{keys:?}");
    for key in keys {
        world.ok(&["config", "set", key, "--unset"]);
    }
    assert_eq!(world.atm(&["config", "set", "context.budget", "3"]).code, Some(2));
    fs::write(&file, "# mine\nteam = \"dev\" # for now\n").unwrap();
    world.ok(&["config", "set", "team", "night"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\nteam = \"night\" # for now\n");
    world.ok(&["config", "set", "team", "--unset"]);
    assert!(!fs::read_to_string(&file).unwrap().contains("night"));
}

#[test]
fn a_projects_settings_stay_trusted_by_who_changes_them() {
    let world = World::new();
    let project = world.home().join(".atm.toml");
    let set = |key, value| world.atm(&["config", "set", key, value, "--project"]);
    assert_eq!(set("color", "never").code, Some(0));
    let answer = set("delivery.escalate_to", "eve");
    assert!(
        answer.stderr.contains("delivery.escalate_to ignored") && answer.stderr.contains("atm config trust"),
        "{answer:?}"
    );
    world.ok(&["config", "trust"]);
    let answer = set("delivery.expire_after", "1d");
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
    assert_eq!(world.json(&["config", "trust", "--list"])[0]["state"], "trusted");
    fs::rename(&project, world.home().join("real.toml")).unwrap();
    std::os::unix::fs::symlink(world.home().join("real.toml"), &project).unwrap();
    assert_eq!(set("color", "auto").code, Some(4));
}

#[test]
fn schedulers_get_what_they_need() {
    let world = World::new();
    let shown = |scheduler: &str| {
        let mut tend = world.command(&["tend", "--print", scheduler]);
        // As in a session that sets no folder.
        let output = tend.env_remove("ATM_ROOT").env_remove("ATM_STATE").output().unwrap();
        String::from_utf8(output.stdout).unwrap().replace(ATM, "/usr/bin/atm")
    };
    assert_snapshot!("tend-print-systemd", shown("systemd"));
    assert_snapshot!("tend-print-launchd", shown("launchd"));
    assert_snapshot!("tend-print-cron", shown("cron"));
    let line = world.ok(&["tend", "--print", "cron"]);
    assert!(line.contains(&format!("--root {}", world.root().display())), "{line}");
}

#[test]
fn times_are_iso_and_the_version_says_how_it_was_built() {
    let world = World::with_team();
    let stats = world.json(&["stats"]);
    for key in ["since", "until"] {
        assert!(stats[key].as_str().is_some_and(|time| time.len() == 24 && time.ends_with('Z')), "{stats}");
    }
    for line in ["--version --verbose", "-V -v", "--verbose --version"] {
        let text = world.ok(&line.split(' ').collect::<Vec<_>>());
        for word in ["atm ", "commit: ", "profile: debug", "target: ", "compiler: rustc ", "features: "] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    assert_eq!(world.atm(&["--verbose"]).code, Some(2));
}
