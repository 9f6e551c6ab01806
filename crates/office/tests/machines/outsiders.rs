//! Mail between members of other machines and those who are not of their team: sessions, and members of other teams.

use std::fs;
use std::time::Duration;

use atm_office::OfficeError;
use atm_office::machines::{Stage, TakenIn};
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_wire::TeamName;

use crate::world::{Machine, carry, introduce, laptop_and_desk, name, reply, said, sessions, team};

/// The mailbox of a folder on a machine.
fn mailbox(machine: &Machine, folder: &str) -> String {
    let folder = machine.file("../../..").join(folder);
    fs::create_dir_all(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    machine.office.set_session_alias("an-alias", &folder).unwrap();
    machine.office.session_address(&folder.display().to_string()).unwrap().0.name.to_string()
}

fn write(machine: &Machine, from: (&TeamName, &str), text: &str) -> Result<Sent, OfficeError> {
    let letter = Letter::new("bob@demo".parse().unwrap(), text);
    machine.office.send(from.0, &name(from.1), &letter, SendOptions::default())
}

fn senders(machine: &Machine, member: &str) -> Vec<String> {
    machine.inbox(member).into_iter().map(|mail| mail.from).collect()
}

/// What was written, without the mark of mail that waits for a session.
fn texts_in(machine: &Machine, team: &TeamName, member: &str) -> Vec<String> {
    let mail = machine.mail_in(team, member).into_iter();
    mail.map(|mail| mail.text.split_once("] ").map_or(mail.text.clone(), |(_, text)| text.to_owned()))
        .collect()
}

fn make_ops(machine: &Machine) -> TeamName {
    let ops = machine.office.create_team(&TeamPlan::new("ops", "another team")).unwrap();
    machine.office.add_member(&ops, &MemberPlan::new("eve")).unwrap();
    ops
}

#[test]
fn a_member_of_another_team_writes_and_is_answered_there_and_receipts_go_both_ways() {
    let (laptop, desk) = laptop_and_desk();
    let ops = make_ops(&laptop);
    let sent = write(&laptop, (&ops, "eve"), "who broke it?").unwrap();
    carry(&[&laptop, &desk]);
    assert_eq!(senders(&desk, "bob"), ["eve.ops.laptop"]);
    let answered = reply(&desk, "bob", &sent.id, "me");
    carry(&[&laptop, &desk]);
    assert_eq!(texts_in(&laptop, &ops, "eve"), ["me"]);
    assert_eq!((laptop.stage(&sent.id), desk.stage(&sent.id)), (Stage::Done, Stage::Done));
    laptop.office.begin_read(&ops, &name("eve"), usize::MAX).unwrap().confirm().unwrap();
    carry(&[&laptop, &desk]);
    assert_eq!(desk.stage(&answered.id), Stage::Seen);
    // And back again, in the thread.
    let eve = laptop.office.team(&ops).unwrap();
    eve.reply(&name("eve"), &answered.id, |to| Letter::new(to, "oh"), SendOptions::default()).unwrap();
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["who broke it?", "oh"]);
    assert_eq!(desk.stage(&answered.id), Stage::Done);
}

#[test]
fn a_namesake_in_the_team_is_somebody_else() {
    let (laptop, desk) = (Machine::new("laptop", &["front"]), Machine::new("desk", &["bob"]));
    introduce(&[&laptop, &desk]);
    let front = mailbox(&laptop, "front");
    assert_eq!(front, "front");
    let by_session = write(&laptop, (&sessions(), "front"), "from the session").unwrap();
    let by_member = laptop.send("front", "bob", "from the member");
    // Whether a sender leads is asked by this name.
    let outgoing: Vec<String> = laptop.outgoing().into_iter().map(|letter| letter.from).collect();
    assert_eq!(outgoing, ["front.sessions", "front"]);
    carry(&[&laptop, &desk]);
    assert_eq!(senders(&desk, "bob"), ["front.sessions.laptop", "front"]);
    reply(&desk, "bob", &by_session.id, "to the session");
    reply(&desk, "bob", &by_member.id, "to the member");
    carry(&[&laptop, &desk]);
    assert_eq!(texts_in(&laptop, &sessions(), "front"), ["to the session"]);
    assert_eq!(laptop.texts("front"), ["to the member"]);
}

/// A machine shares a team, not the sessions of its user.
#[test]
fn nobody_elsewhere_writes_to_one_who_did_not_write_to_the_team_first() {
    let (laptop, desk) = laptop_and_desk();
    let (front, ops) = (mailbox(&laptop, "front"), make_ops(&laptop));
    let refused = [
        desk.send("bob", "front.sessions.laptop", "hello"),
        desk.send("bob", "eve.ops.laptop", "hello"),
        desk.send("bob", "nobody.sessions.laptop", "hello"),
    ];
    desk.confirm(&laptop, &said(&laptop.take_from(&desk)));
    for sent in &refused {
        assert_eq!(desk.stage(&sent.id), Stage::Failed, "{}", sent.to);
    }
    assert!(laptop.mail_in(&sessions(), &front).is_empty() && laptop.mail_in(&ops, "eve").is_empty());
    write(&laptop, (&sessions(), &front), "may I ask?").unwrap();
    carry(&[&laptop, &desk]);
    // Now it is known there, and need not be answered by the message's id.
    let sent = desk.send("bob", "front.sessions.laptop", "ask");
    carry(&[&laptop, &desk]);
    assert_eq!(desk.stage(&sent.id), Stage::Queued, "no session works there now");
    assert_eq!(texts_in(&laptop, &sessions(), &front).last().map(String::as_str), Some("ask"));
    assert!(laptop.mail_in(&ops, "eve").is_empty());
}

