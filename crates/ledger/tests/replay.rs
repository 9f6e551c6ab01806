//! What the log says is what the index answers, whenever the index is made, and whatever a power cut took of the log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use atm_ledger::{
    Acceptance, Cursor, Evidence, Feed, Handover, InboxKey, Kind, Ledger, Look, NewMessage, Observed, Proof,
    Reading, Source, Stage,
};
use proptest::prelude::*;

const FILES: [&str; 3] = ["log.db", "log.db-wal", "log.db-shm"];
const INDEX: [&str; 3] = ["index.db", "index.db-wal", "index.db-shm"];
const ROOT: &str = "/shared";

/// What somebody does with one of a few messages.
#[derive(Debug, Clone)]
enum Act {
    Accept { id: u8, to: u8, is_new: bool },
    Write { id: u8, to: u8, stage: Stage },
    Withdraw { id: u8, to: u8 },
    Find { id: u8, to: u8, stage: Stage, is_archived: bool },
    Advance { id: u8, to: u8, stage: Stage },
    Restore { id: u8, to: u8 },
    Remove { id: u8, to: u8, is_done: bool },
    Redirect { id: u8 },
    Prove { id: u8, to: u8, position: u8 },
    Wake { id: u8, to: u8 },
    HandOver { first: u8, to: u8 },
    Fact { to: u8 },
    Forget { to: u8 },
    DeleteIndex,
    Ask,
    Reopen,
}

fn stages() -> impl Strategy<Value = Stage> {
    prop::sample::select(Stage::ALL.to_vec())
}

fn acts() -> impl Strategy<Value = Act> {
    let (id, to) = (0..6_u8, 0..2_u8);
    let both = || (id.clone(), to.clone());
    prop_oneof![
        4 => (both(), any::<bool>()).prop_map(|((id, to), is_new)| Act::Accept { id, to, is_new }),
        4 => (both(), any::<bool>()).prop_map(|((id, to), is_on)| {
            Act::Write { id, to, stage: if is_on { Stage::Written } else { Stage::Queued } }
        }),
        1 => both().prop_map(|(id, to)| Act::Withdraw { id, to }),
        3 => (both(), stages(), any::<bool>()).prop_map(|((id, to), stage, is_archived)| {
            Act::Find { id, to, stage, is_archived }
        }),
        3 => (both(), stages()).prop_map(|((id, to), stage)| Act::Advance { id, to, stage }),
        1 => both().prop_map(|(id, to)| Act::Restore { id, to }),
        1 => (both(), any::<bool>()).prop_map(|((id, to), is_done)| Act::Remove { id, to, is_done }),
        1 => id.clone().prop_map(|id| Act::Redirect { id }),
        2 => (both(), 0..4_u8).prop_map(|((id, to), position)| Act::Prove { id, to, position }),
        1 => both().prop_map(|(id, to)| Act::Wake { id, to }),
        2 => both().prop_map(|(first, to)| Act::HandOver { first, to }),
        1 => to.clone().prop_map(|to| Act::Fact { to }),
        1 => to.clone().prop_map(|to| Act::Forget { to }),
        1 => Just(Act::DeleteIndex),
        2 => Just(Act::Ask),
        1 => Just(Act::Reopen),
    ]
}

struct Desk {
    folder: tempfile::TempDir,
    ledger: Option<Ledger>,
    now: i64,
}

fn inbox(to: u8) -> InboxKey {
    InboxKey { root: ROOT.into(), team: "demo".into(), name: ["bob", "carol"][usize::from(to)].into() }
}

fn name(id: u8) -> String {
    format!("message-{id}")
}

