//! Dead letters: kept with their reason, listed, and taken in once when somebody asks for them.

use atm_bridge::envelope::codec::encode;
use atm_bridge::envelope::seal::Sealer;
use atm_bridge::files::Files;
use atm_bridge::keys;
use atm_support::wait_until;
use ed25519_dalek::SigningKey;

use super::refused::Scene;

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
    let dead = scene.dead(&[]);
    assert_eq!(dead.as_array().unwrap().len(), 1, "{dead}");
    assert!(dead[0]["reason"].as_str().unwrap().contains("dance"), "{dead}");
    let number = dead[0]["number"].to_string();
    scene.dead(&["--again", &number]);
    scene.wait_for_refused("unreadable", 2);
    scene.expect_only(&[]);
}

/// The server has the reason in a header, and the content is sealed from it.
#[test]
fn no_word_of_a_sealed_content_stands_in_the_reason() {
    let scene = Scene::new();
    let letter = scene.letter("never");
    let hub = keys::load_or_create(&Files::of(&scene.hub.env().state()).key()).unwrap().verifying_key();
    let text = String::from_utf8(encode(&letter, &scene.key(), None).unwrap()).unwrap();
    let (header, body) = text.split_once('\n').unwrap().1.split_once('\n').unwrap();
    let body = body.replace("\"from_lead\":false", "\"from_lead\":\"a secret word\"");
    assert!(body.contains("a secret word"), "{body}");
    let sealed = Sealer::default().seal(&hub, body.as_bytes()).unwrap();
    let header = header.strip_suffix("false]").unwrap().to_owned() + "true]\n";
    let bytes = sign_bytes(&scene.key(), &[header.as_bytes(), &sealed].concat());
    scene.publish_as("laptop", bytes);
    scene.wait_for_refused("unreadable", 1);
    let reason = scene.reason_at_server();
    assert!(reason.contains("column") && !reason.contains("secret"), "{reason}");
    let dead = scene.dead(&[]);
    assert!(dead[0]["reason"].as_str().unwrap().contains("a secret word"), "people here may read it: {dead}");
}

/// A list of dead letters ended at the first one whose object was dropped, by age or by size.
#[test]
fn a_dead_letter_whose_object_is_gone_keeps_no_other_from_being_listed() {
    let scene = Scene::new();
    scene.bury_object("gone", "it was large");
    scene.bury(&scene.letter("small"), "it was small");
    let dead = scene.dead(&[]);
    let reasons: Vec<&str> =
        dead.as_array().unwrap().iter().map(|dead| dead["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["it was large; its envelope is not there any more", "it was small"]);
    let number = dead[0]["number"].to_string();
    let again = scene.hub.run(&["dead", "--machine", "hub", "--nats", &scene.url(), "--again", &number]);
    assert_eq!(again.status.code(), Some(3));
}

/// A letter that an older version could not read was answered as failed; later ones have passed. This version can read it.
#[test]
fn a_dead_letter_is_taken_in_once_when_asked_for_and_its_sender_hears_of_it() {
    let mut scene = Scene::new();
    scene.laptop.trust(&scene.hub, &[]);
    let rescued = scene.letter("rescued");
    let id = scene.fail(&rescued);
    scene.bury(&rescued, "its content cannot be read");
    scene.publish(&scene.letter("a later one"));
    wait_until("the later one has arrived", || scene.hub.texts("bob") == ["a later one"]);
    // Anybody can publish it again; without a word of this machine's people it stays what it is.
    scene.publish(&rescued);
    scene.wait_for_refused("replayed", 1);
    scene.laptop.start();
    let number = scene.dead(&[])[0]["number"].to_string();
    assert_eq!(scene.dead(&[])[0]["taken"], false);
    for _ in 0..2 {
        assert_eq!(scene.dead(&["--again", &number])["published"], true);
    }
    wait_until("it is taken in", || scene.hub.texts("bob") == ["a later one", "rescued"]);
    wait_until("its sender knows", || scene.laptop.stage(&id) == "written");
    wait_until("it is listed as taken in", || scene.dead(&[])[0]["taken"] == true);
    scene.laptop.kill();
    scene.expect_only(&["a later one", "rescued"]);
    let none = scene.hub.run(&["dead", "--machine", "hub", "--nats", &scene.url(), "--again", "999"]);
    assert_eq!(none.status.code(), Some(3));
}

/// What a machine of a later version would sign.
fn sign(key: &SigningKey, signed: &str) -> Vec<u8> {
    sign_bytes(key, signed.as_bytes())
}

fn sign_bytes(key: &SigningKey, signed: &[u8]) -> Vec<u8> {
    use base64::Engine as _;
    use ed25519_dalek::Signer;
    let signature = key.sign(&[b"atm bridge envelope, version 1\n", signed].concat());
    let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(signature.to_bytes());
    [format!("atm1 laptop {signature}\n").as_bytes(), signed].concat()
}
