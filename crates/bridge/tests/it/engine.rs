//! One engine, call by call, where the simulation would need luck.

mod failing;

use std::cell::RefCell;
use std::rc::Rc;

use atm_bridge::engine::{Engine, Identity, Memory, Polled, Post, Room, Ticket, Verdict};
use atm_bridge::envelope::{Applied, Body, Envelope, Failure, Header, Receipts};
use atm_bridge::local::{Letter, Local, Receipt};
use atm_bridge::name::Machine;
use atm_bridge::protocol::{Position, StreamView};
use atm_wire::Stamp;

use crate::sim::ledger::{Ledger, Shared};

const NOW: i64 = 1_800_000_000_000;

fn at(seconds: i64) -> Stamp {
    Stamp::from_millis(NOW + seconds * 1000)
}

fn hub() -> Machine {
    "hub".parse().unwrap()
}

fn stream(last: u64, asked: i64) -> StreamView {
    StreamView { stream: "s".into(), first: 1, last, most_bytes: None, most_age: None, at: at(asked) }
}

fn ledger() -> Shared {
    Shared(Rc::new(RefCell::new(log_of_epoch("e"))))
}

fn log_of_epoch(epoch: &str) -> Ledger {
    let mut ledger = Ledger::new("laptop".parse().unwrap());
    ledger.epoch = epoch.into();
    ledger
}

/// The bridge of laptop, in epoch `e`; it trusts hub.
fn laptop(ledger: &Shared) -> Engine<Shared> {
    let me =
        Identity { realm: "home".parse().unwrap(), machine: "laptop".parse().unwrap(), epoch: "e".into() };
    let mut engine = Engine::new(me, ledger.clone(), Memory::default());
    engine.set_trusted([hub()]);
    engine.set_stream(Some(stream(0, 0)));
    engine
}

/// The same after a restart.
fn again(ledger: &Shared, before: &Engine<Shared>) -> Engine<Shared> {
    let memory = serde_json::from_str(&serde_json::to_string(&before.to_remember()).unwrap()).unwrap();
    let mut engine = Engine::new(before.me().clone(), ledger.clone(), memory);
    engine.set_trusted([hub()]);
    engine.set_stream(Some(stream(0, 0)));
    engine
}

fn from_hub(epoch: &str, n: u64, body: Body) -> Envelope {
    let header = Header {
        realm: "home".parse().unwrap(),
        from: hub(),
        to: Some("laptop".parse().unwrap()),
        epoch: epoch.into(),
        n,
        attempt: 1,
        at: at(0),
    };
    Envelope { header, body }
}

/// What is due, of a ledger that works.
fn poll(engine: &mut Engine<Shared>, now: Stamp, room: Room) -> Vec<Post> {
    let Polled { posts, trouble } = engine.poll(now, room);
    assert_eq!(trouble, None);
    posts
}

/// Publishes what is due; the server has it from this number on.
fn publish(engine: &mut Engine<Shared>, now: Stamp, first: u64) -> Vec<Post> {
    let posts = poll(engine, now, Room { letters: 100, bytes: 1 << 20 });
    for (post, seq) in posts.iter().zip(first..) {
        engine.published(&post.ticket, Some(Position { stream: "s".into(), seq }), now);
    }
    posts
}

#[test]
fn a_failure_of_another_epochs_letter_fails_none_of_this_one() {
    let ledger = ledger();
    let n = ledger.0.borrow_mut().send("id-1".into(), "bob", &hub(), 0);
    let mut engine = laptop(&ledger);
    assert!(matches!(publish(&mut engine, at(0), 1)[0].ticket, Ticket::Letter { .. }));
    // Hub could not read what had this number before laptop lost its log.
    let failure = |epoch: &str| Failure { id: String::new(), epoch: epoch.into(), n, why: "?".into() };
    let failed = |epoch: &str| from_hub("h", 0, Body::Failed(vec![failure(epoch)]));
    engine.receive(vec![failed("before")], at(1));
    assert_eq!(ledger.clone().outgoing(0, 9).unwrap().len(), 1);
    assert_eq!(engine.outbox().len(), 1);
    engine.receive(vec![failed("e")], at(1));
    assert!(engine.outbox().is_empty());
}

#[test]
fn a_log_that_is_lost_under_a_running_bridge_is_a_new_epoch() {
    let ledger = ledger();
    for number in 0..5 {
        ledger.0.borrow_mut().send(format!("id-{number}"), "bob", &hub(), 0);
    }
    let mut engine = laptop(&ledger);
    assert_eq!(publish(&mut engine, at(0), 1).len(), 5);
    *ledger.0.borrow_mut() = log_of_epoch("f");
    ledger.0.borrow_mut().send("new".into(), "bob", &hub(), 0);
    engine.wake();
    let posts = publish(&mut engine, at(1), 6);
    let about = |post: &Post| (post.envelope.header.epoch.clone(), post.envelope.header.n);
    assert_eq!(posts.iter().map(about).collect::<Vec<_>>(), [("f".to_owned(), 1)]);
    assert_eq!(engine.outbox().len(), 1);
}

