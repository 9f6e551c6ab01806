//! A backup that `tar` made of a team's folders, as people do by hand.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::{litter, texts};
use crate::scene::World;

/// Packs folders of the shared tree as a recipe does; gives the file.
fn tar(world: &World, folders: &[&str]) -> String {
    let file = world.home().join("team.tar.gz").display().to_string();
    let folders = folders.iter().map(|folder| world.root().join(folder));
    let packed = Command::new("tar").args(["-czf", &file]).args(folders).output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    file
}

#[test]
fn a_plain_tar_of_teams_and_tasks_is_restored() {
    let world = World::with_team();
    world.ok(&["--as", "alice", "send", "bob", "hello"]);
    world.ok(&["task", "create", "mend the build"]);
    fs::create_dir(world.root().join("teams/dev/inboxes/bob.json.lock")).unwrap();
    let config = fs::read(world.root().join("teams/dev/config.json")).unwrap();
    let file = tar(&world, &["teams/dev/", "tasks/dev/"]);
    for folder in ["teams/dev", "tasks/dev"] {
        fs::remove_dir_all(world.root().join(folder)).unwrap();
    }
    assert_eq!(world.json(&["team", "restore", &file, "--dry-run"])["team"], "dev");
    assert!(!world.root().join("teams/dev").exists());
    let done = world.json(&["team", "restore", &file]);
    assert_eq!(done["team"], "dev");
    assert_eq!(fs::read(world.root().join("teams/dev/config.json")).unwrap(), config);
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["hello"]);
    assert_eq!(world.json(&["task", "list"])[0]["subject"], "mend the build");
    assert!(!world.root().join("teams/dev/inboxes/bob.json.lock").exists(), "a lock is nobody's any more");
    assert_eq!(litter(&world), [""; 0]);
    let left = fs::read_dir(world.state().join("restoring")).unwrap();
    assert_eq!(left.count(), 0, "nothing of what was packed anew");

    let again = world.json(&["team", "restore", &file, "--as", "copy"]);
    assert_eq!(again["team"], "copy", "under another name beside it");
}

#[test]
fn a_tar_with_links_with_several_teams_or_with_none_is_refused() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops"]);
    let refused = |folders: &[&str], why: &str| {
        let file = tar(&world, folders);
        let answer = world.atm(&["team", "restore", &file, "--as", "new"]);
        assert_eq!(answer.code, Some(6), "{answer:?}");
        assert!(answer.stderr.contains(why), "{answer:?}");
        assert!(!world.root().join("teams/new").exists());
    };
    refused(&["teams/dev", "teams/ops"], "several teams");
    refused(&["teams/dev/inboxes"], "neither a manifest nor a teams/NAME/config.json");
    symlink("/etc/passwd", world.root().join("teams/dev/inboxes/eve.json")).unwrap();
    refused(&["teams/dev"], "is a link, not a file");
}
