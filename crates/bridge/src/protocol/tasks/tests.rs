//! Tables of what is decided about shared tasks.

use std::time::Duration;

use atm_wire::Stamp;
use atm_wire::task::{Change, Status, Task, edit};

use super::change::{Wanted, change};
use super::claim::{Claim, Verdict, claim};
use super::merge::{Names, may_delete, merge, without_liberties};
use super::{Base, MARGIN, Owner, Seen, SharedTask};
use crate::name::Machine;
use Status::{Completed, InProgress, Pending};

const NOW: i64 = 1_800_000_000_000;

fn machine(name: &str) -> Machine {
    name.parse().unwrap()
}

fn owner(name: &str, at: &str) -> Owner {
    Owner { name: name.to_owned(), machine: machine(at), stay: None }
}

fn at(seconds: i64) -> Stamp {
    Stamp::from_millis(NOW + seconds * 1000)
}

/// `ann` and `team-lead` are at home on laptop, which decides; others are called `NAME.MACHINE` there.
struct OnLaptop;

impl Names for OnLaptop {
    fn owner_of(&self, called: &str) -> Owner {
        let (name, at) = called.rsplit_once('.').unwrap_or((called, "laptop"));
        owner(name, at)
    }

    fn called(&self, owner: &Owner) -> String {
        if owner.machine.as_str() == "laptop" {
            owner.name.clone()
        } else {
            owner.machine.qualify(&owner.name)
        }
    }
}

/// A task of this owner, whose claim ends after so many seconds.
fn task(owner: Option<&Owner>, until: Option<i64>, status: Status) -> SharedTask {
    let text = Task::new("7", "dig", "a hole").render().unwrap();
    let called = owner.map(|owner| OnLaptop.called(owner));
    let mut changes = vec![Change::Owner(called), Change::Status(status)];
    if until.is_some() {
        changes.extend([
            Change::note("claimed_at", "2027-01-15T08:00:00Z"),
            Change::number("claim_expiry_seconds", 60.0),
        ]);
    }
    SharedTask {
        team: "alpha".to_owned(),
        id: "7".parse().unwrap(),
        shared_id: "s".to_owned(),
        version: 1,
        moved: false,
        text: Some(edit(&text, &changes).unwrap()),
        owner: owner.cloned(),
        since: 1,
        until: until.map(at),
        leads: Vec::new(),
        grants_from: None,
        again: None,
    }
}

fn seen(me: &Machine) -> Seen<'_> {
    Seen { me, as_lead: &[], now: at(0), longest: Duration::from_secs(1800) }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Grant(_) => "grant",
        Verdict::Done => "done",
        Verdict::Stale => "stale",
        Verdict::Held(..) => "held",
        Verdict::NotHeld => "not held",
        Verdict::Completed => "completed",
        Verdict::Gone => "gone",
        Verdict::NotYet(_) => "not yet",
        Verdict::Unreadable => "unreadable",
    }
}

