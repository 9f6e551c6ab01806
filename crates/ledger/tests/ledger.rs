//! The ledger through its public door, with real files and several processes' worth of connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::thread;
use std::time::Duration;

use atm_ledger::{
    Acceptance, Evidence, Fate, InboxKey, Ledger, LedgerError, NewMessage, Observed, Query, Stage,
};

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("state/log.db")
    }

    fn open(&self) -> Ledger {
        Ledger::open(&self.path()).unwrap()
    }

    fn nobody_tidied_for_long(&self) {
        let database = std::fs::File::open(self.path()).unwrap();
        database.set_modified(std::time::UNIX_EPOCH).unwrap();
    }

    /// As one command does.
    fn send_alone(&self, id: &str) {
        let mut ledger = self.open();
        self.accept(&mut ledger, id, "hello");
        self.nobody_tidied_for_long();
    }

    fn inbox(&self, name: &str) -> InboxKey {
        InboxKey::new(self.folder.path(), "demo", name)
    }

    fn accept(&self, ledger: &mut Ledger, id: &str, text: &str) {
        self.accept_as(ledger, id, text, false);
    }

    fn accept_new(&self, ledger: &mut Ledger, id: &str, text: &str) {
        self.accept_as(ledger, id, text, true);
    }

    fn accept_as(&self, ledger: &mut Ledger, id: &str, text: &str, is_new: bool) {
        ledger.accept(&[self.acceptance(id, text, is_new)], 1_000, "test").unwrap();
    }

    fn acceptance(&self, id: &str, text: &str, is_new: bool) -> Acceptance {
        let message = NewMessage {
            id: id.into(),
            sender: "team-lead".into(),
            text: text.into(),
            kind: "message".into(),
            sent_at: 1_000,
            ..NewMessage::default()
        };
        let (inbox, draft) = (self.inbox("bob"), format!("draft of {id}"));
        Acceptance { inbox, message, is_new, draft }
    }
}

#[test]
fn what_is_accepted_waits_until_it_is_written() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    desk.accept(&mut ledger, "m1", "hello");
    desk.accept(&mut ledger, "m2", "world");
    desk.accept(&mut ledger, "m1", "the same id again");
    drop(ledger);

    let mut ledger = desk.open();
    let waiting = ledger.waiting(&desk.inbox("bob")).unwrap();
    assert_eq!(waiting, [("m1".into(), "draft of m1".into()), ("m2".into(), "draft of m2".into())]);
    let evidence = Evidence::certain("renamed").in_file("inboxes/bob.json");
    ledger.written(&desk.inbox("bob"), &[("m1".into(), Stage::Queued)], 1_001, &evidence, None).unwrap();
    assert_eq!(ledger.waiting(&desk.inbox("bob")).unwrap().len(), 1);

    let root = desk.inbox("bob").root;
    let found = &ledger.find(&root, "m1", false).unwrap()[0];
    assert_eq!((found.stage, found.text.as_str()), (Stage::Queued, "hello"));
    let stages: Vec<_> = ledger.stages(found).unwrap().into_iter().map(|record| record.stage).collect();
    assert_eq!(stages, [Stage::Accepted, Stage::Written, Stage::Queued]);
}

#[test]
fn a_promise_can_be_taken_back_only_before_it_is_kept() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let bob = desk.inbox("bob");
    let why = Evidence::certain("the lock could not be had");
    desk.accept(&mut ledger, "m1", "x");
    desk.accept(&mut ledger, "m2", "y");
    ledger.written(&bob, &[("m2".into(), Stage::Written)], 1_001, &why, None).unwrap();
    assert_eq!(ledger.withdraw(&bob, "m1", 1_002, &why).unwrap(), Fate::Withdrawn);
    assert_eq!(ledger.withdraw(&bob, "m2", 1_002, &why).unwrap(), Fate::Written);
    assert!(ledger.waiting(&bob).unwrap().is_empty());
    assert_eq!(ledger.find(&bob.root, "m1", false).unwrap()[0].stage, Stage::Failed);

    // What failed may be sent again under its id; what was written may not.
    desk.accept(&mut ledger, "m1", "x");
    desk.accept(&mut ledger, "m2", "y");
    let waiting: Vec<_> = ledger.waiting(&bob).unwrap().into_iter().map(|(id, _)| id).collect();
    assert_eq!(waiting, ["m1"]);
}

