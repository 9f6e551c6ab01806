//! Whatever happens in whatever order: no message is lost, none is there twice, and the files stay whole.

use std::fs;
use std::path::Path;

use atm_store::array::ArrayInbox;
use atm_store::{LockTimes, Mailbox, Receipt};
use atm_support::{TestTeam, draft};
use atm_wire::Draft;
use atm_wire::message::{Ours, Priority};
use proptest::prelude::*;
use serde_json::Value;

use crate::scene::{array_team, entry, line, listed, log_team, sorted, take};

/// Each case is a folder of files that are synced again and again.
const CASES: u32 = 32;

#[derive(Debug, Clone)]
enum ArrayStep {
    Append(usize),
    AppendAgain,
    Mark(usize),
    Take(usize),
    Remove(usize),
    ClientSends { in_place: bool, pretty: bool },
    ClientMarksAll,
    SomebodyPutsJunk,
    SomebodyTearsTheEnd,
}

fn array_step() -> impl Strategy<Value = ArrayStep> {
    prop_oneof![
        3 => (1usize..4).prop_map(ArrayStep::Append),
        1 => Just(ArrayStep::AppendAgain),
        2 => (0usize..6).prop_map(ArrayStep::Mark),
        1 => (1usize..4).prop_map(ArrayStep::Take),
        1 => (0usize..6).prop_map(ArrayStep::Remove),
        3 => (any::<bool>(), any::<bool>())
            .prop_map(|(in_place, pretty)| ArrayStep::ClientSends { in_place, pretty }),
        1 => Just(ArrayStep::ClientMarksAll),
        1 => Just(ArrayStep::SomebodyPutsJunk),
        1 => Just(ArrayStep::SomebodyTearsTheEnd),
    ]
}

/// An inbox and what must be in it: texts with their flags, in order.
struct ArrayWorld {
    team: TestTeam,
    bob: Mailbox,
    expected: Vec<(String, bool)>,
    last: Option<Draft>,
    sent: usize,
}

impl ArrayWorld {
    fn new() -> Self {
        let team = array_team();
        let bob = team.mailbox("bob");
        bob.create().unwrap();
        Self { team, bob, expected: Vec::new(), last: None, sent: 0 }
    }

    fn next_text(&mut self) -> String {
        self.sent += 1;
        format!("m{}", self.sent)
    }

    /// The receipt for the message at `index`, if there are so many.
    fn receipt(&self, index: usize) -> Option<Receipt> {
        self.bob.list().unwrap().messages.get(index).map(Receipt::of)
    }

    fn play(&mut self, step: &ArrayStep) {
        match step {
            ArrayStep::Append(count) => {
                let drafts: Vec<_> = (0..*count).map(|_| draft(&self.next_text())).collect();
                self.bob.append(&drafts, false).unwrap();
                self.expected.extend(drafts.iter().map(|draft| (draft.text.clone(), false)));
                self.last = drafts.last().cloned();
            }
            ArrayStep::AppendAgain => {
                let Some(last) = self.last.clone() else { return };
                let known = self.bob.append(std::slice::from_ref(&last), false).unwrap().known;
                if known.is_empty() {
                    assert!(self.expected.iter().all(|(text, _)| *text != last.text));
                    self.expected.push((last.text, false));
                }
            }
            ArrayStep::Mark(index) => {
                let Some(receipt) = self.receipt(*index) else { return };
                self.bob.mark_read(&[receipt].into()).unwrap();
                self.expected[*index].1 = true;
            }
            ArrayStep::Take(limit) => {
                let taken = take(&self.bob, *limit);
                let unread = self.expected.iter_mut().filter(|(_, read)| !read).take(*limit);
                let expected: Vec<_> = unread
                    .map(|(text, read)| {
                        *read = true;
                        text.clone()
                    })
                    .collect();
                assert_eq!(taken, expected);
            }
            ArrayStep::Remove(index) => {
                let Some(receipt) = self.receipt(*index) else { return };
                let state = self.team.env().store_state();
                let inbox = ArrayInbox::new(self.team.inbox("bob"), &state, LockTimes::default());
                assert_eq!(inbox.remove(&[receipt].into()).unwrap(), 1);
                self.expected.remove(*index);
            }
            ArrayStep::ClientSends { in_place, pretty } => {
                let text = self.next_text();
                self.as_client(*in_place, *pretty, |entries| {
                    entries.push(serde_json::from_str(&entry(&text)).unwrap());
                });
                self.expected.push((text, false));
            }
            ArrayStep::ClientMarksAll => {
                self.as_client(true, true, |entries| {
                    for entry in entries.iter_mut().filter(|entry| entry.is_object()) {
                        entry["read"] = true.into();
                    }
                });
                for (_, read) in &mut self.expected {
                    *read = true;
                }
            }
            ArrayStep::SomebodyPutsJunk => self.as_client(false, true, |entries| entries.push(Value::Null)),
            ArrayStep::SomebodyTearsTheEnd => {
                let bytes = self.team.inbox_bytes("bob");
                self.team.write_inbox("bob", &bytes[..bytes.len() - 1]);
                // The next append mends it.
                self.play(&ArrayStep::Append(1));
            }
        }
    }

