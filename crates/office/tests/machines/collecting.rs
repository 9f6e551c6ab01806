//! What clients write into the inboxes of other machines' members.

use std::fs;
use std::time::{Duration, SystemTime};

use atm_office::machines::{Quiet, Stage};
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_support::wait_until;
use serde_json::json;

use crate::world::{Machine, carry, introduce, laptop_and_desk, ledger_steps, name, team};

fn native(text: &str, is_new: bool) -> serde_json::Value {
    let mut entry = json!({ "from": "team-lead", "text": text, "summary": "s", "timestamp": "2026-11-15T18:42:20.463Z",
        "color": "blue", "read": false });
    if is_new {
        entry["type"] = "message".into();
    }
    entry
}

fn write(machine: &Machine, member: &str, entries: &[serde_json::Value]) {
    let text = serde_json::to_string_pretty(entries).unwrap();
    fs::write(machine.file(&format!("inboxes/{member}.json")), text).unwrap();
}

fn collect(machine: &Machine) -> usize {
    machine.office.machines().collect(&team()).unwrap()
}

#[test]
fn a_clients_own_mail_goes_to_the_other_machine_as_from_its_sender() {
    let (laptop, desk) = laptop_and_desk();
    write(&laptop, "bob", &[native("by my own tool", true), native("and again", true)]);
    assert_eq!(collect(&laptop), 2);
    assert_eq!(fs::read_to_string(laptop.file("inboxes/bob.json")).unwrap().trim(), "[]");
    assert_eq!(collect(&laptop), 0);
    carry(&[&laptop, &desk]);
    let mail = desk.inbox("bob");
    assert_eq!(desk.texts("bob"), ["by my own tool", "and again"]);
    assert_eq!((mail[0].from.as_str(), mail[0].summary.as_deref()), ("team-lead.laptop", Some("s")));
    assert_eq!(laptop.stage(&mail[0].id), Stage::Written);
}

/// Makes a file look from outside as if it had been written long ago.
fn age(machine: &Machine, member: &str) {
    let file = fs::File::options().write(true).open(machine.file(&format!("inboxes/{member}.json"))).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
}

/// Waits until the next change of any file shows in its time.
fn settle(machine: &Machine, quiet: &mut Quiet) {
    wait_until("nothing is young any more", || {
        let collected = machine.office.machines().collect_changed(&team(), quiet).unwrap();
        assert_eq!(collected, 0);
        quiet.is_known()
    });
}

#[test]
fn files_that_look_as_they_did_when_nothing_was_unread_are_not_read_again() {
    let (laptop, _desk) = laptop_and_desk();
    let mut quiet = Quiet::default();
    let written = serde_json::to_string_pretty(&[native("new", true)]).unwrap();
    // As long as what comes later, and with nothing in it.
    fs::write(laptop.file("inboxes/bob.json"), format!("[{}]", " ".repeat(written.len() - 2))).unwrap();
    age(&laptop, "bob");
    settle(&laptop, &mut quiet);
    // In place, as some clients write; the time is put back.
    write(&laptop, "bob", &[native("new", true)]);
    age(&laptop, "bob");
    assert_eq!(laptop.office.machines().collect_changed(&team(), &mut quiet).unwrap(), 0, "it was not read");
    // Any change of a time, of any of the files, and all are.
    write(&laptop, "bob", &[native("new", true)]);
    assert_eq!(laptop.office.machines().collect_changed(&team(), &mut quiet).unwrap(), 1);
}

#[test]
fn a_change_of_any_file_opens_all_of_them() {
    let (laptop, desk) = laptop_and_desk();
    let mut quiet = Quiet::default();
    let collect = |quiet: &mut Quiet| laptop.office.machines().collect_changed(&team(), quiet).unwrap();
    settle(&laptop, &mut quiet);
    // The file of somebody whom nobody here knows of yet, and who is announced later.
    write(&laptop, "eve", &[native("early", true)]);
    assert_eq!(collect(&mut quiet), 0);
    settle(&laptop, &mut quiet);
    desk.office.add_member(&team(), &MemberPlan::new("eve")).unwrap();
    introduce(&[&laptop, &desk]);
    assert_eq!(collect(&mut quiet), 1);
    settle(&laptop, &mut quiet);
    write(&laptop, "user-desk", &[native("for its user", true)]);
    assert_eq!(collect(&mut quiet), 1);
}

#[test]
fn old_clients_find_their_mail_marked_and_it_is_carried_once() {
    let (laptop, desk) = laptop_and_desk();
    write(&laptop, "bob", &[native("old manners", false)]);
    assert_eq!((collect(&laptop), collect(&laptop)), (1, 0));
    let left = laptop.inbox("bob");
    assert_eq!((left.len(), left[0].read), (1, true));
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["old manners"]);
}

