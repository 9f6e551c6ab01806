//! The command as its users see it.

use std::fs;

use atm_store::Layout;
use atm_support::Foreign;
use insta::assert_snapshot;

use super::{mail, other, stages, team_with_mail};
use crate::scene::{World, foreign_team, tree};

#[test]
fn a_session() {
    let (world, _) = team_with_mail("array");
    assert_snapshot!(world.session(
        "atm team convert --to log --dry-run
         atm team convert --to log
         atm team convert --to log
         atm team convert dev --to array --json
         atm team convert nobody --to log
         atm team convert dev
         atm team convert dev --to maildir"
    ), @r#"
    $ atm team convert --to log --dry-run
    alice: 0 messages, 0 of them unread
    bob: 4 messages, 2 of them unread
    team-lead: 0 messages, 0 of them unread
    3 inboxes of team dev would be brought into the log layout
    $ atm team convert --to log
    alice: 0 messages, 0 of them unread
    bob: 4 messages, 2 of them unread
    team-lead: 0 messages, 0 of them unread
    3 inboxes of team dev are in the log layout now
    $ atm team convert --to log
    the mail of team dev is in the log layout
    $ atm team convert dev --to array --json
    {
      "team": "dev",
      "to": "array",
      "dry_run": false,
      "inboxes": [
        {
          "name": "alice",
          "converted": true,
          "messages": 0,
          "unread": 0,
          "kept": [
            "[STATE]/quarantine/members_alice_inbox.[TIME].converted"
          ],
          "warnings": [],
          "error": null
        },
        {
          "name": "bob",
          "converted": true,
          "messages": 4,
          "unread": 2,
          "kept": [
            "[STATE]/quarantine/members_bob_inbox-high.[TIME].converted",
            "[STATE]/quarantine/members_bob_inbox.[TIME].converted"
          ],
          "warnings": [],
          "error": null
        },
        {
          "name": "team-lead",
          "converted": true,
          "messages": 0,
          "unread": 0,
          "kept": [
            "[STATE]/quarantine/members_team-lead_inbox.[TIME].converted"
          ],
          "warnings": [],
          "error": null
        }
      ],
      "warnings": []
    }
    $ atm team convert nobody --to log
    2> error: there is no team "nobody"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm team convert dev
    2> error: the following required arguments were not provided:
    2>   --to <TO>
    2>
    2> Usage: atm team convert --to <TO> <TEAM>
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm team convert dev --to maildir
    2> error: invalid value 'maildir' for '--to <TO>'
    2>   [possible values: array, log]
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn what_is_known_of_each_message_stays_known() {
    for from in ["array", "log"] {
        let (world, ids) = team_with_mail(from);
        world.ok(&["log"]);
        let known: Vec<_> = ids.iter().map(|id| stages(&world, id)).collect();
        let before = mail(&world, "bob");
        world.ok(&["team", "convert", "--to", other(from)]);
        for _ in 0..2 {
            let now: Vec<_> = ids.iter().map(|id| stages(&world, id)).collect();
            assert_eq!(now, known, "{from}: no second stage, nothing taken, nothing put back");
        }
        assert_eq!(mail(&world, "bob"), before);
        assert_eq!(world.json(&["search", "three"]).as_array().unwrap().len(), 1);
        let read = world.json(&["--as", "bob", "read"]);
        assert_eq!(read.as_array().unwrap().len(), 2, "what was unread is unread: {read}");
    }
}

#[test]
fn archives_of_both_layouts_stay_readable() {
    for from in ["array", "log"] {
        let (world, _) = team_with_mail(from);
        let old = world.root().join("teams/dev/members/bob/inbox-archive");
        if from == "log" {
            let line = r#"{"type":"message","from":"a","to":"bob","timestamp":"2025-11-15T00:00:00Z","content":{"text":"old"}}"#;
            fs::write(&old, format!("{line}\n")).unwrap();
        }
        world.ok(&["archive", "bob", "--keep", "0"]);
        let archived = world.json(&["inbox", "bob", "--archived"]);
        let inbox = mail(&world, "bob");
        world.ok(&["team", "convert", "--to", other(from)]);
        assert_eq!(world.json(&["inbox", "bob", "--archived"]), archived, "{from}");
        assert_eq!(mail(&world, "bob"), inbox, "{from}");
        world.ok(&["archive", "bob", "--keep", "0", "--force"]);
        world.ok(&["clean", "bob"]);
        let all =
            world.json(&["inbox", "bob", "--archived"]).as_array().unwrap().len() + mail(&world, "bob").len();
        assert_eq!(all, archived.as_array().unwrap().len() + inbox.len(), "{from}");
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    for from in ["array", "log"] {
        let (world, _) = team_with_mail(from);
        world.ok(&["log"]);
        let before = tree(&world.root());
        let told = world.json(&["team", "convert", "--to", other(from), "--dry-run"]);
        assert_eq!(told["inboxes"][1]["converted"], true);
        assert_eq!(told["inboxes"][1]["unread"], 2);
        assert_eq!(tree(&world.root()), before);
    }
}

#[test]
fn a_team_whose_lead_runs_is_not_made_a_log_unless_forced() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let config = world.root().join("teams/dev/config.json");
    let pid = std::process::id();
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replacen('{', &format!("{{\"leadProcess\":{{\"pid\":{pid}}},"), 1)).unwrap();
    let before = tree(&world.root());
    let refused = world.atm(&["team", "convert", "--to", "log", "--json"]);
    assert_eq!(refused.code, Some(4));
    assert_eq!(refused.error()["code"], "client_runs");
    assert!(refused.stderr.contains(&format!("process {pid} runs")), "{}", refused.stderr);
    assert_eq!(tree(&world.root()), before);
    world.ok(&["team", "convert", "--to", "log", "--force"]);
    assert_eq!(mail(&world, "bob").len(), 1);
    world.ok(&["team", "convert", "--to", "array"]);
}

#[test]
fn one_inbox_that_does_not_parse_stays_and_the_others_go() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("alice", r#"[{"from":"#);
    world.ok(&["send", "bob", "hello"]);
    let told = world.atm(&["team", "convert", "--to", "log", "--json"]);
    assert_eq!(told.code, Some(6), "{told:?}");
    let document: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert!(document["inboxes"][0]["error"].as_str().unwrap().contains("alice.json"), "{document}");
    assert_eq!(document["inboxes"][1]["converted"], true);
    assert_eq!(team.inbox_bytes("alice"), br#"[{"from":"#);
    assert_eq!(mail(&world, "bob").len(), 1);
    team.write_inbox("alice", "[]");
    world.ok(&["team", "convert", "--to", "log"]);
    assert_eq!(world.json(&["team", "show"])["layout"], "log");
}

#[test]
fn what_is_no_message_is_kept_and_told_of() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox(
        "bob",
        r#"[null, {"from":"a","text":"t","timestamp":"2026-11-15T18:42:20Z","read":false}, 7]"#,
    );
    let told = world.atm(&["team", "convert", "--to", "log", "--json"]);
    assert!(told.stderr.contains("entry 1") && told.stderr.contains("entry 3"), "{}", told.stderr);
    let document: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let kept = document["inboxes"][0]["kept"][0].as_str().unwrap();
    assert!(fs::read_to_string(kept).unwrap().starts_with("[null"));
    assert_eq!(mail(&world, "bob").len(), 1);
}

#[test]
fn a_client_that_holds_its_lock_is_waited_for() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "hello"]);
    fs::create_dir(team.client_lock("bob")).unwrap();
    let mut convert = world.start(&["team", "convert", "dev", "--to", "log"]);
    atm_support::wait_until("it has its turn", || world.has_its_turn("bob.json"));
    assert!(convert.is_running());
    let late = r#"[{"from":"a","text":"late","timestamp":"2026-11-15T18:42:20Z","read":false}]"#;
    fs::write(team.inbox("bob"), late).unwrap();
    fs::remove_dir(team.client_lock("bob")).unwrap();
    assert_eq!(convert.finish().code, Some(0));
    assert!(mail(&world, "bob").iter().any(|(_, text, _)| text == "late"));
}

