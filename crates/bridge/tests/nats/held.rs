//! Entries in the bucket of homes that hold nobody for ever: of keys that were replaced, of machines that are trusted no more,
//! deleted, or no residence at all.

use std::fs;
use std::process::Stdio;

use atm_bridge::engine::Identity;
use atm_bridge::files::Files;
use atm_bridge::name::Realm;
use atm_bridge::nats::{Bucket, Link, Names, NatsError, Options, connect};
use atm_bridge::protocol::homes::{MemberKey, Resident};
use atm_bridge::{keys, residence};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_support::wait_until;
use atm_wire::{Stamp, TeamName};

use super::moving::{take, three};
use super::server::Server;
use super::world::Machine;

/// Waits until a letter of laptop is in bob's file on a machine, and confirmed.
fn arrives(laptop: &Machine, home: &Machine, text: &str) {
    let sent = laptop.send("ann", "bob", text);
    // One that is sent in the middle of the move is marked as sent while its recipient was off.
    wait_until("it is at its home", || home.texts("bob").iter().any(|found| found.ends_with(text)));
    wait_until("it is confirmed", || laptop.stage(&sent.id) == "written");
}

/// What somebody does who may write the bucket.
fn at_bucket<T>(server: &Server, act: impl AsyncFnOnce(Link, Bucket) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = Options { servers: vec![server.url()], ..Options::default() };
    let (realm, machine): (Realm, _) = ("home".parse().unwrap(), "hub".parse().unwrap());
    let (words, _) = tokio::sync::mpsc::unbounded_channel();
    runtime.block_on(async {
        let client = connect(&options, &realm, &machine, false, words).await.unwrap();
        let link = Link::new(client, realm.clone(), machine);
        let bucket = Bucket::open(&link, &Names::of(&realm).homes).await.unwrap();
        act(link, bucket).await
    })
}

#[test]
fn a_machine_that_lost_its_key_has_its_members_again() {
    let server = Server::new();
    let [laptop, mut hub, desk] = three(&server);
    take(&desk, "bob");
    wait_until("hub has given it up", || hub.machine_of("bob") == "desk");
    take(&hub, "bob");
    for machine in [&laptop, &desk] {
        machine.wait_for_home("bob", "hub", 3);
    }
    hub.kill();
    fs::remove_dir_all(hub.env().state().join("bridge")).unwrap();
    for other in [&laptop, &desk] {
        other.json(&["trust", "--remove", "hub"]);
        other.trust(&hub, &[]);
        hub.trust(other, &[]);
    }
    hub.start();
    wait_until("it is known again whom hub has", || laptop.machine_of("bob") == "hub");
    arrives(&laptop, &hub, "after the loss");
    // And it can be moved.
    take(&desk, "bob");
    for machine in [&laptop, &hub] {
        wait_until("all have heard of it", || machine.machine_of("bob") == "desk");
    }
    arrives(&laptop, &desk, "at another machine");
}

#[test]
fn a_machine_that_is_trusted_no_more_keeps_nobody() {
    let server = Server::new();
    let [laptop, hub, mut desk] = three(&server);
    take(&desk, "bob");
    wait_until("hub has given it up", || hub.machine_of("bob") == "desk");
    desk.kill();
    for machine in [&laptop, &hub] {
        machine.json(&["trust", "--remove", "desk"]);
    }
    assert_eq!(take(&hub, "bob")["epoch"], 3);
    laptop.wait_for_home("bob", "hub", 3);
    // He was on nobody's list for a moment.
    wait_until("laptop has him on its list", || laptop.machine_of("bob") == "hub");
    arrives(&laptop, &hub, "back at home");
}

#[test]
fn a_team_that_is_not_shared_for_a_while_keeps_its_homes() {
    let server = Server::new();
    let [_laptop, mut hub, _desk] = three(&server);
    hub.kill();
    let other: TeamName = "other".parse().unwrap();
    hub.office.create_team(&TeamPlan::new("other", "shared instead")).unwrap();
    hub.office.add_member(&other, &MemberPlan::new("zed")).unwrap();
    let mut bridge = hub.command(&hub.at_server(&["run", "--team", "other"]));
    let mut bridge = bridge.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let entry = |name: &str| {
        let name = name.to_owned();
        let found = at_bucket(&server, async |_, bucket| bucket.get(&name).await.unwrap());
        String::from_utf8(found.and_then(|found| found.value).unwrap_or_default()).unwrap()
    };
    // What it has to say of the team that it does not share would have come first.
    wait_until("it has said who is at home there", || entry("other.zed").contains("joined"));
    bridge.kill().unwrap();
    bridge.wait().unwrap();
    assert!(entry("demo.bob").contains("joined"), "{}", entry("demo.bob"));
}

#[test]
fn an_entry_that_was_deleted_or_is_no_residence_keeps_nobody_from_moving() {
    let server = Server::new();
    let [laptop, hub, desk] = three(&server);
    let key = keys::load_or_create(&Files::of(&hub.env().state()).key()).unwrap();
    at_bucket(&server, async |link, bucket| {
        let realm: Realm = "home".parse().unwrap();
        let me = Identity { realm: realm.clone(), machine: "hub".parse().unwrap(), epoch: "e".into() };
        // A trusted machine says so of a name that nobody can have.
        let nobody = MemberKey { team: "demo".into(), name: "../a".into() };
        let value = residence::sign(&me, &key, &nobody, (2, Resident::Unknown, &[]), Stamp::from_millis(1));
        bucket.put(&residence::entry_of(&nobody), value).await.unwrap();
        bucket.put("demo.eve", b"nonsense".to_vec()).await.unwrap();
        let store = link.context().get_key_value(&Names::of(&realm).homes).await.unwrap();
        store.delete("demo.bob").await.unwrap();
    });
    assert_eq!(take(&desk, "bob")["changed"], true);
    for machine in [&laptop, &hub] {
        wait_until("all have heard of it", || machine.machine_of("bob") == "desk");
    }
    arrives(&laptop, &desk, "at another machine");
    assert_eq!(take(&hub, "eve")["changed"], true);
    wait_until("desk has given it up", || desk.machine_of("eve") == "hub");
}

/// What is not answered may be done; what is refused is not.
#[test]
fn an_entry_that_the_server_refuses_is_known_to_be_refused() {
    let server = Server::new();
    let hub = Machine::new("hub", &server.url(), &["bob"]);
    hub.json(&["init", "--machine", "hub", "--nats", &server.url(), "--bucket-mib", "1"]);
    let second = at_bucket(&server, async |_, bucket| {
        bucket.set("demo.one", vec![b'x'; 600_000], 0).await.unwrap();
        bucket.set("demo.two", vec![b'x'; 600_000], 0).await
    });
    assert!(matches!(second, Err(NatsError::Refused { .. })), "{second:?}");
    let third = at_bucket(&server, async |_, bucket| bucket.set("demo..three", Vec::new(), 0).await);
    assert!(matches!(third, Err(NatsError::Refused { .. })), "{third:?}");
    let unanswered = at_bucket(&server, async |_, bucket| {
        server.hang();
        bucket.set("demo.four", Vec::new(), 0).await
    });
    assert!(matches!(unanswered, Err(NatsError::Request { .. })), "{unanswered:?}");
}
