//! What service managers are given.

use std::fs;
use std::process::Command;

use crate::scene::World;

#[test]
fn the_files_for_service_managers() {
    let world = World::new();
    let mut shown = String::new();
    for manager in ["systemd", "launchd"] {
        let text = world.ok(&["daemon", "install", "--manager", manager, "--dry-run"]);
        shown.push_str(&text.replace(crate::scene::ATM, "/usr/bin/atm"));
    }
    insta::assert_snapshot!(world.mask(&shown));
    assert!(!world.home().join(".config/systemd").exists());
}

#[test]
fn what_is_installed_can_be_removed_and_systemd_understands_it() {
    let world = World::new();
    world.ok(&["daemon", "install", "--manager", "systemd"]);
    let folder = world.home().join(".config/systemd/user");
    let units = ["atm-daemon.service", "atm-daemon.socket"].map(|name| folder.join(name));
    assert!(units.iter().all(|unit| unit.is_file()));
    let checked = Command::new("systemd-analyze")
        .args(["--user", "verify"])
        .args(&units)
        .env("HOME", world.home())
        .output();
    let checked = checked.unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(!said.contains("atm-daemon"), "{said}");
    world.ok(&["daemon", "uninstall", "--manager", "systemd"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
