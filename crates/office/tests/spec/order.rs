//! In which order mail is read, and to whom a broadcast was sent.

use atm_office::mail::send::{Letter, SendOptions};
use atm_store::Layout;
use atm_wire::message::Priority;
use serde_json::json;

use super::{World, who};

#[test]
fn urgent_mail_is_read_first_in_both_layouts() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        let (team, office) = (world.team.name(), &world.office);
        for (text, priority) in [
            ("low", Priority::Low),
            ("one", Priority::Normal),
            ("high", Priority::High),
            ("two", Priority::Normal),
        ] {
            let letter = Letter { priority, ..Letter::new("bob".parse().unwrap(), text) };
            office.send(team, &who("team-lead"), &letter, SendOptions::default()).unwrap();
        }
        let texts = |limit: usize| -> Vec<String> {
            let reading = office.peek(team, &who("bob"), limit).unwrap();
            reading.messages().iter().map(|message| message.text.clone()).collect()
        };
        assert_eq!(texts(9), ["high", "one", "two", "low"], "{layout:?}");
        // What is marked is what was handed out, not what stands first in the file.
        let reading = office.begin_read(team, &who("bob"), 1).unwrap();
        assert_eq!(reading.messages()[0].text, "high");
        reading.confirm().unwrap();
        assert_eq!(texts(9), ["one", "two", "low"], "{layout:?}");
    }
}

#[test]
fn others_mark_urgent_mail_in_its_metadata() {
    let world = World::new(Layout::Array);
    let mut urgent = world.words("team-lead", "bob", "urgent");
    urgent["metadata"] = json!({"priority": "high", "estimated_time": "30min"});
    world.others_write("bob", &[world.words("team-lead", "bob", "plain"), urgent]);
    let reading = world.office.peek(world.team.name(), &who("bob"), 1).unwrap();
    assert_eq!(reading.messages()[0].text, "urgent");
}

#[test]
fn a_broadcast_in_a_log_names_everybody_whom_it_went_to() {
    let world = World::new(Layout::Log);
    let letter = Letter::new("all".parse().unwrap(), "meet at ten");
    let (team, office) = (world.team.name(), &world.office);
    office.broadcast(team, &who("team-lead"), &letter, None, SendOptions::default()).unwrap();
    let line = &world.team.entries("bob")[0];
    assert_eq!((&line["type"], &line["to"]), (&json!("team_broadcast"), &json!("all")));
    assert_eq!(line["content"], json!({"text": "meet at ten", "recipients": ["bob", "eve"]}));
    let read = office.peek(team, &who("bob"), 1).unwrap();
    let shown = serde_json::to_value(&read.messages()[0]).unwrap();
    assert_eq!((&shown["type"], &shown["text"]), (&json!("team_broadcast"), &json!("meet at ten")));
    assert_eq!((&shown["to"], &shown["extra"]["recipients"]), (&json!("bob"), &json!(["bob", "eve"])));
}