    /// What a client does under its lock.
    fn as_client(&self, in_place: bool, pretty: bool, change: impl FnOnce(&mut Vec<Value>)) {
        fs::create_dir(self.team.client_lock("bob")).unwrap();
        let mut entries = self.team.entries("bob");
        change(&mut entries);
        let text =
            if pretty { serde_json::to_string_pretty(&entries) } else { serde_json::to_string(&entries) };
        if in_place {
            self.team.write_inbox("bob", text.unwrap());
        } else {
            let temp = self.team.inbox("bob").with_extension("json.tmp.0123abcd");
            fs::write(&temp, text.unwrap()).unwrap();
            fs::rename(temp, self.team.inbox("bob")).unwrap();
        }
        fs::remove_dir(self.team.client_lock("bob")).unwrap();
    }

    fn check(&self) {
        let messages = self.bob.list().unwrap().messages;
        let there: Vec<_> = messages.into_iter().map(|message| (message.text, message.read)).collect();
        assert_eq!(there, self.expected);
        assert_eq!(self.team.texts("bob").len(), self.expected.len(), "valid JSON, and all of it");
        assert!(self.team.litter("bob").is_empty());
    }
}

#[derive(Debug, Clone)]
enum LogStep {
    Append(Priority, usize),
    AppendAgain,
    Take(usize),
    ShellAppends,
    ShellDiesInALine,
    Rotate,
    Cut,
}

fn log_step() -> impl Strategy<Value = LogStep> {
    let priority = prop_oneof![Just(Priority::High), Just(Priority::Normal), Just(Priority::Low)];
    prop_oneof![
        4 => (priority, 1usize..4).prop_map(|(priority, count)| LogStep::Append(priority, count)),
        1 => Just(LogStep::AppendAgain),
        3 => (1usize..4).prop_map(LogStep::Take),
        3 => Just(LogStep::ShellAppends),
        1 => Just(LogStep::ShellDiesInALine),
        2 => Just(LogStep::Rotate),
        1 => Just(LogStep::Cut),
    ]
}

/// Appends as `>>` does; a torn line before it would swallow it, so a careful shell ends that one first.
fn shell_append(inbox: &Path, text: &str) {
    let torn = fs::read(inbox).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    let text = if torn { format!("\n{text}") } else { text.to_owned() };
    let mut file = fs::OpenOptions::new().create(true).append(true).open(inbox).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}

struct LogWorld {
    team: TestTeam,
    bob: Mailbox,
    sent: Vec<String>,
    taken: Vec<String>,
    last: Option<Draft>,
    rotations: usize,
}

impl LogWorld {
    fn new() -> Self {
        let team = log_team();
        let bob = team.mailbox("bob");
        Self { team, bob, sent: Vec::new(), taken: Vec::new(), last: None, rotations: 0 }
    }

    fn next_text(&mut self) -> String {
        let text = format!("m{}", self.sent.len());
        self.sent.push(text.clone());
        text
    }

    fn play(&mut self, step: &LogStep) {
        let inbox = self.team.inbox("bob");
        match step {
            LogStep::Append(priority, count) => {
                let ours = Ours { priority: *priority, ..Ours::default() };
                let drafts: Vec<_> =
                    (0..*count).map(|_| Draft { ours: ours.clone(), ..draft(&self.next_text()) }).collect();
                assert!(self.bob.append(&drafts, false).unwrap().known.is_empty());
                self.last = drafts.last().cloned();
            }
            LogStep::AppendAgain => {
                let Some(last) = &self.last else { return };
                let known = self.bob.append(std::slice::from_ref(last), false).unwrap().known;
                assert_eq!(known, [last.id.as_str()]);
            }
            LogStep::Take(limit) => {
                let taken = take(&self.bob, *limit);
                self.taken.extend(taken);
            }
            LogStep::ShellAppends => {
                let text = self.next_text();
                shell_append(&inbox, &format!("{}\n", line(&text)));
            }
            LogStep::ShellDiesInALine => shell_append(&inbox, &line("never finished")[..40]),
            LogStep::Rotate => {
                self.rotations += 1;
                let rotated = format!("inbox.20260101-{:06}", self.rotations);
                fs::rename(&inbox, inbox.with_file_name(rotated)).unwrap();
                fs::write(&inbox, "").unwrap();
            }
            LogStep::Cut => {
                // `tail` of all lines: nothing goes, but it is another file.
                let temp = inbox.with_file_name("inbox.tmp");
                fs::copy(&inbox, &temp).unwrap();
                fs::rename(temp, &inbox).unwrap();
            }
        }
    }

    fn check(&self) {
        assert_eq!(sorted(listed(&self.bob)), sorted(self.sent.clone()), "all are there, once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_array_inbox_keeps_every_message_once(steps in prop::collection::vec(array_step(), 1..14)) {
        let mut world = ArrayWorld::new();
        for step in &steps {
            world.play(step);
            world.check();
        }
    }

    #[test]
    fn a_log_inbox_keeps_every_message_and_hands_it_out_once(steps in prop::collection::vec(log_step(), 1..18)) {
        let mut world = LogWorld::new();
        for step in &steps {
            world.play(step);
            world.check();
        }
        world.taken.extend(take(&world.bob, usize::MAX));
        prop_assert_eq!(sorted(world.taken), sorted(world.sent));
    }
}
