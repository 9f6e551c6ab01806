//! Taking a message back: out of the file if it is unread, and nothing else changes.

use std::fs;

use atm_store::{Outbox, Recall, Recaller, Witnesses};
use atm_support::{TestTeam, draft};
use atm_wire::Draft;

use crate::scene::{array_team, log_team};

/// Writes down what it is told, and has it recorded or not.
#[derive(Debug, Default)]
struct Sender {
    outcome: Option<Recall>,
    recalled: Vec<String>,
    written: Vec<String>,
    forgets: bool,
}

impl Outbox for Sender {
    fn waiting(&mut self) -> Vec<Draft> {
        Vec::new()
    }

    fn written(&mut self, ids: &[String], _before: Option<&Witnesses>) -> bool {
        self.written.extend_from_slice(ids);
        true
    }

    fn recalled(&mut self, ids: &[String]) -> bool {
        self.recalled.extend_from_slice(ids);
        true
    }
}

impl Recaller for Sender {
    fn conclude(&mut self, outcome: Recall) -> bool {
        self.outcome = Some(outcome);
        !self.forgets
    }
}

fn recall(team: &TestTeam, id: &str, keeps: bool) -> Recall {
    let mut sender = Sender::default();
    let outcome = team.mailbox("bob").recall(id, keeps, &mut sender).unwrap();
    assert_eq!(sender.outcome, Some(outcome), "told inside the queue");
    outcome
}

/// In a log the copy that nobody had read was taken out, although its reader had the message; in an array it stayed.
#[test]
fn of_a_message_that_is_there_twice_one_copy_that_was_read_is_enough() {
    for team in [array_team(), log_team()] {
        let twice = draft("twice");
        team.mailbox("bob").append(std::slice::from_ref(&twice), false).unwrap();
        let read = team.mailbox("bob").list().unwrap().messages;
        team.mailbox("bob").mark_read(&read.iter().map(atm_store::Receipt::of).collect()).unwrap();
        copy_again(&team);
        assert_eq!(team.texts("bob"), ["twice", "twice"]);
        assert_eq!(recall(&team, &twice.id, false), Recall::Read);
        assert_eq!(team.texts("bob"), ["twice", "twice"]);
    }
}

/// Another program writes the message once more, unread.
fn copy_again(team: &TestTeam) {
    let file = team.mailbox("bob").file();
    let text = fs::read_to_string(&file).unwrap();
    let again = match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(serde_json::Value::Array(entries)) => {
            let mut unread = entries[0].clone();
            unread["read"] = false.into();
            serde_json::json!([entries[0], unread]).to_string()
        }
        _ => text.repeat(2),
    };
    fs::write(&file, again).unwrap();
}

#[test]
fn an_unread_message_goes_and_the_others_stay_as_they_are() {
    for team in [array_team(), log_team()] {
        let drafts = ["one", "two", "three"].map(draft);
        team.mailbox("bob").append(&drafts, false).unwrap();
        assert_eq!(recall(&team, &drafts[1].id, false), Recall::TakenOut);
        assert_eq!(team.texts("bob"), ["one", "three"]);
        assert_eq!(recall(&team, &drafts[1].id, false), Recall::Missing);
        assert!(team.env().set_aside().is_empty());
        // What comes after it is found by readers that count lines.
        team.mailbox("bob").append(&[draft("four")], false).unwrap();
        let read: Vec<_> =
            team.mailbox("bob").take(9).unwrap().messages.into_iter().map(|m| m.text).collect();
        assert_eq!(read, ["one", "three", "four"]);
    }
}

#[test]
fn what_was_read_stays() {
    for team in [array_team(), log_team()] {
        let drafts = ["one", "two"].map(draft);
        team.mailbox("bob").append(&drafts, false).unwrap();
        team.mailbox("bob").take(1).unwrap();
        let before = fs::read(team.mailbox("bob").file()).unwrap();
        assert_eq!(recall(&team, &drafts[0].id, false), Recall::Read);
        assert_eq!(fs::read(team.mailbox("bob").file()).unwrap(), before);
        assert_eq!(recall(&team, &drafts[1].id, false), Recall::TakenOut);
    }
}

#[test]
fn a_copy_is_kept_if_that_is_wanted() {
    for team in [array_team(), log_team()] {
        let one = draft("one");
        team.mailbox("bob").append(std::slice::from_ref(&one), false).unwrap();
        assert_eq!(recall(&team, &one.id, true), Recall::TakenOut);
        let [(_, bytes)] = team.env().set_aside().try_into().unwrap();
        assert!(String::from_utf8(bytes).unwrap().contains(&one.id));
    }
}

/// The queue's note says so, whether the message went by us or by its reader.
#[test]
fn who_comes_next_is_told_what_was_taken_out_and_not_recorded() {
    let team = array_team();
    let one = draft("one");
    team.mailbox("bob").append(std::slice::from_ref(&one), false).unwrap();
    let mut forgetful = Sender { forgets: true, ..Sender::default() };
    team.mailbox("bob").recall(&one.id, false, &mut forgetful).unwrap();
    let mut next = Sender::default();
    team.mailbox("bob").deliver(&mut next, false).unwrap();
    assert_eq!((next.recalled, next.written), (vec![one.id], vec![]));
    let mut last = Sender::default();
    team.mailbox("bob").deliver(&mut last, false).unwrap();
    assert!(last.recalled.is_empty(), "once");
}

#[test]
fn a_broken_array_is_an_error_and_stays() {
    let team = array_team();
    fs::write(team.inbox("bob"), "[{").unwrap();
    assert!(team.mailbox("bob").recall("x", false, &mut Sender::default()).is_err());
    assert_eq!(fs::read_to_string(team.inbox("bob")).unwrap(), "[{");
}
