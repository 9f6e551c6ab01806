//! What is no message, and what is one without a time.

use std::fs;

use atm_office::mail::inbox::Filter;
use atm_store::Layout;
use serde_json::json;

use super::{World, who};

#[test]
fn what_is_no_message_leaves_a_lasting_record_once() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        let (team, office) = (world.team.name(), &world.office);
        world.others_write("bob", &[json!({"nonsense": 1}), world.words("eve", "bob", "hello")]);
        if layout == Layout::Log {
            let mut text = world.team.inbox_bytes("bob");
            text.extend_from_slice(b"{not json\n");
            world.team.write_inbox("bob", text);
        }
        let log = world.team.env().state().join("errors.log");
        let look = || office.inbox(team, &who("bob"), &Filter::default()).unwrap();
        assert_eq!(look().messages.len(), 1);
        office.pending(team).unwrap();
        let noted = fs::read_to_string(&log).unwrap();
        let lines = if layout == Layout::Log { 2 } else { 1 };
        assert_eq!(noted.lines().count(), lines, "{noted}");
        assert!(
            noted.starts_with("2026-11-15T18:40:00.500Z ") && noted.contains("entry 1 has no `from`"),
            "{noted}"
        );

        world.append_to_bob();
        office.pending(team).unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), noted, "each is noted once");
    }
}

impl World {
    /// Something else is written into the same inbox.
    fn append_to_bob(&self) {
        let more = self.words("eve", "bob", "and more");
        let file = self.team.inbox("bob");
        if file.extension().is_some() {
            self.others_write("bob", &[more]);
        } else {
            let text = [fs::read(&file).unwrap(), format!("{more}\n").into_bytes()].concat();
            self.team.write_inbox("bob", text);
        }
    }
}

#[test]
fn a_line_without_a_time_has_that_of_the_line_before_it_and_a_warning() {
    let world = World::new(Layout::Log);
    let (team, office) = (world.team.name(), &world.office);
    let mut timeless = world.words("eve", "bob", "when?");
    timeless.as_object_mut().unwrap().remove("timestamp");
    world.others_write("bob", &[world.words("eve", "bob", "hello"), timeless]);
    let look = office.inbox(team, &who("bob"), &Filter::default()).unwrap();
    let times: Vec<&str> = look.messages.iter().map(|message| message.timestamp.as_str()).collect();
    assert_eq!(times, ["2026-11-15T18:40:00.000Z", "2026-11-15T18:40:00.000Z"]);
    assert_eq!(look.warnings.len(), 1, "{:?}", look.warnings);
    assert!(look.warnings[0].contains("line 2 has no `timestamp`"), "{:?}", look.warnings);
    // It is read as every other message is.
    let reading = office.begin_read(team, &who("bob"), 9).unwrap();
    assert_eq!(reading.confirm().unwrap().marked, 2);
    assert!(office.peek(team, &who("bob"), 9).unwrap().messages().is_empty());
}
