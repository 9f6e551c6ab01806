//! Files of older and of later programs: brought to our version, or left alone.

use std::fs;

use atm_store::{Layout, points};
use atm_support::{Foreign, client_fixtures};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::scene::{World, foreign_team, tree};

#[test]
fn a_plan_first_then_the_change_and_then_nothing() {
    let (world, team) = foreign_team(Layout::Array);
    let config = fs::read_to_string(team.config_file()).unwrap().replace("\"createdAt\"", "\"created_at\"");
    fs::write(team.config_file(), &config).unwrap();
    let inbox = r#"[{"from":"alice","text":"t","timestamp":1794768140463,"read":"true","odd":1E2},null]"#;
    team.write_inbox("bob", inbox);
    let told = world.session(
        "atm migrate --dry-run
         atm migrate --dialect current --dry-run",
    );
    assert_eq!(
        (fs::read_to_string(team.config_file()).unwrap(), team.inbox_bytes("bob")),
        (config, inbox.into())
    );
    let told = told
        + &world.session(
            "atm migrate dev
         atm migrate dev --dialect current | tail -1
         atm migrate dev --dialect current
         atm validate --level warning",
        );
    assert_snapshot!(told, @r#"
    $ atm migrate --dry-run
    [ROOT]/teams/dev/config.json
      schemaVersion: "1.0.0" (new)
    1 would be changed; nothing was
    $ atm migrate --dialect current --dry-run
    [ROOT]/teams/dev/config.json
      created_at: "created_at" -> "createdAt"
      createdAt: 1794768087987 -> "[.........TIME.........]"
      schemaVersion: "1.0.0" (new)
    [ROOT]/teams/dev/inboxes/bob.json
      [0].timestamp: 1794768140463 -> "[.........TIME.........]"
      [0].messageId: "[ID]" (new)
      [0].read: "true" -> true
    6 would be changed; nothing was
    $ atm migrate dev
    [ROOT]/teams/dev/config.json
      schemaVersion: "1.0.0" (new)
    1 changed
    $ atm migrate dev --dialect current | tail -1
    5 changed
    $ atm migrate dev --dialect current
    nothing to do
    $ atm validate --level warning
    [ROOT]/teams/dev/inboxes/bob.json:1:142: error: entry 2 is null, not an object [ATM-M001]
      One `null` blocks the whole inbox of older clients; newer ones delete it. Take the entry out; `atm doctor --fix` does, and keeps it in quarantine.
    2 files: 1 error, 0 warnings, 13 dialects
    [exit 6]
    "#);
    let inbox = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    assert!(
        inbox.contains("\"odd\":1E2") && inbox.contains("\"read\":true") && inbox.ends_with(",null]"),
        "{inbox}"
    );
}

/// Two lines of an older program, one that is read and one that is not, an answer to a request, and what is no message.
const OLD_LOG: &str = concat!(
    r#"{"type":"message","from":"alice","to":"bob","timestamp":1794768140463,"content":{"text":"one"},"odd":1E2}"#,
    "\r\n",
    "not json\n",
    r#"{ "type" : "task_assignment", "from":"alice", "to":"bob", "timestamp":"2026-11-15T18:43:00Z", "content":{"taskId":"7","subject":"s"} }"#,
    "\n",
    r#"{"type":"message","from":"alice","to":"bob","timestamp":"2026-11-15T18:44:00Z","messageId":"m-3","content":{"text":"three"}}"#,
    "\n",
    r#"{"type":"message","from":"al"#,
);

#[test]
fn lines_of_a_log_get_their_ids_and_the_cursor_stays_where_it_is() {
    let (world, team) = foreign_team(Layout::Log);
    team.write_inbox("bob", OLD_LOG);
    let state = team.folder().join("members/bob/state.json");
    fs::write(&state, "{\"lastProcessedLine\":\"1\",\"mine\":1}").unwrap();
    let looks = || {
        let messages = world.json(&["inbox", "bob"]);
        let look =
            |message: &Value| json!([message["id"], message["read"], message["text"], message["timestamp"]]);
        messages.as_array().unwrap().iter().map(look).collect::<Vec<_>>()
    };
    let before = looks();
    assert_eq!(before.iter().filter(|look| look[1] == true).count(), 1, "{before:?}");

    let plan = world.json(&["migrate", "--dialect", "current", "--dry-run"]);
    assert_eq!(team.inbox_bytes("bob"), OLD_LOG.as_bytes());
    let done = world.json(&["migrate", "--dialect", "current"]);
    assert_eq!(done["files"], plan["files"], "the plan is what is done");
    let steps =
        |file: &Value| file["changes"].as_array().unwrap().iter().map(|step| step["place"].clone()).collect();
    let steps: Vec<Vec<Value>> = done["files"].as_array().unwrap().iter().map(steps).collect();
    let lines = json!(["line 1: timestamp", "line 1: messageId", "line 3: messageId"]);
    assert_eq!(json!(steps[1..]), json!([["lastProcessedLine"], lines]), "{done}");

    assert_eq!(looks(), before);
    assert_eq!(fs::read_to_string(&state).unwrap(), "{\"lastProcessedLine\":1,\"mine\":1}");
    let id = |at: usize| before[at][0].as_str().unwrap().to_owned();
    let after = OLD_LOG
        .replace("1794768140463", "\"2026-11-15T18:42:20.463Z\"")
        .replace("\"odd\":1E2}", &format!("\"odd\":1E2,\"messageId\":\"{}\"}}", id(0)))
        .replace("\"s\"} }", &format!("\"s\"}},\"messageId\":\"{}\" }}", id(1)));
    assert_eq!(String::from_utf8(team.inbox_bytes("bob")).unwrap(), after, "all else is as it was");
    assert_eq!(world.json(&["migrate", "--dialect", "current"])["files"], json!([]));
}

#[test]
fn a_message_is_known_by_its_id_before_and_after() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        match layout {
            Layout::Array => team.write_inbox(
                "bob",
                r#"[{"from":"alice","text":"one","timestamp":"2026-11-15T18:42:20.463Z","read":false}]"#,
            ),
            Layout::Log => team.write_inbox("bob", OLD_LOG),
        }
        let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(world.json(&["track", &id])["stage"], "written");
        world.ok(&["migrate", "--dialect", "current"]);
        let raw = String::from_utf8(team.inbox_bytes("bob")).unwrap();
        assert!(raw.contains(&format!("\"messageId\":\"{id}\"")), "{raw}");
        assert_eq!(world.json(&["track", &id])["stage"], "written");
        assert_eq!(world.json(&["--as", "bob", "read", "--limit", "1"])[0]["id"], id.as_str());
        assert_eq!(world.json(&["track", &id])["stage"], "seen", "{layout:?}");
    }
}

