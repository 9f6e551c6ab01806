//! `atm doctor`: a corpus of broken trees. Each is found, mended, found no more, and undone to the same bytes.

mod noted;
mod phantoms;
mod undo;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use atm_store::Layout;
use atm_support::TestTeam;
use rstest::rstest;
use serde_json::Value;

use crate::scene::{World, foreign_team, set_modified, tree};

const ONE: &str = r#"{"from":"alice","text":"one","timestamp":"2026-11-15T06:00:00.000Z","read":false,"messageId":"m1","n":1E2}"#;
const TWO: &str =
    r#"{"from":"alice","text":"two","timestamp":"2026-11-15T06:00:01.000Z","read":false,"messageId":"m2"}"#;
const LINE: &str = r#"{"type":"message","from":"alice","to":"bob","timestamp":"2026-11-15T06:00:00.000Z","content":{"text":"one"}}"#;

/// A team whose tree is for its owner alone.
fn closed_team(layout: Layout) -> (World, TestTeam) {
    let (world, team) = foreign_team(layout);
    fs::set_permissions(world.root(), Permissions::from_mode(0o700)).unwrap();
    (world, team)
}

/// The codes that the doctor finds now, and its document.
fn look(world: &World, args: &[&str]) -> (Vec<String>, Value) {
    let answer = world.atm(&[&["doctor", "--json"], args].concat());
    let document: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"));
    let findings = document["findings"].as_array().unwrap();
    (findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect(), document)
}

/// All files and folders of the shared tree: path, mode and content.
fn shape(world: &World) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let of = |path: PathBuf| {
        let mode = fs::symlink_metadata(&path).unwrap().mode() & 0o7777;
        let bytes = if path.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        (path, mode, bytes)
    };
    // Files to `flock` are created by the first process that locks, and never removed.
    let is_lock = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        path.is_file()
            && (name == ".lock"
                || path.extension().is_some_and(|kind| kind == "lock") && name.starts_with("inbox"))
    };
    tree(&world.root()).into_iter().filter(|path| !is_lock(path)).map(of).collect()
}

fn old(path: &Path) {
    set_modified(path, SystemTime::now() - Duration::from_secs(3600));
}

fn inbox(team: &TestTeam, name: &str) -> PathBuf {
    team.folder().join(format!("inboxes/{name}.json"))
}

fn break_entry(team: &TestTeam) {
    team.write_inbox("bob", format!("[\n  {ONE},\n  null,\n  {{\"from\": \"x\"}},\n  {TWO}\n]"));
}

fn break_file(team: &TestTeam) {
    fs::write(inbox(team, "bob"), format!("\u{feff}[{ONE},{TWO}, {{\"from\":").into_bytes()).unwrap();
}

fn break_bytes(team: &TestTeam) {
    fs::write(inbox(team, "bob"), [ONE.as_bytes(), b"\xff\xfe"].concat()).unwrap();
}

fn leave_lock(team: &TestTeam) {
    let lock = team.client_lock("bob");
    fs::create_dir(&lock).unwrap();
    fs::set_permissions(&lock, Permissions::from_mode(0o755)).unwrap();
    old(&lock);
}

fn put_file_in_place_of_a_lock(team: &TestTeam) {
    fs::write(team.client_lock("bob"), "4711").unwrap();
    old(&team.client_lock("bob"));
}

fn put_folder_in_place_of_a_lock(team: &TestTeam) {
    let lock = team.folder().join("inboxes/.lock");
    let _ = fs::remove_file(&lock);
    fs::create_dir(lock).unwrap();
}

fn leave_temps(team: &TestTeam) {
    let temp = team.folder().join("inboxes/bob.json.tmp.0123abcd");
    fs::write(&temp, ONE).unwrap();
    old(&temp);
}

fn leave_our_temp(team: &TestTeam) {
    let temp = team.folder().join("inboxes/.bob.json.atm-0123456789abcdef0123456789abcdef");
    fs::write(&temp, ONE).unwrap();
    old(&temp);
}

fn mail_twice(team: &TestTeam) {
    team.write_inbox("bob", format!("[{ONE},{TWO},{}]", ONE.replace("false", "true")));
}

fn empty_phantom(team: &TestTeam) {
    team.write_inbox("carol", "[]");
}

fn phantom(team: &TestTeam) {
    team.write_inbox("bob", format!("[\n  {ONE}\n]"));
    team.write_inbox("bobb", format!("[\n  {TWO}\n]"));
}