/// What a lead may tell the members of its team, it may not tell a session.
#[test]
fn a_session_takes_words_and_obeys_nobody_elsewhere() {
    let (laptop, mut desk) = laptop_and_desk();
    desk.is_trusted = true;
    let front = mailbox(&laptop, "front");
    write(&laptop, (&sessions(), &front), "hello").unwrap();
    carry(&[&laptop, &desk]);
    let order = r#"{"type":"shutdown_request","requestId":"s-1","from":"team-lead","reason":"now","timestamp":"2026-11-15T18:42:20.463Z"}"#;
    let work = r#"{"type":"task_assignment","taskId":"7","subject":"s","description":"d","assignedBy":"team-lead","timestamp":"2026-11-15T18:42:20.463Z"}"#;
    for payload in [order, work] {
        let sent = desk.send("team-lead", "front.sessions.laptop", payload);
        carry(&[&laptop, &desk]);
        assert_eq!(desk.stage(&sent.id), Stage::Failed, "{payload}");
    }
    assert!(laptop.mail_in(&sessions(), &front).is_empty());
}

#[test]
fn a_message_and_its_answer_can_be_taken_back_and_acknowledged() {
    let (laptop, desk) = laptop_and_desk();
    let front = mailbox(&laptop, "front");
    let (front, sessions) = (name(&front), sessions());
    let sent = write(&laptop, (&sessions, front.as_str()), "first").unwrap();
    carry(&[&laptop, &desk]);
    let answered = reply(&desk, "bob", &sent.id, "too early");
    carry(&[&laptop, &desk]);
    desk.office.recall(Some(&team()), &name("bob"), &answered.id).unwrap();
    carry(&[&laptop, &desk]);
    carry(&[&laptop, &desk]);
    assert!(laptop.mail_in(&sessions, front.as_str()).is_empty());
    assert_eq!(desk.stage(&answered.id), Stage::Recalled);
    let wrong = write(&laptop, (&sessions, front.as_str()), "a mistake").unwrap();
    carry(&[&laptop, &desk]);
    laptop.office.recall(None, &front, &wrong.id).unwrap();
    carry(&[&laptop, &desk]);
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["first"]);
    assert_eq!(laptop.stage(&wrong.id), Stage::Recalled);
    let letter = Letter {
        ack_by: Some(Duration::from_secs(60)),
        ..Letter::new("bob@demo".parse().unwrap(), "say that you know")
    };
    let asked = laptop.office.send(&sessions, &front, &letter, SendOptions::default()).unwrap();
    carry(&[&laptop, &desk]);
    desk.office.ack(&team(), &name("bob"), &asked.id, None, SendOptions::default()).unwrap();
    carry(&[&laptop, &desk]);
    carry(&[&laptop, &desk]);
    assert_eq!((laptop.stage(&asked.id), desk.stage(&asked.id)), (Stage::Acked, Stage::Acked));
}

#[test]
fn what_is_brought_again_is_known_and_written_once() {
    let (laptop, desk) = laptop_and_desk();
    let front = mailbox(&laptop, "front");
    let sent = write(&laptop, (&sessions(), &front), "hello").unwrap();
    carry(&[&laptop, &desk]);
    let answered = reply(&desk, "bob", &sent.id, "hello yourself");
    for round in 0..3 {
        let taken = laptop.take_from(&desk);
        assert_eq!(matches!(taken[0], TakenIn::Known(_)), round > 0, "{taken:?}");
        let asked = (team(), "front.sessions".to_owned(), answered.id.clone());
        assert_eq!(laptop.office.machines().known(&[asked]).unwrap(), [true]);
    }
    assert_eq!(texts_in(&laptop, &sessions(), &front), ["hello yourself"]);
    desk.confirm(&laptop, &laptop.receipts());
    assert_eq!(desk.stage(&answered.id), Stage::Queued, "no session works there now");
}

#[test]
fn long_names_are_shortened_on_the_way_and_answers_find_back() {
    let (laptop, desk) = laptop_and_desk();
    let long = "the-frontend-of-the-shop-that-everybody-knows";
    let names = [mailbox(&laptop, &format!("{long}-1")), mailbox(&laptop, &format!("{long}-2"))];
    for mailbox in &names {
        let sent = write(&laptop, (&sessions(), mailbox), mailbox).unwrap();
        carry(&[&laptop, &desk]);
        reply(&desk, "bob", &sent.id, mailbox);
        carry(&[&laptop, &desk]);
        assert_eq!(texts_in(&laptop, &sessions(), mailbox), [mailbox.as_str()]);
    }
    let senders = senders(&desk, "bob");
    assert!(senders[0] != senders[1], "{senders:?}");
    assert!(
        senders
            .iter()
            .all(|sender| sender.starts_with("the-frontend") && sender.ends_with(".sessions.laptop"))
    );
}

