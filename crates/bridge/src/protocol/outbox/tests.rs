mod window;

use super::*;
use crate::protocol::{PeerView, StreamView};

const NOW: i64 = 1_800_000_000_000;

fn now() -> Stamp {
    Stamp::from_millis(NOW)
}

fn letter(n: u64, machine: &str, to: &str) -> Outgoing {
    Outgoing {
        n,
        id: format!("id-{n}"),
        team: "alpha".into(),
        to: to.into(),
        machine: machine.parse().unwrap(),
        from: "ann".into(),
        from_lead: false,
        home: None,
        accepted_at: Stamp::from_millis(NOW + i64::try_from(n).unwrap() * 1_000),
        letter: "{}".into(),
    }
}

fn lane(machine: &str, to: &str) -> Lane {
    Lane { machine: machine.parse().unwrap(), team: "alpha".into(), to: to.into() }
}

/// A machine confirms a message in the inbox of one of its members.
fn confirmed(outbox: &mut Outbox, from: &str, to: &str, id: &str) -> Option<u64> {
    outbox.confirmed(lane(from, to), id.to_owned())
}

/// The same of one that it has accepted only.
fn accepted(outbox: &mut Outbox, from: &str, to: &str, id: &str) {
    outbox.accepted(lane(from, to), id.to_owned(), "e", now());
}

/// One of three recipients.
fn lane_of(n: u64) -> &'static str {
    ["bob", "eve", "carl"][usize::try_from(n % 3).unwrap()]
}

fn stream(last: u64) -> StreamView {
    StreamView {
        stream: "s".into(),
        first: 1,
        last,
        most_bytes: None,
        most_age: None,
        at: now().saturating_add(Duration::from_secs(1)),
    }
}

fn publish(outbox: &mut Outbox, last: u64) -> Vec<Due> {
    outbox.next_look = None;
    let due = outbox.due(
        now(),
        &stream(last),
        &BTreeMap::new(),
        &["hub", "laptop"].map(|name| name.parse().unwrap()).into(),
        100,
    );
    due.into_iter().map(|n| outbox.begin(n, 0, now()).unwrap()).collect()
}

#[test]
fn a_letter_follows_the_unconfirmed_one_before_it_in_its_lane() {
    let mut outbox = Outbox::default();
    for (n, to) in [(3, "bob"), (5, "eve"), (8, "bob"), (9, "bob")] {
        outbox.add(&letter(n, "hub", to));
    }
    let after = |due: &[Due]| due.iter().map(|due| (due.n, due.after)).collect::<Vec<_>>();
    assert_eq!(after(&publish(&mut outbox, 0)), [(3, None), (5, None), (8, Some(3)), (9, Some(8))]);
    confirmed(&mut outbox, "hub", "bob", "id-8");
    outbox.end(9, 1, None, now().saturating_sub(Duration::from_secs(60)));
    assert_eq!(after(&publish(&mut outbox, 0)), [(9, Some(3))]);
}

#[test]
fn only_the_addressed_machine_confirms() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    confirmed(&mut outbox, "laptop", "bob", "id-1");
    assert_eq!(outbox.len(), 1);
    confirmed(&mut outbox, "hub", "bob", "id-1");
    assert!(outbox.is_empty());
}

/// Clients' entries without ids get theirs from sender, time and text: one that was written to two members at once has one id.
fn one_id_for_two() -> Outbox {
    let mut outbox = Outbox::default();
    for (n, to) in [(1, "bob"), (2, "eve")] {
        outbox.add(&Outgoing { id: "same".into(), ..letter(n, "hub", to) });
    }
    assert_eq!(due_at(&mut outbox, 0, 7), [(1, 1), (2, 1)]);
    outbox
}

/// The wrong one was taken for confirmed, and the other one was published for ever.
#[test]
fn of_two_letters_with_one_id_each_has_its_own_answer() {
    let mut outbox = one_id_for_two();
    accepted(&mut outbox, "hub", "bob", "same");
    assert_eq!(confirmed(&mut outbox, "hub", "eve", "same"), Some(2));
    assert_eq!((outbox.len(), outbox.id_of(1)), (1, Some("same")));
    let again: Vec<_> = (1..3_600).flat_map(|second| due_at(&mut outbox, second, 7)).collect();
    assert_eq!(again, []);
    assert_eq!(confirmed(&mut outbox, "hub", "bob", "same"), Some(1));
    assert!(outbox.is_empty());
}

