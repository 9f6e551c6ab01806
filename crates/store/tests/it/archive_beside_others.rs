//! Archiving while others send, mark and append: every message is in the inbox or in the archive, once.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use atm_store::{Layout, Receipt};
use atm_support::{Foreign, TestTeam, draft, drafts};
use atm_wire::message::{Ours, Priority};
use atm_wire::{Draft, Stamp};
use proptest::prelude::*;

use crate::archive::{archive, archive_of, archived, whence};
use crate::child::Process;
use crate::scene::{array_team, line, listed, log_team, sorted, take};

/// All texts, as a reader finds them: what stands in the inbox counts as there.
fn everywhere(team: &TestTeam) -> Vec<String> {
    let inbox = listed(&team.mailbox("bob"));
    let archived = archived(team).into_iter().filter(|text| !inbox.contains(text));
    sorted(archived.chain(inbox.clone()).collect())
}

fn numbered(prefixes: &[&str], count: usize) -> Vec<String> {
    sorted(prefixes.iter().flat_map(|prefix| (0..count).map(move |n| format!("{prefix}{n}"))).collect())
}

#[test]
fn a_client_that_sends_and_one_that_marks_lose_nothing_to_the_archive() {
    for style in ["inplace", "rename"] {
        let team = array_team();
        team.mailbox("bob").create().unwrap();
        let inbox = team.inbox("bob");
        let client = || Foreign::client(&inbox).with("--style", style).with("--pause-ms", "2");
        let sender = client().sending("c", 40).start();
        let marker = client().with("--verb", "mark-read").with("--count", "40").start();
        let ours = thread::spawn({
            let bob = team.mailbox("bob");
            move || {
                for draft in drafts("o", 20) {
                    bob.append(&[draft], false).unwrap();
                }
            }
        });
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let (team, done) = (&team, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    archive(team, 2);
                }
            });
            sender.finish();
            marker.finish();
            ours.join().unwrap();
            done.store(true, Ordering::Relaxed);
        });
        Foreign::client(&inbox).with("--verb", "mark-read").run();
        archive(&team, 0);
        assert_eq!(
            sorted(archived(&team)),
            sorted([numbered(&["c"], 40), numbered(&["o"], 20)].concat()),
            "{style}"
        );
        assert!(listed(&team.mailbox("bob")).is_empty() && team.litter("bob").is_empty());
    }
}

#[test]
fn shells_that_append_without_a_lock_lose_no_line_to_the_archive() {
    let team = log_team();
    let inbox = team.inbox("bob");
    let shells =
        ["s", "t"].map(|prefix| Foreign::shell(&inbox).sending(prefix, 60).with("--pause-ms", "5").start());
    let done = AtomicBool::new(false);
    let mut taken = Vec::new();
    thread::scope(|scope| {
        let archiving = scope.spawn(|| {
            let bob = team.mailbox("bob");
            let (mut taken, mut cuts) = (Vec::new(), 0);
            while !done.load(Ordering::Relaxed) {
                taken.extend(take(&bob, usize::MAX));
                cuts += usize::from(!archive(&team, 0).is_empty());
            }
            assert!(cuts > 0, "it was cut while they appended");
            taken
        });
        for shell in shells {
            shell.finish();
        }
        done.store(true, Ordering::Relaxed);
        taken = archiving.join().unwrap();
    });
    taken.extend(take(&team.mailbox("bob"), usize::MAX));
    assert_eq!(sorted(taken), numbered(&["s", "t"], 60), "each was handed out once");
    archive(&team, 0);
    assert_eq!(everywhere(&team), numbered(&["s", "t"], 60));
}

#[test]
fn a_shell_that_has_the_log_open_when_it_is_cut_loses_nothing() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 5), false).unwrap();
    take(&bob, 5);
    let mut open = fs::OpenOptions::new().append(true).open(team.inbox("bob")).unwrap();
    let inode = |file: &fs::File| std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| archive(&team, 0));
        atm_support::wait_until("the file is another one", || {
            fs::File::open(team.inbox("bob")).is_ok_and(|now| inode(&now) != inode(&open))
        });
        std::io::Write::write_all(&mut open, format!("{}\n", line("late")).as_bytes()).unwrap();
    });
    assert_eq!(take(&bob, 9), ["late"]);
    assert_eq!(everywhere(&team), ["late", "m0", "m1", "m2", "m3", "m4"]);
}