#[test]
fn a_crash_between_the_log_and_the_file_doubles_nothing() {
    let (laptop, desk) = laptop_and_desk();
    let entries = [native("once", true)];
    write(&laptop, "bob", &entries);
    assert_eq!(collect(&laptop), 1);
    // The file as it was: its reader died before it took the entry out.
    write(&laptop, "bob", &entries);
    assert_eq!(collect(&laptop), 0);
    carry(&[&laptop, &desk]);
    write(&laptop, "bob", &entries);
    assert_eq!(collect(&laptop), 0, "also after it was carried");
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["once"]);
}

#[test]
fn what_was_collected_survives_the_teams_folder() {
    let (laptop, desk) = laptop_and_desk();
    write(&laptop, "bob", &[native("my last words", true)]);
    let sent = laptop.send("alice", "bob", "mine too");
    collect(&laptop);
    fs::remove_dir_all(laptop.file("")).unwrap();
    // A look finds the team gone, and closes it.
    let _ = laptop.office.look(&team());
    carry_gone(&laptop, &desk);
    assert_eq!(desk.texts("bob"), ["mine too", "my last words"]);
    assert!(laptop.outgoing().is_empty());
    assert_eq!(laptop.office.track(Some(&team()), &sent.id).unwrap().stage, Stage::Written);
}

/// As `carry`, from a machine whose part of the team is gone.
fn carry_gone(from: &Machine, to: &Machine) {
    let incoming: Vec<_> = from
        .outgoing()
        .into_iter()
        .map(|letter| atm_office::machines::Incoming {
            team: letter.team,
            to: letter.to,
            from: letter.from,
            machine: from.name.clone(),
            from_lead: false,
            as_lead: false,
            id: letter.id,
            letter: letter.letter,
        })
        .collect();
    let taken: Vec<_> = to.office.machines().take_in(&incoming).into_iter().map(Result::unwrap).collect();
    from.confirm(to, &crate::world::said(&taken));
}

#[test]
fn a_file_that_is_just_being_written_is_left_for_the_next_time() {
    let (laptop, desk) = laptop_and_desk();
    fs::write(laptop.file("inboxes/bob.json"), "[{\"from\":\"team-lead\",\"te").unwrap();
    assert_eq!(collect(&laptop), 0);
    write(&laptop, "bob", &[native("whole", true)]);
    assert_eq!(collect(&laptop), 1);
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["whole"]);
}

#[test]
fn mail_for_another_machines_user_is_collected_too() {
    let (laptop, desk) = laptop_and_desk();
    write(&laptop, "user-desk", &[native("to the person", true)]);
    write(&laptop, "team-lead-desk", &[native("to the lead", true)]);
    assert_eq!(collect(&laptop), 2);
    carry(&[&laptop, &desk]);
    assert_eq!(
        (desk.texts("user"), desk.texts("team-lead")),
        (vec!["to the person".into()], vec!["to the lead".into()])
    );
}

/// Its client knows the name from the letter's sender, and makes a file for it that no member has: mail sank there.
#[test]
fn a_clients_own_answer_to_one_outside_of_the_team_finds_its_home() {
    let (laptop, desk) = laptop_and_desk();
    let ops = laptop.office.create_team(&TeamPlan::new("ops", "another team")).unwrap();
    laptop.office.add_member(&ops, &MemberPlan::new("eve")).unwrap();
    let letter = Letter::new("bob@demo".parse().unwrap(), "who broke it?");
    laptop.office.send(&ops, &name("eve"), &letter, SendOptions::default()).unwrap();
    // Nobody has written under this name: it is a mistake, which the doctor tells.
    write(&desk, "eva-ops-laptop", &[native("to nobody", true)]);
    write(&desk, "eve-ops-laptop", &[native("before it is known who that is", true)]);
    assert_eq!(collect(&desk), 0);
    carry(&[&laptop, &desk]);
    assert_eq!(desk.inbox("bob")[0].from, "eve.ops.laptop");
    let answers = |texts: [&str; 2]| {
        texts.map(|text| {
            serde_json::Value::Object({
                let mut entry = native(text, text.contains("new")).as_object().unwrap().clone();
                entry.insert("from".to_owned(), "bob".into());
                entry
            })
        })
    };
    for texts in [["by a new client", "by a new one again"], ["by an old client", "and again"]] {
        write(&desk, "eve-ops-laptop", &answers(texts));
        assert_eq!((collect(&desk), collect(&desk)), (2, 0), "{texts:?}");
        fs::remove_file(desk.file("inboxes/eva-ops-laptop.json")).unwrap();
        // Of entries that stay, and have no ids, the log knows which is which.
        let steps = ledger_steps(|| assert_eq!(collect(&desk), 0)).len();
        assert!(steps <= if texts[0].contains("new") { 0 } else { 3 }, "the senders are looked for: {steps}");
        write(&desk, "eva-ops-laptop", &[native("to nobody", true)]);
        carry(&[&laptop, &desk]);
        let found: Vec<String> = laptop.mail_in(&ops, "eve").into_iter().map(|mail| mail.text).collect();
        assert!(
            texts.iter().all(|text| found.iter().filter(|found| found.ends_with(text)).count() == 1),
            "{found:?}"
        );
    }
    let answer = &laptop.mail_in(&ops, "eve")[0];
    assert_eq!(answer.from, "bob");
    assert_eq!(desk.texts("eva-ops-laptop"), ["to nobody"], "it stays where it is");
}

