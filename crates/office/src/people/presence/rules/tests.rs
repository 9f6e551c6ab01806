//! The rules as a table, at a fixed time.
#![expect(clippy::unnecessary_wraps, reason = "every sign is optional")]

use super::*;

const NOW: i64 = 1_794_768_000_000;

/// So many minutes ago.
fn ago(minutes: i64) -> Option<Stamp> {
    Some(Stamp::from_millis(NOW - minutes * 60_000))
}

fn word(kind: &str, minutes: i64) -> Option<Word> {
    ago(minutes).map(|at| Word { at, kind: kind.to_owned(), detail: None })
}

fn runs() -> Option<Pane> {
    Some(Pane::Runs("its pane runs".to_owned()))
}

fn agent() -> Option<String> {
    Some("its process runs".to_owned())
}

fn session(activity: Option<Activity>) -> Option<(String, Option<Activity>)> {
    Some(("its session runs".to_owned(), activity))
}

fn process(life: Fate) -> Option<(Fate, String)> {
    Some((life, "the process".to_owned()))
}

fn check(cases: Vec<(&str, Signs, Presence)>) {
    for (case, signs, state) in cases {
        let judged = judge(&signs, Stamp::from_millis(NOW));
        assert_eq!(judged.state, state, "{case}: {judged:?}");
        assert_eq!(judged.evidence[0].weight, Weight::Decides, "{case} has no reason: {judged:?}");
    }
}

#[test]
fn no_single_stale_flag_decides() {
    use Presence::{Idle, Offline, Online, Stalled, Unknown};
    let on = || Signs { is_active: Some(true), started: ago(60), ..Signs::default() };
    let off = || Signs { is_active: Some(false), ended: ago(60), ..Signs::default() };
    let day = 24 * 60;
    let cases: Vec<(&str, Signs, Presence)> = vec![
        ("nothing is known", Signs::default(), Unknown),
        ("the flag alone", on(), Online),
        ("the flag, undated", Signs { started: None, ..on() }, Online),
        // What was never heard of has only the configuration's claim, and keeps it.
        ("an old flag, never heard from", Signs { started: ago(9 * day), ..on() }, Online),
        (
            "an old flag, silent for long",
            Signs { started: ago(9 * day), took: ago(day + 1), ..on() },
            Unknown,
        ),
        (
            "silent for long, started since",
            Signs { started: ago(day), word: word("message", 9 * day), ..on() },
            Online,
        ),
        ("an old flag, confirmed", Signs { started: ago(9 * day), took: ago(day), ..on() }, Online),
        ("off", off(), Offline),
        ("off, and heard of before", Signs { word: word("message", 61), ..off() }, Offline),
        ("off, and heard of since", Signs { word: word("message", 5), ..off() }, Online),
        ("off, and heard of since, long ago", Signs { word: word("message", 16), ..off() }, Offline),
        ("off, and its inbox was emptied", Signs { took: ago(1), ..off() }, Offline),
        ("off without a date, heard of", Signs { ended: None, word: word("message", 2), ..off() }, Online),
        ("off without a date, silent", Signs { ended: None, word: word("message", 3), ..off() }, Offline),
        ("on, and its pane is gone", Signs { pane: Some(Pane::Gone("x".into())), ..on() }, Offline),
        ("on, pane not asked", Signs { pane: Some(Pane::Silent("x".into())), ..on() }, Online),
        ("off, pane not asked", Signs { pane: Some(Pane::Silent("x".into())), ..off() }, Offline),
        ("process runs", Signs { process: process(Fate::Runs), ..Signs::default() }, Online),
        ("on, process gone", Signs { process: process(Fate::Gone), ..on() }, Offline),
        ("on, the number is another's", Signs { process: process(Fate::Replaced), ..on() }, Offline),
        ("on, process elsewhere", Signs { process: process(Fate::Elsewhere), ..on() }, Online),
        ("no flag, heard of", Signs { word: word("message", 15), ..Signs::default() }, Online),
        ("no flag, took mail", Signs { took: ago(15), ..Signs::default() }, Online),
        ("no flag, silent", Signs { word: word("message", 16), ..Signs::default() }, Unknown),
        ("idle is its last word", Signs { word: word("idle_notification", 5), ..on() }, Idle),
        ("idle, then took mail", Signs { word: word("idle_notification", 5), took: ago(4), ..on() }, Online),
        ("took mail, then idle", Signs { word: word("idle_notification", 5), took: ago(6), ..on() }, Idle),
        ("idle, and off since", Signs { word: word("idle_notification", 61), ..off() }, Offline),
        ("checked just now", Signs { unanswered: ago(0), ..on() }, Online),
        ("checked, no answer", Signs { unanswered: ago(1), ..on() }, Stalled),
        ("checked, heard of since", Signs { unanswered: ago(2), word: word("heartbeat", 1), ..on() }, Online),
        ("checked, off", Signs { unanswered: ago(2), ..off() }, Offline),
        (
            "idle, checked, no answer",
            Signs { unanswered: ago(2), word: word("idle_notification", 5), ..on() },
            Stalled,
        ),
        ("found stalled", Signs { stalled: ago(9), ..on() }, Stalled),
        (
            "found stalled, heard of since",
            Signs { stalled: ago(9), word: word("message", 1), ..on() },
            Online,
        ),
        (
            "stalled, pane gone",
            Signs { stalled: ago(9), pane: Some(Pane::Gone("x".into())), ..on() },
            Offline,
        ),
    ];
    check(cases);
}

