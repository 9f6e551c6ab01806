//! Upkeep in any order, beside senders of ours and of others: everything that was ever sent is found once, in the inbox or
//! in the archive.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use atm_store::Layout;
use atm_support::Foreign;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use uuid::Uuid;

use crate::scene::{World, foreign_team, texts};

/// Each is some seconds of real processes.
const CASES: u32 = 10;
/// Trying for a shorter failing case takes as long.
const SHRINKS: u32 = 6;
/// Give it the value that a failure tells, to see that failure again.
const SEED: &str = "ATM_TEST_SEED";

#[derive(Debug, Clone)]
enum Chore {
    Read(usize),
    Archive {
        keep: usize,
        force: bool,
    },
    Rotate {
        force: bool,
    },
    Clean,
    Convert(&'static str),
    Backup,
    /// Of one of the backups, as a team of its own.
    Restore(usize),
    /// Of one of the backups, into the team.
    Merge(usize),
}

fn chore() -> impl Strategy<Value = Chore> {
    prop_oneof![
        3 => (1usize..6).prop_map(Chore::Read),
        2 => (0usize..3, any::<bool>()).prop_map(|(keep, force)| Chore::Archive { keep, force }),
        1 => any::<bool>().prop_map(|force| Chore::Rotate { force }),
        1 => Just(Chore::Clean),
        3 => prop::sample::select(vec!["log", "array"]).prop_map(Chore::Convert),
        2 => Just(Chore::Backup),
        1 => any::<usize>().prop_map(Chore::Restore),
        2 => any::<usize>().prop_map(Chore::Merge),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Other {
    /// Writes arrays, under the clients' lock.
    Client,
    /// Appends lines, under `flock`.
    Shell,
}

/// How often each text is found: in the inbox, and in the archive.
fn everything(world: &World, team: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for place in [&["inbox", "bob"][..], &["inbox", "bob", "--archived"]] {
        for text in texts(&world.json(&[&["-t", team][..], place].concat())) {
            *found.entry(text).or_default() += 1;
        }
    }
    found
}

/// A backup, and what had been sent when it was begun.
struct Backup {
    file: String,
    sent: Vec<String>,
}

struct Day {
    world: World,
    sent: Mutex<Vec<String>>,
    backups: Mutex<Vec<Backup>>,
}

impl Day {
    fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }

    fn send_until(&self, done: &AtomicBool) {
        for number in 0.. {
            if done.load(Ordering::Relaxed) {
                break;
            }
            let text = format!("ours {number}");
            self.world.ok(&["-t", "dev", "--as", "alice", "send", "bob", &text]);
            self.sent.lock().unwrap().push(text);
        }
    }

    fn others_send_until(&self, other: Other, done: &AtomicBool) {
        let team = self.world.root().join("teams/dev");
        for number in 0.. {
            if done.load(Ordering::Relaxed) {
                break;
            }
            let prefix = format!("other {number} ");
            let foreign = match other {
                Other::Client => {
                    fs::create_dir_all(team.join("inboxes")).unwrap();
                    Foreign::client(&team.join("inboxes/bob.json")).renaming().flag("--gen3")
                }
                Other::Shell => {
                    fs::create_dir_all(team.join("members/bob")).unwrap();
                    Foreign::shell(&team.join("members/bob/inbox")).flag("--lock")
                }
            };
            // A folder may be gone when it gets there: then it says so, and has sent nothing.
            let (code, said) = foreign.sending(&prefix, 2).start().end();
            assert_ne!(code, Some(3), "its lock was taken away: {}", said.complaints);
            self.sent.lock().unwrap().extend(said.texts());
        }
    }

    fn run(&self, number: usize, chore: &Chore) {
        let world = &self.world;
        let mut backups = self.backups.lock().unwrap();
        let chosen = |which: usize| (!backups.is_empty()).then(|| &backups[which % backups.len()]);
        match chore {
            Chore::Read(limit) => {
                world.ok(&["-t", "dev", "--as", "bob", "read", "--limit", &limit.to_string()]);
            }
            Chore::Archive { keep, force } => {
                let (keep, force) = (keep.to_string(), force.then_some("--force"));
                let args = ["-t", "dev", "archive", "bob", "--keep", &keep].into_iter().chain(force);
                world.ok(&args.collect::<Vec<_>>());
            }
            Chore::Rotate { force } => {
                let args = ["-t", "dev", "archive", "bob", "--over", "1"].into_iter();
                world.ok(&args.chain(force.then_some("--force")).collect::<Vec<_>>());
            }
            Chore::Clean => drop(world.ok(&["-t", "dev", "clean", "bob", "--older-than", "0s"])),
            Chore::Convert(to) => {
                let told = world.atm(&["team", "convert", "dev", "--to", to]);
                // Others may write in the old layout for as long as it tries.
                assert!(matches!(told.code, Some(0 | 5)), "{told:?}");
            }
            Chore::Backup => {
                let file = world.home().join(format!("{}.tar.zst", backups.len()));
                let file = file.to_str().unwrap().to_owned();
                let sent = self.sent();
                world.ok(&["team", "backup", "dev", "--out", &file]);
                backups.push(Backup { file, sent });
            }
            Chore::Restore(which) => {
                let Some(backup) = chosen(*which) else { return };
                let copy = format!("copy-{number}");
                world.ok(&["team", "restore", &backup.file, "--as", &copy]);
                let found = everything(world, &copy);
                assert!(found.values().all(|count| *count == 1), "twice in a restored team: {found:?}");
                let lost: Vec<_> = backup.sent.iter().filter(|text| !found.contains_key(*text)).collect();
                assert!(lost.is_empty(), "not in the backup: {lost:?}");
            }
            Chore::Merge(which) => {
                let Some(backup) = chosen(*which) else { return };
                world.ok(&["team", "restore", &backup.file, "--merge"]);
            }
        }
    }

    fn check(&self, when: &str) {
        let expected: BTreeMap<String, usize> = self.sent().into_iter().map(|text| (text, 1)).collect();
        let found = everything(&self.world, "dev");
        let odd: Vec<_> = expected
            .keys()
            .chain(found.keys())
            .filter(|text| expected.get(*text) != found.get(*text))
            .map(|text| (text, found.get(text).copied().unwrap_or(0)))
            .collect();
        assert!(odd.is_empty(), "{when}: sent once, and found so often: {odd:?}");
    }
}

fn a_day(layout: Layout, other: Other, chores: &[Chore]) {
    let (world, _team) = foreign_team(layout);
    fs::write(world.home().join(".atm.toml"), "[archive]\nrotate_over = \"2000\"\n").unwrap();
    let day = Day { world, sent: Mutex::default(), backups: Mutex::default() };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| day.send_until(&done));
        scope.spawn(|| day.others_send_until(other, &done));
        let chores = || chores.iter().enumerate().for_each(|(number, chore)| day.run(number, chore));
        // Also when one fails, the sending has to end.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(chores));
        done.store(true, Ordering::Relaxed);
        ended.unwrap_or_else(|failure| std::panic::resume_unwind(failure));
    });
    day.check("at the end");
    // Looking at history puts nothing back, and a last conversion loses nothing.
    day.world.ok(&["-t", "dev", "log"]);
    day.world.ok(&["team", "convert", "dev", "--to", "array"]);
    day.check("as arrays");
}

#[test]
fn whatever_is_done_in_whatever_order_all_mail_is_there_once() {
    let seed = env::var(SEED).ok().and_then(|seed| seed.parse::<Uuid>().ok()).unwrap_or_else(Uuid::now_v7);
    let bytes = [*seed.as_bytes(), *seed.as_bytes()].concat();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config =
        Config { cases: CASES, max_shrink_iters: SHRINKS, failure_persistence: None, ..Config::default() };
    let days = (
        prop::sample::select(vec![Layout::Array, Layout::Log]),
        prop::sample::select(vec![Other::Client, Other::Shell]),
        prop::collection::vec(chore(), 4..10),
    );
    let ended = TestRunner::new_with_rng(config, rng).run(&days, |(layout, other, chores)| {
        a_day(layout, other, &chores);
        Ok(())
    });
    ended.unwrap_or_else(|failure| panic!("{SEED}={seed} repeats it: {failure}"));
}
