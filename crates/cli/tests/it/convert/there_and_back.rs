//! There and back again: the same messages, with the same keys and values as they were spelled.

use std::fs;
use std::path::{Path, PathBuf};

use atm_store::Layout;
use atm_support::client_inboxes;
use atm_wire::json::{compact, elements};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use super::mail;
use crate::scene::{World, foreign_team};

fn convert(world: &World, to: &str) {
    world.ok(&["team", "convert", "dev", "--to", to]);
}

/// The entries of an array, each on one line.
fn entries(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    elements(&text).unwrap().iter().map(|raw| compact(raw.get())).collect()
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(compact).collect()
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

#[test]
fn what_real_clients_wrote_comes_back_as_it_was() {
    for inbox in client_inboxes() {
        let (world, team) = foreign_team(Layout::Array);
        fs::copy(&inbox, team.inbox("bob")).unwrap();
        let (before, seen) = (entries(&team.inbox("bob")), mail(&world, "bob"));
        convert(&world, "log");
        assert_eq!(mail(&world, "bob"), seen, "{}", inbox.display());
        convert(&world, "array");
        assert_eq!(entries(&team.inbox("bob")), before, "{}", inbox.display());
        assert_eq!(mail(&world, "bob"), seen, "{}", inbox.display());
    }
}

#[test]
fn a_whole_team_of_a_real_client_comes_back_as_it_was() {
    let clients = client_inboxes();
    let mut teams: Vec<&Path> = clients.iter().filter_map(|inbox| inbox.parent()?.parent()).collect();
    teams.dedup();
    for folder in teams {
        let world = World::new();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let team = world.root().join("teams").join(name);
        fs::create_dir_all(team.join("inboxes")).unwrap();
        fs::copy(folder.join("config.json"), team.join("config.json")).unwrap();
        let mine: Vec<PathBuf> = clients
            .iter()
            .filter(|inbox| inbox.starts_with(folder))
            .map(|inbox| {
                let copy = team.join("inboxes").join(inbox.file_name().unwrap());
                fs::copy(inbox, &copy).unwrap();
                copy
            })
            .collect();
        let before: Vec<Vec<String>> = mine.iter().map(|inbox| entries(inbox)).collect();
        // Its lead may be recorded as running in a place that cannot be asked from here.
        world.ok(&["team", "convert", name, "--to", "log", "--force"]);
        assert!(!team.join("inboxes").exists(), "{name}");
        assert_eq!(world.json(&["team", "show", name])["layout"], "log");
        world.ok(&["team", "convert", name, "--to", "array"]);
        let after: Vec<Vec<String>> = mine.iter().map(|inbox| entries(inbox)).collect();
        assert_eq!(after, before, "{name}");
    }
}

/// Values as people and programs spell them.
fn value() -> impl Strategy<Value = String> {
    let word = prop_oneof![".{0,6}", "[äß€😀\u{202e}\u{0}\n\"\\\\]{0,4}"];
    prop_oneof![
        word.prop_map(|word| Value::from(word).to_string()),
        prop::sample::select(vec![
            "0",
            "-0",
            "-0.0",
            "1E2",
            "1e400",
            "0.1000",
            "12345678901234567890123",
            "true",
            "null",
            "[]",
            "{}",
            "[1, {\"a\": 1, \"a\": 2}]",
            "{\"atm\": {\"priority\": \"high\", \"x\": 1.0}}",
            "\"\\u00e4\\/\"",
        ])
        .prop_map(ToOwned::to_owned),
    ]
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "summary",
            "color",
            "messageId",
            "msg_id",
            "msgV",
            "type",
            "metadata",
            "to",
            "content",
            "requestId",
            "delivery_status",
            "lead_sig",
            "odd key",
            "ключ",
        ])
        .prop_map(ToOwned::to_owned),
        "[a-zé\"]{1,4}",
    ]
}

/// What a message says, as JSON.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,20}".prop_map(|text| Value::from(text).to_string()),
        Just(r#""{ \"type\": \"idle_notification\",  \"from\": \"x\" }""#.to_owned()),
        Just(r#""{\"type\":\"task_assignment\",\"taskId\":\"7\",\"n\":1E2}""#.to_owned()),
    ]
}

/// The members of an object in some order, with `"text"` or `"content"`, and the rest.
fn object() -> impl Strategy<Value = (String, Vec<(String, String)>, usize, Option<bool>)> {
    (words(), prop::collection::vec((keys(), value()), 0..5), 0..9_usize, any::<Option<bool>>())
}

