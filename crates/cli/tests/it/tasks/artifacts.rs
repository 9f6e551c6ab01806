//! Files, logs and reports that members leave: safe names, no way out of the folder, whole or not at all.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use atm_support::wait_until;
use insta::assert_snapshot;
use rustix::process::Signal;

use crate::scene::{Started, World};

fn folder(world: &World, name: &str) -> PathBuf {
    world.root().join("tasks/dev").join(name)
}

/// A member's log with some lines in it.
fn with_log(world: &World, text: &str) -> PathBuf {
    fs::create_dir_all(folder(world, "bob")).unwrap();
    let log = folder(world, "bob").join("output.log");
    fs::write(&log, text).unwrap();
    log
}

#[test]
fn what_is_put_can_be_got() {
    let world = World::with_team();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    fs::write(world.home().join("data.bin"), &bytes).unwrap();
    let put = world.json(&["--as", "bob", "artifacts", "put", "data.bin"]);
    assert_eq!((&put["file"], &put["size"]), (&"data.bin".into(), &100_000.into()));
    assert_eq!(fs::read(folder(&world, "bob").join("artifacts/data.bin")).unwrap(), bytes);

    let got = world.command(&["artifacts", "get", "bob", "data.bin"]).output().unwrap();
    assert_eq!(got.stdout, bytes, "byte for byte on stdout");
    world.ok(&["artifacts", "get", "bob", "data.bin", "--out", "copy.bin"]);
    assert_eq!(fs::read(world.home().join("copy.bin")).unwrap(), bytes);
    world.ok(&["artifacts", "get", "bob", "data.bin", "--out", "."]);

    let answer = world.pipe(&["--as", "bob", "artifacts", "put", "-", "--as-name", "data.bin"], "new");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(world.ok(&["artifacts", "get", "bob", "data.bin"]), "new");
    assert_eq!(fs::read_dir(folder(&world, "bob").join("artifacts")).unwrap().count(), 1, "and nothing else");
}