#[test]
fn a_stage_never_goes_back() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let bob = desk.inbox("bob");
    desk.accept(&mut ledger, "m1", "x");
    ledger.advance(&bob, "m1", Stage::Seen, 1_010, &Evidence::certain("in the transcript")).unwrap();
    ledger.advance(&bob, "m1", Stage::Taken, 1_020, &Evidence::likely("gone from the file")).unwrap();
    let found = &ledger.find(&bob.root, "m1", false).unwrap()[0];
    assert_eq!(found.stage, Stage::Seen);
    assert_eq!(ledger.stages(found).unwrap().len(), 3);
}

/// A message that somebody found in an inbox.
fn seen(id: &str, text: &str, from: &str) -> Observed {
    let message = NewMessage {
        id: id.into(),
        sender: from.into(),
        text: text.into(),
        kind: "message".into(),
        sent_at: 5,
        ..NewMessage::default()
    };
    let new = Some(Box::new((message, Evidence::certain("seen in the file"))));
    Observed { id: id.into(), new, stages: Vec::new(), at: None }
}

/// The ids of what has these words.
fn search(ledger: &mut Ledger, inbox: &InboxKey, words: &str, from: Option<&str>) -> Vec<String> {
    let query = Query {
        words: words.into(),
        root: inbox.root.clone(),
        from: from.map(Into::into),
        limit: 10,
        ..Query::default()
    };
    ledger.search(&query).unwrap().into_iter().map(|(message, _)| message.id).collect()
}

#[test]
fn everything_seen_can_be_searched_for_ever() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let bob = desk.inbox("bob");
    let all = [seen("a", "the login test is flaky", "alice"), seen("b", "deploy went well", "eve")];
    ledger.observe(&bob, &all, Some("sig"), 10).unwrap();
    assert_eq!(ledger.signature(&bob).unwrap().as_deref(), Some("sig"));
    let mut ask = |words: &str, from: Option<&str>| search(&mut ledger, &bob, words, from);
    assert_eq!(ask("flak", None), ["a"]);
    assert_eq!(ask("\"login test\"", None), ["a"]);
    assert_eq!(ask("deploy", Some("alice")), Vec::<String>::new());
    assert_eq!(ask("AND OR NOT (\"", None), Vec::<String>::new());
}

#[test]
fn a_word_may_be_cut_short() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let bob = desk.inbox("bob");
    let words: Vec<String> = (0..300).map(|n| format!("many{n:03}")).collect();
    let all = [
        seen("a", "The Deployment of Cafés", "alice"),
        seen("b", "a deposit", "alice"),
        seen("c", &words.join(" "), "alice"),
    ];
    ledger.observe(&bob, &all, None, 10).unwrap();
    let mut ask = |words: &str| search(&mut ledger, &bob, words, None);
    assert_eq!(ask("Dep"), ["b", "a"], "every word that begins so");
    assert_eq!(ask("cafés depl"), ["a"], "only the last one");
    assert_eq!(ask("depl cafés"), Vec::<String>::new());
    assert_eq!(ask("cafe"), ["a"], "without its accent");
    assert_eq!(ask("man"), ["c"], "more words than are looked up one by one");
    assert_eq!(ask("\"dep\""), Vec::<String>::new(), "what is quoted is whole");
}

