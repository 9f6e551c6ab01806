//! Envelopes that are forged, altered, replayed, out of realm or unreadable: refused, counted and shown.

use async_nats::jetstream::message::PublishMessage;
use atm_bridge::envelope::codec::encode;
use atm_bridge::envelope::{Body, Envelope, Header};
use atm_bridge::files::Files;
use atm_bridge::keys;
use atm_bridge::local::Letter;
use atm_bridge::nats::{Link, Names, Options, connect};
use atm_bridge::subject;
use atm_office::clock::{Clock, SystemClock};
use atm_office::machines::RemoteMember;
use atm_support::wait_until;
use ed25519_dalek::SigningKey;

use super::server::Server;
use super::world::{Machine, team};

/// A hub that trusts laptop, whose bridge is the test itself.
pub(crate) struct Scene {
    /// It ends with the scene.
    _server: Server,
    /// The server's address, for hub.
    url: String,
    pub(crate) hub: Machine,
    pub(crate) laptop: Machine,
    link: Link,
    runtime: tokio::runtime::Runtime,
}

/// Laptop's use of the server at this address.
fn link(runtime: &tokio::runtime::Runtime, url: &str) -> Link {
    let options = Options { servers: vec![url.to_owned()], ..Options::default() };
    let (up, _) = tokio::sync::mpsc::unbounded_channel();
    let (realm, machine) = ("home".parse().unwrap(), "laptop".parse().unwrap());
    let client = runtime.block_on(connect(&options, &realm, &machine, false, up)).unwrap();
    runtime.block_on(async { Link::new(client, realm, machine) })
}

impl Scene {
    pub(crate) fn new() -> Self {
        let server = Server::new();
        let url = server.url();
        Self::at(server, &url, &url)
    }