#[test]
fn what_is_accepted_for_one_recipient_is_not_for_another_one() {
    let mut outbox = one_id_for_two();
    accepted(&mut outbox, "hub", "bob", "same");
    outbox.add(&letter(3, "hub", "eve"));
    let due: Vec<_> = (1..60).flat_map(|second| due_at(&mut outbox, second, 7)).map(|(n, _)| n).collect();
    assert!(due.contains(&2) && !due.contains(&1), "{due:?}");
    let after = outbox.begin(3, 7, now()).unwrap().after;
    assert_eq!(after, Some(2), "it does not overtake the one before it");
}

#[test]
fn a_restart_publishes_nothing_again_that_the_stream_holds() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    outbox.add(&letter(2, "hub", "bob"));
    assert_eq!(publish(&mut outbox, 0).len(), 2);
    outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
    let text = serde_json::to_string(&outbox.to_remember()).unwrap();
    let mut outbox = Outbox::remembering(serde_json::from_str(&text).unwrap());
    outbox.add(&letter(1, "hub", "bob"));
    outbox.add(&letter(2, "hub", "bob"));
    assert_eq!(publish(&mut outbox, 4), [Due { n: 2, after: Some(1), attempt: 1, since: 1 }]);
}

#[test]
fn what_is_remembered_of_another_letter_with_the_number_is_nothing() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    publish(&mut outbox, 0);
    outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
    let mut outbox = Outbox::remembering(outbox.to_remember());
    outbox.add(&Outgoing { id: "another".into(), ..letter(1, "hub", "bob") });
    assert_eq!(publish(&mut outbox, 4).len(), 1);
}

#[test]
fn a_letter_that_was_re_addressed_is_published_to_its_new_machine() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    publish(&mut outbox, 0);
    outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
    outbox.add(&letter(1, "laptop", "bob"));
    assert_eq!(publish(&mut outbox, 4).len(), 1);
    assert_eq!(outbox.by_machine(), BTreeMap::from([("laptop".parse().unwrap(), 1)]));
}

#[test]
fn a_letter_that_was_re_addressed_while_no_bridge_ran_is_published_to_its_new_machine() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    publish(&mut outbox, 0);
    outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
    let mut outbox = Outbox::remembering(outbox.to_remember());
    outbox.add(&letter(1, "laptop", "bob"));
    assert_eq!(publish(&mut outbox, 4).len(), 1);
}

#[test]
fn what_the_ledger_dropped_is_dropped() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    outbox.add(&letter(2, "hub", "bob"));
    outbox.retain(&BTreeSet::from([2]));
    let due = publish(&mut outbox, 0);
    assert_eq!(due, [Due { n: 2, after: None, attempt: 1, since: 1 }]);
}

/// The numbers that are due at a second, with this known of where recipients are; they are stored at once.
fn due_at(outbox: &mut Outbox, second: u64, known: u64) -> Vec<(u64, u32)> {
    let now = now().saturating_add(Duration::from_secs(second));
    outbox.release(|_| known);
    outbox.next_look = None;
    let hub: Machine = "hub".parse().unwrap();
    // It has processed all, and confirmed nothing.
    let passed = Some(Position { stream: "s".into(), seq: u64::MAX });
    let peers = BTreeMap::from([(hub.clone(), PeerView { passed, seen_at: now })]);
    let due = outbox.due(now, &StreamView { last: 100, ..stream(0) }, &peers, &[hub].into(), 100);
    let begun = due.into_iter().map(|n| outbox.begin(n, known, now).unwrap()).collect::<Vec<_>>();
    for due in &begun {
        outbox.end(due.n, due.attempt, Some(Position { stream: "s".into(), seq: due.n }), now);
    }
    begun.into_iter().map(|due| (due.n, due.attempt)).collect()
}

fn absent(outbox: &mut Outbox, (n, attempt): (u64, u32), second: u64) {
    let now = now().saturating_add(Duration::from_secs(second));
    outbox.hold(&"hub".parse().unwrap(), (n, &format!("id-{n}"), attempt), now);
}

