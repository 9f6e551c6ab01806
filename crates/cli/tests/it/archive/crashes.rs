//! Dying between any two steps of archiving: each message is in the inbox or in the archive, once.

use std::collections::BTreeSet;

use atm_store::points;

use crate::scene::{World, tree};

fn dies_at(world: &World, args: &[&str], point: &str) -> bool {
    let ended = world.command(args).env("ATM_TEST_DIE_AT", point).output().unwrap().status;
    !ended.success()
}

/// Each of the three messages is there, once.
fn check(world: &World, point: &str) {
    let (inbox, archived) = (world.inbox_texts(), world.archived_texts());
    let all: Vec<String> = inbox.iter().chain(&archived).cloned().collect();
    assert_eq!(all.len(), 3, "{point}: {inbox:?} {archived:?}");
    assert_eq!(
        all.into_iter().collect::<BTreeSet<_>>(),
        ["one", "three", "two"].map(String::from).into(),
        "{point}"
    );
}

fn assert_nothing_is_lost_or_doubled(layout: &str, dying: &[String]) {
    for point in dying {
        let world = World::with_mail_read(layout);
        let ids: Vec<String> = world
            .json(&["inbox", "bob"])
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["id"].as_str().unwrap().to_owned())
            .collect();
        assert!(dies_at(&world, &["archive", "bob", "--keep", "0"], point), "it got past {point}");
        check(&world, point);
        // Somebody looks before the next run, and is not misled.
        world.ok(&["log"]);
        world.ok(&["log"]);
        check(&world, point);
        assert_eq!(world.json(&["read", "--peek", "--as", "bob"])[0]["text"], "three", "{point}");
        world.ok(&["archive", "bob", "--keep", "0"]);
        check(&world, point);
        let goes: &[&str] = if layout == "array" { &["one", "two"] } else { &["one"] };
        assert_eq!(world.archived_texts(), goes, "{point}");
        for id in &ids[..goes.len()] {
            let told = world.evidence(id);
            assert!(told.iter().any(|(_, what)| what.starts_with("archived: ")), "{point}: {told:?}");
            assert!(
                told.iter().all(|(stage, what)| stage != "restored" && !what.contains("client")),
                "{point}: {told:?}"
            );
        }
        let left: Vec<_> = tree(&world.root().join("teams"))
            .into_iter()
            .chain(tree(&world.state().join("archive")))
            .filter(|path| path.to_string_lossy().contains(".atm-") || path.ends_with("bob.json.lock"))
            .collect();
        assert!(left.is_empty(), "{point} left {left:?}");
    }
}

fn names(points: &[&str]) -> Vec<String> {
    points.iter().map(ToString::to_string).collect()
}

#[test]
fn of_an_array_nothing_is_lost_or_doubled_wherever_it_dies() {
    let commit = points::ALL.into_iter().filter(|point| *point != "accepted").map(String::from);
    let all: Vec<String> = names(&points::ARCHIVE).into_iter().chain(commit).collect();
    assert_nothing_is_lost_or_doubled("array", &all);
}

#[test]
fn of_a_log_nothing_is_lost_or_doubled_wherever_it_dies() {
    // First the cursor is moved, then the file is cut: each of them is a change of its own.
    let commit = points::ALL.into_iter().filter(|point| *point != "accepted");
    let both = commit
        .clone()
        .map(String::from)
        .chain(["staged:2", "locked:2", "renamed:2", "released:2"].map(String::from));
    assert_nothing_is_lost_or_doubled(
        "log",
        &names(&points::ARCHIVE).into_iter().chain(both).collect::<Vec<_>>(),
    );
}

#[test]
fn what_is_packed_is_there_once_wherever_it_dies() {
    for point in points::PACK {
        let world = World::with_mail_read("array");
        world.setting("[archive]\nrotate_over = \"0\"\n");
        assert!(dies_at(&world, &["archive", "bob", "--keep", "0"], point), "it got past {point}");
        check(&world, point);
        world.ok(&["clean", "bob"]);
        check(&world, point);
        let files: Vec<String> = tree(&world.state().join("archive/dev"))
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(files.len(), 2, "{point}: {files:?}");
        assert!(
            files[0].ends_with(".jsonl.zst") && files[1].ends_with(".jsonl.zst.idx"),
            "{point}: {files:?}"
        );
    }
}

#[test]
fn a_rotation_keeps_the_place_wherever_it_dies() {
    for point in ["cursor_moved", "rotated"] {
        let world = World::with_mail_read("log");
        world.ok(&["--as", "bob", "read"]);
        assert!(dies_at(&world, &["archive", "bob", "--over", "1"], point), "it got past {point}");
        assert_eq!(world.inbox_texts(), ["one", "two", "three"], "{point}");
        world.ok(&["send", "bob", "four"]);
        assert_eq!(world.json(&["read", "--as", "bob"])[0]["text"], "four", "{point}");
        assert_eq!(world.json(&["read", "--as", "bob"]).as_array().unwrap().len(), 0, "{point}");
    }
}