#[test]
fn a_name_that_would_mean_somebody_else_is_refused_where_it_is_sent() {
    let (laptop, desk, third) = (
        Machine::new("laptop", &["alice"]),
        Machine::new("desk", &["bob"]),
        Machine::new("sessions", &["sam"]),
    );
    introduce(&[&laptop, &desk, &third]);
    let front = mailbox(&laptop, "front");
    let error = write(&laptop, (&sessions(), &front), "hello").unwrap_err();
    assert_eq!(
        error.to_string(),
        "bob is on machine desk: front of team sessions would be front.sessions there, which means another one in team demo"
    );
    assert!(laptop.outgoing().is_empty());
}

/// A config that is being edited by hand, or a disk that is away for a moment: the answer had failed for good.
#[test]
fn an_answer_waits_while_its_recipients_team_cannot_be_read() {
    let (laptop, desk) = laptop_and_desk();
    let ops = make_ops(&laptop);
    let sent = write(&laptop, (&ops, "eve"), "who broke it?").unwrap();
    carry(&[&laptop, &desk]);
    let answered = reply(&desk, "bob", &sent.id, "me");
    let config = laptop.file("../ops/config.json");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, "{").unwrap();
    assert!(laptop.try_take_from(&desk).remove(0).is_err(), "it is no verdict");
    assert_eq!(desk.stage(&answered.id), Stage::Accepted);
    fs::write(&config, text).unwrap();
    carry(&[&laptop, &desk]);
    assert_eq!(texts_in(&laptop, &ops, "eve"), ["me"]);
    assert_eq!(desk.stage(&answered.id), Stage::Written);
}

#[test]
fn a_team_that_cannot_be_read_holds_up_no_answer_for_another_one() {
    let (laptop, desk) = laptop_and_desk();
    let (front, _ops) = (mailbox(&laptop, "front"), make_ops(&laptop));
    let sent = write(&laptop, (&sessions(), &front), "hello").unwrap();
    carry(&[&laptop, &desk]);
    reply(&desk, "bob", &sent.id, "hello yourself");
    desk.send("bob", "nobody.sessions.laptop", "hello");
    fs::write(laptop.file("../ops/config.json"), "{").unwrap();
    let taken = laptop.take_from(&desk);
    assert!(matches!(taken[..], [TakenIn::Written(_), TakenIn::Refused(_)]), "{taken:?}");
    assert_eq!(texts_in(&laptop, &sessions(), &front), ["hello yourself"]);
}

/// As local mail for one whose mailbox is there: it waits for whoever has the name next.
#[test]
fn an_answer_for_one_who_left_its_team_waits_in_its_mailbox() {
    let (laptop, desk) = laptop_and_desk();
    let ops = make_ops(&laptop);
    let sent = write(&laptop, (&ops, "eve"), "who broke it?").unwrap();
    carry(&[&laptop, &desk]);
    let answered = reply(&desk, "bob", &sent.id, "me");
    laptop.office.remove_member(&ops, &name("eve")).unwrap();
    carry(&[&laptop, &desk]);
    assert_eq!(texts_in(&laptop, &ops, "eve"), ["me"]);
    assert_eq!(desk.stage(&answered.id), Stage::Queued);
}

#[test]
fn an_answer_for_a_folder_whose_mailbox_is_gone_makes_it_again() {
    let (laptop, desk) = laptop_and_desk();
    let front = mailbox(&laptop, "front");
    let sent = write(&laptop, (&sessions(), &front), "hello").unwrap();
    carry(&[&laptop, &desk]);
    let answered = reply(&desk, "bob", &sent.id, "hello yourself");
    fs::remove_dir_all(laptop.file("../sessions")).unwrap();
    carry(&[&laptop, &desk]);
    assert_eq!(texts_in(&laptop, &sessions(), &front), ["hello yourself"]);
    assert_eq!(desk.stage(&answered.id), Stage::Queued, "no session works there now");
}

#[test]
fn an_answer_for_a_team_that_was_deleted_has_failed_and_says_why() {
    let (laptop, desk) = laptop_and_desk();
    let ops = make_ops(&laptop);
    let sent = write(&laptop, (&ops, "eve"), "who broke it?").unwrap();
    carry(&[&laptop, &desk]);
    let answered = reply(&desk, "bob", &sent.id, "me");
    fs::remove_dir_all(laptop.file("../ops")).unwrap();
    let taken = laptop.take_from(&desk);
    let TakenIn::Refused(receipt) = &taken[0] else { panic!("{taken:?}") };
    assert_eq!(receipt.evidence.what, "refused: the team ops of eve is not here any more");
    desk.confirm(&laptop, &said(&taken));
    assert_eq!(desk.stage(&answered.id), Stage::Failed);
}