#[test]
fn a_letter_whose_recipient_is_not_there_waits_until_something_else_is_known() {
    let mut outbox = Outbox::default();
    for (n, to) in [(1, "bob"), (2, "bob"), (3, "eve")] {
        outbox.add(&letter(n, "hub", to));
    }
    assert_eq!(due_at(&mut outbox, 0, 7), [(1, 1), (2, 1), (3, 1)]);
    absent(&mut outbox, (1, 1), 1);
    absent(&mut outbox, (2, 1), 1);
    let held: Vec<_> = outbox.absent().into_iter().map(|(lane, count)| (lane.to, count)).collect();
    assert_eq!(held, [("bob".to_owned(), 2)]);
    // Another recipient's mail goes on; and a new letter for this one is not even tried.
    outbox.add(&letter(4, "hub", "bob"));
    let times = |outbox: &mut Outbox, seconds: std::ops::Range<u64>| {
        let due: Vec<_> = seconds.flat_map(|second| due_at(outbox, second, 7)).collect();
        let count = |to: u64| due.iter().filter(|(n, _)| *n == to).count();
        [count(1), count(2), count(3), count(4)]
    };
    let day = times(&mut outbox, 2..86_400);
    assert_eq!((day[1], day[3]), (0, 0), "{day:?}");
    assert!(day[0] < 32 && day[2] > 5_000, "{day:?}");
    // Something else is known: all of it goes at once, in order.
    let due: Vec<u64> = due_at(&mut outbox, 86_400, 8).into_iter().map(|(n, _)| n).collect();
    assert!(due.starts_with(&[1, 2]) && due.contains(&4), "{due:?}");
    assert!(outbox.absent().is_empty());
}

#[test]
fn a_late_answer_costs_one_more_attempt_and_one_of_another_machine_nothing() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    assert_eq!(due_at(&mut outbox, 0, 7), [(1, 1)]);
    outbox.hold(&"laptop".parse().unwrap(), (1, "id-1", 1), now());
    outbox.hold(&"hub".parse().unwrap(), (1, "id-2", 1), now());
    assert!(outbox.absent().is_empty());
    // Published with less known than now: the answer is about then.
    absent(&mut outbox, (1, 1), 1);
    assert_eq!(due_at(&mut outbox, 1, 8), [(1, 2)]);
    absent(&mut outbox, (1, 1), 2);
    assert!(outbox.absent().is_empty(), "an answer to an earlier attempt");
    absent(&mut outbox, (1, 2), 3);
    assert_eq!(due_at(&mut outbox, 4, 8), []);
    confirmed(&mut outbox, "hub", "bob", "id-1");
    assert!(outbox.is_empty() && outbox.absent().is_empty());
}

/// A large letter is published again with the object that it has, so its recipient's machine names the attempt that made that
/// object: it was published every 15 seconds for ever.
#[test]
fn an_answer_to_any_attempt_with_which_the_same_was_known_holds_the_lane() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    assert_eq!(due_at(&mut outbox, 0, 7), [(1, 1)]);
    assert_eq!(due_at(&mut outbox, 1, 7), []);
    assert_eq!(due_at(&mut outbox, 60, 7), [(1, 2)]);
    absent(&mut outbox, (1, 1), 61);
    assert_eq!(outbox.absent().len(), 1);
    assert_eq!(due_at(&mut outbox, 62, 8), [(1, 3)]);
    absent(&mut outbox, (1, 2), 63);
    assert!(outbox.absent().is_empty(), "less was known then");
    absent(&mut outbox, (1, 4), 63);
    assert!(outbox.absent().is_empty(), "there was no such attempt");
}

/// Its confirmation was not recognised: the hold of its lane stayed, and its object.
#[test]
fn a_letter_that_was_sent_on_is_known_by_its_new_number() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(4, "hub", "bob"));
    outbox.add(&Outgoing { id: "id-4".into(), ..letter(9, "hub", "bob") });
    outbox.remove(4);
    assert_eq!(confirmed(&mut outbox, "hub", "bob", "id-4"), Some(9));
    assert!(outbox.is_empty());
}

/// A machine that does not trust this one processed every letter and said nothing: all of them were published again every 15 seconds,
/// until the stream was full.
#[test]
fn of_mail_for_a_machine_that_answers_nothing_one_letter_is_published_every_15_seconds() {
    let mut outbox = Outbox::default();
    for n in 1..=90 {
        outbox.add(&letter(n, "hub", lane_of(n)));
    }
    let times = |outbox: &mut Outbox, seconds: std::ops::Range<u64>| {
        let due: Vec<_> = seconds.flat_map(|second| due_at(outbox, second, 7)).collect();
        let first = |n: u64| due.iter().filter(|(other, _)| *other == n).count();
        (due.len(), [first(1), first(2), first(3)])
    };
    let (start, _) = times(&mut outbox, 0..60);
    assert!(start <= 90 * 5, "{start}");
    let (hour, each) = times(&mut outbox, 60..3_660);
    assert!((200..=240).contains(&hour), "one every 15 seconds: {hour}");
    assert!(each.iter().sum::<usize>() == hour && each.iter().all(|count| *count >= 60), "in turn: {each:?}");
    outbox.add(&letter(91, "hub", "bob"));
    assert!(times(&mut outbox, 3_660..3_670).0 <= 1, "a new letter waits for those before it");
    let backlog = &outbox.backlog(&BTreeMap::new())[&"hub".parse().unwrap()];
    assert_eq!((backlog.unsent, backlog.unanswered), (1, 91));
    assert_eq!(backlog.oldest_at, Some(Stamp::from_millis(NOW + 1_000)));
}