#[rstest]
#[case(break_entry, "ATM-D002", true)]
#[case(break_file, "ATM-D003", true)]
#[case(break_bytes, "ATM-D003", true)]
#[case(leave_lock, "ATM-D005", true)]
#[case(put_file_in_place_of_a_lock, "ATM-D006", true)]
#[case(put_folder_in_place_of_a_lock, "ATM-D006", true)]
#[case(leave_temps, "ATM-D007", true)]
#[case(leave_our_temp, "ATM-D007", true)]
#[case(mail_twice, "ATM-D011", true)]
#[case(empty_phantom, "ATM-D022", true)]
#[case(phantom, "ATM-D001", false)]
fn an_array_tree_is_mended_and_undone(#[case] harm: fn(&TestTeam), #[case] code: &str, #[case] safe: bool) {
    let (world, team) = closed_team(Layout::Array);
    team.write_inbox("bob", format!("[\n  {ONE}\n]"));
    assert!(look(&world, &[]).0.is_empty(), "a tree that is well");
    harm(&team);
    mend_and_undo(&world, code, safe);
}

fn break_line(team: &TestTeam) {
    fs::write(team.inbox("bob"), format!("{LINE}\noops {{\n7\n\n{LINE}\n")).unwrap();
}

fn move_cursor_beyond(team: &TestTeam) {
    fs::write(team.inbox("bob"), format!("{LINE}\n{}\n", LINE.replace("06:00:00", "07:00:00"))).unwrap();
    let cursor =
        r#"{"lastProcessedLine": 99, "lastProcessedTimestamp": "2026-11-15T06:30:00Z", "mine": 1E2}"#;
    fs::write(team.inbox("bob").with_file_name("state.json"), cursor).unwrap();
}

fn break_cursor(team: &TestTeam) {
    fs::write(team.inbox("bob").with_file_name("state.json"), "{\"lastProcessedLine\":").unwrap();
}

#[rstest]
#[case(break_line, "ATM-D004")]
#[case(move_cursor_beyond, "ATM-D015")]
#[case(break_cursor, "ATM-D016")]
fn a_log_tree_is_mended_and_undone(#[case] harm: fn(&TestTeam), #[case] code: &str) {
    let (world, team) = closed_team(Layout::Log);
    assert!(look(&world, &[]).0.is_empty(), "a tree that is well");
    harm(&team);
    mend_and_undo(&world, code, true);
}

/// Found, not touched by a look, mended, found no more, undone to the same bytes, and found again.
fn mend_and_undo(world: &World, code: &str, safe: bool) {
    let broken = shape(world);
    let (found, document) = look(world, &[]);
    assert_eq!(found, [code], "{document}");
    let finding = &document["findings"][0];
    assert_eq!((&finding["automatic"], &finding["safe"]), (&true.into(), &safe.into()), "{finding}");
    assert!(!finding["evidence"].as_array().unwrap().is_empty(), "{finding}");
    look(world, &["--fix", "--dry-run"]);
    assert_eq!(shape(world), broken, "a look changes nothing");
    if !safe {
        let (_, document) = look(world, &["--fix"]);
        assert_eq!(document["findings"][0]["state"], "needs_consent");
        assert_eq!(shape(world), broken, "nothing is done without consent");
    }

    let (_, document) = look(world, &["--fix", "--yes"]);
    assert_eq!(document["findings"][0]["state"], "fixed", "{document}");
    let id = document["findings"][0]["journal"].as_str().unwrap().to_owned();
    assert_ne!(shape(world), broken);
    let (found, document) = look(world, &[]);
    assert!(found.is_empty(), "{document}");

    let mended = shape(world);
    let undone = world.json(&["doctor", "--undo"]);
    assert_eq!(undone["undone"], id.as_str());
    assert_eq!(shape(world), broken, "the same bytes again");
    assert_eq!(look(world, &[]).0, [code]);
    assert_eq!(world.atm(&["doctor", "--undo", &id]).code, Some(4), "once is enough");
    let by = undone["by"].as_str().unwrap();
    world.ok(&["doctor", "--undo", by]);
    assert_eq!(shape(world), mended, "an undo can be undone");
}

#[test]
fn mail_that_others_can_read_is_closed() {
    let (world, team) = closed_team(Layout::Array);
    let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    let top = world.root().parent().unwrap().to_owned();
    for path in [
        top.as_path(),
        &world.root(),
        &world.root().join("teams"),
        team.folder(),
        &team.folder().join("inboxes"),
    ] {
        open(path);
    }
    mend_and_undo(&world, "ATM-D013", true);
    fs::set_permissions(world.root().join("teams"), Permissions::from_mode(0o700)).unwrap();
    assert!(look(&world, &[]).0.is_empty(), "one closed folder on the way is enough");
}