#[test]
fn a_letter_with_endless_names_is_refused_and_answered() {
    let mut engine = laptop(&ledger());
    let letter = |to: String, id: String| Letter {
        id,
        team: "alpha".into(),
        to,
        from: "bob".into(),
        from_lead: false,
        after: None,
        home: None,
        letter: "{}".into(),
    };
    for (n, letter) in [letter("x".repeat(1 << 20), "id".into()), letter("ann".into(), "x".repeat(1 << 20))]
        .into_iter()
        .enumerate()
    {
        let envelope = from_hub("h", n as u64 + 1, Body::Letter(letter));
        let (verdicts, posts) = engine.receive(vec![envelope], at(0));
        assert_eq!(verdicts, [Verdict::Refused("endless-name")]);
        let Body::Failed(failures) = &posts[0].envelope.body else { panic!("{posts:?}") };
        assert!(failures[0].id.len() < 300, "it is not sent back");
    }
    assert!(serde_json::to_string(&engine.to_remember()).unwrap().len() < 1_000);
}

#[test]
fn more_receipts_than_anybody_sends_together_are_refused() {
    let mut engine = laptop(&ledger());
    let receipt = || Receipt { id: "id".into(), team: "alpha".into(), record: "seen".into() };
    let receipts = vec![receipt(); 100_000];
    let failure = || Failure { id: "id".into(), epoch: "e".into(), n: 1, why: "?".into() };
    for body in [
        Body::Confirm(receipts.clone()),
        Body::Receipts(Receipts { upto: "c".into(), receipts }),
        Body::Failed(vec![failure(); 100_000]),
    ] {
        let (verdicts, posts) = engine.receive(vec![from_hub("h", 0, body)], at(0));
        assert_eq!((verdicts, posts), (vec![Verdict::Refused("too-many")], Vec::new()));
    }
}

/// After its memory was lost, or with a machine that is newly trusted, a feed begins at the start of the log.
#[test]
fn a_long_log_is_read_without_a_pause_for_each_page() {
    let ledger = ledger();
    let other: Machine = "desk".parse().unwrap();
    for number in 0..5_000 {
        ledger.0.borrow_mut().tell(&other, &format!("id-{number}"));
    }
    ledger.0.borrow_mut().tell(&hub(), "mine");
    let mut engine = laptop(&ledger);
    let posts = publish(&mut engine, at(0), 1);
    let Some(Body::Receipts(batch)) = posts.first().map(|post| &post.envelope.body) else {
        panic!("{posts:?}")
    };
    assert_eq!(batch.receipts[0].id, "mine");
}

/// The ids of the receipts in a post, if it has some.
fn receipts_in(posts: &[Post]) -> Vec<&str> {
    let batches = posts.iter().filter_map(|post| match &post.envelope.body {
        Body::Receipts(batch) => Some(&batch.receipts),
        _ => None,
    });
    batches.flatten().map(|receipt| receipt.id.as_str()).collect()
}

/// A bridge that ran with other teams for a while moved its cursor past them.
#[test]
fn receipts_of_a_team_that_was_not_shared_for_a_while_are_told_when_it_is_again() {
    let ledger = ledger();
    let mut engine = laptop(&ledger);
    assert!(receipts_in(&publish(&mut engine, at(0), 1)).is_empty());
    ledger.0.borrow_mut().teams = ["other".to_owned()].into();
    ledger.0.borrow_mut().tell(&hub(), "read meanwhile");
    let mut engine = again(&ledger, &engine);
    assert!(receipts_in(&publish(&mut engine, at(1), 1)).is_empty());
    ledger.0.borrow_mut().teams = ["alpha".to_owned()].into();
    let mut engine = again(&ledger, &engine);
    assert_eq!(receipts_in(&publish(&mut engine, at(2), 1)), ["read meanwhile"]);
}