#[test]
fn processes_that_send_and_are_killed_lose_nothing_to_the_archive() {
    for team in [array_team(), log_team()] {
        let bob = team.mailbox("bob");
        let mut accepted = Vec::new();
        for round in 0..3 {
            let mut process = Process::start("append_until_killed", &team, &format!("p{round}"));
            while process.accepted().len() < 15 {
                take(&bob, usize::MAX);
                archive(&team, 1);
            }
            process.kill();
            accepted.extend(process.accepted());
        }
        let there = everywhere(&team);
        let mut once = there.clone();
        once.dedup();
        assert_eq!(there, once, "none is there twice");
        let lost: Vec<_> = accepted.iter().filter(|text| there.binary_search(text).is_err()).collect();
        assert!(lost.is_empty(), "accepted and not there: {lost:?}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append(Priority, usize),
    Take(usize),
    Archive { keep: usize, by_force: bool },
    PutBack,
    Rotate { by_force: bool },
    Absorb,
    Pack,
    ForgetTheIndex,
    ClientMarksAll,
    ShellAppends,
}

fn step() -> impl Strategy<Value = Step> {
    let priority = prop_oneof![Just(Priority::High), Just(Priority::Normal), Just(Priority::Low)];
    prop_oneof![
        4 => (priority, 1usize..5).prop_map(|(priority, count)| Step::Append(priority, count)),
        3 => (1usize..4).prop_map(Step::Take),
        4 => (0usize..3, prop::bool::weighted(0.2)).prop_map(|(keep, by_force)| Step::Archive { keep, by_force }),
        1 => Just(Step::PutBack),
        1 => any::<bool>().prop_map(|by_force| Step::Rotate { by_force }),
        1 => Just(Step::Absorb),
        1 => Just(Step::Pack),
        1 => Just(Step::ForgetTheIndex),
        1 => Just(Step::ClientMarksAll),
        2 => Just(Step::ShellAppends),
    ]
}

struct World {
    team: TestTeam,
    layout: Layout,
    sent: Vec<String>,
    taken: Vec<String>,
    forced: bool,
}

impl World {
    fn new(layout: Layout) -> Self {
        let team = if layout == Layout::Array { array_team() } else { log_team() };
        team.mailbox("bob").create().unwrap();
        Self { team, layout, sent: Vec::new(), taken: Vec::new(), forced: false }
    }

    fn next_text(&mut self) -> String {
        self.sent.push(format!("m{}", self.sent.len()));
        self.sent[self.sent.len() - 1].clone()
    }

    fn play(&mut self, step: &Step) {
        let bob = self.team.mailbox("bob");
        let archive = archive_of(&self.team);
        let writer = || archive.writer(whence(&self.team)).unwrap();
        match step {
            Step::Append(priority, count) => {
                let ours = Ours { priority: *priority, ..Ours::default() };
                let texts: Vec<String> = (0..*count).map(|_| self.next_text()).collect();
                let drafts: Vec<Draft> =
                    texts.iter().map(|text| Draft { ours: ours.clone(), ..draft(text) }).collect();
                bob.append(&drafts, false).unwrap();
            }
            Step::Take(limit) => self.taken.extend(take(&bob, *limit)),
            Step::Archive { keep, by_force } => {
                let rule = |messages: &[atm_wire::Message]| {
                    let candidates = messages.iter().enumerate().take(messages.len().saturating_sub(*keep));
                    candidates.filter(|(_, m)| m.read || *by_force).map(|(at, _)| at).collect()
                };
                self.forced |= by_force;
                bob.archive(&mut writer(), &mut { rule }).unwrap();
            }
            Step::PutBack => {
                // A writer without a lock undoes the archiving.
                let before = self.team.inbox_bytes("bob");
                crate::archive::archive(&self.team, 0);
                if self.layout == Layout::Array {
                    self.team.write_inbox("bob", before);
                }
            }
            Step::Rotate { by_force } => drop(bob.rotate(0, Stamp::from_millis(0), *by_force).unwrap()),
            Step::Absorb => {
                let text = self.next_text();
                self.taken.push(text.clone());
                if self.layout == Layout::Log {
                    let old = self.team.inbox("bob").with_file_name("inbox-archive");
                    fs::write(old, line(&text) + "\n").unwrap();
                    let writer = || archive.writer(whence(&self.team)).unwrap();
                    assert_eq!(bob.absorb_old_archive(&mut writer()).unwrap().len(), 1);
                } else {
                    bob.append(&[draft(&text)], false).unwrap();
                    let message = bob.list().unwrap().messages.pop().unwrap();
                    bob.mark_read(&[Receipt::of(&message)].into()).unwrap();
                }
            }
            Step::Pack => {
                let writer = writer();
                writer.close().unwrap();
                writer.pack(&mut |_, _| ()).unwrap();
            }
            Step::ForgetTheIndex => {
                for entry in fs::read_dir(archive.file().parent().unwrap()).into_iter().flatten() {
                    let path = entry.unwrap().path();
                    if path.extension().is_some_and(|extension| extension == "idx") {
                        fs::remove_file(path).unwrap();
                    }
                }
            }
            Step::ClientMarksAll if self.layout == Layout::Array => {
                let mut entries = self.team.entries("bob");
                for entry in &mut entries {
                    if entry["read"] == false {
                        self.taken.push(entry["text"].as_str().unwrap().to_owned());
                    }
                    entry["read"] = true.into();
                }
                self.team.write_inbox("bob", serde_json::to_string_pretty(&entries).unwrap());
            }
            Step::ClientMarksAll => self.taken.extend(take(&bob, usize::MAX)),
            Step::ShellAppends if self.layout == Layout::Log => {
                let text = self.next_text();
                let mut file = fs::OpenOptions::new().append(true).open(self.team.inbox("bob")).unwrap();
                std::io::Write::write_all(&mut file, format!("{}\n", line(&text)).as_bytes()).unwrap();
            }
            Step::ShellAppends => {}
        }
    }

    fn check(&self) {
        assert_eq!(everywhere(&self.team), sorted(self.sent.clone()));
        let archived = archived(&self.team);
        assert_eq!(archived.len(), archived.iter().collect::<std::collections::HashSet<_>>().len(), "once");
        assert!(self.team.litter("bob").is_empty());
    }

    /// All that was not forced out of the inbox is handed out, once.
    fn finish(mut self) {
        self.taken.extend(take(&self.team.mailbox("bob"), usize::MAX));
        let mut once = sorted(self.taken.clone());
        once.dedup();
        assert_eq!(once.len(), self.taken.len(), "none is handed out twice");
        if !self.forced {
            assert_eq!(once, sorted(self.sent));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_array_and_its_archive_keep_every_message(steps in prop::collection::vec(step(), 1..16)) {
        let mut world = World::new(Layout::Array);
        for step in &steps {
            world.play(step);
            world.check();
        }
        world.finish();
    }

    #[test]
    fn a_log_and_its_archive_keep_every_message(steps in prop::collection::vec(step(), 1..12)) {
        let mut world = World::new(Layout::Log);
        for step in &steps {
            world.play(step);
            world.check();
        }
        world.finish();
    }
}

#[test]
fn what_a_recipe_archives_late_is_no_new_mail() {
    let team = log_team();
    let folder = team.inbox("bob").parent().unwrap().to_owned();
    let old = folder.join("inbox-archive");
    fs::write(&old, line("old") + "\n").unwrap();
    let mut recipe = fs::OpenOptions::new().append(true).open(&old).unwrap();
    let before = fs::metadata(&old).unwrap().ino();
    let late = thread::spawn({
        let old = old.clone();
        move || {
            // It had the file open when it was replaced.
            atm_support::wait_until("the old archive is replaced", || {
                fs::metadata(&old).map_or(true, |metadata| metadata.ino() != before)
            });
            recipe.write_all((line("late") + "\n").as_bytes()).unwrap();
        }
    });
    let mut writer = archive_of(&team).writer(whence(&team)).unwrap();
    team.mailbox("bob").absorb_old_archive(&mut writer).unwrap();
    late.join().unwrap();
    assert_eq!(listed(&team.mailbox("bob")), [""; 0]);
    let left: Vec<String> =
        team.mailbox("bob").old_archive().unwrap().messages.into_iter().map(|message| message.text).collect();
    assert_eq!(left, ["late"]);
}