#[test]
fn mail_that_a_client_sends_later_is_shown_beside_the_log() {
    let (world, team) = foreign_team(Layout::Array);
    world.ok(&["send", "bob", "before"]);
    world.ok(&["team", "convert", "--to", "log"]);
    fs::create_dir(team.folder().join("inboxes")).unwrap();
    Foreign::client(&team.inbox("bob")).sending("client ", 2).renaming().run();
    let texts: Vec<String> = mail(&world, "bob").into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    world.ok(&["send", "bob", "after"]);
    assert_eq!(world.json(&["--as", "bob", "read"]).as_array().unwrap().len(), 4);
    assert_eq!(world.json(&["--as", "bob", "read"]).as_array().unwrap().len(), 0);
    world.ok(&["team", "convert", "--to", "log"]);
    assert!(mail(&world, "bob").iter().all(|(_, _, read)| *read));
    assert_eq!(mail(&world, "bob").len(), 4);
    assert!(!team.folder().join("inboxes").exists());
}

#[test]
fn a_waiting_reader_gets_what_comes_after_a_conversion() {
    let (world, _) = team_with_mail("array");
    world.ok(&["--as", "bob", "read"]);
    let mut reader = world.start(&["--as", "bob", "read", "--wait", "25s", "--json"]);
    reader.wait_until_it_watches();
    world.ok(&["team", "convert", "--to", "log"]);
    world.ok(&["send", "bob", "now"]);
    let told = reader.finish();
    assert!(told.stdout.contains("now"), "{told:?}");
}

