//! Who restores and dies, or is told to stop, at any step: the team is there whole or not at all, and the next restore
//! goes through.

use std::fs;

use atm_store::points;
use atm_support::wait_until;
use rustix::process::Signal;

use super::{back_up, everything, litter};
use crate::scene::World;

/// A team with mail, tasks and an archive, deleted after its backup.
fn deleted() -> (World, String) {
    let world = World::with_team();
    for text in ["a", "b", "c"] {
        world.ok(&["send", "bob", text]);
    }
    world.ok(&["--as", "bob", "read", "--limit", "2"]);
    world.ok(&["archive", "--keep", "0"]);
    world.ok(&["task", "create", "mend the build"]);
    let file = back_up(&world, "one.tar.zst");
    world.ok(&["team", "delete", "dev", "--force"]);
    (world, file)
}

#[test]
fn a_restore_is_all_or_nothing_wherever_it_died() {
    for point in points::RESTORE {
        let (world, file) = deleted();
        let died = world.command(&["team", "restore", &file]).env("ATM_TEST_DIE_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "{point}");
        let folder = world.root().join("teams/dev");
        assert_eq!(folder.exists(), point == "restore_placed", "{point}");
        if !folder.exists() {
            world.ok(&["team", "restore", &file]);
        }
        assert_eq!(everything(&world, "bob", "dev"), ["a", "b", "c"], "{point}");
        assert_eq!(world.json(&["task", "list"]).as_array().unwrap().len(), 1, "{point}");
        let left = litter(&world);
        assert_eq!(left.len(), if point == "restore_placed" { 2 } else { 0 }, "{point}: {left:?}");
    }
}

#[test]
fn told_to_stop_neither_leaves_anything() {
    let world = World::with_team();
    // Large enough to be met in the middle.
    let mut seed: u32 = 1;
    let noise: Vec<u8> = (0..4_000_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        })
        .collect();
    for at in 0..4 {
        fs::write(world.root().join(format!("teams/dev/noise-{at}")), &noise).unwrap();
    }
    let file = back_up(&world, "one.tar.zst");
    let out = world.home().join("two.tar.zst").display().to_string();
    for signal in [Signal::INT, Signal::TERM] {
        let mut backup = world.start(&["team", "backup", "dev", "--out", &out]);
        wait_until("the backup is being written", || !litter(&world).is_empty());
        backup.signal(signal);
        assert_eq!(backup.finish().code, Some(128 + signal.as_raw()));
        assert!(
            litter(&world).is_empty() && !world.home().join("two.tar.zst").exists(),
            "{:?}",
            litter(&world)
        );

        let mut restore = world.start(&["team", "restore", &file, "--as", "ops"]);
        wait_until("the restore unpacks", || {
            litter(&world)
                .iter()
                .any(|name| world.root().join("teams").join(name).join("team/noise-0").exists())
        });
        restore.signal(signal);
        assert_eq!(restore.finish().code, Some(128 + signal.as_raw()));
        assert!(
            litter(&world).is_empty() && !world.root().join("teams/ops").exists(),
            "{:?}",
            litter(&world)
        );
    }
}
