//! Mail for somebody who is off, whichever program wrote it.

use atm_office::people::members::Presence;
use atm_office::trail::pending::Why;
use atm_store::Layout;
use serde_json::json;

use super::{World, who};

fn waits(world: &World) -> Vec<(String, Why)> {
    let waiting = world.office.pending(world.team.name()).unwrap();
    waiting.into_iter().map(|waiting| (waiting.message.text, waiting.why)).collect()
}

#[test]
fn what_others_wrote_waits_for_somebody_who_is_off() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        world.set_bob("isActive", json!(false));
        world.set_bob("shutdownAt", json!("2026-11-15T18:00:00.000Z"));
        world.others_write("bob", &[world.words("team-lead", "bob", "mend the build")]);
        assert_eq!(waits(&world), [("mend the build".to_owned(), Why::UnreadOffline)]);
        let members = world.office.members(world.team.name()).unwrap();
        let bob = members.iter().find(|member| member.name == "bob").unwrap();
        assert_eq!((bob.state, bob.unread, bob.pending), (Presence::Offline, 1, 1), "{layout:?}");
    }
}

#[test]
fn what_came_before_it_ended_is_unread_and_not_pending() {
    let world = World::new(Layout::Array);
    world.set_bob("isActive", json!(false));
    world.set_bob("shutdownAt", json!("2026-11-15T18:40:01.000Z"));
    world.others_write("bob", &[world.words("team-lead", "bob", "mend the build")]);
    let members = world.office.members(world.team.name()).unwrap();
    let bob = members.iter().find(|member| member.name == "bob").unwrap();
    assert_eq!((bob.unread, bob.pending), (1, 0));
}

#[test]
fn somebody_without_an_entry_is_known_as_long_as_mail_waits() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        world.remove_bob();
        let names = || -> Vec<String> {
            let members = world.office.members(world.team.name()).unwrap();
            members.into_iter().map(|member| member.name).collect()
        };
        assert_eq!(names(), ["team-lead", "eve"], "an empty inbox is nobody");
        world.others_write("bob", &[world.words("eve", "bob", "mend the build")]);
        assert_eq!(names(), ["team-lead", "eve", "bob"]);
        let members = world.office.members(world.team.name()).unwrap();
        let bob = &members[2];
        assert_eq!((bob.state, bob.unread, bob.pending), (Presence::Offline, 1, 1), "{bob:?}");
        assert_eq!(bob.agent_id, "bob@demo");
        assert_eq!(waits(&world), [("mend the build".to_owned(), Why::UnreadOffline)]);
    }
}

#[test]
fn who_returns_finds_a_tagged_note_of_what_others_wrote() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        world.others_write(
            "bob",
            &[
                world.words("eve", "bob", "mend the build"),
                world.words("eve", "bob", "[PENDING ACTION] and the tests"),
            ],
        );
        let before = world.team.entries("bob");
        let team = world.office.team(world.team.name()).unwrap();
        let words = team.write_first_words(&who("bob"), None).unwrap();
        assert_eq!(words.offered, 2);
        assert_eq!(world.team.entries("bob")[..2], before, "what others wrote stays as it is");
        let texts: Vec<String> =
            world.team.mailbox("bob").list().unwrap().messages.into_iter().map(|m| m.text).collect();
        assert!(
            texts[2].starts_with("[PENDING ACTION - written while you were off] 1 message "),
            "{texts:?}"
        );
        assert!(texts[2].contains("from eve at 2026-11-15T18:40:00Z: mend the build"), "{texts:?}");

        team.write_first_words(&who("bob"), None).unwrap();
        assert_eq!(world.team.entries("bob").len(), 3, "one note for the same mail");
    }
}

#[test]
fn words_that_were_tagged_by_hand_are_not_tagged_twice() {
    let world = World::new(Layout::Array);
    world.set_bob("isActive", json!(false));
    let sent = world.send("team-lead", "bob", "[PENDING ACTION] mend the build");
    assert_eq!(sent.status.as_str(), "queued");
    assert_eq!(world.team.texts("bob"), ["[PENDING ACTION] mend the build"]);
}
