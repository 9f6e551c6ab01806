//! `atm read`

use std::fs;

use atm_store::Layout;
use insta::assert_snapshot;

use crate::scene::{World, foreign_team, texts};

fn world() -> World {
    let world = World::with_team();
    for text in ["one", "two\nin two lines", "three"] {
        world.ok(&["--as", "alice", "send", "bob", text]);
    }
    world
}

#[test]
fn mail_is_shown_once() {
    let session = world().session(
        "
        atm --as bob read
        atm --as bob read
        atm --as bob read --quiet
        atm --as bob read --json
        atm inbox bob --unread
        ",
    );
    assert_snapshot!(session, @"
    $ atm --as bob read
    alice → bob  just now  [ID]
      one
    alice → bob  just now  [ID]
      two
      in two lines
    alice → bob  just now  [ID]
      three
    $ atm --as bob read
    no new mail
    $ atm --as bob read --quiet
    $ atm --as bob read --json
    []
    $ atm inbox bob --unread
    no such mail for bob@dev
    ");
}

#[test]
fn a_peek_leaves_it_unread() {
    let world = world();
    assert_eq!(texts(&world.json(&["--as", "bob", "read", "--peek"])).len(), 3);
    assert_eq!(texts(&world.json(&["--as", "bob", "read", "--peek", "--limit", "1"])), ["one"]);
    assert_eq!(texts(&world.json(&["--as", "bob", "read"])).len(), 3);
}

#[test]
fn a_limit_leaves_the_rest_for_the_next_time() {
    for layout in ["array", "log"] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", layout]);
        world.ok(&["member", "add", "bob"]);
        for text in ["one", "two", "three"] {
            world.ok(&["send", "bob", text]);
        }
        assert_eq!(texts(&world.json(&["--as", "bob", "read", "--limit", "2"])), ["one", "two"], "{layout}");
        assert!(texts(&world.json(&["--as", "bob", "read", "--limit", "0"])).is_empty(), "{layout}");
        assert_eq!(texts(&world.json(&["--as", "bob", "read", "--limit", "2"])), ["three"], "{layout}");
    }
}

#[test]
fn for_a_prompt_it_is_short_and_without_mail_it_is_nothing() {
    let world = world();
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.ok(&[
        "--as",
        "team-lead",
        "send",
        "bob",
        r#"{"type":"task_assignment","taskId":"7","subject":"Fix it"}"#,
    ]);
    for _ in 0..3 {
        world.ok(&[
            "--as",
            "alice",
            "send",
            "bob",
            r#"{"type":"idle_notification","from":"alice","idleReason":"available"}"#,
        ]);
    }
    let session = world.session(
        "
        atm --as bob read --format context
        atm --as bob read --format context
        ",
    );
    assert_snapshot!(session, @"
    $ atm --as bob read --format context
    Mail for bob (team dev):
    - from alice at [TIME] [ID]
      one
    - from alice at [TIME] [ID]
      two
      in two lines
    - from alice at [TIME] [ID]
      three
    - from team-lead task_assignment at [TIME] [ID] (waited while you were off)
      subject: Fix it
      taskId: 7
    - idle: alice x3
    Answer with: atm reply ID TEXT
    $ atm --as bob read --format context
    ");
}

#[test]
fn a_prompt_has_a_budget_and_what_did_not_fit_stays_unread() {
    let world = world();
    world.ok(&["--as", "bob", "read"]);
    for number in 0..3 {
        world.ok(&["--as", "alice", "send", "bob", &format!("{number} {}", "word ".repeat(60))]);
    }
    let small = ["--as", "bob", "read", "--format", "context", "--budget", "200"];
    let first = world.ok(&small);
    assert!(
        first.contains("\n- 2 more wait from alice: atm read --format context\n") && first.len() <= 800,
        "{first}"
    );
    assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 2);
    assert!(world.ok(&small).contains("\n- 1 more wait from alice"));
    assert!(world.ok(&small).contains("\n  2 word"));
    assert_eq!(world.ok(&small), "");
    let tiny = world.pipe(&["--as", "bob", "read", "--format", "context", "--budget", "5"], "");
    assert_eq!(tiny.code, Some(2));
    assert!(tiny.stderr.contains("at least 100 tokens"), "{tiny:?}");
}

