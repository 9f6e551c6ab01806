//! Messages that are handed over together are recorded as if each were handed over alone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::HashSet;

use atm_ledger::{Cursor, Event, Evidence, Feed, Frame, Handover, InboxKey, Kind, Ledger, NewMessage, Stage};

const ROOT: &str = "/shared";

fn inbox() -> InboxKey {
    InboxKey { root: ROOT.into(), team: "demo".into(), name: "bob".into() }
}

fn message(id: &str) -> NewMessage {
    let (id, text) = (id.to_owned(), format!("the text of {id}"));
    NewMessage {
        id,
        text,
        sender: "alice".into(),
        kind: "message".into(),
        sent_at: 5,
        ..NewMessage::default()
    }
}

/// Hands them over, `together` at a time; gives the stages with their evidence, and all events.
fn handed_over(count: usize, together: usize) -> (Vec<String>, Vec<Event>) {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
    let start = ledger.cursor().unwrap();
    let ids: Vec<String> = (0..count).map(|number| format!("message-{number:03}")).collect();
    let found = Evidence::certain("found in the inbox").in_file("/shared/bob.json");
    let stages = [
        (Stage::Taken, Evidence::certain("marked as read").by("bob").changed("unread", "read")),
        (Stage::Seen, Evidence::certain("handed over").by("bob")),
    ];
    let handover = Handover { found: &found, stages: &stages, at: 7 };
    for part in ids.chunks(together) {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        let new = |place: usize| message(part[place]);
        ledger.hand_over(&inbox(), &part, &handover, new).unwrap();
    }
    let of_message = |id: &String| {
        let found = ledger.find(ROOT, id, false).unwrap();
        let stages = ledger.stages(&found[0]).unwrap();
        format!("{} {:?} {stages:?}", found[0].id, found[0].stage)
    };
    let stages = ids.iter().map(of_message).collect();
    (stages, drain(&ledger, start))
}

/// All events after a cursor, a few rows at a time.
fn drain(ledger: &Ledger, mut cursor: Cursor) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        let Feed::Events { events, cursor: next } = ledger.events_since(&cursor, 2).unwrap() else {
            unreachable!("the cursor is of this log")
        };
        if events.is_empty() {
            return all;
        }
        all.extend(events);
        cursor = next;
    }
}

/// What an event says, whatever its place.
fn said(events: &[Event]) -> HashSet<String> {
    let said = |event: &Event| {
        format!("{} {:?} {:?} {:?} {:?}", event.at, event.kind, event.inbox, event.message, event.evidence)
    };
    events.iter().map(said).collect()
}

#[test]
fn together_they_reach_what_each_reaches_alone() {
    // More than one event has.
    let (count, parts) = (600, 3);
    let (alone, events_alone) = handed_over(count, 1);
    let (together, events) = handed_over(count, count);
    assert_eq!(alone, together);
    assert_eq!(events.len(), count * parts);
    assert_eq!(said(&events), said(&events_alone));
    assert!(events.iter().all(|event| event.kind != Kind::HandedOver));
    let ids: HashSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids.len(), events.len(), "each event has an id of its own");
}

#[test]
fn who_stops_between_events_that_came_together_misses_none() {
    let (_, events) = handed_over(10, 10);
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
    let start = ledger.cursor().unwrap();
    let ids: Vec<String> = (0..10).map(|number| format!("message-{number:03}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let found = Evidence::certain("found");
    let stages = [(Stage::Taken, found.clone()), (Stage::Seen, found.clone())];
    let handover = Handover { found: &found, stages: &stages, at: 7 };
    ledger.hand_over(&inbox(), &ids, &handover, |place| message(ids[place])).unwrap();
    let all = drain(&ledger, start);
    assert_eq!(all.len(), events.len());
    for (place, event) in all.iter().enumerate() {
        let rest: HashSet<String> = drain(&ledger, event.cursor.clone()).into_iter().map(|e| e.id).collect();
        let missed = all[place + 1..].iter().filter(|event| !rest.contains(&event.id)).count();
        assert_eq!(missed, 0, "behind event {place}");
    }
}

/// A letter that was pushed in the millisecond in which it was written seemed not to be pushed at all: of two evidences of one
/// stage and time, only the first was kept.
#[test]
fn a_frame_is_told_whatever_else_happened_in_the_same_millisecond() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
    let found = Evidence::certain("found in the inbox");
    let handover = Handover { found: &found, stages: &[], at: 7 };
    ledger.hand_over(&inbox(), &["one"], &handover, |_| message("one")).unwrap();
    for (frame, what) in
        [("f1", "put into frame f1"), ("f1", "dropped by the client"), ("f2", "put into frame f2")]
    {
        let listed = Frame { frame: frame.into(), session: "s".into(), messages: vec!["one".into()] };
        ledger.push(&inbox(), &listed, &Evidence::certain(what), 7).unwrap();
    }
    let recorded = ledger.find(ROOT, "one", false).unwrap();
    let told: Vec<String> =
        ledger.stages(&recorded[0]).unwrap().into_iter().map(|stage| stage.evidence.what).collect();
    assert_eq!(
        told,
        ["found in the inbox", "put into frame f1", "dropped by the client", "put into frame f2"]
    );
}
