//! Mail of others that wants to be acknowledged by a name of its own.

use atm_ledger::Stage;
use atm_office::mail::send::SendOptions;
use atm_store::Layout;
use serde_json::json;

use super::{World, who};

#[test]
fn it_is_found_and_acknowledged_by_that_name() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        let (team, office) = (world.team.name(), &world.office);
        let mut wanted = world.words("team-lead", "bob", "tell me when you have this");
        wanted["ackId"] = json!("msg-12345");
        world.others_write("bob", &[wanted]);
        let look = office.inbox(team, &who("bob"), &atm_office::mail::inbox::Filter::default()).unwrap();
        assert_eq!(look.messages[0].ack_id.as_deref(), Some("msg-12345"));

        let stranger = office.ack(team, &who("eve"), "msg-12345", None, SendOptions::default());
        assert!(stranger.is_err(), "only its recipient can");
        office.ack(team, &who("bob"), "msg-12345", None, SendOptions::default()).unwrap();
        let told = &world.team.entries("team-lead")[0];
        let content = match layout {
            Layout::Array => serde_json::from_str(told["text"].as_str().unwrap()).unwrap(),
            Layout::Log => told["content"].clone(),
        };
        assert_eq!(content["ackId"], "msg-12345");
        let track = office.track(Some(team), &look.messages[0].id).unwrap();
        assert_eq!(track.stage, Stage::Acked);
    }
}

#[test]
fn a_sender_without_an_entry_or_an_inbox_gets_the_acknowledgment_too() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        let mut wanted = world.words("coordinator", "bob", "tell me when you have this");
        wanted["ackId"] = json!("msg-7");
        world.others_write("bob", &[wanted]);
        let sent =
            world.office.ack(world.team.name(), &who("bob"), "msg-7", None, SendOptions::default()).unwrap();
        assert_eq!(sent.to, who("coordinator"));
        assert_eq!(world.team.entries("coordinator").len(), 1, "{layout:?}");
    }
}
