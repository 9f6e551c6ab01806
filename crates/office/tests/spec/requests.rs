//! Requests that other programs put as words, with the type and the id beside them.

use atm_office::protocol::shutdown::Dialect;
use atm_store::Layout;
use serde_json::{Value, json};

use super::{World, who};

fn asked_in_words(from: &str) -> Value {
    json!({"from": from, "text": "We are done, please prepare to end.", "summary": "Please end",
           "timestamp": "2026-11-15T18:39:00.000Z", "color": "yellow", "read": false, "messageId": "msg-end-1",
           "type": "shutdown_request", "metadata": {"request_id": "req-end-1"}})
}

#[test]
fn a_shutdown_request_in_words_is_approved_by_its_id_or_as_the_newest() {
    for named in [Some("req-end-1"), None] {
        let world = World::new(Layout::Array);
        world.others_write("bob", &[asked_in_words("team-lead")]);
        world
            .office
            .team(world.team.name())
            .unwrap()
            .approve_shutdown(&who("bob"), named, Dialect::Client)
            .unwrap();
        let told: Value = serde_json::from_str(&world.team.texts("team-lead")[0]).unwrap();
        assert_eq!((&told["type"], &told["requestId"]), (&json!("shutdown_approved"), &json!("req-end-1")));
        let again = world.office.team(world.team.name()).unwrap().approve_shutdown(
            &who("bob"),
            named,
            Dialect::Client,
        );
        assert!(again.is_err(), "it has its answer");
    }
}

#[test]
fn a_sender_without_an_entry_or_an_inbox_gets_the_answer() {
    let world = World::new(Layout::Array);
    world.others_write("bob", &[asked_in_words("coordinator")]);
    let no = |dialect| {
        let why = "not yet".to_owned();
        world.office.team(world.team.name()).unwrap().reject_shutdown(&who("bob"), None, why, dialect)
    };
    no(Dialect::Response).unwrap();
    let told: Value = serde_json::from_str(&world.team.texts("coordinator")[0]).unwrap();
    let expected = json!({"type": "shutdown_response", "requestId": "req-end-1", "approved": false, "content": "not yet"});
    assert_eq!(told, expected);
    assert!(no(Dialect::Client).is_err(), "it has its answer");
}

#[test]
fn a_request_in_words_from_before_the_start_does_not_end_the_newcomer() {
    let world = World::new(Layout::Array);
    world.others_write("bob", &[asked_in_words("team-lead")]);
    let now = atm_wire::Stamp::from_millis(super::NOW);
    let set_aside = world.office.set_aside_stale_shutdowns(world.team.name(), &who("bob"), now).unwrap();
    assert_eq!(set_aside.len(), 1);
    assert_eq!(set_aside[0].request.as_deref(), Some("req-end-1"));
    assert!(world.team.entries("bob").is_empty());
}