fn entry(
    (text, others, turn, read): (String, Vec<(String, String)>, usize, Option<bool>),
    at: usize,
) -> String {
    let time = format!("\"2026-11-15T18:42:20.{at:03}Z\"");
    let mut members = vec![("from".to_owned(), "\"alice\"".to_owned()), ("text".to_owned(), text)];
    members.push(("timestamp".to_owned(), time));
    members.extend(others);
    let turn = turn % members.len();
    members.rotate_left(turn);
    members.extend(read.map(|read| ("read".to_owned(), read.to_string())));
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{}: {value}", Value::from(key.as_str()))).collect();
    format!("{{{}}}", members.join(", "))
}

fn line((words, others, turn, _): (String, Vec<(String, String)>, usize, Option<bool>), at: usize) -> String {
    let time = format!("\"2026-11-15T18:42:20.{at:03}Z\"");
    let mut members = vec![
        ("type".to_owned(), "\"message\"".to_owned()),
        ("from".to_owned(), "\"alice\"".to_owned()),
        ("to".to_owned(), "\"bob\"".to_owned()),
        ("timestamp".to_owned(), time),
        ("content".to_owned(), format!("{{\"text\":{words}}}")),
    ];
    let taken = ["type", "content", "to"];
    members.extend(others.into_iter().filter(|(key, _)| !taken.contains(&key.as_str())));
    let turn = turn % members.len();
    members.rotate_left(turn);
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
    format!("{{{}}}", members.join(","))
}

/// Each case is four runs of the binary.
fn runner() -> TestRunner {
    TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() })
}

#[test]
fn every_entry_comes_back_from_a_log() {
    let inbox = prop::collection::vec(object(), 1..8);
    let result = runner().run(&inbox, |objects| {
        let (world, team) = foreign_team(Layout::Array);
        let all: Vec<String> =
            objects.into_iter().enumerate().map(|(at, object)| entry(object, at)).collect();
        team.write_inbox("bob", format!("[\n  {}\n]", all.join(",\n  ")));
        let (before, seen) = (entries(&team.inbox("bob")), mail(&world, "bob"));
        convert(&world, "log");
        prop_assert_eq!(mail(&world, "bob"), seen.clone(), "in the log");
        convert(&world, "array");
        prop_assert_eq!(entries(&team.inbox("bob")), before);
        prop_assert_eq!(mail(&world, "bob"), seen);
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn every_line_comes_back_from_an_array() {
    let logs = (prop::collection::vec((object(), 0..3_usize), 1..8), 0..8_usize);
    let result = runner().run(&logs, |(objects, done)| {
        let (world, team) = foreign_team(Layout::Log);
        let folder = team.inbox("bob").parent().unwrap().to_owned();
        let names = ["inbox", "inbox-high", "inbox-low"];
        let mut texts = [const { String::new() }; 3];
        for (at, (object, queue)) in objects.into_iter().enumerate() {
            texts[queue] += &(line(object, at) + "\n");
        }
        for (name, text) in names.iter().zip(&texts) {
            fs::write(folder.join(name), text).unwrap();
        }
        let done = done.min(texts[0].lines().count());
        let cursor =
            format!("{{\"lastProcessedLine\": {done}, \"mine\": 1E2, \"lastProcessedTimestamp\": \"2027-01-01T00:00:00Z\"}}");
        fs::write(folder.join("state.json"), cursor).unwrap();
        let all = || names.map(|name| lines(&folder.join(name)));
        let (before, seen) = (all(), mail(&world, "bob"));
        convert(&world, "array");
        prop_assert_eq!(mail(&world, "bob"), seen.clone(), "in the array");
        convert(&world, "log");
        prop_assert_eq!(all(), before);
        prop_assert_eq!(mail(&world, "bob"), seen);
        let cursor: Value = serde_json::from_slice(&fs::read(folder.join("state.json")).unwrap()).unwrap();
        prop_assert_eq!(cursor["lastProcessedLine"].as_u64(), Some(done as u64));
        prop_assert_eq!(&cursor["lastProcessedTimestamp"], "2027-01-01T00:00:00Z");
        prop_assert_eq!(&cursor["mine"], &serde_json::json!(1E2));
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn what_was_read_out_of_order_stays_read() {
    let (world, team) = foreign_team(Layout::Array);
    let entry = |at: usize, read: bool| {
        format!(r#"{{"from":"a","text":"{at}","timestamp":"2026-11-15T18:42:20Z","read":{read}}}"#)
    };
    let all: Vec<String> = (0..9).map(|at| entry(at, at % 3 == 1)).collect();
    team.write_inbox("bob", format!("[{}]", all.join(",")));
    let seen = mail(&world, "bob");
    convert(&world, "log");
    assert_eq!(mail(&world, "bob"), seen);
    // For a shell that counts lines, what was read comes first.
    let state = fs::read_to_string(team.folder().join("members/bob/state.json")).unwrap();
    assert!(state.contains("\"lastProcessedLine\": 3"), "{state}");
    convert(&world, "array");
    assert_eq!(sorted(entries(&team.inbox("bob"))), sorted(all));
    assert_eq!(mail(&world, "bob"), seen);
}
