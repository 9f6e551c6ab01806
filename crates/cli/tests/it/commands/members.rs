//! `atm member` and `atm members`

use std::fs;

use insta::assert_snapshot;

use crate::scene::World;

#[test]
fn members_are_added_changed_and_removed() {
    let world = World::new();
    let session = world.session(
        "
        atm team create dev
        atm members
        atm member add alice --type reviewer --model opus --prompt 'You review.' --member-color '#00ff7f' --cwd /work
        atm member add bob --pane %14 --inactive
        atm member add alice
        atm members
        atm member set bob --active true --model haiku
        atm member set alice --active false
        atm member set carol --active false
        atm members | sed 's/shutdownAt.*/shutdownAt …/'
        atm member remove bob
        atm member remove bob
        atm members -q | cut -d' ' -f1
        ls $ATM_ROOT/teams/dev/inboxes
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm team create dev
    made team dev in [ROOT]/teams/dev
    $ atm members
    NAME              STATE   UNREAD  PENDING  OLDEST  SEEN  MODEL   WHY
    team-lead (lead)  online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    $ atm member add alice --type reviewer --model opus --prompt 'You review.' --member-color '#00ff7f' --cwd /work
    added alice@dev
    $ atm member add bob --pane %14 --inactive
    added bob@dev
    $ atm member add alice
    2> error: member alice of team dev exists already
    [exit 4]
    $ atm members
    NAME              STATE    UNREAD  PENDING  OLDEST  SEEN  MODEL   WHY
    team-lead (lead)  online   0       0        -       -     sonnet  isActive is true in config.json; never heard from
    alice             online   0       0        -       -     opus    isActive is true in config.json; never heard from
    bob               offline  0       0        -       -     sonnet  isActive is false in config.json
    $ atm member set bob --active true --model haiku
    changed bob@dev
    $ atm member set alice --active false
    changed alice@dev
    $ atm member set carol --active false
    2> error: team dev has no member "carol"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm members | sed 's/shutdownAt.*/shutdownAt …/'
    NAME              STATE    UNREAD  PENDING  OLDEST  SEEN  MODEL   WHY
    team-lead (lead)  online   0       0        -       -     sonnet  isActive is true in config.json; never heard from
    alice             offline  0       0        -       -     opus    isActive is false in config.json; shutdownAt …
    bob               online   0       0        -       -     haiku   isActive is true in config.json; never heard from
    $ atm member remove bob
    removed bob@dev
    $ atm member remove bob
    2> error: team dev has no member "bob"
    2>   hint: `atm members` shows the names
    [exit 3]
    $ atm members -q | cut -d' ' -f1
    NAME
    team-lead
    alice
    $ ls $ATM_ROOT/teams/dev/inboxes
    alice.json
    bob.json
    team-lead.json
    "#);
}

#[test]
fn fields_that_break_the_rules_are_refused_and_nothing_is_changed() {
    let world = World::with_team();
    let config = world.root().join("teams/dev/config.json");
    let before = fs::read_to_string(&config).unwrap();
    let session = world.session(
        "
        atm member add Carol
        atm member add carol --model ''
        atm member add carol --pane 14
        atm member set bob --type ' '
        atm member set bob --pane 14
        atm member set bob --active maybe
        atm member set bob
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm member add Carol
    2> error: member name "Carol": must be kebab-case: lower-case letters and digits, single hyphens between them
    [exit 2]
    $ atm member add carol --model ''
    2> error: --model: must be haiku, sonnet, opus or a model's full id
    [exit 2]
    $ atm member add carol --pane 14
    2> error: --pane: must be "%<number>", "leader", "in-process" or empty
    [exit 2]
    $ atm member set bob --type ' '
    2> error: --type: must not be empty
    [exit 2]
    $ atm member set bob --pane 14
    2> error: --pane: must be "%<number>", "leader", "in-process" or empty
    [exit 2]
    $ atm member set bob --active maybe
    2> error: invalid value 'maybe' for '--active <BOOL>'
    2>   [possible values: true, false]
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm member set bob
    changed bob@dev
    "#);
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    assert!(!world.root().join("teams/dev/inboxes/carol.json").exists());
}

#[test]
fn keys_that_others_put_into_the_file_survive_a_change() {
    let world = World::with_team();
    let config = world.root().join("teams/dev/config.json");
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replacen('{', "{\n  \"theirs\": 12345678901234567890,", 1);
    fs::write(&config, text.replace("\"name\": \"bob\"", "\"name\": \"bob\", \"alsoTheirs\": 1E2")).unwrap();
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.ok(&["member", "add", "carol"]);
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("\"theirs\": 12345678901234567890,"), "{text}");
    assert!(text.contains("\"name\": \"bob\", \"alsoTheirs\": 1E2"), "{text}");
}

#[test]
fn what_waits_for_whom_is_counted() {
    let world = World::with_team();
    let session = world.session(
        "
        atm send bob one
        atm member set bob --active false
        atm send bob two
        atm send alice three
        atm --as alice read -q
        atm members --json
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm send bob one
    delivered for bob@dev, id [ID]
    $ atm member set bob --active false
    changed bob@dev
    $ atm send bob two
    queued for bob@dev, id [ID]
    2> warning: bob is offline (isActive is false): the message is queued
    $ atm send alice three
    delivered for alice@dev, id [ID]
    $ atm --as alice read -q
    user → alice  just now  [ID]
      three
    $ atm members --json
    [
      {
        "name": "team-lead",
        "agentId": "team-lead@dev",
        "state": "online",
        "evidence": [
          "isActive is true in config.json",
          "never heard from"
        ],
        "unread": 0,
        "pending": 0,
        "oldestPending": null,
        "lastSeen": null,
        "agentType": "team-lead",
        "model": "sonnet",
        "color": "yellow",
        "lead": true,
        "machine": null,
        "activity": null,
        "since": null
      },
      {
        "name": "alice",
        "agentId": "alice@dev",
        "state": "online",
        "evidence": [
          "isActive is true in config.json",
          "took mail at [.........TIME.........]"
        ],
        "unread": 0,
        "pending": 0,
        "oldestPending": null,
        "lastSeen": "[.........TIME.........]",
        "agentType": "general-purpose",
        "model": "sonnet",
        "color": "blue",
        "lead": false,
        "machine": null,
        "activity": null,
        "since": null
      },
      {
        "name": "bob",
        "agentId": "bob@dev",
        "state": "offline",
        "evidence": [
          "isActive is false in config.json",
          "shutdownAt is [.........TIME.........]"
        ],
        "unread": 2,
        "pending": 1,
        "oldestPending": "[.........TIME.........]",
        "lastSeen": null,
        "agentType": "general-purpose",
        "model": "sonnet",
        "color": "green",
        "lead": false,
        "machine": null,
        "activity": null,
        "since": null
      }
    ]
    "#);
}

#[test]
fn answers_are_documents_when_asked_for() {
    let world = World::with_team();
    let session = world.session(
        "
        atm member add carol --json
        atm member set carol --active false --json
        atm member remove carol --json
        atm member remove carol --json
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm member add carol --json
    {
      "added": true,
      "name": "carol",
      "team": "dev"
    }
    $ atm member set carol --active false --json
    {
      "changed": true,
      "name": "carol",
      "team": "dev"
    }
    $ atm member remove carol --json
    {
      "name": "carol",
      "removed": true,
      "team": "dev"
    }
    $ atm member remove carol --json
    2> {"error":{"code":"no_such_member","message":"team dev has no member \"carol\"","hint":"`atm members` shows the names"}}
    [exit 3]
    "#);
}

#[test]
fn a_pane_says_where_a_member_runs_and_a_colour_is_one() {
    let world = World::with_team();
    world.ok(&["member", "set", "bob", "--pane", "%7"]);
    let config = std::fs::read_to_string(world.root().join("teams/dev/config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let bob = config["members"].as_array().unwrap().iter().find(|member| member["name"] == "bob").unwrap();
    assert_eq!((&bob["tmuxPaneId"], &bob["backendType"]), (&"%7".into(), &"tmux".into()));
    let wrong = world.atm(&["member", "set", "bob", "--pane", "7"]);
    assert!(wrong.stderr.contains("--pane: must be \"%<number>\""), "{wrong:?}");
    for line in ["member add carol --member-color puce", "member set bob --member-color #12345"] {
        let answer = world.atm(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(answer.code, Some(2), "{line}: {answer:?}");
        assert!(
            answer.stderr.contains("--member-color: must be the name of a colour, like blue, or #RRGGBB"),
            "{}",
            answer.stderr
        );
    }
    world.ok(&["member", "set", "bob", "--member-color", "#0A84ff"]);
}

#[test]
fn a_member_with_unread_mail_is_removed_by_request_and_comes_back_with_all_it_had() {
    let world = World::with_team();
    world.ok(&["member", "set", "bob", "--model", "haiku", "--metadata", "room=4"]);
    world.ok(&["--as", "alice", "send", "bob", "the build is red"]);
    let config = world.root().join("teams/dev/config.json");
    let before = fs::read_to_string(&config).unwrap();
    let refused = world.atm(&["member", "remove", "bob"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("bob@dev has 1 unread message"), "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), before);

    world.ok(&["member", "remove", "bob", "--yes"]);
    assert!(!fs::read_to_string(&config).unwrap().contains("bob@dev"));
    world.ok(&["member", "restore", "bob"]);
    let members = world.json(&["members"]);
    let bob = members.as_array().unwrap().iter().find(|member| member["name"] == "bob").unwrap();
    assert_eq!((&bob["model"], &bob["unread"]), (&"haiku".into(), &1.into()), "{bob}");
    assert_eq!(bob["metadata"]["room"], "4");

    assert_eq!(world.atm(&["member", "restore", "bob"]).code, Some(4), "it is there");
    assert_eq!(world.atm(&["member", "restore", "carol"]).code, Some(3), "it never was");
}

#[test]
fn who_acts_is_somebody_that_the_team_knows() {
    let world = World::with_team();
    for command in [
        &["request", "bob", "{}"][..],
        &["task", "create", "Fix it"],
        &["health", "bob"],
        &["idle"],
        &["heartbeat"],
        &["shutdown", "request", "bob"],
    ] {
        let refused = world.atm(&[&["--as", "alcie"], command].concat());
        assert_eq!(refused.code, Some(3), "{command:?}: {refused:?}");
        assert!(refused.stderr.contains("alice"), "{command:?}: {refused:?}");
    }
}
