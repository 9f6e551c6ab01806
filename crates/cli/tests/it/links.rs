//! Links in the shared tree: followed to what is the user's own, and nowhere else.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use crate::scene::{World, tree};

/// A team in either layout, with a task, and a folder that is neither below the root nor below home.
fn world(layout: &str) -> (World, PathBuf) {
    let world = World::new();
    for line in [
        &format!("team create dev --layout {layout}"),
        "member add alice",
        "member add bob",
        "task create one",
    ] {
        world.ok(&line.split(' ').collect::<Vec<_>>());
    }
    world.ok(&["send", "bob", "first"]);
    let outside = world.home().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    (world, outside)
}

/// Moves a file or folder and leaves a link in its place.
fn move_away(path: &Path, to: &Path) {
    if path.is_dir() {
        let status = std::process::Command::new("mv").args([path, to]).status().unwrap();
        assert!(status.success());
    } else if path.exists() {
        fs::rename(path, to).unwrap();
    } else {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(to, "").unwrap();
    }
    symlink(to, path).unwrap();
}

/// What is in a folder, with its content.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    tree(folder)
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Each shared file, in which layout, and a command that writes it.
const WRITES: [(&str, &str, &[&str]); 10] = [
    ("array", "teams/dev/inboxes/bob.json", &["send", "bob", "hello"]),
    ("array", "teams/dev/inboxes/bob.json", &["--as", "bob", "read"]),
    ("array", "teams/dev/inboxes", &["send", "bob", "hello"]),
    ("array", "teams/dev", &["send", "bob", "hello"]),
    ("array", "teams/dev/config.json", &["member", "set", "bob", "--model", "opus"]),
    ("array", "tasks/dev/1.json", &["--as", "bob", "task", "claim", "1"]),
    ("array", "tasks/dev/.highwatermark", &["task", "create", "two"]),
    ("log", "teams/dev/members/bob/inbox", &["send", "bob", "hello"]),
    ("log", "teams/dev/members/bob/state.json", &["--as", "bob", "read"]),
    ("log", "teams/dev/members/bob", &["send", "bob", "hello"]),
];

#[test]
fn a_link_out_of_the_users_places_is_refused_and_its_target_stays() {
    for (layout, file, command) in WRITES {
        let (world, outside) = world(layout);
        let (link, target) = (world.root().join(file), outside.join("target"));
        move_away(&link, &target);
        let before = contents(&outside);
        let answer = world.atm(&[command, &["--json"]].concat());
        let error = answer.error();
        assert_eq!(
            (answer.code, error["code"].as_str()),
            (Some(4), Some("linked_away")),
            "{file}: {answer:?}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(link.to_str().unwrap()) && message.contains(target.to_str().unwrap()),
            "{message}"
        );
        let after: Vec<_> = contents(&outside);
        assert_eq!(after, before, "{file}");
    }
}

#[test]
fn a_member_cannot_leave_artifacts_behind_a_link() {
    let (world, outside) = world("array");
    move_away(&world.root().join("tasks/dev"), &outside.join("target"));
    fs::write(world.home().join("f.txt"), "x").unwrap();
    let answer = world.atm(&["--as", "bob", "artifacts", "put", "f.txt"]);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    assert!(tree(&outside).iter().all(|path| !path.ends_with("f.txt")));
}

#[test]
fn links_into_the_home_folder_and_within_the_root_are_followed() {
    for (layout, file, command) in WRITES {
        for place in ["home", "root"] {
            let (world, outside) = world(layout);
            let kept = outside.with_file_name(place).join("kept");
            fs::create_dir(&kept).unwrap();
            let (link, target) = (world.root().join(file), kept.join("target"));
            move_away(&link, &target);
            let before = contents(&kept);
            let answer = world.atm(command);
            assert_eq!(answer.code, Some(0), "{file} to {place}: {answer:?}");
            assert!(link.is_symlink());
            assert_ne!(contents(&kept), before, "{file} to {place}");
        }
    }
}

#[test]
fn what_belongs_to_somebody_else_is_not_replaced_through_a_link() {
    let (world, _) = world("array");
    let (link, target) = (world.root().join("teams/dev/inboxes/bob.json"), world.home().join("theirs.json"));
    move_away(&link, &target);
    if chown(&target, Some(12_345), None).is_err() {
        return eprintln!("skipped: only root can give a file away");
    }
    let before = fs::read(&target).unwrap();
    assert_eq!(world.atm(&["send", "bob", "hello"]).code, Some(4));
    assert_eq!(fs::read(&target).unwrap(), before);
}

#[test]
fn looking_through_a_link_is_harmless() {
    let (world, outside) = world("array");
    move_away(&world.root().join("teams/dev/inboxes/bob.json"), &outside.join("target"));
    assert!(world.ok(&["inbox", "bob"]).contains("first"));
    assert!(world.ok(&["--as", "bob", "read", "--peek"]).contains("first"));
}

#[test]
fn a_message_that_is_refused_for_a_link_never_comes_later() {
    let (world, outside) = world("array");
    let (link, target) = (world.root().join("teams/dev/inboxes/bob.json"), outside.join("target"));
    move_away(&link, &target);
    assert_eq!(world.atm(&["send", "bob", "refused"]).code, Some(4));
    fs::remove_file(&link).unwrap();
    fs::rename(&target, &link).unwrap();
    world.ok(&["send", "bob", "later"]);
    world.ok(&["pending"]);
    let mail = world.ok(&["inbox", "bob"]);
    assert!(mail.contains("later") && !mail.contains("refused"), "{mail}");
}