#[test]
fn both_ways_to_ask_for_json_answer_the_same() {
    let world = world();
    let by_format = world.ok(&["--as", "bob", "read", "--peek", "--format", "json"]);
    let by_flag = world.ok(&["--as", "bob", "read", "--peek", "--json"]);
    assert_eq!(by_format, by_flag);
    assert_eq!(texts(&serde_json::from_str(&by_flag).unwrap()).len(), 3);
}

#[test]
fn waiting_ends_at_once_where_mail_is_there_and_in_time_where_none_comes() {
    let world = world();
    assert_eq!(texts(&world.json(&["--as", "bob", "read", "--wait", "30s"])).len(), 3);
    assert_eq!(world.json(&["--as", "bob", "read", "--wait", "1s"]), serde_json::json!([]));
    assert_snapshot!(world.session("atm --as bob read --wait 1s\natm --as bob read --wait soon"), @r#"
    $ atm --as bob read --wait 1s
    no new mail
    $ atm --as bob read --wait soon
    2> error: invalid value 'soon' for '--wait <TIME>': "soon" is not a duration; write it like 30s, 10m or 1h30m
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn a_wait_that_is_longer_than_time_goes_is_just_long() {
    let world = world();
    for long in ["18446744073709551615s", "9223372036854775807s", "999999999999h"] {
        let answer = world.atm(&["--as", "bob", "read", "--peek", "--wait", long]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        let answer = world.atm(&["watch", "bob", "--all", "--count", "1", "--for", long]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
    }
}

#[test]
fn without_a_name_it_is_the_users_mail_and_a_wrong_name_is_an_error() {
    let session = world().session(
        "
        atm read
        ATM_AS=bob atm read --limit 1
        atm --as bobb read
        atm --as bob/../alice read
        ATM_AS=.bob atm read
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm read
    no new mail
    $ ATM_AS=bob atm read --limit 1
    alice → bob  just now  [ID]
      one
    $ atm --as bobb read
    2> error: team dev has no member "bobb"
    2>   hint: did you mean bob?
    [exit 3]
    $ atm --as bob/../alice read
    2> error: --as: member name "bob/../alice": must not contain "/"
    [exit 2]
    $ ATM_AS=.bob atm read
    2> error: $ATM_AS: member name ".bob": must not start with a dot
    [exit 2]
    "#);
}

#[test]
fn only_the_flags_change_in_the_file() {
    let (world, team) = foreign_team(Layout::Array);
    let mail = "[ {\"from\":\"alice\",\"text\":\"a\\u00e9\",\"timestamp\":\"2026-11-15T06:00:00Z\",\"n\":1E2,\"read\" : false}\n,\n\
                {\"read\":false,\"from\":\"alice\",\"text\":\"b\",\"timestamp\":\"2026-11-15T06:00:01Z\"} ]\n";
    team.write_inbox("bob", mail);
    world.ok(&["--as", "bob", "read"]);
    assert_eq!(fs::read_to_string(team.inbox("bob")).unwrap(), mail.replace("false", "true"));
}

#[test]
fn the_cursor_of_the_log_layout_moves_as_shell_recipes_expect() {
    let (world, team) = foreign_team(Layout::Log);
    for text in ["one", "two"] {
        world.ok(&["send", "bob", text]);
    }
    world.ok(&["--as", "bob", "read", "--limit", "1"]);
    let state = fs::read_to_string(team.inbox("bob").with_file_name("state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["lastProcessedLine"], 1);
    let first = &world.json(&["inbox", "bob"])[0];
    assert_eq!(state["lastProcessedTimestamp"], first["timestamp"]);
}
