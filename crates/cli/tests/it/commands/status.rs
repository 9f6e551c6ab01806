//! `atm status`, and `atm` alone

use insta::assert_snapshot;

use crate::scene::World;

#[test]
fn without_a_team_there_are_a_few_lines_on_how_to_begin() {
    let world = World::new();
    assert_snapshot!(world.session("atm\natm status\natm --json"), @r#"
    $ atm
    no team in [ROOT] yet
      atm demo              plays a team's day in a throw-away folder, in a few seconds
      atm team create NAME  makes a team; `atm member add NAME` adds who is in it
      atm install claude    makes every session of Claude Code a mailbox, without a team: `atm sessions` lists them
      atm                   shows a team that Claude Code runs, as soon as it has started one there
    $ atm status
    2> error: there is no team below [ROOT]
    2>   hint: `atm team create NAME` makes one; `atm install claude` makes sessions reachable without one; `atm config` shows which root is used, and why
    [exit 3]
    $ atm --json
    2> {"error":{"code":"no_teams","message":"there is no team below [ROOT]","hint":"`atm team create NAME` makes one; `atm install claude` makes sessions reachable without one; `atm config` shows which root is used, and why"}}
    [exit 3]
    "#);
}

#[test]
fn mail_for_you_stands_above_the_members() {
    let world = World::with_team();
    let sent = world.json(&["send", "bob", "is it done?"]);
    world.ok(&["--as", "bob", "reply", sent["id"].as_str().unwrap(), "yes"]);
    assert_snapshot!(world.session("atm\natm status --line\natm --as alice status --line"), @"
    $ atm
    team dev: nothing waits: no mail is queued, unacknowledged, lost, unanswered, or unread for 10 min by somebody who is not off (3 inboxes and the ledger)

    1 unread for user: atm read
      FROM  SENT      WHAT  ID
      bob   just now  yes   [ID]

    NAME              STATE   UNREAD  PENDING  OLDEST  SEEN      MODEL   WHY
    team-lead (lead)  online  0       0        -       -         sonnet  isActive is true in config.json; never heard from
    alice             online  0       0        -       -         sonnet  isActive is true in config.json; never heard from
    bob               online  1       0        -       just now  sonnet  isActive is true in config.json
    $ atm status --line
    ✉1 !0
    $ atm --as alice status --line
    ✉0 !0
    ");
    assert_eq!(world.json(&[])["for_you"][0]["text"], "yes");
}

/// With several teams, `atm --as user read` and `atm pending` were refused: nothing said which team.
#[test]
fn the_commands_that_are_shown_can_be_run_as_they_stand() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops", "--lead", "owl"]);
    world.ok(&["-t", "ops", "--as", "owl", "send", "user", "the disk is full"]);
    world.ok(&["-t", "dev", "send", "bob", "look", "--ack-by", "1h"]);
    let shown = world.ok::<&str>(&[]);
    assert!(shown.contains("1 unread for user: atm -t ops read\n"), "{shown}");
    assert!(shown.contains("1 waiting: atm -t dev pending\n"), "{shown}");
    assert!(world.ok(&["-t", "ops", "read"]).contains("the disk is full"));
    assert!(world.ok(&["-t", "dev", "pending"]).contains("look"));
    // Who asks for one team, or as somebody, has to say so again.
    world.ok(&["-t", "ops", "--as", "user", "send", "owl", "on it"]);
    let shown = world.ok(&["-t", "ops", "--as", "owl", "status"]);
    assert!(shown.contains("1 unread for owl: atm -t ops --as owl read\n"), "{shown}");
}

/// `track`, `thread` and `recall` took an id for what it is; `reply` and `ack` asked for the team.
#[test]
fn an_id_says_which_team_is_meant() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops", "--lead", "owl"]);
    let asked = world.json(&["-t", "ops", "--as", "owl", "send", "user", "may I?", "--ack-by", "1h"]);
    let id = asked["id"].as_str().unwrap();
    assert_eq!(world.json(&["ack", id])["team"], "ops");
    assert_eq!(world.json(&["reply", &id[id.len() - 8..], "yes"])["to"], "owl");
    let unknown = world.atm(&["reply", "00000000", "yes"]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(unknown.stderr.contains("--team with one of: dev, ops"), "{unknown:?}");
}

#[test]
fn several_teams_can_be_looked_at_together() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops", "--lead", "owl"]);
    world.ok(&["-t", "dev", "send", "bob", "one"]);
    for teams in [&["--all-teams"][..], &["-t", "dev", "-t", "ops"]] {
        let look = |command: &[&str]| world.json(&[command, teams].concat());
        assert_eq!(look(&["members"]).as_array().unwrap().len(), 4);
        assert_eq!(look(&["inbox", "bob"])[0]["team"], "dev");
        assert_eq!(look(&["pending"]), serde_json::json!([]));
        let pictures = look(&["status"]);
        assert_eq!((&pictures[0]["team"], &pictures[1]["team"]), (&"dev".into(), &"ops".into()));
    }
    // Nothing says which of them is meant: a status bar has one line.
    world.ok(&["-t", "ops", "--as", "owl", "send", "user", "hello"]);
    assert_eq!(world.ok(&["status", "--line"]), "✉1 !0\n");
    assert_eq!(world.ok(&["status", "--line", "--all-teams"]), "dev ✉0 !0\nops ✉1 !0\n");
    assert_eq!(world.ok(&["-t", "ops", "status", "--line"]), "✉1 !0\n");
    assert_eq!(world.ok::<&str>(&[]), world.ok(&["status", "--all-teams"]));
    assert_eq!(world.atm(&["status"]).code, Some(3));
    let refused = world.atm(&["-t", "dev", "-t", "ops", "send", "bob", "two"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn a_members_history_is_what_was_seen_of_it() {
    let world = World::with_team();
    world.ok(&["send", "bob", "so that there is a ledger"]);
    world.ok(&["members"]);
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.ok(&["members"]);
    let history = world.json(&["status", "bob", "--history"])["history"].clone();
    let states: Vec<&str> =
        history.as_array().unwrap().iter().map(|past| past["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["offline", "online"], "{history}");
    let shown = world.ok(&["status", "bob", "--history"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("bob: offline (") && lines[1].starts_with("SINCE"), "{shown}");
    assert!(lines[2].contains("offline") && lines[3].contains("online"), "{shown}");
    assert!(world.json(&["status", "bob"]).get("history").is_none());
}
