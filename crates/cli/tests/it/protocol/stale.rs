//! A shutdown request from before a member was started does not end the newcomer.

use atm_store::Layout;
use atm_support::TestTeam;
use atm_wire::Stamp;
use serde_json::json;

use super::{dev, name};
use crate::scene::{World, foreign_team};

fn ask(world: &World) -> (String, Stamp) {
    let asked = world.json(&["--as", "team-lead", "shutdown", "request", "bob"]);
    let at = Stamp::parse(asked["sent"]["timestamp"].as_str().unwrap()).unwrap();
    (asked["request"].as_str().unwrap().to_owned(), at)
}

fn types(world: &World) -> Vec<String> {
    let unread = world.json(&["inbox", "bob", "--unread"]);
    unread.as_array().unwrap().iter().map(|m| m["type"].as_str().unwrap().to_owned()).collect()
}

fn prepare(layout: Layout) -> (World, TestTeam, String, Stamp) {
    let (world, team) = foreign_team(layout);
    world.ok(&["send", "bob", "before"]);
    let (request, at) = ask(&world);
    world.ok(&["send", "bob", "after"]);
    (world, team, request, at)
}

#[test]
fn what_is_older_than_the_start_is_set_aside_and_nothing_else() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, team, request, at) = prepare(layout);
        let office = world.office();
        let later = Stamp::from_millis(at.as_millis() + 1);
        let aside = office.set_aside_stale_shutdowns(&dev(), &name("bob"), later).unwrap();
        assert_eq!(aside.len(), 1, "{layout:?}");
        assert_eq!(aside[0].request.as_deref(), Some(request.as_str()));
        assert_eq!(types(&world), ["message", "message"], "{layout:?}");
        assert!(!String::from_utf8(team.inbox_bytes("bob")).unwrap().contains("shutdown_request"));

        let kept = std::fs::read_to_string(&aside[0].kept).unwrap();
        assert!(kept.contains(&request) && aside[0].kept.starts_with(world.state()), "{kept}");
        let track = world.json(&["track", &aside[0].id]);
        assert_eq!(track["stage"], "expired");
        let last = track["stages"].as_array().unwrap().last().unwrap();
        assert!(last["evidence"]["what"].as_str().unwrap().contains("before bob was started"), "{last}");
        assert_eq!(world.atm(&["--as", "bob", "shutdown", "approve"]).code, Some(4), "nothing is open");

        let again = office.set_aside_stale_shutdowns(&dev(), &name("bob"), later).unwrap();
        assert!(again.is_empty(), "{layout:?}");
        assert_eq!(types(&world), ["message", "message"], "and it is not put back");
        world.ok(&["--as", "bob", "read"]);
        assert_eq!(types(&world), [""; 0], "{layout:?}: the rest is read as ever");
        world.ok(&["send", "bob", "new"]);
        assert_eq!(types(&world), ["message"], "{layout:?}");
    }
}

#[test]
fn a_request_to_the_newcomer_stays() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, _team, request, at) = prepare(layout);
        let aside = world.office().set_aside_stale_shutdowns(&dev(), &name("bob"), at).unwrap();
        assert!(aside.is_empty(), "{layout:?}: sent when bob was there");
        world.ok(&["--as", "bob", "shutdown", "approve", &request]);
    }
}

#[test]
fn what_other_programs_wrote_is_kept_byte_for_byte() {
    let (world, team) = foreign_team(Layout::Array);
    let stale = r#"{"from":"team-lead","text":"{\"type\":\"shutdown_request\",\"requestId\":\"shutdown-1794768102564@bob\"}","timestamp":"2026-11-15T18:41:42.564Z","read":false,"odd":1E2}"#;
    let other =
        r#"{"from":"alice","text":"hi","timestamp":"2026-11-15T18:41:42.564Z","read":false,"odd":1E2}"#;
    team.write_inbox("bob", format!("[{stale}, {other}]"));
    let start = Stamp::parse("2026-11-15T19:00:00Z").unwrap();
    let aside = world.office().set_aside_stale_shutdowns(&dev(), &name("bob"), start).unwrap();
    assert_eq!(std::fs::read_to_string(&aside[0].kept).unwrap(), format!("[{stale}]"));
    assert_eq!(String::from_utf8(team.inbox_bytes("bob")).unwrap(), format!("[{other}]"));
    let read = json!([{"from":"team-lead","text":"{\"type\":\"shutdown_request\"}","timestamp":"2026-11-15T18:41:42.564Z","read":true}]);
    team.write_inbox("bob", read.to_string());
    let aside = world.office().set_aside_stale_shutdowns(&dev(), &name("bob"), start).unwrap();
    assert!(aside.is_empty(), "what was read is history");
}