#[test]
fn a_send_touches_the_log_alone_and_every_so_many_apply_what_came() {
    let desk = Desk::new();
    let bob = desk.inbox("bob");
    let index = desk.folder.path().join("state/index.db");
    let send = |number: usize| {
        let (mut ledger, id) = (desk.open(), format!("m{number}"));
        desk.accept_new(&mut ledger, &id, "hello");
        ledger.written(&bob, &[(id, Stage::Written)], 2_000, &Evidence::certain("renamed"), None).unwrap();
    };
    send(1);
    send(2);
    desk.accept_new(&mut desk.open(), "m3", "not written");
    assert!(!index.exists(), "nobody asked for anything");
    let ledger = desk.open();
    let stages = |id: &str| -> Vec<Stage> {
        let found = ledger.find(&bob.root, id, false).unwrap();
        ledger.stages(&found[0]).unwrap().iter().map(|record| record.stage).collect()
    };
    assert_eq!(stages("m1"), [Stage::Accepted, Stage::Written]);
    assert_eq!(stages("m3"), [Stage::Accepted]);
    assert_eq!(ledger.waiting(&bob).unwrap().len(), 1);

    for number in 4..100 {
        send(number);
    }
    let applied: i64 = rusqlite::Connection::open(&index)
        .unwrap()
        .query_row("SELECT count(*) FROM messages", [], |row| row.get(0))
        .unwrap();
    assert!(applied > 60, "only {applied} were applied");
    assert_eq!(ledger.count().unwrap(), 99);
    assert_eq!(ledger.waiting(&bob).unwrap().len(), 1);
}

#[test]
fn an_id_that_comes_twice_at_once_is_taken_once() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let twice = ["first", "second"].map(|text| desk.acceptance("m1", text, false));
    assert_eq!(ledger.accept(&twice, 1_000, "test").unwrap(), ["m1"]);
    assert_eq!(ledger.waiting(&desk.inbox("bob")).unwrap().len(), 1);
    assert_eq!(ledger.find(&desk.inbox("bob").root, "m1", false).unwrap()[0].text, "first");
}

#[test]
fn an_event_that_cannot_be_read_keeps_no_other_from_being_applied() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    desk.accept_new(&mut ledger, "m1", "hello");
    desk.accept_new(&mut ledger, "m2", "world");
    desk.accept_new(&mut ledger, "m3", "hi");
    let db = rusqlite::Connection::open(desk.path()).unwrap();
    db.execute("UPDATE events SET body = '{' WHERE message = 'm1'", []).unwrap();
    // What was written by an earlier version says less, and by a later one more.
    db.execute("UPDATE events SET body = '{\"message\":{\"text\":\"hi\"},\"x\":1}' WHERE message = 'm3'", [])
        .unwrap();
    db.execute("INSERT INTO events (id, at, kind, root, team, member, message) SELECT randomblob(16), at, 9999, root, team, member, message FROM events WHERE message = 'm3'", [])
        .unwrap();
    let text = |id: &str| ledger.find(&desk.inbox("bob").root, id, false).unwrap()[0].text.clone();
    assert_eq!((text("m1"), text("m2"), text("m3")), ("{".to_owned(), "world".to_owned(), "hi".to_owned()));
}

#[test]
fn many_connections_write_at_once() {
    let desk = Desk::new();
    thread::scope(|scope| {
        for worker in 0..8 {
            let desk = &desk;
            scope.spawn(move || {
                let mut ledger = desk.open();
                for n in 0..25 {
                    desk.accept(&mut ledger, &format!("{worker}-{n}"), "x");
                }
            });
        }
    });
    assert_eq!(desk.open().waiting(&desk.inbox("bob")).unwrap().len(), 200);
}

#[test]
fn a_damaged_or_newer_ledger_is_an_error_and_stays_as_it_is() {
    let desk = Desk::new();
    let path = desk.folder.path().join("log.db");
    std::fs::write(&path, "this is not a database, and it is long enough to be looked at").unwrap();
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Database { .. })));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("this is not"));

    drop(desk.open());
    let newer = desk.folder.path().join("state/log.db");
    let db = rusqlite::Connection::open(&newer).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    assert!(matches!(Ledger::open(&newer), Err(LedgerError::TooNew { found: 99, .. })));
}