#[test]
fn files_of_every_client_stay_what_they_say() {
    for client in fs::read_dir(client_fixtures()).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(teams) = fs::read_dir(client.join("teams")) else { continue };
        let world = World::new();
        let copied = world.program("cp").arg("-r").arg(client.join("teams")).arg(world.root()).status();
        assert!(copied.unwrap().success());
        for team in teams.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
            let folder = world.root().join("teams").join(&team);
            let look = |name: &str| world.json(&["-t", &team, "inbox", name]);
            let names: Vec<String> = fs::read_dir(folder.join("inboxes"))
                .unwrap()
                .filter_map(|entry| {
                    Some(entry.unwrap().file_name().to_str()?.strip_suffix(".json")?.to_owned())
                })
                .collect();
            let said: Vec<Value> = names.iter().map(|name| look(name)).collect();
            let members = world.json(&["-t", &team, "members"]);
            let config = fs::read_to_string(folder.join("config.json")).unwrap();

            world.ok(&["migrate", &team]);
            let migrated = fs::read_to_string(folder.join("config.json")).unwrap();
            let end = config.trim_end().strip_suffix('}').unwrap().trim_end();
            assert_eq!(
                migrated.strip_prefix(end),
                Some(",\n  \"schemaVersion\": \"1.0.0\"\n}"),
                "{client:?}"
            );

            world.ok(&["migrate", &team, "--dialect", "current"]);
            assert_eq!(world.json(&["-t", &team, "members"]), members);
            assert_eq!(names.iter().map(|name| look(name)).collect::<Vec<_>>(), said, "{client:?}");
            assert_eq!(world.json(&["migrate", &team, "--dialect", "current"])["files"], json!([]));
            for file in tree(&folder).iter().filter(|path| path.is_file()) {
                let bytes = fs::read(file).unwrap();
                assert!(bytes.is_empty() || serde_json::from_slice::<Value>(&bytes).is_ok(), "{file:?}");
            }
        }
    }
}