/// A client that is killed in a turn leaves `isActive: true` behind; an old one that is between two turns cannot be told
/// by its command line.
#[test]
fn a_process_that_nothing_names() {
    use Presence::{Idle, Offline, Online};
    let gone = || Some(Own::Gone("it is gone".to_owned()));
    let may_run = || Some(Own::MayRun("it may run".to_owned()));
    let on = || Signs { is_active: Some(true), started: ago(60), wrote: ago(0), ..Signs::default() };
    let between = || Signs { is_active: Some(false), wrote: ago(20), ..Signs::default() };
    check(vec![
        ("killed in a turn", Signs { own: gone(), took: ago(0), word: word("message", 0), ..on() }, Offline),
        ("killed, and it says nothing of itself", Signs { own: gone(), is_active: None, ..on() }, Offline),
        ("killed between turns", Signs { own: gone(), wrote: ago(0), ..between() }, Offline),
        ("another process of its name runs", Signs { own: gone(), agent: agent(), ..on() }, Online),
        ("in a turn, and it may run", Signs { own: may_run(), ..on() }, Online),
        ("between turns, and it may run", Signs { own: may_run(), ..between() }, Idle),
        ("between turns, just wrote", Signs { wrote: ago(2), ..between() }, Idle),
        ("between turns, wrote long ago", between(), Offline),
        ("ended, wrote before", Signs { ended: ago(0), wrote: ago(1), ..between() }, Offline),
        ("ended, another may run", Signs { ended: ago(0), own: may_run(), ..between() }, Offline),
        ("ended, and wrote since", Signs { ended: ago(3), wrote: ago(1), ..between() }, Idle),
    ]);
}

#[test]
fn what_runs_comes_before_what_is_written() {
    use Presence::{Idle, Online, Stalled};
    let on = || Signs { is_active: Some(true), started: ago(60), ..Signs::default() };
    let off = || Signs { is_active: Some(false), ended: ago(60), ..Signs::default() };
    check(vec![
        // Between two turns.
        ("off, and its pane runs", Signs { pane: runs(), ..off() }, Idle),
        ("off, and its process runs", Signs { agent: agent(), ..off() }, Idle),
        (
            "off, its process runs, just heard of",
            Signs { agent: agent(), word: word("message", 0), ended: None, ..off() },
            Idle,
        ),
        (
            "off, its process runs, and does not answer",
            Signs { agent: agent(), unanswered: ago(1), ..off() },
            Stalled,
        ),
        ("in a turn", Signs { agent: agent(), ..on() }, Online),
        (
            "in a turn, and idle before",
            Signs { agent: agent(), word: word("idle_notification", 1), ..on() },
            Online,
        ),
        ("no flag, its process runs", Signs { agent: agent(), ..Signs::default() }, Online),
        (
            "its process runs, though its pane is gone",
            Signs { agent: agent(), pane: Some(Pane::Gone("x".into())), ..off() },
            Idle,
        ),
        ("session, silent", Signs { session: session(None), ..Signs::default() }, Online),
        ("session, busy", Signs { session: session(Some(Activity::Busy)), ..Signs::default() }, Online),
        ("session, idle", Signs { session: session(Some(Activity::Idle)), ..on() }, Idle),
        (
            "session, waiting",
            Signs {
                session: session(Some(Activity::Waiting(None))),
                word: word("idle_notification", 1),
                ..on()
            },
            Online,
        ),
        (
            "session, though the process of before is gone",
            Signs { session: session(None), process: process(Fate::Gone), ..on() },
            Online,
        ),
    ]);
}

