use std::collections::BTreeSet;

use atm_ledger::{Evidence, InboxKey, Recorded, StageRecord};
use atm_office::chores::Died;
use atm_office::trail::pending::Why;
use atm_office::view::mute::Muted;
use atm_wire::MemberName;

use super::*;
use crate::post::Post;
use crate::rules::{Quiet, Rules};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;
/// Noon.
const NOON: i64 = 20_000 * DAY + DAY / 2;

#[derive(Debug)]
struct Silent;

impl Post for Silent {
    fn post(&self, _: &Event) -> Result<(), PostError> {
        Ok(())
    }
}

fn notifier(rules: &Rules) -> Notifier {
    Notifier { rules: rules.clone(), minute_of: utc, post: Box::new(Silent) }
}

fn utc(at: Stamp) -> u16 {
    u16::try_from(at.as_millis().rem_euclid(DAY) / MINUTE).unwrap()
}

fn at(millis: i64) -> Stamp {
    Stamp::from_millis(millis)
}

fn bob() -> Standing {
    let name: MemberName = "bob".parse().unwrap();
    Standing { name, activity: None, activity_since: None, died: None, unread: 0, open_tasks: 0 }
}

fn waits_for(what: &str, since: i64) -> Standing {
    Standing { activity: Some(format!("waiting for {what}")), activity_since: Some(at(since)), ..bob() }
}

fn dead(since: i64, open_tasks: usize, unread: usize) -> Standing {
    let died = Died { at: at(since), how: "process 7 is gone".to_owned() };
    Standing { died: Some(died), open_tasks, unread, ..bob() }
}

fn of_dev() -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.team = Some("dev".parse().unwrap());
    snapshot
}

fn of_one(standing: Standing) -> Snapshot {
    let mut snapshot = of_dev();
    snapshot.standings.push(standing);
    snapshot
}

fn escalated(times: &[i64]) -> Snapshot {
    let record = |time: &i64| StageRecord {
        stage: Stage::Escalated,
        at: *time,
        evidence: Evidence::certain("told lead that it waits"),
        is_offer: false,
    };
    let mut message = Recorded::default();
    message.inbox = InboxKey { root: "/r".into(), team: "dev".into(), name: "bob".into() };
    (message.id, message.sender) = ("m-1".into(), "alice".into());
    let waited = Waited {
        message,
        stages: times.iter().map(record).collect(),
        why: Why::NoSignOfWork,
        draft: None,
        back_since: None,
        lies_unread: false,
    };
    let mut snapshot = of_dev();
    snapshot.waiting.push(waited);
    snapshot
}

fn asked(read: bool, sent: i64) -> Snapshot {
    let text = r#"{\"type\":\"permission_request\",\"request_id\":\"p-1\",\"agent_id\":\"bob\",\"tool_name\":\"Bash\"}"#;
    let entry = format!(
        r#"{{"from":"bob","text":"{text}","timestamp":"{}","read":{read},"messageId":"q-1"}}"#,
        at(sent)
    );
    let message = Message::from_entry(&serde_json::value::RawValue::from_string(entry).unwrap()).unwrap();
    let lead: MemberName = "team-lead".parse().unwrap();
    let mut snapshot = of_dev();
    snapshot.inboxes.insert(lead.clone(), vec![message]);
    snapshot.lead = Some(lead);
    snapshot
}

fn muted(kind: Muted, what: &str, until: i64, mut snapshot: Snapshot) -> Snapshot {
    let mute = Mute { team: "dev".into(), kind, what: what.into(), since: at(until - DAY), until: at(until) };
    snapshot.mutes.push(mute);
    snapshot
}

/// A case, the rules, what is found; then the steps that are due, and when the next may be.
type Row<'a> = (&'a str, &'a Rules, Snapshot, Vec<(&'a str, i64)>, Option<i64>);

