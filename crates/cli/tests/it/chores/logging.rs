//! `ATM_LOG`

use super::{drained, settings};
use crate::scene::{Answer, World};

#[test]
fn what_happens_inside_is_logged_on_stderr_if_somebody_wants_it() {
    let world = World::with_team();
    settings(&world, "[delivery]\nretry_after = [\"0s\"]\n");
    drained(&world, "review this");
    let run = |log: &str, args: &[&str]| {
        Answer::of(&world, &world.command(args).env("ATM_LOG", log).output().unwrap())
    };
    let silent = run("", &["tend", "--dry-run", "--json"]);
    assert_eq!(silent.stderr, "");
    let said = run("debug", &["tend", "--json"]);
    assert_eq!(said.code, Some(0));
    for what in ["atm_office::chores::runner: step", "look team=dev took ", "chores team=dev"] {
        assert!(said.stderr.contains(what), "{what}: {}", said.stderr);
    }
    assert!(serde_json::from_str::<serde_json::Value>(&said.stdout).is_ok(), "stdout is the answer alone");
    let part = run("atm_office::mail=debug", &["send", "bob", "two\nlines"]);
    assert!(part.stderr.contains("deliver letters=1 took "), "{part:?}");
    assert!(!part.stderr.contains("atm_office::trail"), "{part:?}");
    let bad = run("loud", &["members"]);
    assert_eq!(bad.code, Some(0));
    assert!(bad.stderr.contains("ATM_LOG: \"loud\" is no level"), "{bad:?}");
}