#[test]
fn who_gets_a_task() {
    let (ann, bob) = (owner("ann", "laptop"), owner("bob", "hub"));
    let margin = i64::try_from(MARGIN.as_secs()).unwrap();
    let waits = |from: i64, task: SharedTask| SharedTask { grants_from: Some(at(from)), ..task };
    let rows = [
        ("nobody's", task(None, None, Pending), false, "grant"),
        ("its own", task(Some(&ann), Some(30), InProgress), false, "grant"),
        ("its own, kept", task(Some(&ann), Some(30), InProgress), true, "grant"),
        ("its own, over", task(Some(&ann), Some(-30), InProgress), true, "grant"),
        ("another's", task(Some(&bob), Some(30), InProgress), false, "held"),
        ("another's without end", task(Some(&bob), None, Pending), false, "held"),
        ("another's, just over", task(Some(&bob), Some(1 - margin), InProgress), false, "held"),
        ("another's, over by every clock", task(Some(&bob), Some(-margin), InProgress), false, "grant"),
        ("another's is not kept", task(Some(&bob), Some(-60), InProgress), true, "not held"),
        ("nobody's is not kept", task(None, None, Pending), true, "not held"),
        ("the same name elsewhere", task(Some(&owner("ann", "hub")), Some(30), InProgress), false, "held"),
        ("done", task(None, None, Completed), false, "completed"),
        ("done is not kept", task(Some(&ann), None, Completed), true, "not held"),
        ("after a lost bucket", waits(10, task(None, None, Pending)), false, "not yet"),
        ("after a lost bucket, later", waits(0, task(None, None, Pending)), false, "grant"),
        ("its own after a lost bucket", waits(10, task(Some(&ann), Some(30), InProgress)), false, "grant"),
        ("over after a lost bucket", waits(10, task(Some(&bob), Some(-60), InProgress)), false, "not yet"),
        (
            "its own is over after a lost bucket",
            waits(10, task(Some(&ann), Some(-1), InProgress)),
            true,
            "not yet",
        ),
    ];
    let me = machine("laptop");
    for (case, entry, renews, expected) in rows {
        let wanted =
            Claim { who: &owner("ann", "laptop"), lease: Duration::from_secs(60), renews, at: at(0) };
        let text = entry.text_here(|owner| OnLaptop.called(owner)).unwrap();
        let verdict = claim(&entry, text.as_deref(), &wanted, &seen(&me));
        let answer = match &verdict {
            Verdict::Grant(value) => {
                assert_eq!(value.owner, Some(ann.clone()), "{case}");
                assert!(value.until >= Some(at(60)), "{case}");
                "grant"
            }
            other => word(other),
        };
        assert_eq!(answer, expected, "{case}");
    }
    let gone = SharedTask { text: None, ..task(None, None, Pending) };
    let wanted =
        Claim { who: &owner("ann", "laptop"), lease: Duration::from_secs(60), renews: false, at: at(0) };
    assert_eq!(claim(&gone, None, &wanted, &seen(&me)), Verdict::Gone);
}

