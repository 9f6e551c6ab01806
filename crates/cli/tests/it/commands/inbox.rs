//! `atm inbox`

use std::fs;

use atm_store::Layout;
use insta::assert_snapshot;

use crate::scene::{World, foreign_team, texts};

/// Bob's mail of a day, as several programs wrote it.
const MAIL: &str = r##"[
  {"from": "alice", "text": "early, and read", "timestamp": "2026-11-15T06:00:00.000Z", "read": true},
  {"from": "alice", "text": "{\"type\":\"task_assignment\",\"taskId\":\"7\",\"subject\":\"Fix the login\"}", "timestamp": "2026-11-15T07:00:00.000Z", "read": false},
  {"from": "team-lead", "text": "[PENDING ACTION - queued while offline at 2026-11-15T08:00:00.000Z] wake up", "timestamp": "2026-11-15T08:00:00.000Z", "read": false, "delivery_status": "queued"},
  {"from": "carol", "text": "{\"type\":\"idle_notification\",\"from\":\"carol\"}", "timestamp": "2026-11-15T09:00:00.000Z", "read": false},
  {"from": "carol", "text": "{\"type\":\"idle_notification\",\"from\":\"carol\"}", "timestamp": "2026-11-15T09:30:00.000Z", "read": false},
  {"from": "dave", "text": "late\nin two lines", "timestamp": "2026-11-15T10:00:00Z", "color": "#FF6B6B", "read": false},
  {"from": "odd", "text": "sometime", "timestamp": "half past ten", "read": true}
]"##;

fn world() -> World {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("bob", MAIL);
    world
}

#[test]
fn a_look_shows_what_is_there() {
    let session = world().session(
        "
        atm inbox bob
        atm --as bob inbox -q
        atm inbox alice
        atm inbox
        ",
    );
    assert_snapshot!(session, @"
    $ atm inbox bob
    alice → bob  [.....TIME.....]  [ID]
      early, and read
    alice → bob  [.....TIME.....]  unread  task_assignment  [ID]
      subject: Fix the login
      taskId: 7
    team-lead → bob  [.....TIME.....]  unread  pending  [ID]
      [PENDING ACTION - queued while offline at [.........TIME.........]] wake up
    carol idle, 2 notices, last [.....TIME.....]
    dave → bob  [.....TIME.....]  unread  [ID]
      late
      in two lines
    odd → bob  half past ten  [ID]
      sometime
    $ atm --as bob inbox -q
    alice → bob  [.....TIME.....]  [ID]
      early, and read
    alice → bob  [.....TIME.....]  unread  task_assignment  [ID]
      subject: Fix the login
      taskId: 7
    team-lead → bob  [.....TIME.....]  unread  pending  [ID]
      [PENDING ACTION - queued while offline at [.........TIME.........]] wake up
    carol idle, 2 notices, last [.....TIME.....]
    dave → bob  [.....TIME.....]  unread  [ID]
      late
      in two lines
    odd → bob  half past ten  [ID]
      sometime
    $ atm inbox alice
    no such mail for alice@dev
    $ atm inbox
    no such mail for user@dev
    ");
}

#[test]
fn each_filter_keeps_what_it_says() {
    let world = world();
    let (early, wake, late, odd) = ("early, and read", 2, "late\nin two lines", "sometime");
    let all = texts(&world.json(&["inbox", "bob"]));
    let tagged = all[wake].as_str();
    assert_eq!(all.len(), 7);
    let cases: [(&[&str], &[&str]); 12] = [
        (&["--from", "dave"], &[late]),
        (&["--from", "nobody"], &[]),
        (&["--pending"], &[tagged]),
        (&["--unread", "--from", "alice"], &[&all[1]]),
        (&["--type", "task_assignment"], &[&all[1]]),
        (&["--type", "message", "--from", "alice"], &[early]),
        (&["--since", "2026-11-15T10:00:00Z"], &[late]),
        (&["--until", "2026-11-15T06:00:00.000Z"], &[early]),
        (&["--since", "2026-11-15T07:30:00Z", "--until", "2026-11-15T08:30:00Z"], &[tagged]),
        (&["--last", "1"], &[odd]),
        (&["--unread", "--last", "1"], &[late]),
        (&["--last", "0"], &[]),
    ];
    for (filter, expected) in cases {
        let found = texts(&world.json(&[&["inbox", "bob"], filter].concat()));
        assert_eq!(found, expected, "{filter:?}");
    }
    assert_eq!(texts(&world.json(&["inbox", "bob", "--unread"])).len(), 5);
}

#[test]
fn how_long_ago_is_a_time_too() {
    let world = World::with_team();
    world.ok(&["send", "bob", "just now"]);
    assert_eq!(texts(&world.json(&["inbox", "bob", "--since", "10m"])), ["just now"]);
    assert!(texts(&world.json(&["inbox", "bob", "--until", "10m"])).is_empty());
}

#[test]
fn times_and_numbers_that_are_none_are_refused() {
    let session = world().session(
        "
        atm inbox bob --since soon
        atm inbox bob --until 2026-13-01T00:00:00Z
        atm inbox bob --last many
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm inbox bob --since soon
    2> error: --since "soon" is not a time
    2>   hint: write it like yesterday, monday, 10am, `1 day ago`, 2h (that long ago), 2026-11-15 or 2026-11-15T18:00:00Z
    [exit 2]
    $ atm inbox bob --until 2026-13-01T00:00:00Z
    2> error: --until "2026-13-01T00:00:00Z" is not a time
    2>   hint: write it like yesterday, monday, 10am, `1 day ago`, 2h (that long ago), 2026-11-15 or 2026-11-15T18:00:00Z
    [exit 2]
    $ atm inbox bob --last many
    2> error: invalid value 'many' for '--last <N>': invalid digit found in string
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn entries_that_are_no_messages_are_passed_over_and_named() {
    let (world, team) = foreign_team(Layout::Array);
    let mail = r#"[null, {"from": "alice", "text": "fine", "timestamp": "2026-11-15T06:00:00.000Z", "read": false}, {"text": 7}]"#;
    team.write_inbox("bob", mail);
    assert_snapshot!(world.session("atm inbox bob\natm --as bob read\natm --as bob read"), @"
    $ atm inbox bob
    alice → bob  [.....TIME.....]  unread  [ID]
      fine
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: entry 1 is null, not an object: skipped, left as it is
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: entry 3 has no `from`: skipped, left as it is
    $ atm --as bob read
    alice → bob  [.....TIME.....]  [ID]
      fine
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: entry 1 is null, not an object: skipped, left as it is
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: entry 3 has no `from`: skipped, left as it is
    $ atm --as bob read
    no new mail
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: entry 1 is null, not an object: skipped, left as it is
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: entry 3 has no `from`: skipped, left as it is
    ");
    assert_eq!(team.inbox_bytes("bob"), mail.replace("false", "true").as_bytes());
}

#[test]
fn an_inbox_that_is_torn_shows_what_can_be_read_and_stays_as_it_is() {
    let (world, team) = foreign_team(Layout::Array);
    let mail = r#"[{"from": "alice", "text": "whole", "timestamp": "2026-11-15T06:00:00.000Z", "read": false}, {"from": "#;
    team.write_inbox("bob", mail);
    assert_snapshot!(world.session("atm inbox bob"), @"
    $ atm inbox bob
    alice → bob  [.....TIME.....]  unread  [ID]
      whole
    2> warning: [ROOT]/teams/dev/inboxes/bob.json: ends too early (line 1, column 102); showing what can be read, nothing was changed
    ");
    assert_eq!(fs::read_to_string(team.inbox("bob")).unwrap(), mail);
}