#[test]
fn the_log_stays_short_though_each_command_opens_and_closes_the_ledger() {
    let desk = Desk::new();
    let log = desk.folder.path().join("state/log.db-wal");
    let mut longest = 0;
    for n in 0..200 {
        desk.send_alone(&format!("m{n}"));
        longest = longest.max(log.metadata().unwrap().len());
    }
    assert!(longest < 1_000_000, "the log grew to {longest} bytes");
    assert_eq!(desk.open().waiting(&desk.inbox("bob")).unwrap().len(), 200);
}

#[test]
fn in_company_the_log_is_left_alone_unless_it_is_very_long() {
    let desk = Desk::new();
    let log = desk.folder.path().join("state/log.db-wal");
    let length = || log.metadata().unwrap().len();
    desk.send_alone("first");
    let send = |id: String| {
        let mut ledger = desk.open();
        desk.accept(&mut ledger, &id, "hello");
        ledger.note_company();
        desk.nobody_tidied_for_long();
        // A long-lived process asks after each send, and once more when it ends.
        ledger.tidy();
    };
    let mut count = 0;
    // Sends until the log has that length, or began anew before.
    let mut grow = |enough: u64| {
        let mut longest = 0;
        while longest < enough && length() >= longest {
            longest = length();
            count += 1;
            send(format!("m{count}"));
        }
        longest
    };
    assert!(grow(2_000_000) >= 2_000_000);
    desk.send_alone("alone");
    assert_eq!(length(), 0);
    let longest = grow(u64::MAX);
    assert!((4_000_000..4_200_000).contains(&longest), "the log grew to {longest} bytes");
}

#[test]
fn a_process_that_finds_another_creating_the_ledger_waits_for_it() {
    let desk = Desk::new();
    std::fs::create_dir(desk.folder.path().join("state")).unwrap();
    let other = rusqlite::Connection::open(desk.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    thread::scope(|scope| {
        let opened = scope.spawn(|| Ledger::open(&desk.path()).map(drop));
        thread::sleep(Duration::from_millis(100));
        other.execute_batch("ROLLBACK").unwrap();
        opened.join().unwrap().unwrap();
    });
}

#[test]
fn the_newest_come_first_with_the_place_where_the_words_are() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let bob = desk.inbox("bob");
    let long = format!("{} a Café there {}", "word ".repeat(50), "word ".repeat(50));
    ledger.observe(&bob, &[seen("a", "the café", "alice"), seen("b", "none", "alice")], None, 10).unwrap();
    let places = |ledger: &mut Ledger| -> Vec<(String, String)> {
        let query = Query { words: "cafe".into(), root: bob.root.clone(), limit: 10, ..Query::default() };
        let found = ledger.search(&query).unwrap();
        found.into_iter().map(|(message, place)| (message.id, place)).collect()
    };
    let short = ("a".to_owned(), "the \u{e000}café\u{e001}".to_owned());
    assert_eq!(places(&mut ledger), std::slice::from_ref(&short));
    ledger.observe(&bob, &[seen("c", &long, "alice")], None, 11).unwrap();
    let found = places(&mut ledger);
    assert_eq!((found[0].0.as_str(), &found[1]), ("c", &short));
    let place = &found[0].1;
    assert!(
        place.contains("a \u{e000}Café\u{e001} there") && place.starts_with('…') && place.len() < 150,
        "{place}"
    );
}

#[test]
fn how_fast_somebody_answers_is_of_the_team_that_has_the_name_now() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let bob = desk.inbox("bob");
    ledger.begin_team(&bob.root, &bob.team, 1, true).unwrap();
    desk.accept_new(&mut ledger, "m1", "which branch?");
    ledger.advance(&bob, "m1", Stage::Done, 91_000, &Evidence::certain("answered")).unwrap();
    assert_eq!(ledger.response_time(&bob).unwrap(), Some(90_000.0));
    ledger.begin_team(&bob.root, &bob.team, 2, false).unwrap();
    assert_eq!(ledger.response_time(&bob).unwrap(), None, "a namesake in another team");
}