#[test]
fn the_first_answer_of_a_silent_machine_lets_all_go_once() {
    let mut outbox = Outbox::default();
    for n in 1..=90 {
        outbox.add(&letter(n, "hub", lane_of(n)));
    }
    for second in 0..120 {
        due_at(&mut outbox, second, 7);
    }
    let hub: Machine = "hub".parse().unwrap();
    let asked =
        (120..200).find_map(|second| due_at(&mut outbox, second, 7).first().map(|(n, _)| (*n, second)));
    let (n, second) = asked.unwrap();
    outbox.note_answer(&hub);
    assert_eq!(confirmed(&mut outbox, "hub", lane_of(n), &format!("id-{n}")), Some(n));
    let mut published = Vec::new();
    for second in second..second + 20 {
        for (n, _) in due_at(&mut outbox, second, 7) {
            published.push(n);
            confirmed(&mut outbox, "hub", lane_of(n), &format!("id-{n}"));
        }
    }
    assert!(outbox.is_empty(), "{} are left", outbox.len());
    assert_eq!(published.len(), 89, "once each: {published:?}");
}

#[test]
fn after_a_restart_letters_that_were_never_answered_are_not_all_published_again() {
    let mut outbox = Outbox::default();
    for n in 1..=50 {
        outbox.add(&letter(n, "hub", "bob"));
    }
    for second in 0..120 {
        due_at(&mut outbox, second, 7);
    }
    let mut outbox = Outbox::remembering(outbox.to_remember());
    for n in 1..=50 {
        outbox.add(&letter(n, "hub", "bob"));
    }
    let again: usize = (120..180).map(|second| due_at(&mut outbox, second, 7).len()).sum();
    assert!((1..=5).contains(&again), "{again}");
}

#[test]
fn a_machine_that_is_off_is_not_asked_whether_it_answers() {
    let mut outbox = Outbox::default();
    outbox.add(&letter(1, "hub", "bob"));
    for second in 0..120 {
        due_at(&mut outbox, second, 7);
    }
    // It has not processed the last attempt, which the stream has.
    let passed = Some(Position { stream: "s".into(), seq: 0 });
    let hub: Machine = "hub".parse().unwrap();
    for second in 120..3_600 {
        let now = now().saturating_add(Duration::from_secs(second));
        let peers = BTreeMap::from([(hub.clone(), PeerView { passed: passed.clone(), seen_at: now })]);
        let due = outbox.due(now, &StreamView { last: 100, ..stream(0) }, &peers, &[hub.clone()].into(), 9);
        assert!(due.is_empty());
    }
}

#[test]
fn how_far_letters_came_is_told_by_machine() {
    let mut outbox = Outbox::default();
    for (n, machine) in [(5, "hub"), (3, "hub"), (8, "hub"), (4, "laptop")] {
        outbox.add(&letter(n, machine, "bob"));
    }
    publish(&mut outbox, 0);
    outbox.end(3, 1, Some(Position { stream: "s".into(), seq: 20 }), now());
    outbox.end(5, 1, Some(Position { stream: "s".into(), seq: 21 }), now());
    let passed = Some(Position { stream: "s".into(), seq: 20 });
    let hub: Machine = "hub".parse().unwrap();
    let peers = BTreeMap::from([(hub.clone(), PeerView { passed, seen_at: now() })]);
    let backlog = outbox.backlog(&peers);
    let at = |n: i64| Some(Stamp::from_millis(NOW + n * 1_000));
    let expected = Backlog { unsent: 1, stored: 1, passed: 1, unanswered: 0, oldest_at: at(3) };
    assert_eq!(backlog[&hub], expected);
    assert_eq!(backlog[&"laptop".parse().unwrap()].oldest_at, at(4));
    let elsewhere = Some(Position { stream: "t".into(), seq: 99 });
    let peers = BTreeMap::from([(hub.clone(), PeerView { passed: elsewhere, seen_at: now() })]);
    assert_eq!(outbox.backlog(&peers)[&hub].stored, 2, "that is another stream");
}