#[test]
fn what_is_not_believed_is_shown_as_overruled() {
    let signs = Signs {
        is_active: Some(true),
        pane: Some(Pane::Gone("its pane is gone".into())),
        ..Signs::default()
    };
    let judged = judge(&signs, Stamp::from_millis(NOW));
    assert_eq!(judged.why(), "its pane is gone");
    assert_eq!(judged.evidence[1].weight, Weight::Overruled, "{judged:?}");
}

#[test]
fn the_reason_says_what_a_state_rests_on() {
    let on = || Signs { is_active: Some(true), ..Signs::default() };
    let off = || Signs { is_active: Some(false), ..Signs::default() };
    let rows = [
        (
            Signs { agent: agent(), ..off() },
            "its process runs; isActive is false in config.json: it is between two turns",
        ),
        (on(), "isActive is true in config.json; never heard from"),
        (Signs { took: ago(1), ..on() }, "isActive is true in config.json"),
        (off(), "isActive is false in config.json"),
        (Signs::default(), "config.json does not say isActive"),
        (Signs { session: session(Some(Activity::Idle)), ..Signs::default() }, "its session runs"),
    ];
    for (signs, why) in rows {
        assert_eq!(judge(&signs, Stamp::from_millis(NOW)).why(), why, "{signs:?}");
    }
}

#[test]
fn what_it_does_is_beside_the_state() {
    let rows = [
        (Signs { session: session(Some(Activity::Busy)), ..Signs::default() }, Some("working")),
        (
            Signs {
                session: session(Some(Activity::Waiting(Some("permission".into())))),
                ..Signs::default()
            },
            Some("waiting for permission"),
        ),
        (Signs { agent: agent(), is_active: Some(false), ..Signs::default() }, Some("idle")),
        (Signs { agent: agent(), is_active: Some(true), ..Signs::default() }, Some("working")),
        (Signs { agent: agent(), ..Signs::default() }, None),
        (Signs { is_active: Some(true), ..Signs::default() }, None),
        (Signs { is_active: Some(false), ..Signs::default() }, None),
    ];
    for (signs, activity) in rows {
        let judged = judge(&signs, Stamp::from_millis(NOW));
        assert_eq!(judged.activity.as_deref(), activity, "{signs:?}");
    }
}

#[test]
fn a_state_holds_until_the_time_that_is_named_for_its_next_change() {
    let now = Stamp::from_millis(NOW);
    let times = [None, ago(0), ago(1), ago(10), ago(60), ago(25 * 60)];
    let mut changed = 0;
    for (said, took) in times.iter().flat_map(|said| times.iter().map(move |took| (*said, *took))) {
        for (wrote, unanswered) in [(None, None), (ago(1), None), (None, ago(0)), (ago(3), ago(0))] {
            for is_active in [None, Some(true), Some(false)] {
                for (ended, own) in [(None, None), (ago(5), None), (None, Some(Own::MayRun("it may".into())))]
                {
                    let word = said.map(|at| Word { at, kind: "message".into(), detail: None });
                    let started = ago(30);
                    let signs = Signs {
                        is_active,
                        started,
                        ended,
                        own,
                        wrote,
                        word,
                        took,
                        unanswered,
                        ..Signs::default()
                    };
                    let before = judge(&signs, now).state;
                    let Some(next) = next_change(&signs, now) else {
                        let later = now.saturating_add(Duration::from_secs(90 * 24 * 60 * 60));
                        assert_eq!(judge(&signs, later).state, before, "{signs:?}");
                        continue;
                    };
                    let last = Stamp::from_millis(next.as_millis() - 1);
                    assert_eq!(judge(&signs, last).state, before, "{signs:?}");
                    changed += usize::from(judge(&signs, next).state != before);
                }
            }
        }
    }
    assert!(changed > 100, "{changed}");
}
