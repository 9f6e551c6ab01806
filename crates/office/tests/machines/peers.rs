//! Members of other machines in Claude Code's own list of agents, and what its send tool writes to them.

use std::fs;

use atm_clients::claude::peer_frame::Message;
use atm_office::machines::{RemoteMember, Stage};
use atm_office::sessions::peers::Peer;
use atm_support::SessionDouble;

use crate::world::{Machine, carry, laptop_and_desk, reply, sessions, team};

const SESSION: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";

/// A session of Claude Code on this machine: this process is its client.
fn session(machine: &Machine) -> SessionDouble {
    let home = machine.file("../../..");
    let folder = home.join("front");
    fs::create_dir_all(&folder).unwrap();
    SessionDouble::start(machine.office.root().path(), &folder, &home.join("socks"), SESSION)
}

/// The session leads the team.
fn make_lead(machine: &Machine) {
    let config = machine.config();
    let named = config.replacen('{', &format!("{{\"leadSessionId\":\"{SESSION}\","), 1);
    fs::write(machine.file("config.json"), named).unwrap();
}

fn announce(machine: &Machine, states: &[(&str, &str)]) {
    let member = |(name, state): &(&str, &str)| RemoteMember {
        name: (*name).to_owned(),
        machine: "desk".parse().unwrap(),
        is_lead: *name == "team-lead",
        holds_name: false,
        state: (*state).to_owned(),
        seen_at: None,
        epoch: None,
    };
    let members: Vec<RemoteMember> = states.iter().map(member).collect();
    machine.office.machines().set_members(&team(), &members).unwrap();
}

fn titles(machine: &Machine) -> Vec<String> {
    machine.office.peers().unwrap().into_iter().map(|peer| peer.title).collect()
}

fn peer(machine: &Machine, name: &str) -> Peer {
    let peers = machine.office.peers().unwrap();
    peers.into_iter().find(|peer| peer.title.starts_with(name)).unwrap()
}

fn frame(text: &str) -> Message {
    Message { id: Some("6f9619ff-8b86-4011-b42d-00c04fc964ff".to_owned()), text: text.to_owned(), files: 0 }
}

fn own_pid() -> u64 {
    u64::from(std::process::id())
}

#[test]
fn those_whose_machine_says_that_they_are_there_are_listed_with_it() {
    let (laptop, _desk) = laptop_and_desk();
    announce(
        &laptop,
        &[
            ("bob", "idle"),
            ("eve", "online"),
            ("team-lead", "stalled"),
            ("off", "offline"),
            ("mist", "unknown"),
        ],
    );
    let bridge = laptop.office.machines().serve().unwrap();
    assert!(titles(&laptop).is_empty(), "no client runs that could show them");
    let _session = session(&laptop);
    let expected = [
        "bob (machine desk, team demo)",
        "eve (machine desk, team demo)",
        "team-lead.desk (machine desk, team demo)",
    ];
    assert_eq!(titles(&laptop), expected);
    announce(&laptop, &[("bob", "offline"), ("eve", "online")]);
    assert_eq!(titles(&laptop), ["eve (machine desk, team demo)"]);
    drop(bridge);
    assert!(titles(&laptop).is_empty(), "without a bridge nobody knows who is there");
}

#[test]
fn what_a_session_of_the_team_writes_to_one_waits_in_the_log_and_is_carried() {
    let (laptop, desk) = laptop_and_desk();
    make_lead(&laptop);
    announce(&laptop, &[("bob", "online")]);
    let _bridge = laptop.office.machines().serve().unwrap();
    let _session = session(&laptop);
    let bob = peer(&laptop, "bob");
    let message = frame("is the build green?");
    let sent = laptop.office.receive_for_peer(&bob, &message, Some(own_pid())).unwrap();
    assert_eq!(laptop.stage(&sent.id), Stage::Accepted);
    assert!(laptop.texts("bob").is_empty(), "nobody writes it into a file here");
    // The same frame again.
    laptop.office.receive_for_peer(&bob, &message, Some(own_pid())).unwrap();
    assert_eq!(laptop.outgoing().len(), 1);
    carry(&[&laptop, &desk]);
    let mail = desk.inbox("bob");
    let said: Vec<(&str, &str)> = mail.iter().map(|mail| (mail.from.as_str(), mail.text.as_str())).collect();
    assert_eq!(said, [("team-lead.laptop", "is the build green?")]);
    assert_eq!(laptop.stage(&sent.id), Stage::Written);
}

/// The list is one for all sessions of a user, so everybody who sees it is carried.
#[test]
fn what_a_session_outside_of_the_team_writes_to_one_is_carried_from_that_session_and_can_be_answered() {
    let (laptop, desk) = laptop_and_desk();
    announce(&laptop, &[("bob", "online")]);
    let _bridge = laptop.office.machines().serve().unwrap();
    let _session = session(&laptop);
    let bob = peer(&laptop, "bob");
    let message = frame("is the build green?");
    let sent = laptop.office.receive_for_peer(&bob, &message, Some(own_pid())).unwrap();
    assert_eq!((sent.from.as_str(), laptop.stage(&sent.id)), ("front", Stage::Accepted));
    laptop.office.receive_for_peer(&bob, &message, Some(own_pid())).unwrap();
    assert_eq!(laptop.outgoing().len(), 1, "the same frame again");
    carry(&[&laptop, &desk]);
    let mail = desk.inbox("bob");
    let said: Vec<(&str, &str)> = mail.iter().map(|mail| (mail.from.as_str(), mail.text.as_str())).collect();
    assert_eq!(said, [("front.sessions.laptop", "is the build green?")]);
    assert_eq!(laptop.stage(&sent.id), Stage::Written);
    let answered = reply(&desk, "bob", &mail[0].id, "since noon");
    carry(&[&laptop, &desk]);
    let answer = laptop.mail_in(&sessions(), "front");
    assert_eq!((answer.len(), answer[0].from.as_str(), answer[0].text.as_str()), (1, "bob", "since noon"));
    assert_eq!(answer[0].ours().origin.as_deref(), Some("demo"));
    assert_eq!((laptop.stage(&sent.id), desk.stage(&answered.id)), (Stage::Done, Stage::Written));
}

#[test]
fn a_sender_that_cannot_be_told_is_carried_as_such() {
    let (laptop, desk) = laptop_and_desk();
    announce(&laptop, &[("bob", "online")]);
    let _bridge = laptop.office.machines().serve().unwrap();
    let _session = session(&laptop);
    laptop.office.receive_for_peer(&peer(&laptop, "bob"), &frame("hello"), None).unwrap();
    carry(&[&laptop, &desk]);
    let mail = desk.inbox("bob");
    assert_eq!(mail[0].from, "unknown.laptop");
    assert_eq!(mail[0].text, "[atm cannot tell who wrote this: no session that it knows]\nhello");
    let answered = reply(&desk, "bob", &mail[0].id, "who are you?");
    carry(&[&laptop, &desk]);
    assert_eq!(desk.stage(&answered.id), Stage::Failed, "it does not wait for ever");
}
