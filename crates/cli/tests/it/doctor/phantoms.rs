//! Inboxes of nobody.

use std::fs;

use atm_store::Layout;
use rstest::rstest;

use super::{LINE, ONE, TWO, closed_team, inbox, look, phantom};

#[test]
fn mail_of_a_mistyped_name_finds_its_reader() {
    let (world, team) = closed_team(Layout::Array);
    world.ok(&["--as", "alice", "send", "bob", "first"]);
    world.ok(&["--as", "alice", "send", "bobb", "lost", "--create", "--no-tag"]);
    let id = world.json(&["--as", "alice", "send", "bobb", "also lost", "--create", "--no-tag"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (found, document) = look(&world, &["--fix"]);
    assert_eq!(found, ["ATM-D001"], "{document}");
    assert_eq!(team.texts("bobb").len(), 2);
    world.ok(&["doctor", "--fix", "--yes"]);
    assert_eq!(team.texts("bob"), ["first", "lost", "also lost"]);
    assert!(!inbox(&team, "bobb").exists());
    let track = world.json(&["track", &id]);
    assert_eq!(track["to"], "bob", "its history goes with it");
    assert!(track.to_string().contains("brought from bobb to bob"), "{track}");
    world.ok(&["doctor", "--undo"]);
    assert_eq!(
        (team.texts("bob"), team.texts("bobb")),
        (vec!["first".into()], vec!["lost".into(), "also lost".into()])
    );
    assert_eq!(world.json(&["track", &id])["to"], "bobb");
    assert_eq!(team.texts("bob"), ["first"], "and nothing is put back");
    world.ok(&["doctor", "--fix", "--yes"]);
    assert_eq!(world.json(&["--as", "bob", "read"]).as_array().unwrap().len(), 3);
}

/// Runs the doctor on a terminal, with an answer typed in advance.
const ON_A_TERMINAL: &str = r#"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("atm", ["atm", "doctor", "--fix"])
said = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    said += piece
    if b"[y/N]" in piece:
        os.write(terminal, sys.argv[1].encode() + b"\n")
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[rstest]
#[case("y", 0)]
#[case("n", 6)]
#[case("", 6)]
fn a_person_is_asked_before_mail_goes_elsewhere(#[case] answer: &str, #[case] code: i32) {
    let (world, team) = closed_team(Layout::Array);
    phantom(&team);
    let output = world.program("python3").args(["-c", ON_A_TERMINAL, answer]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("bring 1 message of bobb to bob? [y/N]"), "{said}");
    assert_eq!(output.status.code(), Some(code), "{said}");
    let expected: &[&str] = if code == 0 { &["one", "two"] } else { &["one"] };
    assert_eq!(team.texts("bob"), expected);
}

#[test]
fn a_phantom_that_is_like_nobody_is_left_alone() {
    let (world, team) = closed_team(Layout::Array);
    team.write_inbox("zzz", format!("[{ONE}]"));
    let (found, document) = look(&world, &["--fix", "--yes"]);
    assert_eq!(found, ["ATM-D001"]);
    assert_eq!(
        (&document["findings"][0]["automatic"], &document["findings"][0]["state"]),
        (&false.into(), &"open".into())
    );
    assert_eq!(team.texts("zzz"), ["one"]);
}

#[test]
fn mail_for_a_phantom_is_not_lost_when_its_reader_is_broken() {
    let (world, team) = closed_team(Layout::Array);
    team.write_inbox("bob", format!("[{ONE}"));
    team.write_inbox("bobb", format!("[{TWO}]"));
    world.ok(&["doctor", "--fix", "--yes"]);
    assert_eq!(
        team.texts("bob"),
        ["one", "two"],
        "the one was mended before the other was brought over, or after"
    );
    assert!(look(&world, &[]).0.is_empty());
}

#[test]
fn lines_for_a_phantom_are_brought_over() {
    let (world, team) = closed_team(Layout::Log);
    fs::create_dir_all(team.folder().join("members/bobb")).unwrap();
    let phantom = team.folder().join("members/bobb/inbox");
    fs::write(&phantom, format!("{LINE}\n")).unwrap();
    fs::write(team.inbox("bob"), format!("{}\n", LINE.replace("one", "mine"))).unwrap();
    world.ok(&["doctor", "--fix", "--yes"]);
    assert_eq!(team.texts("bob"), ["mine", "one"]);
    assert!(!phantom.exists());
    world.ok(&["doctor", "--undo"]);
    assert_eq!(team.texts("bob"), ["mine"]);
    assert_eq!(fs::read_to_string(&phantom).unwrap(), format!("{LINE}\n"));
}