#[test]
fn killed_anywhere_a_file_is_the_old_one_or_the_new_one_and_the_next_run_does_the_rest() {
    for layout in [Layout::Array, Layout::Log] {
        let array = r#"[{"from":"alice","text":"one","timestamp":1794768140463,"read":"true","odd":1E2}]"#;
        let old = if layout == Layout::Array { array } else { OLD_LOG };
        let (world, team) = foreign_team(layout);
        team.write_inbox("bob", old);
        world.ok(&["migrate", "--dialect", "current"]);
        let new = String::from_utf8(team.inbox_bytes("bob")).unwrap();
        assert_ne!(new, old);
        for point in points::ALL.iter().filter(|point| **point != "accepted") {
            for time in 1..=4 {
                let (world, team) = foreign_team(layout);
                team.write_inbox("bob", old);
                let mut command = world.command(&["migrate", "--dialect", "current"]);
                command.env("ATM_TEST_DIE_AT", format!("{point}:{time}")).output().unwrap();
                let there = String::from_utf8(team.inbox_bytes("bob")).unwrap();
                assert!(there == old || there == new, "{point}:{time}: {there}");
                world.ok(&["migrate", "--dialect", "current"]);
                assert_eq!(String::from_utf8(team.inbox_bytes("bob")).unwrap(), new, "{point}:{time}");
                assert_eq!(team.litter("bob"), [""; 0], "{point}:{time}");
                serde_json::from_slice::<Value>(&fs::read(team.config_file()).unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn nothing_is_lost_beside_those_who_write_meanwhile() {
    let (world, team) = foreign_team(Layout::Array);
    let client = Foreign::client(&team.inbox("bob")).sending("client ", 60).start();
    while !world.json(&["migrate", "--dialect", "current"])["files"].to_string().contains("[59]") {}
    assert_eq!(client.finish().texts().len(), 60);
    assert_eq!(team.texts("bob").len(), 60);

    let (world, team) = foreign_team(Layout::Log);
    let shell = Foreign::shell(&team.inbox("bob")).flag("--lock").sending("shell ", 40).start();
    while !world.json(&["migrate", "--dialect", "current"])["files"].to_string().contains("line 40:") {}
    assert_eq!(shell.finish().texts().len(), 40);
    assert_eq!(team.texts("bob").len(), 40);
}

#[test]
fn a_later_generation_is_read_and_never_written() {
    let world = World::with_team();
    let config = world.root().join("teams/dev/config.json");
    let backup = world.home().join("dev.tar.zst");
    let backup = backup.to_str().unwrap();
    let text = fs::read_to_string(&config).unwrap().replace("\"1.0.0\"", "\"2.0.0\"");
    fs::write(&config, &text).unwrap();
    assert_eq!(world.json(&["members"]).as_array().unwrap().len(), 3, "it is read");
    world.ok(&["send", "bob", "mail goes on"]);
    world.ok(&["team", "backup", "--out", backup]);
    world.ok(&["team", "create", "ops"]);
    for (args, code) in [
        (&["-t", "dev", "migrate"][..], "newer_format"),
        (&["-t", "dev", "migrate", "--dialect", "current", "--dry-run"], "newer_format"),
        (&["-t", "dev", "member", "add", "carol"], "newer_format"),
        (&["-t", "dev", "member", "set", "bob", "--active", "false"], "newer_format"),
        (&["-t", "dev", "member", "remove", "bob", "--yes"], "newer_format"),
        (&["team", "join", "dev", "--session", "s-1"], "newer_format"),
        (&["team", "restore", backup, "--merge", "--as", "ops"], "newer_format"),
        (&["team", "restore", backup, "--as", "other"], "bad_backup"),
    ] {
        let answer = world.atm(&[args, &["--json"]].concat());
        assert_eq!(
            (answer.code, answer.error()["code"].as_str()),
            (Some(6), Some(code)),
            "{args:?}: {answer:?}"
        );
        assert!(answer.error()["message"].as_str().unwrap().contains("2.0.0"));
    }
    assert_eq!(fs::read_to_string(&config).unwrap(), text);
    world.ok(&["team", "delete", "dev", "--force"]);
    world.ok(&["team", "restore", backup]);
    assert_eq!(fs::read_to_string(&config).unwrap(), text, "as it is, it can be put back");

    let minor = text.replace("2.0.0", "1.7");
    fs::write(&config, &minor).unwrap();
    world.ok(&["-t", "dev", "member", "set", "bob", "--active", "false"]);
    let migrated = world.json(&["-t", "dev", "migrate"]);
    assert_eq!(migrated["files"], json!([]), "a later version of our generation stays");
}