#[test]
fn a_claim_that_is_kept_never_ends_sooner_and_none_is_longer_than_the_longest() {
    let me = machine("laptop");
    let entry = task(Some(&owner("ann", "laptop")), Some(300), InProgress);
    let until = |seconds| {
        let wanted = Claim {
            who: &owner("ann", "laptop"),
            lease: Duration::from_secs(seconds),
            renews: true,
            at: at(0),
        };
        match claim(&entry, entry.text.as_deref(), &wanted, &seen(&me)) {
            Verdict::Grant(value) => value.until,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(until(10), Some(at(300)));
    assert_eq!(until(400), Some(at(400)));
    assert_eq!(until(90_000), Some(at(1800)));
}

#[test]
fn what_is_answered_to_who_changes_a_task() {
    type Hold<'a> = (Option<&'a str>, Status);
    let (ann, bob) = (owner("ann", "laptop"), owner("bob", "hub"));
    let free = task(None, None, Pending);
    let of_ann = task(Some(&ann), Some(60), InProgress);
    let of_bob = task(Some(&bob), Some(60), InProgress);
    let led = SharedTask { leads: vec![machine("laptop")], ..of_bob.clone() };
    let over = SharedTask { until: Some(at(-60)), ..of_bob.clone() };
    let unknown = |task: &SharedTask| SharedTask { grants_from: Some(at(60)), ..task.clone() };
    let done_by_ann = task(Some(&ann), None, Completed);
    let done_by_bob = task(Some(&bob), None, Completed);
    let gone = of_ann.gone();
    let (anns, bobs, nobodys): (Hold, Hold, Hold) =
        ((Some("ann"), InProgress), (Some("bob.hub"), InProgress), (None, Pending));
    let release = Some(vec![Change::Owner(None), Change::Status(Pending)]);
    let complete = Some(vec![Change::Status(Completed), Change::note("completed_at", "now")]);
    let give = |to: &str| Some(vec![Change::Owner(Some(to.to_owned())), Change::Status(Pending)]);
    let delete = None;
    // What the bucket has, what the file had, what is wanted, what is answered; who has it then.
    let rows = [
        ("given back", &of_ann, &anns, &release, "grant", None),
        ("given back again", &free, &anns, &release, "done", None),
        ("given back after another took it", &of_bob, &anns, &release, "stale", None),
        ("another's given back", &of_bob, &bobs, &release, "held", None),
        ("another's given back by a lead", &led, &bobs, &release, "grant", None),
        ("another's given back after its end", &over, &bobs, &release, "grant", None),
        ("completed", &of_ann, &anns, &complete, "grant", Some(&ann)),
        ("completed again", &done_by_ann, &anns, &complete, "done", None),
        ("completed by another meanwhile", &done_by_bob, &anns, &complete, "stale", None),
        ("completed after another took it", &of_bob, &anns, &complete, "stale", None),
        ("another's completed", &of_bob, &bobs, &complete, "held", None),
        ("nobody's completed", &free, &nobodys, &complete, "grant", None),
        ("given to a member here", &free, &nobodys, &give("ann"), "grant", Some(&ann)),
        ("given to a member there", &free, &nobodys, &give("bob.hub"), "grant", Some(&bob)),
        ("given after another took it", &of_bob, &nobodys, &give("ann"), "stale", None),
        ("another's given away", &of_bob, &bobs, &give("ann"), "held", None),
        ("given while claims are unknown", &unknown(&free), &nobodys, &give("ann"), "not yet", None),
        ("given back while claims are unknown", &unknown(&of_ann), &anns, &release, "grant", None),
        ("own work done while claims are unknown", &unknown(&of_ann), &anns, &complete, "grant", Some(&ann)),
        ("nobody's done while claims are unknown", &unknown(&free), &nobodys, &complete, "not yet", None),
        ("deleted", &of_ann, &anns, &delete, "grant", None),
        ("deleted after another took it", &of_bob, &anns, &delete, "stale", None),
        ("another's deleted", &of_bob, &bobs, &delete, "held", None),
        ("deleted again", &gone, &anns, &delete, "done", None),
        ("completed after it was deleted", &gone, &anns, &complete, "gone", None),
    ];
    let me = machine("laptop");
    for (case, entry, hold, changes, expected, then) in rows {
        let wanted = Wanted { owner: hold.0, status: hold.1.clone(), changes: changes.clone() };
        let text = entry.text_here(|owner| OnLaptop.called(owner)).unwrap();
        let verdict = change(entry, text.as_deref(), &wanted, &OnLaptop, &seen(&me));
        assert_eq!(word(&verdict), expected, "{case}");
        if let Verdict::Grant(value) = verdict {
            assert_eq!(value.owner.as_ref(), then, "{case}");
            // Who asks again gets the same.
            let text = value.text_here(|owner| OnLaptop.called(owner)).unwrap();
            let again = change(&value, text.as_deref(), &wanted, &OnLaptop, &seen(&me));
            assert_eq!(again, Verdict::Done, "{case}, again");
        }
    }
}

#[test]
fn what_becomes_of_a_change_here() {
    let (ann, bob) = (owner("ann", "laptop"), owner("bob", "hub"));
    let free = task(None, None, Pending);
    let of_ann = task(Some(&ann), Some(60), InProgress);
    let of_bob = task(Some(&bob), Some(60), InProgress);
    let led = SharedTask { leads: vec![machine("laptop")], ..of_bob.clone() };
    let over = SharedTask { until: Some(at(-60)), ..of_bob.clone() };
    let waits = SharedTask { grants_from: Some(at(60)), ..free.clone() };
    let take = vec![Change::Owner(Some("ann".into())), Change::Status(InProgress)];
    let done = vec![Change::Status(Completed)];
    let release = vec![Change::Owner(None), Change::Status(Pending)];
    // What was, what is there now, what was done here: who has it then, how far it is, and whether that was refused.
    let rows = [
        ("taken", &free, &free, &take, Some(&ann), InProgress, false),
        ("taken by both", &free, &of_bob, &take, Some(&bob), InProgress, true),
        ("taken from another", &of_bob, &of_bob, &take, Some(&bob), InProgress, true),
        ("taken by a lead", &led, &led, &take, Some(&ann), InProgress, false),
        ("taken after its end", &over, &over, &take, Some(&ann), InProgress, false),
        ("taken after a lost bucket", &waits, &waits, &take, None, Pending, true),
        ("done", &of_ann, &of_ann, &done, Some(&ann), Completed, false),
        ("done by who has it not", &of_bob, &of_bob, &done, Some(&bob), InProgress, true),
        ("given back", &of_ann, &of_ann, &release, None, Pending, false),
        ("given back by another", &of_bob, &of_bob, &release, Some(&bob), InProgress, true),
    ];
    let me = machine("laptop");
    for (case, base, entry, changes, holder, status, refused) in rows {
        let mirrored = base.text_here(|owner| OnLaptop.called(owner)).unwrap().unwrap();
        let more = [&changes[..], &[Change::note("key", "value")]].concat();
        let local = edit(&mirrored, &more).unwrap();
        let merged = merge((base, &mirrored, &local), entry, &OnLaptop, &seen(&me)).unwrap();
        let task = merged.value.task().unwrap();
        assert_eq!(merged.value.owner.as_ref(), holder, "{case}");
        assert_eq!((task.status, merged.is_refused), (status, refused), "{case}");
        assert!(merged.value.text.unwrap().contains("\"key\""), "the rest of {case} is kept");
    }
}

#[test]
fn changes_of_different_fields_are_both_kept_and_of_one_field_the_first_is() {
    let base = task(None, None, Pending);
    let text = base.text.clone().unwrap();
    let there = vec![Change::Description("there".into()), Change::AddBlocks("8".parse().unwrap())];
    let entry = SharedTask { text: Some(edit(&text, &there).unwrap()), ..base.clone() };
    let here = [
        Change::Subject("here".into()),
        Change::Description("here".into()),
        Change::AddBlocks("9".parse().unwrap()),
    ];
    let local = edit(&text, &here).unwrap();
    let me = machine("laptop");
    let merged = merge((&base, &text, &local), &entry, &OnLaptop, &seen(&me)).unwrap();
    let task = merged.value.task().unwrap();
    assert_eq!((task.subject.as_str(), task.description.as_str()), ("here", "there"));
    assert_eq!(task.blocks, ["8", "9"]);
    // Brought once more, it changes nothing.
    let again = merge((&base, &text, &local), &merged.value, &OnLaptop, &seen(&me)).unwrap();
    assert_eq!(again.value, merged.value);
}

#[test]
fn a_file_that_is_gone_deletes_only_what_nobody_else_has() {
    let me = machine("laptop");
    let [free, mine, theirs] = [None, Some(owner("ann", "laptop")), Some(owner("bob", "hub"))]
        .map(|owner| task(owner.as_ref(), owner.as_ref().map(|_| 60), InProgress));
    let done = task(Some(&owner("bob", "hub")), None, Completed);
    let rows = [
        (&free, &free, true),
        (&mine, &mine, true),
        (&theirs, &theirs, false),
        (&free, &theirs, false),
        (&done, &done, true),
    ];
    for (base, entry, expected) in rows {
        assert_eq!(may_delete(base, entry, &seen(&me)), expected, "{base:?} {entry:?}");
    }
}

#[test]
fn another_machine_gives_tasks_to_members_here_only_if_its_lead_may_lead_here() {
    let (me, hub) = (machine("laptop"), machine("hub"));
    let given = task(Some(&owner("ann", "laptop")), None, Pending);
    let free = task(None, None, Pending);
    let base = Base { revision: 3, value: free, mirrored: None, before: None, was: None };
    let stripped = without_liberties(&hub, Some(&base), None, &given, &OnLaptop, &seen(&me)).unwrap();
    assert_eq!((stripped.owner.clone(), stripped.task().unwrap().owner), (None, None));
    let trusted = [hub.clone()];
    let leads = Seen { as_lead: &trusted, ..seen(&me) };
    assert_eq!(without_liberties(&hub, Some(&base), None, &given, &OnLaptop, &leads), None);
    assert_eq!(without_liberties(&me, Some(&base), None, &given, &OnLaptop, &seen(&me)), None);
    let had = Base { value: given.clone(), ..base.clone() };
    assert_eq!(without_liberties(&hub, Some(&had), None, &given, &OnLaptop, &seen(&me)), None);
    let text = given.text.as_deref();
    assert_eq!(without_liberties(&hub, None, text, &given, &OnLaptop, &seen(&me)), None);
    let other = task(Some(&owner("bob", "desk")), None, Pending);
    assert_eq!(without_liberties(&hub, Some(&base), None, &other, &OnLaptop, &seen(&me)), None);
}