#[test]
fn receipts_that_another_machine_passed_over_are_told_when_it_shares_their_team_again() {
    let ledger = ledger();
    ledger.0.borrow_mut().tell(&hub(), "first");
    let mut engine = laptop(&ledger);
    let posts = publish(&mut engine, at(0), 1);
    let Body::Receipts(batch) = &posts[0].envelope.body else { panic!("{posts:?}") };
    let applied = Applied { upto: batch.upto.clone(), unshared: ["alpha".to_owned()].into() };
    engine.receive(vec![from_hub("h", 0, Body::Applied(applied))], at(1));
    ledger.0.borrow_mut().tell(&hub(), "second");
    engine.wake();
    assert!(receipts_in(&publish(&mut engine, at(1), 2)).is_empty());
    engine.heard_teams(&hub(), ["other"].into_iter());
    assert!(receipts_in(&publish(&mut engine, at(2), 2)).is_empty());
    engine.heard_teams(&hub(), ["alpha", "other"].into_iter());
    assert_eq!(receipts_in(&publish(&mut engine, at(3), 2)), ["first", "second"]);
}

#[test]
fn receipts_of_a_team_that_is_not_shared_are_answered_as_passed_over() {
    let ledger = ledger();
    ledger.0.borrow_mut().teams.clear();
    ledger.0.borrow_mut().send("first".into(), "bob", &hub(), 0);
    let mut engine = laptop(&ledger);
    let receipts = vec![Receipt { id: "first".into(), team: "alpha".into(), record: "seen".into() }];
    let batch = Body::Receipts(Receipts { upto: "c".into(), receipts });
    let (_, posts) = engine.receive(vec![from_hub("h", 0, batch)], at(0));
    let applied = Applied { upto: "c".into(), unshared: ["alpha".to_owned()].into() };
    assert_eq!(posts[0].envelope.body, Body::Applied(applied));
}

/// Everything for it was published again every 15 seconds, in batches of 256.
#[test]
fn receipts_for_a_machine_that_answers_nothing_are_a_question_until_it_answers() {
    let ledger = ledger();
    for number in 0..200 {
        ledger.0.borrow_mut().tell(&hub(), &format!("id-{number}"));
    }
    let mut engine = laptop(&ledger);
    let (mut told, mut asked, mut seq) = (0, 0, 0);
    for second in 0..3_600 {
        engine.set_stream(Some(stream(seq, second)));
        engine.heard_from(&hub(), Some(Position { stream: "s".into(), seq }), at(second));
        let posts = publish(&mut engine, at(second), seq + 1);
        seq += posts.len() as u64;
        let is_question =
            |post: &&Post| matches!(&post.envelope.body, Body::Receipts(batch) if batch.receipts.is_empty());
        let questions = posts.iter().filter(is_question).count();
        (told, asked) = (told + posts.len() - questions, asked + questions);
    }
    assert_eq!(told, 4);
    assert!((200..=240).contains(&asked), "one every 15 seconds: {asked}");
    // It answers, and gets them at once.
    let applied =
        |upto: &str| from_hub("h", 0, Body::Applied(Applied { upto: upto.to_owned(), unshared: [].into() }));
    engine.receive(vec![applied("")], at(3_600));
    let posts = publish(&mut engine, at(3_600), seq + 1);
    assert_eq!(receipts_in(&posts).len(), 200);
    let Body::Receipts(batch) = &posts[0].envelope.body else { panic!("{posts:?}") };
    engine.receive(vec![applied(&batch.upto)], at(3_601));
    assert!(publish(&mut engine, at(3_601), seq + 2).is_empty());
    assert!(engine.is_at_rest());
}

#[test]
fn a_question_is_answered_like_a_batch() {
    let mut engine = laptop(&ledger());
    let question = Body::Receipts(Receipts { upto: String::new(), receipts: Vec::new() });
    let (verdicts, posts) = engine.receive(vec![from_hub("h", 0, question)], at(0));
    assert_eq!(verdicts, [Verdict::Done]);
    assert_eq!(posts[0].envelope.body, Body::Applied(Applied { upto: String::new(), unshared: [].into() }));
}

/// It was published every 15 seconds for ever, and those behind it were held by their recipient: nobody reads so large an envelope.
#[test]
fn a_letter_that_nobody_reads_has_failed_and_the_next_one_may_pass() {
    let ledger = ledger();
    for id in ["large", "next"] {
        ledger.0.borrow_mut().send(id.into(), "bob", &hub(), 0);
    }
    let mut engine = laptop(&ledger);
    let posts = poll(&mut engine, at(0), Room { letters: 1, bytes: 1 << 20 });
    engine.give_up(&posts[0].ticket, 70 << 20, at(0));
    assert!(ledger.0.borrow().sent[&1].stages.contains("failed"));
    let posts = publish(&mut engine, at(1), 1);
    let Body::Letter(next) = &posts[0].envelope.body else { panic!("{posts:?}") };
    assert_eq!((next.id.as_str(), next.after), ("next", None));
    // Nothing of it is left to wait for.
    let confirm = vec![Receipt { id: "next".into(), team: "alpha".into(), record: "written".into() }];
    engine.receive(vec![from_hub("h", 0, Body::Confirm(confirm))], at(2));
    assert!(engine.outbox().is_empty());
}