impl Desk {
    fn new() -> Self {
        let mut desk = Self { folder: tempfile::tempdir().unwrap(), ledger: None, now: 1_000 };
        desk.ledger();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ledger(&mut self) -> &mut Ledger {
        let path = self.path("log.db");
        self.ledger.get_or_insert_with(|| Ledger::open(&path).unwrap())
    }

    fn delete_index(&self) {
        for name in INDEX {
            let _ = fs::remove_file(self.path(name));
        }
    }

    fn message(&self, id: u8) -> NewMessage {
        NewMessage {
            id: name(id),
            sender: ["alice", "dave"][usize::from(id % 2)].into(),
            text: format!("text of {id}"),
            kind: ["message", "heartbeat", "health_check"][usize::from(id % 3)].into(),
            sent_at: self.now,
            ack_by: (id == 4).then_some(5_000),
            request_id: (id == 5).then(|| "r".into()),
            ..NewMessage::default()
        }
    }

    fn act(&mut self, act: &Act) {
        self.now += 1;
        let now = self.now;
        let why = Evidence::certain(format!("{act:?}"));
        match act {
            Act::Accept { id, to, is_new } => {
                // An id that is new has not been there.
                let is_new = *is_new && self.ledger().find(ROOT, &name(*id), false).unwrap().is_empty();
                let draft = format!("{{\"text\":\"text of {id}\",\"at\":{now}}}");
                let accepted = Acceptance { inbox: inbox(*to), message: self.message(*id), is_new, draft };
                self.ledger().accept(&[accepted], now, "alice").unwrap();
            }
            Act::Write { id, to, stage } => {
                self.ledger().written(&inbox(*to), &[(name(*id), *stage)], now, &why, Some("w1")).unwrap();
            }
            Act::Withdraw { id, to } => {
                let _ = self.ledger().withdraw(&inbox(*to), &name(*id), now, &why).unwrap();
            }
            Act::Find { id, to, stage, is_archived } => {
                let evidence = if *is_archived { Evidence::archived("by force") } else { why.clone() };
                let new = Some(Box::new((self.message(*id), why)));
                let observed = [Observed { id: name(*id), new, stages: vec![(*stage, evidence)], at: None }];
                let known = self.ledger().signature(&inbox(*to)).unwrap();
                let (signature, equals) = (format!("s{now}"), HashMap::from([("x".to_owned(), (1, 2))]));
                let look = Look {
                    known: known.as_deref(),
                    observed: &observed,
                    signature: Some(&signature),
                    equals: &equals,
                    now,
                };
                self.ledger().record_look(&inbox(*to), &look).unwrap();
            }
            Act::Advance { id, to, stage } => {
                self.ledger().advance(&inbox(*to), &name(*id), *stage, now, &why).unwrap();
            }
            Act::Restore { id, to } => {
                self.ledger().restored(&inbox(*to), &[name(*id)], now, &why, Some("w2")).unwrap();
            }
            Act::Remove { id, to, is_done } => {
                let ids = [name(*id)];
                let ids = [ids[0].as_str()];
                if *is_done {
                    self.ledger().removing(&inbox(*to), &ids, now).unwrap();
                } else {
                    self.ledger().not_removed(&inbox(*to), &ids).unwrap();
                }
            }
            Act::Redirect { id } => {
                self.ledger().redirect(&inbox(0), &inbox(1), &[name(*id)], now, &why).unwrap();
            }
            Act::Prove { id, to, position } => {
                let source = Source::file(&PathBuf::from("/p/s.jsonl"), 1);
                let from = self.ledger().positions(&inbox(0), std::slice::from_ref(&source)).unwrap()[0];
                let proof = Proof {
                    inbox: inbox(*to),
                    id: name(*id),
                    position: (*position).into(),
                    entry: None,
                    at: now,
                    evidence: Evidence::certain(format!("proof {position}")),
                };
                let reading = Reading { source, reader: inbox(0), from, to: from + 1, proofs: vec![proof] };
                self.ledger().record_readings(&[reading]).unwrap();
            }
            Act::Wake { id, to } => {
                self.ledger().note(&inbox(*to), &name(*id), Kind::Woken, now, &why).unwrap();
            }
            Act::HandOver { first, to } => {
                let messages: Vec<NewMessage> = (*first..6).map(|id| self.message(id)).collect();
                let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
                let stages = [(Stage::Taken, why.clone()), (Stage::Seen, why.clone().by("bob"))];
                let handover = Handover { found: &why, stages: &stages, at: now };
                let new = |place: usize| messages[place].clone();
                self.ledger().hand_over(&inbox(*to), &ids, &handover, new).unwrap();
            }
            Act::Fact { to } => self.ledger().note_fact(&inbox(*to), "signs", now).unwrap(),
            Act::Forget { to } => self.ledger().forget_fact(&inbox(*to), "signs").unwrap(),
            Act::DeleteIndex => self.delete_index(),
            Act::Ask => drop(self.ledger().count().unwrap()),
            Act::Reopen => self.ledger = None,
        }
    }

    /// All that the ledger answers.
    fn answers(&mut self) -> Vec<String> {
        let ledger = self.ledger();
        let mut answers = Vec::new();
        let messages = ledger.latest(ROOT, Some("demo"), 100).unwrap();
        for message in &messages {
            let stages: Vec<String> = ledger
                .stages(message)
                .unwrap()
                .iter()
                .map(|record| format!("{} {} {}", record.stage, record.at, record.evidence.what))
                .collect();
            let draft = ledger.draft(&message.inbox, &message.id).unwrap();
            answers.push(format!("{message:?} {stages:?} {draft:?}"));
        }
        let ids = |found: Vec<atm_ledger::Recorded>| found.into_iter().map(|m| m.id).collect::<Vec<_>>();
        answers.push(format!("{:?}", ids(ledger.pending(ROOT, "demo", 0, 100).unwrap())));
        answers.push(format!("{:?}", ids(ledger.request(ROOT, "r").unwrap())));
        answers.push(format!("{:?}", ledger.stats(ROOT, &[], (0, 1 << 40), 3).unwrap()));
        for to in 0..2 {
            let inbox = inbox(to);
            answers.push(format!("{:?}", ledger.traces(&inbox).unwrap()));
            answers.push(format!("{:?}", ledger.known(&inbox, Stage::Accepted, Stage::Seen).unwrap()));
            answers.push(format!("{:?}", ledger.waiting(&inbox).unwrap()));
            answers.push(format!("{:?}", ids(ledger.open_requests(&inbox, "health_check").unwrap())));
            answers.push(format!("{:?}", ledger.fact(&inbox, "signs").unwrap()));
        }
        answers
    }

    /// How often each place of the conversation proved something.
    fn uses_of_proofs(&mut self) -> HashMap<String, usize> {
        let mut uses = HashMap::new();
        let ledger = self.ledger();
        for message in ledger.latest(ROOT, None, 100).unwrap() {
            for record in ledger.stages(&message).unwrap() {
                if record.evidence.what.starts_with("proof") {
                    *uses.entry(record.evidence.what).or_default() += 1;
                }
            }
        }
        uses
    }

    fn keep_log(&mut self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        self.ledger = None;
        FILES[..2].iter().map(|name| (self.path(name), fs::read(self.path(name)).ok())).collect()
    }
}

/// All events after a cursor, page by page.
fn drain(ledger: &Ledger, mut cursor: Cursor) -> Option<(Vec<String>, Cursor)> {
    let mut all = Vec::new();
    loop {
        match ledger.events_since(&cursor, 3).unwrap() {
            Feed::Reset { .. } => return None,
            Feed::Events { events, cursor: next } => {
                if events.is_empty() {
                    return Some((all, next));
                }
                all.extend(events.into_iter().map(|event| event.id));
                cursor = next.to_string().parse().unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replaying_the_log_gives_the_same_answers(acts in prop::collection::vec(acts(), 1..60)) {
        let mut desk = Desk::new();
        let start = desk.ledger().cursor().unwrap();
        for act in &acts {
            desk.act(act);
        }
        let before = desk.answers();
        prop_assert!(desk.uses_of_proofs().values().all(|uses| *uses == 1));
        desk.ledger = None;
        desk.delete_index();
        prop_assert_eq!(&before, &desk.answers());
        let (events, end) = drain(desk.ledger(), start).unwrap();
        prop_assert_eq!(drain(desk.ledger(), end).unwrap().0.len(), 0);
        let distinct: std::collections::HashSet<_> = events.iter().collect();
        prop_assert_eq!(distinct.len(), events.len());
    }

    #[test]
    fn an_index_that_is_ahead_of_a_log_whose_end_was_cut_is_made_anew(
        kept in prop::collection::vec(acts(), 1..30),
        cut in prop::collection::vec(acts(), 1..30),
        after in prop::collection::vec(acts(), 0..30),
    ) {
        let mut desk = Desk::new();
        let start = desk.ledger().cursor().unwrap();
        for act in &kept {
            desk.act(act);
        }
        let (safe, end) = drain(desk.ledger(), start.clone()).unwrap();
        let files = desk.keep_log();
        for act in &cut {
            desk.act(act);
        }
        desk.answers();
        let lost = desk.ledger().cursor().unwrap();
        let has_lost = lost != end;
        // The power comes back: of the log, the end is missing; of the index, nothing is.
        desk.ledger = None;
        for (path, bytes) in files {
            match bytes {
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => drop(fs::remove_file(path)),
            }
        }
        let _ = fs::remove_file(desk.path("log.db-shm"));
        for act in &after {
            desk.act(act);
        }
        let answers = desk.answers();
        prop_assert!(desk.uses_of_proofs().values().all(|uses| *uses == 1));
        if has_lost {
            prop_assert!(drain(desk.ledger(), lost).is_none(), "a cursor into what is lost is unknown");
        }
        let (all, _) = drain(desk.ledger(), start).unwrap();
        prop_assert_eq!(&all[..safe.len()], &safe[..]);
        prop_assert_eq!(drain(desk.ledger(), end).unwrap().0, &all[safe.len()..]);
        desk.ledger = None;
        desk.delete_index();
        prop_assert_eq!(answers, desk.answers());
    }

    #[test]
    fn the_stage_is_the_highest_in_whatever_order_it_became_known(
        stages in Just(Stage::ALL[1..].to_vec()).prop_shuffle(),
        count in 1..12_usize,
    ) {
        // `held` and what ends a message's way without success rank below `seen`, which is proof.
        let order = [
            Stage::Accepted, Stage::Written, Stage::Queued, Stage::Restored, Stage::Escalated, Stage::Taken, Stage::Held,
            Stage::Failed, Stage::Expired, Stage::Recalled, Stage::Seen, Stage::Acked, Stage::Done,
        ];
        let rank = |stage: &Stage| order.iter().position(|other| other == stage);
        let mut desk = Desk::new();
        desk.act(&Act::Accept { id: 0, to: 0, is_new: true });
        for stage in &stages[..count] {
            desk.act(&Act::Advance { id: 0, to: 0, stage: *stage });
        }
        let found = desk.ledger().find(ROOT, &name(0), false).unwrap()[0].stage;
        prop_assert_eq!(Some(&found), stages[..count].iter().max_by_key(|stage| rank(stage)));
    }
}

#[test]
fn a_cursor_of_another_log_is_unknown_and_no_text_is_taken_for_one() {
    let (mut one, mut other) = (Desk::new(), Desk::new());
    let cursor = one.ledger().cursor().unwrap();
    assert!(matches!(other.ledger().events_since(&cursor, 10).unwrap(), Feed::Reset { .. }));
    for text in ["", "x", "1-2-3", &format!("{cursor}-"), &cursor.to_string()[1..]] {
        assert!(text.parse::<Cursor>().is_err(), "{text}");
    }
    assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
}

#[test]
fn a_damaged_index_is_made_anew_by_the_next_reader() {
    let mut desk = Desk::new();
    desk.act(&Act::Accept { id: 1, to: 0, is_new: true });
    let before = desk.answers();
    desk.ledger = None;
    desk.delete_index();
    fs::write(desk.path("index.db"), "this is no database, but it is long enough to be one").unwrap();
    assert_eq!(before, desk.answers());
    assert_eq!(desk.ledger().check().unwrap(), None);
}

#[test]
fn an_index_that_was_deleted_is_made_anew_once_by_all_who_ask_at_once() {
    let mut desk = Desk::new();
    for id in 0..6 {
        desk.act(&Act::Accept { id, to: 0, is_new: true });
    }
    desk.ledger = None;
    for _ in 0..10 {
        desk.delete_index();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let path = desk.path("log.db");
                scope.spawn(move || assert_eq!(Ledger::open(&path).unwrap().count().unwrap(), 6));
            }
        });
    }
}
