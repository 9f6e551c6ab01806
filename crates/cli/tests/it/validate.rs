//! `atm validate`: every format, every way of saying it, and files that were made to hurt.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use atm_store::Layout;
use atm_support::client_fixtures;
use insta::assert_snapshot;
use serde_json::Value;

use crate::scene::{World, foreign_team, tree};

/// The codes of a check, errors and warnings only.
fn codes(world: &World, args: &[&str]) -> Vec<String> {
    let answer = world.atm(&[&["validate", "--json", "--level", "warning"], args].concat());
    let document: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"));
    let findings = document["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["ruleId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_finding_says_file_place_rule_and_what_to_do() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox(
        "bob",
        "[\n  {\"from\": \"alice\", \"text\": \"hi\", \"timestamp\": 7, \"read\": false},\n  null\n]",
    );
    assert_snapshot!(world.session("atm validate dev"), @r#"
    $ atm validate dev
    [ROOT]/teams/dev/inboxes/bob.json:2:48: error: entry 1 has a `timestamp` that is a number, not a string [ATM-M003]
      Newer clients delete it without a word. Write strings: the time like "[.........TIME.........]", a payload as JSON in a string.
    [ROOT]/teams/dev/inboxes/bob.json:3:3: error: entry 2 is null, not an object [ATM-M001]
      One `null` blocks the whole inbox of older clients; newer ones delete it. Take the entry out; `atm doctor --fix` does, and keeps it in quarantine.
    2 files: 2 errors, 0 warnings, 15 dialects
    [exit 6]
    "#);
    assert_snapshot!(world.session("atm validate dev --quiet --level error"), @"
    $ atm validate dev --quiet --level error
    [ROOT]/teams/dev/inboxes/bob.json:2:48: error: entry 1 has a `timestamp` that is a number, not a string [ATM-M003]
    [ROOT]/teams/dev/inboxes/bob.json:3:3: error: entry 2 is null, not an object [ATM-M001]
    [exit 6]
    ");
}

#[test]
fn what_real_clients_wrote_is_valid() {
    let world = World::new();
    let mut checked = 0;
    for client in fs::read_dir(client_fixtures()).unwrap().map(|entry| entry.unwrap().path()) {
        if !client.join("teams").is_dir() {
            continue;
        }
        let root = client.to_str().unwrap();
        let answer = world.json(&["validate", root]);
        assert_eq!(answer["counts"]["error"], 0, "{root}: {answer}");
        assert_eq!(answer["counts"]["warning"], 0, "{root}: {answer}");
        assert!(answer["counts"]["dialect"].as_u64().unwrap() > 0, "{root}: what differs is told");
        checked += answer["files"].as_u64().unwrap();
    }
    assert!(checked >= 15, "{checked} files");
}

#[test]
fn what_we_write_ourselves_is_valid_to_the_letter() {
    for layout in ["array", "log"] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", layout, "--description", "A team"]);
        world.ok(&["member", "add", "alice"]);
        world.ok(&["member", "add", "bob"]);
        world.ok(&["--as", "alice", "send", "bob", "hello", "--priority", "high", "--ack-by", "10m"]);
        world.ok(&["--as", "bob", "read"]);
        world.ok(&["member", "set", "bob", "--active", "false"]);
        world.ok(&["--as", "alice", "send", "bob", "later"]);
        let answer = world.json(&["validate"]);
        assert_eq!(
            (&answer["counts"]["error"], &answer["counts"]["warning"]),
            (&0.into(), &0.into()),
            "{answer}"
        );
    }
}

#[test]
fn every_format_is_found_in_the_tree() {
    let (world, team) = foreign_team(Layout::Log);
    let member = team.folder().join("members/bob");
    for (file, text) in [
        ("inbox", "oops\n"),
        ("inbox-high", "7\n"),
        ("inbox-low", "{\"type\":\"message\"}\n"),
        ("inbox.20261115-184229", "oops\n"),
        ("state.json", "{\"lastProcessedLine\": 9}"),
    ] {
        fs::write(member.join(file), text).unwrap();
    }
    let tasks = world.root().join("tasks/dev");
    fs::create_dir_all(tasks.join("bob")).unwrap();
    for (file, text) in [
        ("1.json", r#"{"id":"1","subject":"s","description":"d","status":"pending","blockedBy":["2"]}"#),
        ("2.json", r#"{"id":"2","subject":"s","description":"d","status":"pending","blockedBy":["1","9"]}"#),
        ("bob/task-status.json", "[]"),
        (".highwatermark", "many"),
    ] {
        fs::write(tasks.join(file), text).unwrap();
    }
    let mut found = codes(&world, &["dev"]);
    found.sort();
    let expected = [
        "ATM-C004", "ATM-F005", "ATM-K007", "ATM-K008", "ATM-K008", "ATM-K009", "ATM-L001", "ATM-L001",
        "ATM-L002", "ATM-L003", "ATM-L003", "ATM-L003", "ATM-L009",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_file_is_recognised_or_named_by_hand() {
    let world = World::new();
    let file = |name: &str, text: &str| fs::write(world.home().join(name), text).unwrap();
    file("some.json", "[null]");
    assert_eq!(codes(&world, &["some.json"]), ["ATM-M001"]);
    file("state.json", "{}");
    assert_eq!(codes(&world, &["state.json"]), ["ATM-C001"]);
    file("odd", "what is this");
    assert_snapshot!(world.session("atm validate odd"), @r#"
    $ atm validate odd
    2> error: what is "odd"? neither its name nor its content tells
    2>   hint: say it with --format config|inbox|log|cursor|task|status|settings
    [exit 2]
    "#);
    assert_eq!(codes(&world, &["odd", "--format", "inbox"]), ["ATM-F002"]);
    file("ours.toml", "team = \"dev\"\ncolour = \"red\"\n");
    assert_snapshot!(world.session("atm validate ours.toml"), @"
    $ atm validate ours.toml
    ours.toml:2:1: error: unknown field `colour`, expected one of `root`, `state`, `team`, `as`, `color`, `delivery`, `archive`, `wake`, `pending`, `context`, `daemon`, `notify`, `web`, `claude`, `bridge` [ATM-X001]
      Every command fails until it is mended. Correct the key or the value; `atm config` shows what is known.
    1 file: 1 error, 0 warnings, 0 dialects
    [exit 6]
    ");
    file("ours.toml", "team = \"dev\"\n");
    world.ok(&["validate", "ours.toml"]);
}

#[test]
fn what_is_not_there_is_not_found() {
    let (world, _) = foreign_team(Layout::Array);
    assert_snapshot!(world.session(
        "atm validate dov
         atm validate ./nothing.json
         atm validate /
         atm validate dev --format nonsense"
    ), @r#"
    $ atm validate dov
    2> error: there is no team and no file "dov"
    2>   hint: did you mean dev?
    [exit 3]
    $ atm validate ./nothing.json
    2> error: there is no file "./nothing.json"
    2>   hint: give a team's name, a team's folder, or a file
    [exit 3]
    $ atm validate /
    2> error: there is no team in "/"
    2>   hint: give a team's folder, or a root with `teams` in it
    [exit 3]
    $ atm validate dev --format nonsense
    2> error: invalid value 'nonsense' for '--format <FORMAT>'
    2>   [possible values: config, inbox, log, cursor, task, status, settings]
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn looking_at_files_changes_nothing() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("bob", "{ broken");
    let before = tree(&world.root());
    assert_eq!(world.atm(&["validate"]).code, Some(6));
    assert_eq!(tree(&world.root()), before);
    assert!(!world.state().exists(), "and leaves nothing in the state");
}

#[test]
fn the_rules_are_documented() {
    let world = World::new();
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/RULES.md");
    let written = fs::read_to_string(document).unwrap();
    assert_eq!(world.ok(&["validate", "--rules"]), written, "docs/RULES.md is out of date: cargo xtask docs");
    let rules = world.json(&["validate", "--rules"]);
    assert!(rules.as_array().unwrap().iter().all(|rule| written.contains(rule["id"].as_str().unwrap())));
}

#[test]
fn sarif_has_what_its_readers_need() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("bob", "[null]");
    let answer = world.atm(&["validate", "dev", "--sarif"]);
    assert_eq!(answer.code, Some(6));
    let log: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "atm");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
    }
    let null = results.iter().find(|result| result["ruleId"] == "ATM-M001").unwrap();
    let place = &null["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().starts_with("file:///"));
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&1.into(), &2.into()));
}

#[test]
fn a_message_cannot_talk_to_the_terminal() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox(
        "bob",
        r#"[{"from":"a\u001b[2J","text":"t","timestamp":"\u001b[31mred","read":false,"k\u001b":1}]"#,
    );
    let answer = world.atm(&["validate", "--level", "dialect"]);
    assert!(!answer.stdout.contains('\u{1b}'), "{answer:?}");
    let json = world.atm(&["validate", "--json"]).stdout;
    assert!(!json.contains('\u{1b}'), "{json}");
}

/// A file that was made to hurt, by its name.
fn hostile(folder: &Path) -> Vec<PathBuf> {
    let path = |name: &str| folder.join(name);
    fs::write(path("deep.json"), "[".repeat(3_000_000)).unwrap();
    fs::write(path("deep-objects.json"), "[{\"a\":".repeat(500_000)).unwrap();
    fs::write(path("invalid.json"), [b'[', b'"', 0xff, 0xfe, b'"', b']']).unwrap();
    fs::write(path("mark.json"), "\u{feff}[]").unwrap();
    fs::write(
        path("surrogate.json"),
        r#"[{"from":"\ud83d","text":"\udead","timestamp":"x","read":true,"\ud800":1}]"#,
    )
    .unwrap();
    fs::write(path("commas.json"), format!("[{}]", ",".repeat(1_000_000))).unwrap();
    fs::write(path("nulls.json"), format!("[{}null]", "null,".repeat(300_000))).unwrap();
    // Zeros that take no space on disk.
    File::create(path("zeros.json")).unwrap().set_len(100 << 20).unwrap();
    let entry = format!(
        r#"{{"from":"a","text":"{}","timestamp":"2026-01-01T00:00:00.000Z","read":true}},"#,
        "x".repeat(1 << 20)
    );
    let mut large = File::create(path("large.json")).unwrap();
    large.write_all(b"[").unwrap();
    for _ in 0..100 {
        large.write_all(entry.as_bytes()).unwrap();
    }
    large.write_all(b"null]").unwrap();
    tree(folder)
}

#[test]
fn hostile_files_are_told_in_bounded_memory() {
    let world = World::new();
    let folder = world.home().join("inboxes");
    fs::create_dir(&folder).unwrap();
    for file in hostile(&folder) {
        // 300 MB of address space: less than some of the files would take if they were held and parsed as a tree.
        let line = format!("ulimit -v 300000; exec atm validate --quiet --level error {}", file.display());
        let output = world.shell().args(["-c", &line]).output().unwrap();
        let valid = file.ends_with("surrogate.json");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            matches!(output.status.code(), Some(6)) || valid,
            "{}: {:?} {said}",
            file.display(),
            output.status
        );
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_pipe_is_not_waited_for() {
    let (world, team) = foreign_team(Layout::Array);
    let made = world.program("mkfifo").arg(team.folder().join("inboxes/pipe.json")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("nowhere", team.folder().join("inboxes/link.json")).unwrap();
    fs::create_dir(team.folder().join("inboxes/folder.json")).unwrap();
    assert_eq!(codes(&world, &["dev"]), ["ATM-F011", "ATM-F011", "ATM-F011"]);
}
