//! What is shown of tasks.

use std::fs;
use std::path::Path;

use atm_support::client_fixtures;
use insta::assert_snapshot;

use super::with_tasks;
use crate::scene::World;

#[test]
fn a_teams_tasks_in_a_list_on_a_board_and_as_a_tree() {
    let world = with_tasks(&["Design", "Build", "Test", "Ship"]);
    assert_snapshot!(world.session("
        atm task block 2 --by 1
        atm task block 3 --by 2
        atm task block 4 --by 2,3
        atm --as bob task claim 1
        atm task assign 2 alice
        atm task list --board
        atm task list --ready
        atm --as alice task list --mine
        atm task list --blocked --status pending
        atm task graph
        atm --as bob task complete 1 --hours 2 --notes 'as drawn'
        atm task graph
        atm task unblock 3
        atm task unblock 4 --from 3
        atm task delete 3
        atm --quiet task create Rest
        atm task list --status completed
    "), @r#"
    $ atm task block 2 --by 1
    task 2 waits for 1
    $ atm task block 3 --by 2
    task 3 waits for 2
    $ atm task block 4 --by 2,3
    task 4 waits for 2, 3
    $ atm --as bob task claim 1
    task 1 is yours
    task 1  Design
      status      in_progress
      owner       bob
      lease       until [......TIME.......]
      blocks      2
      claimed_at: "[.........TIME.........]"
      claim_expiry_seconds: 300
    $ atm task assign 2 alice
    task 2 is alice's
    delivered for alice@dev, id [ID]
    $ atm task list --board
    PENDING              IN PROGRESS     COMPLETED
    2 Build (alice) ← 1  1 Design (bob)
    3 Test ← 2
    4 Ship ← 2, 3
    $ atm task list --ready
    no tasks
    $ atm --as alice task list --mine
    ID  STATUS   OWNER  LEASE  WAITS FOR  SUBJECT
    2   pending  alice  -      1          Build
    $ atm task list --blocked --status pending
    ID  STATUS   OWNER  LEASE  WAITS FOR  SUBJECT
    2   pending  alice  -      1          Build
    3   pending  -      -      2          Test
    4   pending  -      -      2, 3       Ship
    $ atm task graph
    1 Design [in_progress, bob]
    └─ 2 Build [pending, alice]
       ├─ 3 Test [pending]
       │  └─ 4 Ship [pending]
       └─ 4 Ship (see above)
    $ atm --as bob task complete 1 --hours 2 --notes 'as drawn'
    completed task 1: Design
    delivered for team-lead@dev, id [ID]
    can begin now: 2
    $ atm task graph
    1 Design [completed, bob]
    └─ 2 Build [pending, alice]
       ├─ 3 Test [pending]
       │  └─ 4 Ship [pending]
       └─ 4 Ship (see above)
    $ atm task unblock 3
    task 3 waits for nothing
    $ atm task unblock 4 --from 3
    task 4 waits for 2
    $ atm task delete 3
    deleted task 3
    $ atm --quiet task create Rest
    5
    $ atm task list --status completed
    ID  STATUS     OWNER  LEASE  WAITS FOR  SUBJECT
    1   completed  bob    -      -          Design
    "#);
}

#[test]
fn one_task_in_full() {
    let world = with_tasks(&[]);
    assert_snapshot!(world.session("
        atm task create 'Build it' -d 'all of it' --active-form 'Building it' --metadata prio=1 --metadata who='the boss'
        atm task update 1 --metadata prio= --metadata deep='{\"a\":[1.50]}' --description 'all of it, twice'
        atm task update 1 --subject 'Build all' --status in_progress
        atm task show 1
    "), @r#"
    $ atm task create 'Build it' -d 'all of it' --active-form 'Building it' --metadata prio=1 --metadata who='the boss'
    made task 1: Build it
    $ atm task update 1 --metadata prio= --metadata deep='{"a":[1.50]}' --description 'all of it, twice'
    changed task 1
    $ atm task update 1 --subject 'Build all' --status in_progress
    changed task 1
    $ atm task show 1
    task 1  Build all
      status      in_progress
      doing       Building it
      who:        "the boss"
      deep:       {"a":[1.50]}
      | all of it, twice
    "#);
    let text = fs::read_to_string(world.tasks().join("1.json")).unwrap();
    assert!(text.contains("1.50"), "{text}");
}

#[test]
fn the_documents_that_programs_build_on() {
    let world = with_tasks(&["Build", "Test"]);
    world.ok(&["task", "block", "2", "--by", "1"]);
    world.ok(&["--as", "bob", "task", "claim", "1"]);
    assert_snapshot!(world.session("
        atm task show 1 --json
        atm task graph --json
        atm --as bob task complete 1 --hours 1.5 --no-message --json
        atm task delete 2 --json
        atm task list --ready --json
    "), @r#"
    $ atm task show 1 --json
    {
      "id": "1",
      "subject": "Build",
      "description": "",
      "activeForm": null,
      "status": "in_progress",
      "owner": "bob",
      "blocks": [
        "2"
      ],
      "blockedBy": [],
      "waitsFor": [],
      "ready": false,
      "lease": {
        "claimedAt": "[.........TIME.........]",
        "expiresAt": "[.........TIME.........]",
        "expired": false
      },
      "metadata": {
        "claimed_at": "[.........TIME.........]",
        "claim_expiry_seconds": 300
      }
    }
    $ atm task graph --json
    {
      "links": [
        {
          "after": "2",
          "before": "1"
        }
      ],
      "tasks": [
        {
          "id": "1",
          "owner": "bob",
          "status": "in_progress",
          "subject": "Build"
        },
        {
          "id": "2",
          "owner": null,
          "status": "pending",
          "subject": "Test"
        }
      ]
    }
    $ atm --as bob task complete 1 --hours 1.5 --no-message --json
    {
      "task": {
        "id": "1",
        "subject": "Build",
        "description": "",
        "activeForm": null,
        "status": "completed",
        "owner": "bob",
        "blocks": [
          "2"
        ],
        "blockedBy": [],
        "waitsFor": [],
        "ready": false,
        "lease": null,
        "metadata": {"completed_at": "[.........TIME.........]", "actual_hours": 1.5}
      },
      "sent": null,
      "unblocked": [
        "2"
      ]
    }
    $ atm task delete 2 --json
    {
      "deleted": true,
      "id": "2",
      "team": "dev"
    }
    $ atm task list --ready --json
    []
    "#);
}

/// Puts a real client's team and its tasks into a root of ours.
fn real_team(client: &str, team: &str) -> World {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let target = to.join(path.file_name().unwrap());
            if path.is_dir() {
                copy(&path, &target);
            } else {
                fs::copy(&path, target).unwrap();
            }
        }
    }
    let world = World::new();
    for part in ["teams", "tasks"] {
        let from = client_fixtures().join(client).join(part).join(team);
        copy(&from, &world.root().join(part).join(team));
    }
    world
}

#[test]
fn tasks_of_real_clients_are_listed_claimed_and_otherwise_left_as_they_are() {
    for (client, team) in [
        ("claude-code-2.1.77", "demo"),
        ("claude-code-2.1.197", "session-4492fd52"),
        ("claude-code-2.1.325", "session-ed8ca403"),
    ] {
        let world = real_team(client, team);
        let file = world.root().join("tasks").join(team).join("2.json");
        let before = fs::read_to_string(&file).unwrap();
        let listed = world.ok(&["task", "list"]);
        assert_eq!(
            listed,
            "ID  STATUS       OWNER  LEASE  WAITS FOR  SUBJECT\n1   in_progress  alice  -      -          First task\n\
             2   pending      -      -      1          Second task\n"
        );
        assert_eq!(world.atm(&["--as", "team-lead", "task", "claim", "2"]).code, Some(4));
        let done = world.json(&["task", "complete", "1", "--no-message"]);
        assert_eq!(done["unblocked"], serde_json::json!(["2"]));
        world.ok(&["--as", "team-lead", "task", "claim", "2"]);
        world.ok(&["task", "release", "2"]);
        world.ok(&["task", "update", "2", "--metadata", "released_at=", "--metadata", "released_from="]);
        assert_eq!(fs::read_to_string(&file).unwrap(), before, "and back to the byte");
    }
}

#[test]
fn a_file_that_does_not_parse_is_told_and_the_rest_is_listed() {
    let world = with_tasks(&["a", "b"]);
    fs::write(world.tasks().join("1.json"), "{\"id\":").unwrap();
    let list = world.atm(&["task", "list"]);
    assert_eq!(list.code, Some(0));
    assert!(list.stdout.contains("2   pending") && !list.stdout.contains("1   pending"), "{list:?}");
    assert!(list.stderr.contains("1.json"), "{list:?}");
    assert_eq!(world.atm(&["task", "show", "1"]).code, Some(6));
    assert_eq!(world.json(&["task", "create", "c"])["task"]["id"], "3");
    assert_eq!(fs::read_to_string(world.tasks().join("1.json")).unwrap(), "{\"id\":");
}

#[test]
fn hostile_titles_are_shown_and_not_obeyed() {
    let world = with_tasks(&["\u{1b}[31mred</text><script>alert(1)</script>\u{202e}"]);
    world.ok(&["task", "create", "x", "--blocked-by", "1", "--owner", "bob"]);
    for shown in
        [&["task", "list"][..], &["task", "list", "--board"], &["task", "show", "1"], &["task", "graph"]]
    {
        let text = world.ok(shown);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
    let picture = world.home().join("tasks.svg");
    world.ok(&["task", "graph", "--svg", picture.to_str().unwrap()]);
    let svg = fs::read_to_string(picture).unwrap();
    assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script>") && !svg.contains('\u{1b}'), "{svg}");
    assert_eq!(svg.matches("class=\"box").count(), 2);
    assert_eq!(svg.matches("marker-end").count(), 1);
    assert_eq!(world.atm(&["task", "graph", "--svg", "/nowhere/x.svg"]).code, Some(7));
}