#[test]
fn what_is_due_and_when_the_next_may_be() {
    let quiet = |text: &str| Rules { quiet: Some(Quiet::parse(text).unwrap()), ..Rules::default() };
    let only = |kind: Kind| Rules { on: BTreeSet::from([kind]), ..Rules::default() };
    let all = Rules::default();
    let (noon, morning, deaths) = (quiet("11:00-12:30"), quiet("11:00-12:00"), only(Kind::Death));
    let told = |subject: &str, number: i64, mut snapshot: Snapshot| {
        snapshot.told.insert((subject.to_owned(), number));
        snapshot
    };
    let permission = || of_one(waits_for("permission", NOON - MINUTE));
    let soon = NOON + 15_000;
    let again = Some(NOON + MINUTE);
    let escalation = "escalation bob m-1";
    let long_ago = NOON - 7 * DAY - 1;
    let rows: Vec<Row<'_>> = vec![
        ("nothing", &all, Snapshot::default(), vec![], None),
        ("waits", &all, permission(), vec![("permission bob", NOON - MINUTE)], again),
        ("was told", &all, told("permission bob", NOON - MINUTE, permission()), vec![], None),
        (
            "again",
            &all,
            told("permission bob", NOON - DAY, permission()),
            vec![("permission bob", NOON - MINUTE)],
            again,
        ),
        ("has just begun", &all, of_one(waits_for("permission", NOON)), vec![], Some(soon)),
        ("another wait", &all, of_one(waits_for("an answer", NOON - MINUTE)), vec![], None),
        ("works", &all, of_one(bob()), vec![], None),
        ("asked", &all, asked(false, NOON - MINUTE), vec![("permission bob q-1", NOON - MINUTE)], again),
        ("asked, and read", &all, asked(true, NOON - MINUTE), vec![], None),
        ("not wanted", &deaths, permission(), vec![], None),
        ("died with a task", &all, of_one(dead(NOON - 5, 1, 0)), vec![("death bob", NOON - 5)], again),
        ("died with mail", &all, of_one(dead(NOON - 5, 0, 2)), vec![("death bob", NOON - 5)], again),
        ("died without work", &all, of_one(dead(NOON - 5, 0, 0)), vec![], None),
        ("died long ago", &all, of_one(dead(long_ago, 1, 0)), vec![], None),
        (
            "each escalation",
            &all,
            escalated(&[NOON - 9, NOON]),
            vec![(escalation, NOON - 9), (escalation, NOON)],
            again,
        ),
        (
            "the second one",
            &all,
            told(escalation, NOON - 9, escalated(&[NOON - 9, NOON])),
            vec![(escalation, NOON)],
            again,
        ),
        ("quiet", &noon, permission(), vec![], Some(NOON + 30 * MINUTE)),
        ("quiet, and nothing", &noon, Snapshot::default(), vec![], None),
        ("quiet is over", &morning, permission(), vec![("permission bob", NOON - MINUTE)], again),
    ];
    for (case, rules, snapshot, expected, next) in rows {
        let chore = notifier(rules);
        let due = chore.due(&snapshot, at(NOON));
        let found: Vec<(&str, i64)> = due.iter().map(|step| (step.subject.as_str(), step.number)).collect();
        assert_eq!(found, expected, "{case}");
        assert!(due.iter().all(|step| step.effect == Effect::Outside), "{case}");
        assert_eq!(chore.next(&snapshot, at(NOON)), next.map(at), "{case}");
    }
}

/// What was muted was told all the same.
#[test]
fn what_is_muted_is_told_once_when_the_mute_ends() {
    use Muted::{Member, Message, Task};
    let (later, over) = (NOON + 9 * MINUTE, NOON - 9 * MINUTE);
    let of_bob = || of_one(waits_for("permission", NOON - 20 * MINUTE));
    let death = |since: i64| of_one(dead(since, 1, 0));
    let escalation = || escalated(&[NOON - 20 * MINUTE]);
    let request = || asked(false, NOON - 20 * MINUTE);
    // What is muted; how many are due, and when the next may be.
    let rows: Vec<(&str, Snapshot, usize, Option<i64>)> = vec![
        ("its member", muted(Member, "bob", later, of_bob()), 0, Some(later)),
        ("another member", muted(Member, "alice", later, of_bob()), 1, Some(NOON + MINUTE)),
        ("a task of that name", muted(Task, "bob", later, of_bob()), 1, Some(NOON + MINUTE)),
        ("a death", muted(Member, "bob", later, death(NOON - 5)), 0, Some(later)),
        ("who gets the mail", muted(Member, "bob", later, escalation()), 0, Some(later)),
        ("the message", muted(Message, "m-1", later, escalation()), 0, Some(later)),
        ("another message", muted(Message, "m-2", later, escalation()), 1, Some(NOON + MINUTE)),
        ("the request", muted(Message, "q-1", later, request()), 0, Some(later)),
        (
            "by two, to the later end",
            muted(Member, "bob", NOON + 1, muted(Message, "m-1", later, escalation())),
            0,
            Some(later),
        ),
        ("to this moment", muted(Member, "bob", NOON, of_bob()), 1, Some(NOON + MINUTE)),
        ("until before", muted(Member, "bob", over, of_bob()), 1, Some(NOON + MINUTE)),
        ("for a week", muted(Member, "bob", over, death(NOON - 9 * DAY)), 1, Some(NOON + MINUTE)),
        ("for too long", muted(Member, "bob", over, death(NOON - 29 * DAY)), 0, None),
        ("a week ago", muted(Member, "bob", NOON - 8 * DAY, death(NOON - 9 * DAY)), 0, None),
    ];
    let chore = notifier(&Rules::default());
    for (case, mut snapshot, due, next) in rows {
        let found = chore.due(&snapshot, at(NOON));
        assert_eq!((found.len(), chore.next(&snapshot, at(NOON))), (due, next.map(at)), "{case}");
        snapshot.told.extend(found.into_iter().map(|step| (step.subject, step.number)));
        assert_eq!(chore.due(&snapshot, at(NOON + 1)), [], "{case}: once");
    }
    // What was told before the mute is not told again after it, and a mute that ends in quiet hours does not break them.
    let mut known = muted(Member, "bob", over, of_bob());
    known.told.insert(("permission bob".to_owned(), NOON - 20 * MINUTE));
    assert_eq!(chore.due(&known, at(NOON)), []);
    let quiet = notifier(&Rules { quiet: Some(Quiet::parse("11:00-12:30").unwrap()), ..Rules::default() });
    let snapshot = muted(Member, "bob", later, escalated(&[NOON - 2 * 60 * MINUTE]));
    assert_eq!(
        (quiet.due(&snapshot, at(later)), quiet.next(&snapshot, at(NOON))),
        (vec![], Some(at(NOON + 30 * MINUTE)))
    );
    let due = quiet.due(&snapshot, at(NOON + 30 * MINUTE));
    assert_eq!(due.iter().map(covered).collect::<Vec<_>>(), [(SUMMARY, NOON + 30 * MINUTE, 1)]);
}