/// How many times letters are published while hub, which has processed all of the stream, is asked again and again.
fn posts_within(engine: &mut Engine<Shared>, (from, seconds): (i64, i64), seq: &mut u64) -> usize {
    let mut count = 0;
    for second in from..from + seconds {
        engine.set_stream(Some(stream(*seq, second)));
        let passed = Some(Position { stream: "s".into(), seq: *seq });
        engine.heard_from(&hub(), passed, at(second));
        let posts = publish(engine, at(second), *seq + 1);
        *seq += posts.len() as u64;
        count += posts.len();
    }
    count
}

/// A file that cannot be written for days: each letter for it was published whole again every 15 seconds.
#[test]
fn what_the_recipients_ledger_has_is_not_published_again_before_its_file_is_written() {
    let ledger = ledger();
    ledger.0.borrow_mut().send("first".into(), "bob", &hub(), 0);
    let (mut engine, mut seq) = (laptop(&ledger), 0);
    assert_eq!(posts_within(&mut engine, (0, 1), &mut seq), 1);
    let answer = |id: &str, record: &str| {
        let receipt = Receipt { id: id.into(), team: "alpha".into(), record: record.into() };
        from_hub("h", 0, Body::Confirm(vec![receipt]))
    };
    engine.heard_epoch(&hub(), "h");
    engine.receive(vec![answer("first", "accepted")], at(1));
    assert_eq!(posts_within(&mut engine, (1, 600), &mut seq), 0);
    assert_eq!(engine.outbox().len(), 1, "it is not written yet");
    assert!(ledger.0.borrow().sent[&1].stages.is_empty());
    // What is behind it does not follow it: hub's bridge may forget that it has passed it.
    ledger.0.borrow_mut().send("second".into(), "bob", &hub(), 0);
    engine.wake();
    let posts = publish(&mut engine, at(601), seq + 1);
    let Body::Letter(second) = &posts[0].envelope.body else { panic!("{posts:?}") };
    assert_eq!((posts.len(), second.after), (1, None));
    engine.receive(vec![answer("second", "written")], at(602));
    seq += 1;
    // Hub has lost its log, and what it had accepted with it.
    engine.heard_epoch(&hub(), "h");
    assert_eq!(posts_within(&mut engine, (603, 5), &mut seq), 0);
    engine.heard_epoch(&hub(), "i");
    assert_eq!(posts_within(&mut engine, (610, 1), &mut seq), 1);
    engine.receive(vec![answer("first", "written")], at(611));
    assert!(engine.outbox().is_empty());
}

#[test]
fn a_letter_that_is_accepted_and_never_told_of_again_is_published_now_and_then() {
    let ledger = ledger();
    ledger.0.borrow_mut().send("first".into(), "bob", &hub(), 0);
    let (mut engine, mut seq) = (laptop(&ledger), 0);
    posts_within(&mut engine, (0, 1), &mut seq);
    let receipt = Receipt { id: "first".into(), team: "alpha".into(), record: "accepted".into() };
    engine.receive(vec![from_hub("h", 0, Body::Confirm(vec![receipt]))], at(1));
    assert_eq!(posts_within(&mut engine, (1, 3_599), &mut seq), 0);
    assert_eq!(posts_within(&mut engine, (3_600, 3), &mut seq), 1);
}

/// A backlog of large letters was in memory as a whole when the bridge started.
#[test]
fn no_more_bytes_of_letters_are_under_way_than_there_is_room_for() {
    let ledger = ledger();
    for number in 0..40 {
        let n = ledger.0.borrow_mut().send(format!("id-{number}"), "bob", &hub(), 0);
        let size = if number == 30 { 5 << 20 } else { 1 << 20 };
        ledger.0.borrow_mut().sent.get_mut(&n).unwrap().letter.letter = "x".repeat(size);
    }
    let mut engine = laptop(&ledger);
    let room = Room { letters: 100, bytes: 4 << 20 };
    let (mut seq, mut order) = (0, Vec::new());
    while order.len() < 40 {
        let posts = poll(&mut engine, at(0), room);
        let sizes: Vec<usize> = posts.iter().map(|post| post.ticket.size()).collect();
        assert!(sizes.iter().sum::<usize>() <= room.bytes || sizes == [5 << 20], "{sizes:?}");
        assert!(!posts.is_empty());
        assert!(poll(&mut engine, at(0), Room { bytes: 0, ..room }).is_empty());
        for post in posts {
            seq += 1;
            engine.published(&post.ticket, Some(Position { stream: "s".into(), seq }), at(0));
            order.push(post.envelope.header.n);
        }
    }
    assert!(order.is_sorted(), "{order:?}");
}
