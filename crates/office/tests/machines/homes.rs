//! Inboxes of other machines' members are outside of all that judges mail here.

use std::fs;
use std::time::Duration;

use atm_ledger::faults::Step;
use atm_office::chores::retry::Policies;
use atm_office::chores::wake::Ladder;
use atm_office::machines::{Home, Move, RemoteMember, Stage};
use atm_office::people::members::Presence;
use atm_wire::Stamp;

use crate::world::{Machine, carry, laptop_and_desk, ledger_steps, name, team};

fn say(state: &str, laptop: &crate::world::Machine) {
    let bob = RemoteMember {
        name: "bob".into(),
        machine: "desk".parse().unwrap(),
        is_lead: false,
        holds_name: false,
        state: state.into(),
        seen_at: Some(Stamp::from_millis(1_794_768_140_463)),
        epoch: None,
    };
    laptop.office.machines().set_members(&team(), &[bob]).unwrap();
}

#[test]
fn a_look_takes_no_note_of_what_clients_write_for_them() {
    let (laptop, _desk) = laptop_and_desk();
    let entry = r#"[{"from":"team-lead","text":"native","timestamp":"2026-11-15T18:42:20.463Z","type":"message","read":false,"messageId":"native-1"}]"#;
    for file in ["bob", "team-lead-desk", "user-desk"] {
        fs::write(laptop.file(&format!("inboxes/{file}.json")), entry).unwrap();
    }
    laptop.office.look(&team()).unwrap();
    assert!(laptop.office.track(Some(&team()), "native-1").is_err(), "nobody has noticed it");
    assert!(laptop.office.pending(&team()).unwrap().is_empty());
    let members = laptop.office.members(&team()).unwrap();
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["team-lead", "alice", "team-lead.desk", "bob"]);
    let bob = members.iter().find(|member| member.name == "bob").unwrap();
    assert_eq!((bob.unread, bob.machine.as_deref()), (0, Some("desk")));
    assert_eq!(members[0].machine, None);
}

#[test]
fn what_was_written_there_is_not_judged_by_the_file_here() {
    let (laptop, desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "over there");
    carry(&[&laptop, &desk]);
    // Looks, chores and their clock change nothing about it here.
    for _ in 0..3 {
        laptop.office.look(&team()).unwrap();
        laptop.office.retry(&team(), &Policies::default(), false).unwrap();
    }
    assert_eq!(laptop.stage(&sent.id), Stage::Written);
    assert!(laptop.inbox("bob").is_empty());
}

#[test]
fn mail_that_is_queued_there_is_offered_again_there_alone() {
    let (laptop, desk) = laptop_and_desk();
    let off = atm_office::people::members::MemberChange { active: Some(false), ..Default::default() };
    desk.office.set_member(&team(), &name("bob"), &off).unwrap();
    let sent = laptop.send("alice", "bob", "waits");
    carry(&[&laptop, &desk]);
    assert_eq!(laptop.stage(&sent.id), Stage::Queued);
    let later =
        Stamp::from_millis(laptop.office.now().as_millis()).saturating_add(Duration::from_secs(90 * 86_400));
    let later = laptop.office.clone().with_clock(atm_office::clock::FixedClock(later));
    assert!(later.retry(&team(), &Policies::default(), false).unwrap().is_empty());
    assert!(laptop.inbox("bob").is_empty());
}

#[test]
fn its_home_says_whether_a_member_is_there() {
    let (laptop, _desk) = laptop_and_desk();
    let state = || {
        let members = laptop.office.members(&team()).unwrap();
        members.into_iter().find(|member| member.name == "bob").unwrap()
    };
    say("online", &laptop);
    assert_eq!(state().state, Presence::Unknown, "no bridge runs that would know");
    let _serving = laptop.office.machines().serve().unwrap().unwrap();
    for (word, expected) in [
        ("online", Presence::Online),
        ("idle", Presence::Idle),
        ("stalled", Presence::Stalled),
        ("offline", Presence::Offline),
        ("odd", Presence::Unknown),
    ] {
        say(word, &laptop);
        let bob = state();
        assert_eq!(bob.state, expected, "{word}");
        assert!(bob.why.starts_with("on machine desk"), "{}", bob.why);
    }
    // Mail for one that is off is accepted all the same: its home queues it.
    say("offline", &laptop);
    assert!(laptop.send("alice", "bob", "later").warnings.is_empty());
}

