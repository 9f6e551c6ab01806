//! Envelopes that are forged, altered, replayed, out of realm or unreadable: refused, counted and shown.

use atm_bridge::envelope::codec::encode;
use atm_bridge::envelope::{Body, Envelope, Header};
use atm_bridge::files::Files;
use atm_bridge::keys;
use atm_bridge::local::Letter;
use atm_bridge::nats::{Link, Options, connect};
use atm_bridge::subject;
use atm_office::clock::{Clock, SystemClock};
use atm_office::machines::RemoteMember;
use atm_support::wait_until;
use ed25519_dalek::SigningKey;

use super::server::Server;
use super::world::{Machine, team};

/// A hub that trusts laptop, whose bridge is the test itself.
struct Scene {
    server: Server,
    hub: Machine,
    laptop: Machine,
    link: Link,
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn new() -> Self {
        let server = Server::new();
        let laptop = Machine::new("laptop", &server.url(), &["ann"]);
        let mut hub = Machine::new("hub", &server.url(), &["bob"]);
        hub.trust(&laptop, &[]);
        hub.start();
        wait_until("hub is connected", || !hub.status()["stream"].is_null());
        let bob = RemoteMember {
            name: "bob".into(),
            machine: "hub".parse().unwrap(),
            is_lead: false,
            state: "online".into(),
            seen_at: None,
        };
        laptop.office.machines().set_members(&team(), &[bob]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = Options { servers: vec![server.url()], ..Options::default() };
        let (up, _) = tokio::sync::mpsc::unbounded_channel();
        let (realm, machine) = ("home".parse().unwrap(), "laptop".parse().unwrap());
        let client = runtime.block_on(connect(&options, &realm, &machine, false, up)).unwrap();
        let link = runtime.block_on(async { Link::new(client, realm, machine) });
        Self { server, hub, laptop, link, runtime }
    }

    fn key(&self) -> SigningKey {
        keys::load_or_create(&Files::of(&self.laptop.env().state()).key()).unwrap()
    }

    /// A letter from ann to bob, as laptop's bridge would put it into an envelope.
    fn letter(&self, text: &str) -> Envelope {
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
            epoch: "e1".into(),
            n: u64::try_from(out.n).unwrap(),
            attempt: 1,
            at: SystemClock.now(),
        };
        Envelope { header, body: Body::Letter(letter) }
    }

    fn publish_as(&self, machine: &str, bytes: Vec<u8>) {
        let (realm, hub) = ("home".parse().unwrap(), "hub".parse().unwrap());
        let subject = subject::other(&realm, &hub, &machine.parse().unwrap(), "letter");
        self.runtime
            .block_on(async { self.link.publish(subject, None, bytes).await.unwrap().await.unwrap() });
    }

    fn publish(&self, envelope: &Envelope) {
        self.publish_as("laptop", encode(envelope, &self.key(), None).unwrap());
    }

    fn wait_for_refused(&self, why: &str, count: u64) {
        wait_until(&format!("{count} are refused as {why}"), || {
            self.hub.status()["tally"]["refused"][why].as_u64() == Some(count)
        });
    }

    /// A letter that is fine arrives: all before it were dealt with, and bob has these texts alone.
    fn expect_only(&self, texts: &[&str]) {
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

#[test]
fn poison_is_kept_among_the_dead_letters_and_the_next_may_pass() {
    let scene = Scene::new();
    let letter = scene.letter("never");
    // Signed by laptop, of a kind that this version does not know.
    let text = String::from_utf8(encode(&letter, &scene.key(), None).unwrap()).unwrap();
    let signed = text.split_once('\n').unwrap().1.replace("\"kind\":\"letter\"", "\"kind\":\"dance\"");
    let bytes = sign(&scene.key(), &signed);
    scene.publish_as("laptop", bytes);
    scene.wait_for_refused("unreadable", 1);
    let dead = scene.hub.json(&["dead", "--machine", "hub", "--nats", &scene.link_url()]);
    assert_eq!(dead.as_array().unwrap().len(), 1, "{dead}");
    assert!(dead[0]["reason"].as_str().unwrap().contains("dance"), "{dead}");
    let number = dead[0]["number"].to_string();
    scene.hub.json(&["dead", "--machine", "hub", "--nats", &scene.link_url(), "--again", &number]);
    scene.wait_for_refused("unreadable", 2);
    scene.expect_only(&[]);
}

impl Scene {
    fn link_url(&self) -> String {
        self.server.url()
    }
}

/// What a machine of a later version would sign.
fn sign(key: &SigningKey, signed: &str) -> Vec<u8> {
    use base64::Engine as _;
    use ed25519_dalek::Signer;
    let signature = key.sign(&[b"atm bridge envelope, version 1\n", signed.as_bytes()].concat());
    let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(signature.to_bytes());
    format!("atm1 laptop {signature}\n{signed}").into_bytes()
}
