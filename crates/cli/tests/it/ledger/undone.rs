//! A shell that rewrites the inbox without any lock undoes what others wrote. Ours is put back.

use std::fs;
use std::process::Stdio;

use atm_support::wait_until;

use crate::scene::World;

#[test]
fn what_a_writer_without_locks_undid_is_put_back() {
    let world = World::with_team();
    let older = world.sent("bob", "older");
    let before = fs::read(world.inbox_file("bob")).unwrap();
    let id = world.sent("bob", "undone");
    fs::write(world.inbox_file("bob"), &before).unwrap();
    assert_eq!(world.stages(&id), ["accepted", "written", "restored"]);
    assert_eq!(world.texts_for("bob"), ["older", "undone"]);
    let inbox = world.json(&["inbox", "bob"]);
    assert_eq!(inbox[1]["id"], id, "under its old id");
    assert_eq!(world.stage(&older), "written");
}

#[test]
fn beside_a_shell_that_rewrites_over_and_over_all_of_ours_end_there_once() {
    let world = World::with_team();
    world.sent("bob", "the oldest");
    let file = world.inbox_file("bob");
    let stop = world.home().join("stop");
    let script = format!(
        "while [ ! -e '{stop}' ]; do jq . '{file}' > '{file}.sh' && mv '{file}.sh' '{file}'; done",
        stop = stop.display(),
        file = file.display()
    );
    let mut shell =
        world.shell().args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&file).unwrap());
    let first = inode();
    wait_until("the shell is at work", || inode() != first);
    for n in 0..40 {
        world.sent("bob", &format!("message {n}"));
    }
    fs::write(&stop, "").unwrap();
    assert!(shell.wait().unwrap().success());

    world.ok(&["log"]);
    let mut there = world.texts_for("bob");
    there.sort();
    let mut expected: Vec<String> =
        (0..40).map(|n| format!("message {n}")).chain(["the oldest".into()]).collect();
    expected.sort();
    assert_eq!(there, expected);
}
