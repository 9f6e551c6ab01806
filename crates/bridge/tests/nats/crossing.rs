//! Mail from one machine to another, and what becomes of it on its way home.

use std::time::Duration;

use atm_bridge::nats::setup::Limits;
use atm_bridge::nats::{Link, Names, Options, connect};
use atm_ledger::Stage;
use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, introduce, name, pair, team};

#[test]
fn a_letter_crosses_and_its_stages_come_home() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    let sent = laptop.send("ann", "bob", "please look at the build");
    wait_until("it is in bob's file", || hub.texts("bob") == ["please look at the build"]);
    wait_until("laptop knows that it is written", || laptop.stage(&sent.id) == "written");
    let reading = hub.office.begin_read(&team(), &name("bob"), usize::MAX).unwrap();
    assert_eq!(reading.messages()[0].from, "ann");
    reading.confirm().unwrap();
    let stage = laptop.office.wait_for_stage(&team(), &sent.id, Stage::Seen, Duration::from_secs(30));
    assert!(stage.is_ok(), "{stage:?}");
    let track = laptop.office.track(Some(&team()), &sent.id).unwrap();
    let seen = track.stages.iter().find(|stage| stage.stage == Stage::Seen).unwrap();
    assert_eq!(seen.evidence.machine.as_ref().map(ToString::to_string).as_deref(), Some("hub"));
    assert_eq!(laptop.texts("bob"), Vec::<String>::new(), "atm writes no local copy for a remote member");
}

/// A client took it, and nobody runs a command or a daemon there.
#[test]
fn what_a_client_does_with_a_letter_comes_home_by_the_bridge_alone() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    let sent = laptop.send("ann", "bob", "please look at the build");
    wait_until("it is in bob's file", || hub.texts("bob").len() == 1);
    let path = hub.env().root().join("teams/demo/inboxes/bob.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("\"read\":false", "\"read\":true").replace("\"read\": false", "\"read\": true"),
    )
    .unwrap();
    wait_until("laptop knows that it is taken", || laptop.stage(&sent.id) == "taken");
}

#[test]
fn an_answer_comes_back_under_the_senders_name() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    laptop.send("ann", "bob", "one");
    wait_until("it is in bob's file", || hub.texts("bob").len() == 1);
    hub.send("bob", "ann", "two");
    wait_until("it is in ann's file", || laptop.texts("ann") == ["two"]);
}

#[test]
fn a_body_over_the_servers_limit_goes_through_the_object_store() {
    let server = Server::start_with("max_payload: 65536");
    let (laptop, hub) = pair(&server.url(), &server.url());
    let text = "a long report ".repeat(20_000);
    laptop.send("ann", "bob", &text);
    laptop.send("ann", "bob", "short");
    wait_until("both are in bob's file", || hub.texts("bob").len() == 2);
    assert_eq!(hub.texts("bob"), [text, "short".to_owned()]);
}

#[test]
fn three_machines_are_one_team() {
    let server = Server::new();
    let mut machines: Vec<Machine> = [("laptop", "ann"), ("hub", "bob"), ("desk", "eve")]
        .map(|(machine, member)| Machine::new(machine, &server.url(), &[member]))
        .into();
    introduce(&machines.iter().collect::<Vec<_>>());
    machines.iter_mut().for_each(Machine::start);
    for (machine, members) in machines.iter().zip([["bob", "eve"], ["ann", "eve"], ["ann", "bob"]]) {
        for member in members {
            machine.wait_for_member(member);
        }
    }
    for (machine, from) in machines.iter().zip(["ann", "bob", "eve"]) {
        for to in ["ann", "bob", "eve"].iter().filter(|to| **to != from) {
            machine.send(from, to, &format!("{from} to {to}"));
        }
    }
    for (machine, member) in machines.iter().zip(["ann", "bob", "eve"]) {
        wait_until(&format!("{member} has two letters"), || machine.texts(member).len() == 2);
    }
}

/// A link of laptop to a server.
async fn link_to(url: &str) -> Link {
    let options = Options { servers: vec![url.to_owned()], ..Options::default() };
    let (up, _) = tokio::sync::mpsc::unbounded_channel();
    let (realm, machine) = ("home".parse().unwrap(), "laptop".parse().unwrap());
    let client = connect(&options, &realm, &machine, false, up).await.unwrap();
    Link::new(client, realm, machine)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// How many bytes the object store has.
pub(crate) fn object_bytes(url: &str) -> u64 {
    runtime().block_on(async {
        let objects = Names::of(&"home".parse().unwrap()).objects;
        let link = link_to(url).await;
        let stream = link.context().get_stream(format!("OBJ_{objects}")).await.unwrap();
        stream.cached_info().state.bytes
    })
}

/// Every attempt left an object behind, nothing deleted one, and a store that was full took no large letter of anybody.
#[test]
fn many_large_letters_go_through_a_small_object_store_and_leave_nothing_there() {
    let server = Server::start_with("max_payload: 65536");
    runtime().block_on(async {
        let limits = Limits { max_bytes: 1 << 20, ..Limits::default() };
        link_to(&server.url()).await.init(limits).await.unwrap();
    });
    let (laptop, hub) = pair(&server.url(), &server.url());
    let texts: Vec<String> =
        (0..12).map(|number| format!("report {number} {}", "and so on ".repeat(20_000))).collect();
    // All of them together are more than the store takes; what is under way at once is not.
    for text in &texts {
        let sent = laptop.send("ann", "bob", text);
        wait_until("it is confirmed", || laptop.stage(&sent.id) == "written");
    }
    assert_eq!(hub.texts("bob"), texts);
    wait_until("nothing is left in the store", || object_bytes(&server.url()) < 20_000);
}
