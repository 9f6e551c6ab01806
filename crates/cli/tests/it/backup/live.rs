//! Backups of a team that is at work: senders, a reader and an archiver, all processes of their own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::{back_up, everything};
use crate::scene::World;

#[test]
fn each_backup_has_all_that_was_sent_before_it_once() {
    for layout in ["array", "log"] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", layout]);
        world.ok(&["member", "add", "bob"]);
        let sent = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for (who, sent) in sent.iter().enumerate() {
                let (world, done) = (&world, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        let number = sent.load(Ordering::Relaxed);
                        world.ok(&["-t", "dev", "send", "bob", &format!("{who}-{number:03}")]);
                        sent.store(number + 1, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    world.ok(&["-t", "dev", "--as", "bob", "read", "--limit", "3"]);
                    world.ok(&["-t", "dev", "archive", "bob", "--keep", "1"]);
                }
            });
            for round in 0..6 {
                let before = [0, 1].map(|who: usize| sent[who].load(Ordering::Relaxed));
                let file = back_up(&world, &format!("{round}.tar.zst"));
                let team = format!("copy-{round}");
                world.ok(&["team", "restore", &file, "--as", &team]);
                let found = everything(&world, "bob", &team);
                let mut once = found.clone();
                once.dedup();
                assert_eq!(found, once, "nothing is there twice");
                for (who, before) in before.into_iter().enumerate() {
                    let of_it: Vec<&String> =
                        found.iter().filter(|text| text.starts_with(&format!("{who}-"))).collect();
                    assert!(of_it.len() >= before, "{layout}: {before} were sent, {of_it:?}");
                    let expected: Vec<String> =
                        (0..of_it.len()).map(|number| format!("{who}-{number:03}")).collect();
                    assert_eq!(of_it, expected.iter().collect::<Vec<_>>());
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