#[test]
fn a_team_that_is_told_the_same_members_again_is_not_written() {
    let (laptop, desk) = laptop_and_desk();
    let before = fs::metadata(laptop.file("config.json")).unwrap().modified().unwrap();
    crate::world::introduce(&[&laptop, &desk]);
    assert_eq!(fs::metadata(laptop.file("config.json")).unwrap().modified().unwrap(), before);
}

#[test]
fn a_member_of_another_machine_is_woken_and_read_there() {
    let (laptop, _desk) = laptop_and_desk();
    let woken = laptop.office.wake(&team(), &name("bob"), &Ladder::default(), true).unwrap_err();
    assert_eq!(woken.to_string(), "bob is on machine desk: it is woken there");
    let read = laptop.office.begin_read(&team(), &name("bob"), 1).unwrap_err();
    assert_eq!(read.to_string(), "bob is on machine desk: its mail is read there");
    let tended = laptop.office.tend(&team(), &[], true);
    assert!(tended.is_ok());
}

/// A take that the server refused left a member on the list that is at home elsewhere.
#[test]
fn a_member_that_was_not_taken_is_on_the_list_as_it_was_before() {
    let (laptop, desk) = laptop_and_desk();
    let machines = laptop.office.machines();
    let listed = |member: &str| machines.listed(&team(), &name(member)).unwrap();
    let before =
        [("bob", Some(Home::Machine(desk.name.clone()))), ("eve", None), ("alice", Some(Home::Here))];
    for (member, before) in before {
        assert_eq!(listed(member), before);
        machines.take_member(&team(), &name(member)).unwrap();
        assert_eq!(listed(member), Some(Home::Here));
        machines.give_back(&team(), &name(member), before.as_ref()).unwrap();
        assert_eq!(listed(member), before, "{member}");
    }
    let sent = laptop.send("alice", "bob", "hello");
    carry(&[&laptop, &desk]);
    assert_eq!((laptop.stage(&sent.id), desk.texts("bob")), (Stage::Written, vec!["hello".to_owned()]));
}

#[test]
fn a_member_that_moves_without_mail_costs_no_sync() {
    let (laptop, desk) = laptop_and_desk();
    let moves = |home: &str| {
        let home = Home::Machine(home.parse().unwrap());
        let moved = Move { name: "bob", home, former: std::slice::from_ref(&desk.name), leaves: None };
        let steps = ledger_steps(|| assert!(laptop.office.machines().set_home(&team(), &moved).unwrap()));
        steps.into_iter().filter(|step| *step == Step::Sync).count()
    };
    assert_eq!(moves("cloud"), 0);
    laptop.send("alice", "bob", "hello");
    assert_eq!(moves("hut"), 1, "what is sent on is safe");
}

/// The move failed for ever, and its error took the place of every other one.
#[test]
fn a_member_whose_name_with_its_machine_is_too_long_waits_and_the_way_out_is_said() {
    let (long, machine) = ("a".repeat(40), "m".repeat(32));
    let laptop = Machine::led_by(&long, "laptop", &["alice"]);
    let machines = laptop.office.machines();
    let home = Home::Machine(machine.parse().unwrap());
    let moved = Move { name: &long, home, former: &["desk".parse().unwrap()], leaves: None };
    assert!(!machines.set_home(&team(), &moved).unwrap(), "it is done when it can be");
    let member = RemoteMember {
        name: long.clone(),
        machine: machine.parse().unwrap(),
        is_lead: false,
        holds_name: true,
        state: "online".into(),
        seen_at: None,
        epoch: Some(2),
    };
    let refused = machines.set_members(&team(), &[member]).unwrap().refused;
    let why = "it has to be called NAME.MACHINE here, which is 73 bytes long, of at most 64: shorten its name or its machine's (--machine)";
    assert_eq!((refused.len(), refused[0].why.as_str()), (1, why));
}