#[test]
fn texts_say_who_where_and_what_and_no_message() {
    let chore = notifier(&Rules::default());
    let event = |snapshot: &Snapshot| -> Event {
        serde_json::from_value(chore.due(snapshot, at(NOON))[0].details.clone()).unwrap()
    };
    let death = event(&of_one(dead(NOON, 1, 2)));
    assert_eq!(death.text, "bob died with 1 open task and 2 unread messages (process 7 is gone).");
    assert_eq!(death.title, "atm death: bob@dev");
    let escalation = event(&escalated(&[NOON]));
    assert_eq!(escalation.text, "Message m-1 from alice to bob is not acted on: told lead that it waits.");
    assert_ne!(death.id, escalation.id);
    assert_eq!(death.id, event(&of_one(dead(NOON, 2, 2))).id, "the same event, told in other words");
}

/// What a step is: its subject, its number, and what it covers.
fn covered(step: &Step) -> (&str, i64, usize) {
    (&step.subject, step.number, step.details["covers"].as_array().unwrap().len())
}

#[test]
fn escalations_of_quiet_hours_are_told_in_one_summary_and_each_once() {
    const HOUR: i64 = 60 * MINUTE;
    let end = NOON;
    let chore = notifier(&Rules { quiet: Some(Quiet::parse("22:00-12:00").unwrap()), ..Rules::default() });
    let mut snapshot = escalated(&[NOON - 3 * HOUR, NOON - 2 * HOUR, NOON - 20 * HOUR]);
    assert_eq!(chore.due(&snapshot, at(NOON - 1)), []);
    assert_eq!(chore.next(&snapshot, at(NOON - 1)), Some(at(end)));
    let due = chore.due(&snapshot, at(NOON));
    let found: Vec<_> = due.iter().map(covered).collect();
    // The oldest is from before they began.
    assert_eq!(found, [("escalation bob m-1", NOON - 20 * HOUR, 0), (SUMMARY, end, 2)]);
    let text = due[1].details["text"].as_str().unwrap();
    assert!(
        text.starts_with("2 escalations during quiet hours: messages to bob are not acted on."),
        "{text}"
    );
    // As `told` of the office has it after that; what comes to light later is told on its own.
    for step in &due {
        snapshot.told.insert((step.subject.clone(), step.number));
        let covers: Vec<(String, i64)> = serde_json::from_value(step.details["covers"].clone()).unwrap();
        snapshot.told.extend(covers);
    }
    assert_eq!(chore.due(&snapshot, at(NOON + 1)), []);
    let mut later = escalated(&[NOON - 3 * HOUR, NOON - 2 * HOUR, NOON - HOUR]);
    later.told = snapshot.told.clone();
    let due = chore.due(&later, at(NOON + 1));
    assert_eq!(due.iter().map(covered).collect::<Vec<_>>(), [("escalation bob m-1", NOON - HOUR, 0)]);
    // Without quiet hours, what was told in a summary stays told.
    assert_eq!(notifier(&Rules::default()).due(&snapshot, at(NOON + 2)), []);
    // One alone is told in its own words, by the same step: another runner may see two.
    let due = chore.due(&escalated(&[NOON - HOUR]), at(NOON));
    assert_eq!(due.iter().map(covered).collect::<Vec<_>>(), [(SUMMARY, end, 1)]);
    assert!(due[0].details["text"].as_str().unwrap().starts_with("Message m-1 "));
}

#[test]
fn clients_word_it_differently_that_an_agent_waits_for_leave() {
    let chore = notifier(&Rules::default());
    for (what, is_news) in [
        ("permission", true),
        ("permission prompt", true),
        ("approve Bash", true),
        ("sandbox request", true),
        ("worker request", true),
        ("goal proposal", true),
        ("input needed", false),
        ("dialog open", false),
    ] {
        let due = chore.due(&of_one(waits_for(what, NOON - MINUTE)), at(NOON));
        assert_eq!(due.len(), usize::from(is_news), "{what}");
    }
}
