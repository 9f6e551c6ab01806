//! The three commands, as people and agents see them.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;

use atm_support::wait_until;
use insta::assert_snapshot;

use super::Shop;

#[test]
fn a_path_is_reserved_shown_refused_and_released() {
    let shop = Shop::new();
    let mut shown = String::new();
    for line in [
        "atm --as bob reserve src/parser.rs 'docs/**/*.md' --for 2h --reason 'rewriting the lexer'",
        "atm reservations",
        "atm --as alice reserve src",
        "atm --as alice release docs",
        "atm --as bob release src/lexer.rs",
        "atm --as bob reserve ../elsewhere",
        "atm --as bob release src",
        "atm --as team-lead release docs",
        "atm --as bob release",
        "atm reservations",
    ] {
        let output = shop.world.shell().current_dir(&shop.tree).args(["-c", line]).output().unwrap();
        let answer = crate::scene::Answer::of(&shop.world, &output);
        let _ = write!(shown, "$ {line}\n{}", answer.shown());
    }
    let shown = shown.replace(shop.tree.to_str().unwrap(), "[TREE]");
    assert_snapshot!(shown);
}

#[test]
fn a_program_gets_who_until_when_and_exit_4() {
    let shop = Shop::new();
    let reserved = shop.json(&["--as", "bob", "reserve", "src", "--for", "10m", "--reason", "lexer"]);
    let one = &reserved[0];
    assert_eq!((&one["path"], &one["holder"], &one["team"]), (&"src".into(), &"bob".into(), &"dev".into()));
    assert_eq!((one["tree"].as_str(), &one["reason"]), (shop.tree.to_str(), &"lexer".into()));
    assert_eq!(shop.json(&["reservations"]), reserved);
    let refused = shop.atm(&["--as", "alice", "reserve", "docs", "src/a.rs", "--json"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let said = format!("{}{}", refused.stdout, refused.stderr);
    for part in ["path_reserved", "bob@dev", one["until"].as_str().unwrap(), "lexer"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(shop.held(), ["bob src"], "all or none");
    // Extended by its holder, and by nobody else.
    let later = shop.json(&["--as", "bob", "reserve", "src", "--for", "3h"]);
    assert_eq!((&later[0]["since"], &later[0]["reason"]), (&one["since"], &one["reason"]));
    assert!(later[0]["until"].as_str() > one["until"].as_str());
    assert_eq!(shop.atm(&["--as", "alice", "release", "src"]).code, Some(4));
    assert_eq!(shop.atm(&["--as", "bob", "release", "lib"]).code, Some(3));
    assert_eq!(shop.atm(&["--as", "bob", "reserve", "/etc/passwd"]).code, Some(2));
    assert_eq!(shop.atm(&["--as", "bob", "reserve", "docs", "--for", "0s"]).code, Some(2), "for no time");
    assert_eq!(shop.atm(&["--as", "bobb", "reserve", "src"]).code, Some(3), "a wrong name fails");
    assert_eq!(shop.json(&["--as", "bob", "release", "--all"])[0]["path"], "src");
}

#[test]
fn what_a_newer_atm_reserved_is_named_beside_the_rest() {
    let shop = Shop::new();
    shop.ok(&["--as", "bob", "reserve", "src"]);
    fs::write(shop.world.state().join("reservations/0.json"), r#"{"version":99}"#).unwrap();
    let listed = shop.ok(&["reservations", "--all"]);
    assert!(listed.stdout.contains("bob@dev"), "{listed:?}");
    for part in ["warning: not listed: ", "reservations/0.json is of version 99", "; "] {
        assert!(listed.stderr.contains(part), "{part}: {listed:?}");
    }
    let released = shop.atm(&["--as", "bob", "release", "--all"]);
    assert!(released.stderr.contains("released src in "), "{released:?}");
    assert_eq!(shop.held(), [] as [&str; 0]);
}

#[test]
fn worktrees_are_apart() {
    let shop = Shop::new();
    let worktree = shop.tree.join(".claude/worktrees/x");
    fs::create_dir_all(&worktree).unwrap();
    fs::write(worktree.join(".git"), "gitdir: elsewhere").unwrap();
    shop.ok(&["--as", "bob", "reserve", "."]);
    let there = shop.command(&["--as", "alice", "reserve", "src"]).current_dir(&worktree).status().unwrap();
    assert!(there.success());
    assert_eq!(shop.held(), ["bob ."]);
    assert_eq!(shop.json(&["reservations", "--all"]).as_array().unwrap().len(), 2);
    assert!(!shop.may_write("alice", "src/a.rs") && shop.may_write("alice", ".claude/worktrees/x/src/a.rs"));
    assert!(!shop.may_write("bob", ".claude/worktrees/x/src/a.rs"));
}

/// A reservation that an agent made must not outlive the agent, and one that a script of it made must outlive the script.
#[test]
fn it_ends_with_the_client_that_made_it() {
    let shop = Shop::new();
    let client = shop.program("claude", "python3 -c 'import subprocess; subprocess.run([\"atm\", \"--as\", \"bob\", \"reserve\", \"src\", \"-q\"])'\necho made\nread line\n");
    let mut client = shop.run(&client).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("it has reserved", || shop.held() == ["bob src"]);
    assert!(!shop.may_write("alice", "src/a.rs"));
    drop(client.stdin.take());
    client.wait().unwrap();
    assert_eq!(shop.held(), [] as [&str; 0]);
    assert!(shop.may_write("alice", "src/a.rs"), "nobody is refused for a holder who is gone");
    // The chore clears the file away.
    let report = shop.json(&["tend"]);
    assert!(report.to_string().contains("\"reservation\""), "{report}");
    assert_eq!(fs::read_dir(shop.world.state().join("reservations")).unwrap().count(), 0);
}

#[test]
fn the_person_at_the_keyboard_holds_and_releases_too() {
    let shop = Shop::new();
    shop.ok(&["reserve", "docs"]);
    assert_eq!(shop.held(), ["user docs"]);
    assert!(!shop.may_write("bob", "docs/a.md"));
    shop.ok(&["--as", "bob", "reserve", "src"]);
    shop.ok(&["release", "."]);
    assert_eq!(shop.held(), ["bob src"], "its own first");
    shop.ok(&["release", "src"]);
    assert_eq!(shop.held(), [] as [&str; 0]);
}
