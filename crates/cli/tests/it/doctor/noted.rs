//! What was no message is on record when it is long gone.

use atm_store::Layout;

use crate::scene::foreign_team;

#[test]
fn entries_that_were_no_messages_are_shown_after_they_are_gone() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("bob", r#"[{"from":"alice"}]"#);
    world.ok(&["inbox", "bob"]);
    world.ok(&["send", "bob", "hello"]);
    world.ok(&["pending"]);
    team.write_inbox("bob", "[]");
    let noted = world.json(&["doctor", "--team", "dev"])["noted"].clone();
    assert!(noted["path"].as_str().unwrap().ends_with("errors.log"), "{noted}");
    let lines = noted["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 1, "{noted}");
    assert!(lines[0].as_str().unwrap().contains("bob.json: entry 1 has no `text`"), "{noted}");
}
