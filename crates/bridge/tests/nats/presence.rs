//! What machines say of themselves: heard again after every trouble, and nothing old.

use std::time::Duration;

use atm_bridge::engine::Identity;
use atm_bridge::envelope::codec::encode;
use atm_bridge::envelope::{Body, Envelope, Header, Presence, SharedMember, SharedTeam};
use atm_bridge::files::Files;
use atm_bridge::keys;
use atm_bridge::nats::{Link, Names, Options, connect};
use atm_office::clock::{Clock, SystemClock};
use atm_office::people::members::MemberPlan;
use atm_office::protocol::report::Alive;
use atm_support::wait_until;
use atm_wire::Stamp;

use super::crossing::object_bytes;
use super::server::{Proxy, Server};
use super::world::{Machine, TEAM, introduce, name, pair, team};

/// A connection of a machine whose bridge is the test itself.
struct Voice {
    runtime: tokio::runtime::Runtime,
    link: Link,
    me: Identity,
}

impl Voice {
    fn of(machine: &str, server: &Server) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = Options { servers: vec![server.url()], ..Options::default() };
        let (up, _) = tokio::sync::mpsc::unbounded_channel();
        let me =
            Identity { realm: "home".parse().unwrap(), machine: machine.parse().unwrap(), epoch: "e".into() };
        let client = runtime.block_on(connect(&options, &me.realm, &me.machine, false, up)).unwrap();
        let link = runtime.block_on(async { Link::new(client, me.realm.clone(), me.machine.clone()) });
        Self { runtime, link, me }
    }

    /// Says, at this time, that these are the machine's members.
    fn announce(&self, machine: &Machine, members: &[&str], at: Stamp, stays: bool) {
        let members = members.iter().map(|name| SharedMember {
            name: (*name).to_owned(),
            lead: false,
            state: "online".into(),
            epoch: None,
        });
        let teams = vec![SharedTeam { name: TEAM.into(), members: members.collect() }];
        let header = Header {
            realm: self.me.realm.clone(),
            from: self.me.machine.clone(),
            to: None,
            epoch: self.me.epoch.clone(),
            n: 0,
            attempt: 1,
            at,
        };
        let envelope = Envelope { header, body: Body::Presence(Presence { passed: None, teams }) };
        let key = keys::load_or_create(&Files::of(&machine.env().state()).key()).unwrap();
        let bytes = encode(&envelope, &key, None).unwrap();
        self.runtime.block_on(self.link.announce(bytes, stays)).unwrap();
    }
}

fn ago(seconds: u64) -> Stamp {
    SystemClock.now().saturating_sub(Duration::from_secs(seconds))
}

/// A bucket that was made anew has lower numbers than those that were heard before.
#[test]
fn members_are_heard_of_after_the_server_lost_its_disk() {
    let mut server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    let voice = Voice::of("other", &server);
    let names = Names::of(&voice.me.realm);
    voice.runtime.block_on(async {
        for _ in 0..500 {
            for bucket in [&names.machines, &names.presence] {
                let subject = format!("$KV.{bucket}.other");
                voice.link.context().publish(subject, "x".into()).await.unwrap().await.unwrap();
            }
        }
    });
    drop(voice);
    server.lose_disk();
    hub.office.add_member(&team(), &MemberPlan::new("eve")).unwrap();
    laptop.wait_for_member("eve");
    wait_until("hub is there", || laptop.status()["machines"]["hub"]["present"] == true);
}

/// Its last word was refused when it was heard.
#[test]
fn a_machine_that_is_off_when_it_is_trusted_is_known_at_once() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    let mut hub = Machine::new("hub", &server.url(), &["bob"]);
    laptop.start();
    hub.start();
    wait_until("hub has spoken", || laptop.status()["tally"]["refused"]["untrusted"].as_u64() >= Some(2));
    hub.kill();
    introduce(&[&laptop, &hub]);
    laptop.wait_for_member("bob");
}

/// A hub that knows ann and zoe of laptop, whose bridge is the test itself.
fn hub_that_heard_laptop(server: &Server) -> (Machine, Machine, Voice) {
    let laptop = Machine::new("laptop", &server.url(), &["ann"]);
    let mut hub = Machine::new("hub", &server.url(), &["bob"]);
    hub.trust(&laptop, &[]);
    hub.start();
    wait_until("hub is connected", || !hub.status()["stream"].is_null());
    let voice = Voice::of("laptop", server);
    voice.announce(&laptop, &["ann", "zoe"], ago(0), true);
    hub.wait_for_member("zoe");
    (laptop, hub, voice)
}