#[test]
fn what_can_only_be_told() {
    let (world, team) = closed_team(Layout::Array);
    let future = ONE.replace("2026-11-15", "2126-11-15").replace("m1", "m3");
    let other = ONE.replace("one", "another");
    team.write_inbox("bob", format!("[{ONE},{other},{future}]"));
    let many: Vec<String> = (0..1001).map(|n| ONE.replace("m1", &format!("m{n}"))).collect();
    team.write_inbox("alice", format!("[{}]", many.join(",")));
    let (mut found, document) = look(&world, &["--fix", "--yes"]);
    found.sort();
    assert_eq!(found, ["ATM-D012", "ATM-D014", "ATM-D017"], "{document}");
    assert_eq!(document["counts"]["fixed"], 0);

    fs::write(team.config_file(), "{ \"members\": [").unwrap();
    let answer = world.atm(&["doctor", "dev"]);
    assert_eq!(answer.code, Some(6));
    assert!(answer.stdout.contains("ATM-D021"), "{answer:?}");
}

#[test]
fn a_dead_lead_and_a_team_that_nobody_uses() {
    let (world, team) = closed_team(Layout::Array);
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    let config = fs::read_to_string(team.config_file()).unwrap();
    let process = format!("\"leadProcess\": {{\"pid\": {pid}, \"procStart\": \"1\"}},\n  \"members\"");
    fs::write(team.config_file(), config.replace("\"members\"", &process)).unwrap();
    assert_eq!(look(&world, &[]).0, ["ATM-D008"]);

    for path in tree(team.folder()) {
        set_modified(&path, SystemTime::now() - Duration::from_secs(3 * 86_400));
    }
    let (found, document) = look(&world, &["--fix", "--yes"]);
    assert_eq!(found, ["ATM-D008", "ATM-D009"], "{document}");
    assert!(team.folder().is_dir(), "a team is never deleted by the doctor");

    let own = fs::read_to_string(team.config_file())
        .unwrap()
        .replace(&pid.to_string(), &std::process::id().to_string());
    let started = own.replace(", \"procStart\": \"1\"", "");
    fs::write(team.config_file(), started).unwrap();
    assert!(look(&world, &[]).0.is_empty(), "this process runs");
}

/// Says of bob that we started it in a pane of a server that is not there.
fn leave_bob_active(world: &World, team: &TestTeam) {
    let spawn = format!(
        r#""tmuxPaneId": "%14", "isActive": true, "backendType": "tmux", "x": 1E2,
      "metadata": {{"atm": {{"spawn": {{"socket": "{}/no.sock", "token": "t", "command": ["true"]}}}}}}, "cwd""#,
        world.home().display()
    );
    let config = fs::read_to_string(team.config_file()).unwrap();
    let (before, bob) = config.split_at(config.find("bob@dev").unwrap());
    let bob = bob.replacen("\"tmuxPaneId\": \"in-process\",\n      \"cwd\"", &spawn, 1);
    fs::write(team.config_file(), format!("{before}{bob}")).unwrap();
}

#[test]
fn a_member_whose_pane_is_gone_is_switched_off() {
    let (world, team) = closed_team(Layout::Array);
    leave_bob_active(&world, &team);
    mend_and_undo(&world, "ATM-D010", true);
    let config = fs::read_to_string(team.config_file()).unwrap();
    assert!(
        config.contains("\"isActive\": false") && config.contains("1E2") && config.contains("shutdownAt")
    );
}

#[test]
fn a_configuration_of_a_later_generation_is_not_mended() {
    let (world, team) = closed_team(Layout::Array);
    leave_bob_active(&world, &team);
    let text = fs::read_to_string(team.config_file()).unwrap();
    let text = text.replacen('{', "{\n  \"schemaVersion\": \"2.0.0\",", 1);
    fs::write(team.config_file(), &text).unwrap();
    let (_, document) = look(&world, &["--fix", "--yes"]);
    let findings = document["findings"].as_array().unwrap();
    let gone = findings.iter().find(|finding| finding["code"] == "ATM-D010").unwrap();
    assert_eq!(gone["state"], "failed");
    assert!(gone["error"].as_str().unwrap().contains("of version 2.0.0"), "{gone}");
    assert_eq!(fs::read_to_string(team.config_file()).unwrap(), text);
    assert_eq!(world.json(&["doctor", "--journal"]).as_array().map(Vec::len), Some(0));
}

#[test]
fn a_client_that_needs_care_is_told_by_its_transcript() {
    let (world, team) = closed_team(Layout::Array);
    let session = "404c5e08-c459-429b-b913-7ff840c3ff52";
    let project = world.root().join("projects/-home-user-project");
    fs::create_dir_all(&project).unwrap();
    let transcript = project.join(format!("{session}.jsonl"));
    fs::copy(atm_support::client_fixtures().join("transcripts/lead-2.1.77.jsonl"), &transcript).unwrap();
    let (found, document) = look(&world, &[]);
    assert_eq!(found, ["ATM-D020"], "{document}");
    assert!(document["findings"][0]["message"].as_str().unwrap().starts_with("team-lead run version 2.1.77"));
    fs::copy(atm_support::client_fixtures().join("transcripts/lead-2.1.325.jsonl"), &transcript).unwrap();
    assert!(look(&world, &[]).0.is_empty());
    drop(team);
}