#[test]
fn what_is_refused_about_artifacts() {
    let world = World::with_team();
    fs::write(world.home().join("report.md"), "# Done").unwrap();
    fs::create_dir(world.home().join("folder")).unwrap();
    assert_snapshot!(world.session("
        atm --as bob artifacts put report.md
        atm artifacts get bob ../task-status.json
        atm artifacts get bob .hidden
        atm artifacts get bob other.md
        atm artifacts get bob report.md --json
        atm artifacts get ../bob report.md
        atm artifacts get nobody report.md
        atm --as bob artifacts put report.md --as-name ../../1.json
        atm --as bob artifacts put folder
        atm --as bob artifacts put missing.md
        atm --as bob artifacts put -
        atm --as nobody artifacts put report.md
        atm artifacts put report.md
        atm artifacts tail bob
        atm artifacts list alice
    "), @r#"
    $ atm --as bob artifacts put report.md
    left report.md, 6 bytes
    $ atm artifacts get bob ../task-status.json
    2> error: invalid value '../task-status.json' for '<FILE>': artifact name "../task-status.json": must be a file's name, not a path
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm artifacts get bob .hidden
    2> error: invalid value '.hidden' for '<FILE>': artifact name ".hidden": must not start with a dot
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm artifacts get bob other.md
    2> error: bob of team dev left no file "other.md"
    2>   hint: `atm artifacts list bob` shows the files
    [exit 3]
    $ atm artifacts get bob report.md --json
    2> {"error":{"code":"usage","message":"a file is not JSON","hint":"say with --out where to write it"}}
    [exit 2]
    $ atm artifacts get ../bob report.md
    2> error: invalid value '../bob' for '<NAME>': member name "../bob": must not contain "/"
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm artifacts get nobody report.md
    2> error: team dev has no member "nobody"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm --as bob artifacts put report.md --as-name ../../1.json
    2> error: invalid value '../../1.json' for '--as-name <NAME>': artifact name "../../1.json": must be a file's name, not a path
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm --as bob artifacts put folder
    2> error: cannot read folder: is not a plain file
    [exit 7]
    $ atm --as bob artifacts put missing.md
    2> error: cannot read missing.md: No such file or directory (os error 2)
    [exit 7]
    $ atm --as bob artifacts put -
    2> error: what shall it be called?
    2>   hint: use --as-name NAME
    [exit 2]
    $ atm --as nobody artifacts put report.md
    2> error: team dev has no member "nobody"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm artifacts put report.md
    2> error: who are you? this is a member's own word
    2>   hint: use --as NAME, or set ATM_AS
    [exit 2]
    $ atm artifacts tail bob
    2> error: bob has no output.log
    2>   hint: it is written for members that `atm spawn` started
    [exit 3]
    $ atm artifacts list alice
    alice  nothing
    "#);
}

#[test]
fn what_members_left_is_a_table_with_times_for_people() {
    let world = World::with_team();
    fs::write(world.home().join("report.md"), "1234567").unwrap();
    world.ok(&["--as", "bob", "artifacts", "put", "report.md"]);
    world.ok(&["--as", "bob", "artifacts", "report", "running", "--tokens", "12"]);
    assert_snapshot!(world.session("atm artifacts list bob"), @"
    $ atm artifacts list bob
    bob  running, just now, 0 done, 12 tokens

    FROM  FILE       BYTES  CHANGED
    bob   report.md  7      just now
    ");
}

#[test]
fn no_link_leads_out_of_a_members_folder() {
    let world = World::with_team();
    let secret = world.home().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "the key").unwrap();
    fs::write(world.home().join("new"), "new").unwrap();

    let artifacts = folder(&world, "bob").join("artifacts");
    fs::create_dir_all(&artifacts).unwrap();
    symlink(secret.join("key"), artifacts.join("key")).unwrap();
    symlink(secret.join("key"), folder(&world, "bob").join("output.log")).unwrap();
    symlink(secret.join("key"), folder(&world, "bob").join("task-status.json")).unwrap();
    for command in [
        &["artifacts", "get", "bob", "key"][..],
        &["artifacts", "tail", "bob"],
        &["--as", "bob", "artifacts", "report", "idle"],
    ] {
        let answer = world.atm(command);
        assert_eq!(answer.code, Some(6), "{answer:?}");
        assert!(answer.stderr.contains("is a link") && !answer.stdout.contains("the key"), "{answer:?}");
    }
    let listed = world.atm(&["artifacts", "list", "bob"]);
    assert!(!listed.stdout.contains("key"), "{listed:?}");
    world.ok(&["--as", "bob", "artifacts", "put", "new", "--as-name", "key"]);
    assert_eq!(fs::read_to_string(artifacts.join("key")).unwrap(), "new", "the link is replaced");

    symlink(&secret, folder(&world, "alice")).unwrap();
    fs::create_dir_all(folder(&world, "team-lead")).unwrap();
    symlink(&secret, folder(&world, "team-lead").join("artifacts")).unwrap();
    for name in ["alice", "team-lead"] {
        assert_eq!(world.atm(&["artifacts", "get", name, "key"]).code, Some(6), "{name}");
        assert_eq!(world.atm(&["--as", name, "artifacts", "put", "new"]).code, Some(6), "{name}");
    }
    assert_eq!(fs::read_to_string(secret.join("key")).unwrap(), "the key");
    assert_eq!(fs::read_dir(&secret).unwrap().count(), 1, "nothing was put there");
}

#[test]
fn a_put_that_is_killed_leaves_no_half_file() {
    let world = World::with_team();
    let mut put = world.command(&["--as", "bob", "artifacts", "put", "-", "--as-name", "big"]);
    let mut child = put.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all("x".repeat(50_000).as_bytes()).unwrap();
    let artifacts = folder(&world, "bob").join("artifacts");
    let there = || fs::read_dir(&artifacts).into_iter().flatten().count();
    wait_until("the temp file is there", || there() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!artifacts.join("big").exists());
    assert!(world.json(&["artifacts", "list", "bob"])[0]["files"].as_array().unwrap().is_empty());
    world.pipe(&["--as", "bob", "artifacts", "put", "-", "--as-name", "big"], "whole");
    assert_eq!(there(), 1, "what the dead one left is gone");
}

#[test]
fn a_put_that_is_told_to_stop_leaves_nothing() {
    let world = World::with_team();
    let mut command = world.command(&["--as", "bob", "artifacts", "put", "-", "--as-name", "big"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let _stdin = child.stdin.take();
    let artifacts = folder(&world, "bob").join("artifacts");
    let there = || fs::read_dir(&artifacts).into_iter().flatten().count();
    wait_until("the temp file is there", || there() == 1);
    let mut put = Started::of(child, &world);
    put.signal(Signal::TERM);
    assert_eq!(put.finish().code, Some(143));
    assert_eq!(there(), 0);
}

#[test]
fn the_end_of_a_log_is_shown_and_followed() {
    let world = World::with_team();
    let log = with_log(&world, "one\ntwo\n\u{1b}[2Jthree\nfour\n");
    assert_eq!(world.ok(&["artifacts", "tail", "bob", "--lines", "2"]), "\\x1b[2Jthree\nfour\n");
    let lines = world.json(&["artifacts", "tail", "bob", "-n", "1"]);
    assert_eq!(lines["lines"], serde_json::json!(["four"]));

    let mut command = world.command(&["artifacts", "tail", "bob", "-n", "1", "--follow"]);
    let mut child = command.spawn().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut tail = Started::of(child, &world);
    let mut next = || shown.next().unwrap().unwrap();
    assert_eq!(next(), "four");
    OpenOptions::new().append(true).open(&log).unwrap().write_all(b"five\nsix").unwrap();
    assert_eq!(next(), "five");
    // A new log in the place of the old one is followed too, and ends the line that had no end.
    fs::write(log.with_extension("new"), "seven\n").unwrap();
    fs::rename(log.with_extension("new"), &log).unwrap();
    assert_eq!((next(), next()), ("six".to_owned(), "seven".to_owned()));
    fs::write(&log, "8\n").unwrap();
    assert_eq!(next(), "8", "one that was cut is read from its start");
    tail.signal(Signal::INT);
    assert_eq!(tail.finish().code, Some(130));
}

#[test]
fn a_log_that_is_not_there_yet_is_waited_for() {
    let world = World::with_team();
    let mut command = world.command(&["artifacts", "tail", "bob", "--follow", "--json"]);
    let mut child = command.spawn().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines();
    let _tail = Started::of(child, &world);
    with_log(&world, "first\n");
    assert_eq!(shown.next().unwrap().unwrap(), "{\"line\":\"first\"}");
    assert_eq!(world.ok(&["artifacts", "tail", "bob", "--follow", "--for", "1ms"]), "first\n");
}