/// Something later of another machine is heard: what was said before it was heard, too.
fn hears(hub: &Machine, server: &Server, stays: bool) {
    let desk = Machine::new("desk", &server.url(), &[]);
    hub.trust(&desk, &[]);
    Voice::of("desk", server).announce(&desk, &["dora"], ago(0), stays);
    hub.wait_for_member("dora");
}

#[test]
fn an_old_list_of_members_is_not_believed_after_a_restart() {
    let server = Server::new();
    let (laptop, mut hub, voice) = hub_that_heard_laptop(&server);
    let memory = Files::of(&hub.env().state()).memory();
    wait_until("it is remembered", || {
        std::fs::read_to_string(&memory).is_ok_and(|text| text.contains("zoe"))
    });
    hub.kill();
    voice.announce(&laptop, &["ann"], ago(600), true);
    hub.start();
    hears(&hub, &server, true);
    assert!(hub.knows("zoe"));
}

#[test]
fn an_old_heartbeat_takes_no_members_away() {
    let server = Server::new();
    let (laptop, hub, voice) = hub_that_heard_laptop(&server);
    voice.announce(&laptop, &["ann"], ago(60), false);
    hears(&hub, &server, false);
    assert!(hub.knows("zoe"));
}

#[test]
fn a_machine_whose_clock_was_set_back_is_heard() {
    let server = Server::new();
    let (mut laptop, hub, voice) = hub_that_heard_laptop(&server);
    let tomorrow = SystemClock.now().saturating_add(Duration::from_secs(86_400));
    for stays in [true, false] {
        voice.announce(&laptop, &["zora"], tomorrow, stays);
    }
    hub.wait_for_member("zora");
    laptop.trust(&hub, &[]);
    laptop.start();
    hub.wait_for_member("ann");
}

/// Its members stood as they were when it was last heard.
#[test]
fn a_machine_whose_bridge_is_killed_is_away_and_its_members_are_offline_until_it_is_back() {
    let server = Server::new();
    let (laptop, mut hub) = pair(&server.url(), &server.url());
    let is_there = || laptop.status()["machines"]["hub"]["present"] == true;
    let is_offline = || {
        let members = laptop.office.members(&team()).unwrap();
        members.iter().any(|member| member.name == "bob" && member.state.as_str() == "offline")
    };
    wait_until("hub is there", is_there);
    // He is whatever his own machine says; what it says last is that he is there.
    hub.office.team(&team()).unwrap().heartbeat(&name("bob"), &Alive::default()).unwrap();
    wait_until("bob is there", || !is_offline());
    hub.kill();
    wait_until("hub is away", || !is_there());
    wait_until("bob is offline", is_offline);
    assert_eq!(laptop.json(&["machines"])[0]["state"], "away");
    hub.start();
    wait_until("hub is back", is_there);
    wait_until("bob is back", || !is_offline());
}

/// Its heartbeats waited until the whole of a large letter was uploaded: all others called it away.
#[test]
fn a_machine_is_heard_while_it_uploads_a_large_letter_over_a_slow_line() {
    let server = Server::start_with("max_payload: 262144");
    let line = Proxy::to(server.port());
    let (laptop, hub) = pair(&line.url(), &server.url());
    let beats = |voice: &Voice| {
        let key = format!("$KV.{}.laptop", Names::of(&voice.me.realm).presence);
        let bucket = format!("KV_{}", Names::of(&voice.me.realm).presence);
        voice.runtime.block_on(async {
            let stream = voice.link.context().get_stream(bucket).await.unwrap();
            stream.get_last_raw_message_by_subject(&key).await.map_or(0, |beat| beat.sequence)
        })
    };
    let voice = Voice::of("other", &server);
    line.slow_down(64 << 10);
    let text = "a very long report ".repeat(400_000);
    laptop.send("ann", "bob", &text);
    wait_until("its upload has begun", || object_bytes(&server.url()) > 100_000);
    for _ in 0..2 {
        let before = beats(&voice);
        wait_until("laptop says that it is there", || beats(&voice) > before);
    }
    let uploaded = object_bytes(&server.url());
    assert!(uploaded < 6_000_000, "it is still under way: {uploaded}");
    assert_eq!(hub.status()["machines"]["laptop"]["present"], true);
    line.slow_down(0);
    wait_until("it is in bob's file", || hub.texts("bob") == [text.as_str()]);
}
