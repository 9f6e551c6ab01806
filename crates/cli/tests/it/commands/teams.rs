//! `atm team`

use std::fs;

use atm_support::client_fixtures;
use insta::assert_snapshot;

use crate::scene::{World, tree};

/// A world with two teams that agent clients made by themselves.
fn world_of_clients() -> World {
    let world = World::new();
    for client in ["claude-code-2.1.197", "claude-code-2.1.325"] {
        copy(&client_fixtures().join(client), &world.root());
    }
    world
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for path in tree(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        if path.is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(path, target).unwrap();
        }
    }
}

#[test]
fn a_team_is_made_listed_and_shown_and_not_made_twice() {
    let world = World::new();
    let session = world.session(
        "
        atm team list
        atm team create dev --description 'Builds the thing'
        atm team create dev
        atm team create night-shift --layout log --lead owl --quiet
        atm team list
        atm team show dev
        atm -t night-shift team show
        ",
    );
    assert_snapshot!(session, @"
    $ atm team list
    no teams below [ROOT]; `atm team create NAME` makes one
    $ atm team create dev --description 'Builds the thing'
    made team dev in [ROOT]/teams/dev
    $ atm team create dev
    2> error: team dev exists already
    [exit 4]
    $ atm team create night-shift --layout log --lead owl --quiet
    $ atm team list
    TEAM         CALLED  LAYOUT  MEMBERS  LEAD       MADE              DESCRIPTION
    dev          -       array   1        team-lead  [.....TIME.....]  Builds the thing
    night-shift  -       log     1        owl        [.....TIME.....]  night-shift
    $ atm team show dev
    team           dev
    description    Builds the thing
    made           [.....TIME.....]
    lead works in  [HOME]
    layout         array
    folder         [ROOT]/teams/dev

    NAME              STATE   UNREAD  PENDING  OLDEST  SEEN  MODEL   WHY
    team-lead (lead)  online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    $ atm -t night-shift team show
    team           night-shift
    description    night-shift
    made           [.....TIME.....]
    lead works in  [HOME]
    layout         log
    folder         [ROOT]/teams/night-shift

    NAME        STATE   UNREAD  PENDING  OLDEST  SEEN  MODEL   WHY
    owl (lead)  online  0       0        -       -     sonnet  isActive is true in config.json; never heard from
    ");
}

#[test]
fn what_is_made_is_what_agent_clients_expect() {
    let world = World::new();
    world.ok(&["team", "create", "dev", "--description", "Builds the thing"]);
    let config = fs::read_to_string(world.root().join("teams/dev/config.json")).unwrap();
    assert_snapshot!(world.mask(&config).replace(|c: char| c.is_ascii_digit(), "0"), @r#"
    {
      "name": "dev",
      "description": "Builds the thing",
      "createdAt": "[.........TIME.........]",
      "schemaVersion": "0.0.0",
      "leadAgentId": "team-lead@dev",
      "members": [
        {
          "agentId": "team-lead@dev",
          "name": "team-lead",
          "agentType": "team-lead",
          "model": "sonnet",
          "prompt": "",
          "color": "yellow",
          "joinedAt": 0000000000000,
          "tmuxPaneId": "leader",
          "cwd": "[HOME]",
          "subscriptions": [],
          "backendType": "in-process",
          "isActive": true,
          "spawnedAt": "[.........TIME.........]"
        }
      ]
    }
    "#);
    assert_eq!(fs::read(world.root().join("teams/dev/inboxes/team-lead.json")).unwrap(), b"[]");
}

#[test]
fn names_and_descriptions_that_break_the_rules_are_refused() {
    let world = World::new();
    let session = world.session(
        "
        atm team create Dev
        atm team create ab
        atm team create a--b
        atm team create dev --description ''
        atm team create dev --lead 'Big Boss'
        atm team create dev --layout tree
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm team create Dev
    2> error: team name "Dev": must be kebab-case: lower-case letters and digits, single hyphens between them
    [exit 2]
    $ atm team create ab
    2> error: team name "ab": must have 3 to 64 characters
    [exit 2]
    $ atm team create a--b
    2> error: team name "a--b": must be kebab-case: lower-case letters and digits, single hyphens between them
    [exit 2]
    $ atm team create dev --description ''
    2> error: --description: must have 1 to 500 characters
    [exit 2]
    $ atm team create dev --lead 'Big Boss'
    2> error: member name "Big Boss": must be kebab-case: lower-case letters and digits, single hyphens between them
    [exit 2]
    $ atm team create dev --layout tree
    2> error: invalid value 'tree' for '--layout <LAYOUT>'
    2>   [possible values: array, log]
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
    assert!(tree(&world.root()).is_empty(), "nothing was made");
}

#[test]
fn a_team_with_unread_mail_is_deleted_by_force_only_and_its_files_are_kept() {
    let world = World::with_team();
    world.ok(&["send", "bob", "do not lose this"]);
    let inbox = fs::read(world.root().join("teams/dev/inboxes/bob.json")).unwrap();
    let session = world.session(
        "
        atm team delete dev
        atm team list
        atm team delete dev --force
        atm team list
        atm team delete dev
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm team delete dev
    2> error: team dev has 1 unread message
    2>   hint: --force deletes it all the same; its files are kept in the state folder
    [exit 4]
    $ atm team list
    TEAM  CALLED  LAYOUT  MEMBERS  LEAD       MADE              DESCRIPTION
    dev   -       array   3        team-lead  [.....TIME.....]  dev
    $ atm team delete dev --force
    deleted team dev; its files are in [STATE]/deleted/dev.[TIME]
    $ atm team list
    no teams below [ROOT]; `atm team create NAME` makes one
    $ atm team delete dev
    2> error: there is no team "dev"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    "#);
    let kept: Vec<_> = tree(&world.state().join("deleted"))
        .into_iter()
        .filter(|path| path.ends_with("team/inboxes/bob.json"))
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read(&kept[0]).unwrap(), inbox);
}

#[test]
fn a_team_whose_mail_is_read_is_deleted_with_its_tasks() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    world.ok(&["--as", "bob", "read"]);
    let task = world.root().join("tasks/dev/1.json");
    fs::create_dir_all(task.parent().unwrap()).unwrap();
    fs::write(&task, "{}").unwrap();
    let deleted = world.json(&["team", "delete", "dev"]);
    let kept = std::path::PathBuf::from(deleted["kept"].as_str().unwrap());
    assert!(kept.join("team/config.json").is_file() && kept.join("tasks/1.json").is_file());
    assert_eq!(tree(&world.root()), [world.root().join("tasks"), world.root().join("teams")]);
}

#[test]
fn teams_that_clients_made_are_called_by_the_folder_that_their_lead_works_in() {
    let world = world_of_clients();
    // Two leads in one folder: the name fits both.
    assert_snapshot!(world.session("atm team list\natm -t project members"), @"
    $ atm team list
    TEAM              CALLED   LAYOUT  MEMBERS  LEAD       MADE              DESCRIPTION
    session-4492fd52  project  array   2        team-lead  [.....TIME.....]  -
    session-ed8ca403  project  array   2        team-lead  [.....TIME.....]  -
    $ atm -t project members
    2> error: there are several teams, and nothing says which one is meant
    2>   hint: use --team with one of: session-4492fd52 (project, /home/user/project), session-ed8ca403 (project, /home/user/project)
    [exit 3]
    ");

    let other = world.root().join("teams/session-4492fd52/config.json");
    let moved = fs::read_to_string(&other).unwrap().replace("/home/user/project", "/home/user/website");
    fs::write(&other, moved).unwrap();
    let session = world.session(
        "
        atm team list
        atm -t project members --json | jq -c '.[] | [.name, .unread, .model]'
        atm -t website team show | head -6
        atm -t project inbox alice
        atm -t projct members
        atm send alice@project 'by the name of the folder'
        atm inbox alice@website --last 1
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm team list
    TEAM              CALLED   LAYOUT  MEMBERS  LEAD       MADE              DESCRIPTION
    session-4492fd52  website  array   2        team-lead  [.....TIME.....]  -
    session-ed8ca403  project  array   2        team-lead  [.....TIME.....]  -
    $ atm -t project members --json | jq -c '.[] | [.name, .unread, .model]'
    ["team-lead",3,null]
    ["alice",1,"claude-sonnet-4-5"]
    $ atm -t website team show | head -6
    team           session-4492fd52
    called         website
    made           [.....TIME.....]
    lead works in  /home/user/website
    layout         array
    folder         [ROOT]/teams/session-4492fd52
    $ atm -t project inbox alice
    team-lead → alice  [.....TIME.....]  unread  task_assignment  [ID]
      assignedBy: team-lead
      description: Do the first thing
      subject: First task
      taskId: 1
    $ atm -t projct members
    2> error: there is no team "projct"
    2>   hint: did you mean project?
    [exit 3]
    $ atm send alice@project 'by the name of the folder'
    delivered for alice@session-ed8ca403, id [ID]
    $ atm inbox alice@website --last 1
    team-lead → alice  [.....TIME.....]  unread  [ID]
      please answer
    "#);
}

#[test]
fn a_team_that_cannot_be_read_is_listed_with_its_trouble() {
    let world = World::with_team();
    let broken = world.root().join("teams/broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("config.json"), "{\"name\": \"broken\", ").unwrap();
    let session = world.session(
        "
        atm team list
        atm team show broken
        atm -t broken members
        atm -t broken send bob hello
        ",
    );
    assert_snapshot!(session, @"
    $ atm team list
    TEAM    CALLED  LAYOUT  MEMBERS  LEAD       MADE              DESCRIPTION
    broken  -       array   0        -          -                 -
    dev     -       array   3        team-lead  [.....TIME.....]  dev
    2> warning: [ROOT]/teams/broken/config.json: the team's configuration is not valid JSON: EOF while parsing an object at line 1 column 19
    $ atm team show broken
    team           broken
    layout         array
    folder         [ROOT]/teams/broken
    2> warning: [ROOT]/teams/broken/config.json: the team's configuration is not valid JSON: EOF while parsing an object at line 1 column 19
    $ atm -t broken members
    2> error: [ROOT]/teams/broken/config.json: the team's configuration is not valid JSON: EOF while parsing an object at line 1 column 19
    2>   hint: nothing was changed; mend the file
    [exit 6]
    $ atm -t broken send bob hello
    2> error: [ROOT]/teams/broken/config.json: the team's configuration is not valid JSON: EOF while parsing an object at line 1 column 19
    2>   hint: nothing was changed; mend the file
    [exit 6]
    ");
}

#[test]
fn answers_are_documents_when_asked_for() {
    let world = World::new();
    let session = world.session(
        "
        atm team create dev --json
        atm team list --json
        atm team show dev --json
        atm team delete dev --json
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm team create dev --json
    {
      "aliases": [],
      "createdAt": "[.........TIME.........]",
      "cwd": "[HOME]",
      "description": "dev",
      "group": null,
      "label": null,
      "layout": "array",
      "lead": "team-lead",
      "members": [
        "team-lead"
      ],
      "name": "dev",
      "path": "[ROOT]/teams/dev",
      "trouble": null
    }
    $ atm team list --json
    [
      {
        "aliases": [],
        "createdAt": "[.........TIME.........]",
        "cwd": "[HOME]",
        "description": "dev",
        "group": null,
        "label": null,
        "layout": "array",
        "lead": "team-lead",
        "members": [
          "team-lead"
        ],
        "name": "dev",
        "path": "[ROOT]/teams/dev",
        "trouble": null
      }
    ]
    $ atm team show dev --json
    {
      "aliases": [],
      "createdAt": "[.........TIME.........]",
      "cwd": "[HOME]",
      "description": "dev",
      "group": null,
      "label": null,
      "layout": "array",
      "lead": "team-lead",
      "members": [
        {
          "activity": null,
          "agentId": "team-lead@dev",
          "agentType": "team-lead",
          "color": "yellow",
          "evidence": [
            "isActive is true in config.json",
            "never heard from"
          ],
          "lastSeen": null,
          "lead": true,
          "machine": null,
          "model": "sonnet",
          "name": "team-lead",
          "oldestPending": null,
          "pending": 0,
          "since": null,
          "state": "online",
          "unread": 0
        }
      ],
      "name": "dev",
      "path": "[ROOT]/teams/dev",
      "trouble": null
    }
    $ atm team delete dev --json
    {
      "deleted": true,
      "kept": "[STATE]/deleted/dev.[TIME]",
      "team": "dev"
    }
    "#);
}