    /// With a server that has users: the addresses for hub, and for laptop.
    pub(crate) fn at(server: Server, hub_url: &str, url: &str) -> Self {
        let laptop = Machine::new("laptop", url, &["ann"]);
        let mut hub = Machine::new("hub", hub_url, &["bob"]);
        hub.trust(&laptop, &[]);
        hub.start();
        wait_until("hub is connected", || !hub.status()["stream"].is_null());
        let bob = RemoteMember {
            name: "bob".into(),
            machine: "hub".parse().unwrap(),
            is_lead: false,
            holds_name: false,
            state: "online".into(),
            seen_at: None,
            epoch: None,
        };
        laptop.office.machines().set_members(&team(), &[bob]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let link = link(&runtime, url);
        Self { _server: server, url: hub_url.to_owned(), hub, laptop, link, runtime }
    }

    pub(crate) fn key(&self) -> SigningKey {
        keys::load_or_create(&Files::of(&self.laptop.env().state()).key()).unwrap()
    }

    /// A letter from ann to bob, as laptop's bridge would put it into an envelope.
    pub(crate) fn letter(&self, text: &str) -> Envelope {
        self.laptop.send("ann", "bob", text);
        let out = self.laptop.office.machines().outgoing(0, 100).unwrap().pop().unwrap();
        let letter = Letter {
            id: out.id,
            team: out.team.to_string(),
            to: out.to,
            from: out.from,
            from_lead: false,
            home: None,
            after: None,
            letter: out.letter,
        };
        let header = Header {
            realm: "home".parse().unwrap(),
            from: "laptop".parse().unwrap(),
            to: Some("hub".parse().unwrap()),
            epoch: self.laptop.office.machines().identity().unwrap().epoch,
            n: u64::try_from(out.n).unwrap(),
            attempt: 1,
            at: SystemClock.now(),
        };
        Envelope { header, body: Body::Letter(letter) }
    }

    pub(crate) fn publish_as(&self, machine: &str, bytes: Vec<u8>) {
        let (realm, hub) = ("home".parse().unwrap(), "hub".parse().unwrap());
        let subject = subject::other(&realm, &hub, &machine.parse().unwrap(), "letter");
        self.runtime
            .block_on(async { self.link.publish(subject, None, bytes).await.unwrap().await.unwrap() });
    }

    pub(crate) fn publish(&self, envelope: &Envelope) {
        self.publish_as("laptop", encode(envelope, &self.key(), None).unwrap());
    }

    /// What hub's bridge of an older version would have put among its dead letters.
    pub(crate) fn bury(&self, envelope: &Envelope, why: &str) {
        let (realm, hub, laptop) =
            ("home".parse().unwrap(), "hub".parse().unwrap(), "laptop".parse().unwrap());
        let message = PublishMessage::build()
            .payload(encode(envelope, &self.key(), None).unwrap().into())
            .header("Atm-Reason", why)
            .header("Atm-Subject", subject::other(&realm, &hub, &laptop, "letter").as_str());
        self.runtime.block_on(async {
            let dead = subject::dead(&realm, &hub);
            self.link.context().send_publish(dead, message).await.unwrap().await.unwrap();
        });
    }

    /// The same of one whose object is not there.
    pub(crate) fn bury_object(&self, object: &str, why: &str) {
        let (realm, hub) = ("home".parse().unwrap(), "hub".parse().unwrap());
        let message = PublishMessage::build().header("Atm-Reason", why).header("Atm-Object", object);
        self.runtime.block_on(async {
            let dead = subject::dead(&realm, &hub);
            self.link.context().send_publish(dead, message).await.unwrap().await.unwrap();
        });
    }

    /// The reason of hub's last dead letter, as the server has it.
    pub(crate) fn reason_at_server(&self) -> String {
        let (realm, hub) = ("home".parse().unwrap(), "hub".parse().unwrap());
        self.runtime.block_on(async {
            let stream = self.link.context().get_stream_no_info(Names::of(&realm).stream).await.unwrap();
            let found = stream.get_last_raw_message_by_subject(&subject::dead(&realm, &hub)).await.unwrap();
            found.headers.get("Atm-Reason").unwrap().to_string()
        })
    }

    /// Laptop was told that this letter cannot be taken in; its id.
    pub(crate) fn fail(&self, envelope: &Envelope) -> String {
        let Body::Letter(Letter { id, .. }) = &envelope.body else { panic!("a letter") };
        let machines = self.laptop.office.machines();
        let letters = machines.outgoing(0, 100).unwrap();
        let letter = letters.iter().find(|letter| letter.id == *id).unwrap();
        let receipt = machines.receipt_of_failure(letter, "its content cannot be read").unwrap();
        machines.confirm(&letter.machine, &[receipt]).unwrap();
        assert_eq!(self.laptop.stage(id), "failed");
        id.clone()
    }

    /// What `atm bridge dead` says on hub.
    pub(crate) fn dead(&self, words: &[&str]) -> serde_json::Value {
        self.hub.json(&[&["dead", "--machine", "hub", "--nats", &self.url()], words].concat())
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// The last envelope for hub, as whoever uses this address gets it from the stream.
    pub(crate) fn fetch_as(&self, url: &str) -> Option<Vec<u8>> {
        let (realm, hub) = ("home".parse().unwrap(), "hub".parse().unwrap());
        let (stream, subject) = (Names::of(&realm).stream, subject::to_machine(&realm, &hub));
        let link = link(&self.runtime, url);
        self.runtime.block_on(async {
            let stream = link.context().get_stream_no_info(stream).await.unwrap();
            stream.get_last_raw_message_by_subject(&subject).await.ok().map(|found| found.payload.to_vec())
        })
    }

    pub(crate) fn wait_for_refused(&self, why: &str, count: u64) {
        wait_until(&format!("{count} are refused as {why}"), || {
            self.hub.status()["tally"]["refused"][why].as_u64() == Some(count)
        });
    }

    /// A letter that is fine arrives: all before it were dealt with, and bob has these texts alone.
    pub(crate) fn expect_only(&self, texts: &[&str]) {
        let last = self.letter("the last one");
        self.publish(&last);
        wait_until("the last letter has arrived", || {
            self.hub.texts("bob").last().is_some_and(|text| text == "the last one")
        });
        let mut expected = texts.to_vec();
        expected.push("the last one");
        assert_eq!(self.hub.texts("bob"), expected);
    }
}

#[test]
fn forged_and_altered_envelopes_are_refused_and_counted() {
    let scene = Scene::new();
    let letter = scene.letter("never");
    let good = encode(&letter, &scene.key(), None).unwrap();
    scene.publish_as("laptop", b"not an envelope".to_vec());
    scene.wait_for_refused("malformed", 1);
    let stranger = SigningKey::from_bytes(&[9; 32]);
    scene.publish_as("laptop", encode(&letter, &stranger, None).unwrap());
    let mut altered = good.clone();
    *altered.last_mut().unwrap() ^= 1;
    scene.publish_as("laptop", altered);
    scene.wait_for_refused("altered", 2);
    let mut unknown = letter.clone();
    unknown.header.from = "eve".parse().unwrap();
    scene.publish_as("eve", encode(&unknown, &stranger, None).unwrap());
    scene.wait_for_refused("untrusted", 1);
    scene.publish_as("eve", good);
    scene.wait_for_refused("foreign-sender", 1);
    let mut other = letter.clone();
    other.header.realm = "work".parse().unwrap();
    scene.publish(&other);
    scene.wait_for_refused("other-realm", 1);
    let mut other = letter.clone();
    other.header.to = Some("desk".parse().unwrap());
    scene.publish(&other);
    scene.wait_for_refused("other-machine", 1);
    scene.publish_as("laptop", encode(&letter, &scene.key(), Some(&stranger.verifying_key())).unwrap());
    scene.wait_for_refused("sealed", 1);
    scene.expect_only(&[]);
}

#[test]
fn a_repetition_is_confirmed_again_and_a_replay_is_refused() {
    let scene = Scene::new();
    let letter = scene.letter("once");
    scene.publish(&letter);
    scene.publish(&letter);
    wait_until("the repetition is confirmed", || scene.hub.status()["tally"]["repeated"] == 1);
    let mut again = letter.clone();
    let Body::Letter(body) = &mut again.body else { panic!("a letter") };
    body.id = "01970000-0000-7000-8000-000000000001".into();
    scene.publish(&again);
    scene.wait_for_refused("replayed", 1);
    scene.expect_only(&["once"]);
}

#[test]
fn a_new_epoch_of_a_trusted_key_is_accepted_and_the_former_one_is_over() {
    let scene = Scene::new();
    scene.publish(&scene.letter("before"));
    let mut next = scene.letter("after");
    next.header.epoch = "e2".into();
    next.header.n = 1;
    scene.publish(&next);
    wait_until("both have arrived", || scene.hub.texts("bob") == ["before", "after"]);
    let late = scene.letter("too late");
    scene.publish(&late);
    scene.wait_for_refused("replayed", 1);
    assert_eq!(scene.hub.texts("bob"), ["before", "after"]);
}

/// The pieces of an object may be gone before what says that it is there: by age, by size, or by somebody's hand.
#[test]
fn an_object_without_its_pieces_holds_up_nobody() {
    let scene = Scene::new();
    let objects = Names::of(&"home".parse().unwrap()).objects;
    let (realm, hub, laptop) = ("home".parse().unwrap(), "hub".parse().unwrap(), "laptop".parse().unwrap());
    let subject = subject::other(&realm, &hub, &laptop, "letter");
    scene.runtime.block_on(async {
        let store = scene.link.context().get_object_store(&objects).await.unwrap();
        let info = store.put("big", &mut &b"some pieces"[..]).await.unwrap();
        let stream = scene.link.context().get_stream(format!("OBJ_{objects}")).await.unwrap();
        stream.purge().filter(format!("$O.{objects}.C.{}", info.nuid)).await.unwrap();
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Atm-Object", "big");
        let context = scene.link.context();
        context.publish_with_headers(subject, headers, "".into()).await.unwrap().await.unwrap();
    });
    scene.expect_only(&[]);
}
