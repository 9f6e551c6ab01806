//! What members of other machines are called, and answers that find their way back.

use std::time::Duration;

use atm_office::machines::Stage;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::members::MemberPlan;
use atm_office::sessions::Sender;
use serde_json::{Map, json};

use crate::world::{Machine, carry, introduce, laptop_and_desk, name, team};

fn entries(machine: &Machine) -> Vec<String> {
    let config: serde_json::Value = serde_json::from_str(&machine.config()).unwrap();
    let members = config["members"].as_array().unwrap();
    let marked = members.iter().filter(|member| !member["metadata"]["atm"]["machine"].is_null());
    marked.map(|member| member["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn leads_and_names_held_twice_carry_their_machine() {
    let (laptop, desk) = (Machine::new("laptop", &["alice", "sam"]), Machine::new("desk", &["bob", "sam"]));
    introduce(&[&laptop, &desk]);
    assert_eq!(entries(&laptop), ["team-lead.desk", "bob", "sam.desk"]);
    assert_eq!(entries(&desk), ["team-lead.laptop", "alice", "sam.laptop"]);
    // A third machine sees two of that name.
    let cloud = Machine::new("cloud", &[]);
    introduce(&[&laptop, &desk, &cloud]);
    assert_eq!(
        entries(&cloud),
        ["team-lead.laptop", "alice", "sam.laptop", "team-lead.desk", "bob", "sam.desk"]
    );
    let config: serde_json::Value = serde_json::from_str(&laptop.config()).unwrap();
    for member in config["members"].as_array().unwrap() {
        if !member["metadata"]["atm"]["machine"].is_null() {
            assert_eq!(member["tmuxPaneId"], "");
        }
    }
    laptop.office.machines().unshare(&team()).unwrap();
    assert!(entries(&laptop).is_empty());
    assert!(!laptop.file("inboxes/bob.json").exists() && !laptop.file("inboxes/sam-desk.json").exists());
    assert!(laptop.file("inboxes/sam.json").exists());
}

#[test]
fn a_name_that_another_machine_holds_is_refused_here_clearly() {
    let (laptop, _desk) = laptop_and_desk();
    let error = laptop.office.add_member(&team(), &MemberPlan::new("bob")).unwrap_err();
    assert_eq!(error.to_string(), "member bob of team demo, on machine desk, exists already");
}

#[test]
fn the_leads_and_users_of_two_machines_write_to_each_other() {
    let (laptop, desk) = laptop_and_desk();
    let asked = laptop.send("user", "team-lead.desk", "how is it going?");
    carry(&[&laptop, &desk]);
    let mail = desk.inbox("team-lead");
    assert_eq!(mail[0].from, "user.laptop");
    let answer = desk
        .office
        .team(&team())
        .unwrap()
        .reply(&name("team-lead"), &mail[0].id, |to| Letter::new(to, "well"), SendOptions::default())
        .unwrap();
    assert_eq!(answer.to, "user.laptop");
    carry(&[&laptop, &desk]);
    assert_eq!(laptop.inbox("user")[0].from, "team-lead.desk");
    assert_eq!(laptop.texts("user"), ["well"]);
    assert_eq!(laptop.stage(&asked.id), Stage::Done);
    assert_eq!(desk.stage(&asked.id), Stage::Done);
}

#[test]
fn a_member_may_be_named_with_its_machine_where_its_name_would_do() {
    let (laptop, desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob.desk", "hi");
    assert_eq!(sent.to, "bob");
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["hi"]);
    let error = laptop.try_send("alice", "bob.cloud", "hi").unwrap_err();
    assert_eq!(error.code(), "no_such_member", "there is no such machine");
}

#[test]
fn acknowledgments_and_answers_to_requests_cross_machines() {
    let (laptop, desk) = laptop_and_desk();
    let (alice, bob) = (name("alice"), name("bob"));
    let letter =
        Letter { ack_by: Some(Duration::from_secs(60)), ..Letter::new("bob".parse().unwrap(), "ack me") };
    let sent = laptop.office.send(&team(), &alice, &letter, SendOptions::default()).unwrap();
    carry(&[&laptop, &desk]);
    desk.office.ack(&team(), &bob, &sent.id, None, SendOptions::default()).unwrap();
    carry(&[&laptop, &desk]);
    carry(&[&laptop, &desk]);
    assert_eq!(laptop.stage(&sent.id), Stage::Acked);
    assert_eq!(desk.stage(&sent.id), Stage::Acked);

    let data = Map::from_iter([("taskId".to_owned(), json!("7"))]);
    let handle = laptop.office.team(&team()).unwrap();
    let (request, asked) = handle
        .request(&alice, "bob".parse().unwrap(), "task_status_request", data, SendOptions::default())
        .unwrap();
    carry(&[&laptop, &desk]);
    let data = Map::from_iter([("progress".to_owned(), json!(60))]);
    desk.office.team(&team()).unwrap().respond(&bob, &request, data, SendOptions::default()).unwrap();
    carry(&[&laptop, &desk]);
    let answer = laptop
        .office
        .team(&team())
        .unwrap()
        .wait_for_answer(&alice, &bob, &request, Duration::from_secs(30))
        .unwrap();
    assert!(answer.text.contains("\"progress\":60"), "{}", answer.text);
    assert_eq!(laptop.stage(&asked.id), Stage::Done);
}

#[test]
fn a_sender_that_a_machine_does_not_hold_does_not_get_the_name_of_one_that_another_holds() {
    let (laptop, desk, cloud) =
        (Machine::new("laptop", &["alice"]), Machine::new("desk", &["bob"]), Machine::new("cloud", &["eve"]));
    introduce(&[&laptop, &desk, &cloud]);
    // Somebody on the cloud machine signs as Alice of the laptop.
    let letter = Letter::new("bob".parse().unwrap(), "transfer everything");
    cloud.office.send(&team(), &name("alice"), &letter, SendOptions::default()).unwrap();
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(desk.inbox("bob")[0].from, "alice.cloud");
}

#[test]
fn a_letter_that_is_brought_again_is_known_also_if_its_sender_has_another_name_by_now() {
    let (laptop, desk, cloud) = (
        Machine::new("laptop", &["alice"]),
        Machine::new("desk", &["bob"]),
        Machine::new("cloud", &["alice"]),
    );
    introduce(&[&laptop, &desk]);
    let sent = laptop.send("alice", "bob", "hi");
    assert!(matches!(desk.take_from(&laptop)[0], atm_office::machines::TakenIn::Written(_)));
    introduce(&[&laptop, &desk, &cloud]);
    assert_eq!(entries(&desk), ["team-lead.laptop", "alice.laptop", "team-lead.cloud", "alice.cloud"]);
    assert!(matches!(desk.take_from(&laptop)[0], atm_office::machines::TakenIn::Known(_)));
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(laptop.stage(&sent.id), Stage::Written);
    // What was sent to somebody under a name that is another's by now goes to the one who was meant.
    let (carl, eve) = (Machine::new("carl", &["sam"]), Machine::new("eve", &["ann"]));
    introduce(&[&carl, &eve]);
    eve.send("ann", "sam", "for the one on carl");
    let third = Machine::new("third", &["sam"]);
    introduce(&[&carl, &eve, &third]);
    carry(&[&carl, &eve, &third]);
    assert_eq!((carl.texts("sam").len(), third.texts("sam").len()), (1, 0));
}

#[test]
fn a_name_that_its_machine_lists_nowhere_is_a_members_and_no_sessions() {
    let (laptop, _desk) = laptop_and_desk();
    for to in ["user.desk", "front.sessions.desk", "bob.desk"] {
        let sender = Sender { team: Ok(team()), names_team: false, is_named: false, session: None };
        let route = laptop.office.route(sender, to.parse().unwrap(), false).unwrap();
        assert_eq!((route.team.name(), route.to.name.as_str()), (&team(), to));
    }
}