#[test]
fn an_entry_that_a_client_dropped_is_still_collected_for() {
    let (laptop, desk) = laptop_and_desk();
    let waits = laptop.send("alice", "bob", "accepted before");
    // A client writes back the configuration that it has in memory.
    let mut config: serde_json::Value = serde_json::from_str(&laptop.config()).unwrap();
    config["members"].as_array_mut().unwrap().retain(|member| member["metadata"]["atm"]["machine"].is_null());
    fs::write(laptop.file("config.json"), config.to_string()).unwrap();
    write(&laptop, "bob", &[native("written meanwhile", true)]);
    laptop.office.look(&team()).unwrap();
    assert_eq!(laptop.texts("bob"), ["written meanwhile"], "what waits for a machine is in no file");
    assert_eq!(laptop.stage(&waits.id), Stage::Accepted);
    assert_eq!(collect(&laptop), 1);
    crate::world::introduce(&[&laptop, &desk]);
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["accepted before", "written meanwhile"]);
}

/// A client died in the middle of its write, and nobody else writes this file.
#[test]
fn what_is_whole_in_a_file_that_stays_broken_is_collected() {
    let (laptop, desk) = laptop_and_desk();
    let broken = format!("[{},\n{{\"from\":\"team-lead\",\"te", native("whole", true));
    fs::write(laptop.file("inboxes/bob.json"), broken).unwrap();
    assert_eq!(collect(&laptop), 1);
    assert_eq!(collect(&laptop), 0);
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["whole"]);
    write(&laptop, "bob", &[native("the next", true)]);
    assert_eq!(collect(&laptop), 1);
}

#[test]
fn an_inbox_that_cannot_be_read_keeps_no_other_from_being_collected() {
    let (laptop, desk) = laptop_and_desk();
    fs::remove_file(laptop.file("inboxes/bob.json")).unwrap();
    fs::create_dir(laptop.file("inboxes/bob.json")).unwrap();
    write(&laptop, "team-lead-desk", &[native("to the lead", true)]);
    let collected = laptop.office.machines().collect(&team());
    assert!(collected.is_err(), "it is said that one could not be read: {collected:?}");
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("team-lead"), ["to the lead"]);
}

/// The file was read by nobody any more: a client that has an old list in memory goes on writing there.
#[test]
fn what_a_client_writes_under_a_name_that_has_changed_since_is_carried() {
    let (laptop, desk) = laptop_and_desk();
    write(&laptop, "bob", &[native("before anybody looked", true)]);
    let cloud = Machine::new("cloud", &["bob"]);
    introduce(&[&laptop, &desk, &cloud]);
    assert!(laptop.config().contains("bob.desk") && laptop.config().contains("bob.cloud"));
    assert_eq!(collect(&laptop), 1);
    write(&laptop, "bob", &[native("from an old list", true)]);
    introduce(&[&laptop, &desk, &cloud]);
    assert_eq!(collect(&laptop), 1);
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(
        (desk.texts("bob"), cloud.texts("bob")),
        (vec!["before anybody looked".to_owned(), "from an old list".to_owned()], Vec::<String>::new(),)
    );
    // The name is one machine's again, or a member's here: its file is that one's.
    introduce(&[&laptop, &desk]);
    laptop.office.machines().set_members(&team(), &[]).unwrap();
    laptop.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    write(&laptop, "bob", &[native("for the one here", true)]);
    assert_eq!(collect(&laptop), 0);
    assert_eq!(laptop.texts("bob"), ["for the one here"]);
}

#[test]
fn an_inbox_that_somebody_made_here_for_a_name_that_was_another_machines_is_left_alone() {
    let (laptop, _desk) = laptop_and_desk();
    laptop.office.machines().set_members(&team(), &[]).unwrap();
    let letter = Letter::new("bob".parse().unwrap(), "for later");
    let options = SendOptions { create: true, ..SendOptions::default() };
    laptop.office.send(&team(), &"alice".parse().unwrap(), &letter, options).unwrap();
    assert_eq!(collect(&laptop), 0);
    assert_eq!(laptop.inbox("bob").len(), 1);
}