#[test]
fn its_help_says_what_happens() {
    let world = World::new();
    assert_snapshot!(world.session("atm team convert --help"), @"
    $ atm team convert --help
    Keep a team's mail in the other layout

    Usage: atm team convert [OPTIONS] --to <TO> [TEAM]

    Arguments:
      [TEAM]
              Which [default: the one that commands would use here]

    Options:
          --to <TO>
              How mail is to be kept

              Possible values:
              - array: inboxes/NAME.json, one JSON array: what agent clients use
              - log:   members/NAME/inbox, JSON Lines: what shell scripts like

          --dry-run
              Only say what would be done

          --force
              Even if a client runs that will not see the mail

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Global options:
          --root <DIR>
              The shared tree [default: $ATM_ROOT, $CLAUDE_CONFIG_DIR, ~/.claude]

          --state <DIR>
              Our own state [default: $ATM_STATE, $XDG_STATE_HOME/atm]

          --as <NAME>
              Who you are [default: $ATM_AS]

          --json
              Answer with JSON on stdout, errors as JSON on stderr

      -q, --quiet
              Say only what was asked for; of a message or task that is made, its id

          --color <WHEN>
              Use colours

              Possible values:
              - auto:   On a terminal
              - always: Always
              - never:  Never

          --utc
              Show times in UTC, to the second

          --no-pager
              Do not use a pager [else: $ATM_PAGER, $PAGER or less, on a terminal, for what is longer
              than the screen]

    Every message goes along with all its keys, read or unread as it was; `atm track` finds it as
    before. Mail that is sent meanwhile, by whomever, is in one of the two, and shown. Agent clients
    read arrays only, so while the team's lead runs, its mail is not made a log. The old files are kept
    in the state folder's quarantine. If it is cut short, the team works as it is, and the same command
    finishes it.

    Examples:
      atm team convert dev --to log --dry-run
      atm team convert dev --to log
    ");
}
