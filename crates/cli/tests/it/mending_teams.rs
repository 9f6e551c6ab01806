//! Teams whose lead is gone, whose names are wrong, or who have no name to speak of.

use std::fs;
use std::process::{Child, Command};

use atm_store::Layout;
use atm_support::{Foreign, wait_until};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::scene::{Answer, World, foreign_team, texts, tree};

/// A process that runs until it is dropped.
struct Lead(Child);

impl Lead {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn config(world: &World) -> Value {
    serde_json::from_slice(&fs::read(world.root().join("teams/dev/config.json")).unwrap()).unwrap()
}

fn change_config(world: &World, change: impl FnOnce(&mut Value)) {
    let mut document = config(world);
    change(&mut document);
    fs::write(world.root().join("teams/dev/config.json"), document.to_string()).unwrap();
}

fn refused(answer: &Answer, exit: i32, code: &str, words: &str) {
    let error = answer.error();
    assert_eq!((answer.code, error["code"].as_str()), (Some(exit), Some(code)), "{answer:?}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_session_leads_a_team_whose_lead_is_gone() {
    let (world, _team) = foreign_team(Layout::Array);
    let adopted = world.json(&["team", "join", "dev", "--session", "new-session"]);
    assert_eq!((&adopted["lead"], &adopted["session"]), (&json!("team-lead"), &json!("new-session")));
    assert_eq!(adopted["before"], "404c5e08-c459-429b-b913-7ff840c3ff52");
    let now = config(&world);
    assert_eq!(
        (&now["leadAgentId"], &now["leadSessionId"]),
        (&json!("team-lead@dev"), &json!("new-session"))
    );
    assert_eq!(now["members"][0]["cwd"], world.home().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(now["createdAt"], 1_794_768_087_987_i64, "what it does not concern stays");
}

#[test]
fn nobody_takes_the_place_of_a_lead_that_runs_but_by_force() {
    let world = World::with_team();
    let lead = Lead::start();
    world.ok(&["team", "join", "--session", "first", "--pid", &lead.pid()]);
    assert_eq!(config(&world)["leadProcess"]["pid"].to_string(), lead.pid());
    let join = ["--json", "team", "join", "--session", "second"];
    refused(&world.atm(&join), 4, "lead_runs", "--force");
    assert_eq!(config(&world)["leadSessionId"], "first");
    world.ok(&["team", "join", "--session", "first"]); // its own session may, and drops the record
    assert_eq!(config(&world)["leadProcess"], Value::Null);

    world.ok(&["team", "join", "--session", "first", "--pid", &lead.pid()]);
    world.ok(&[&join[..], &["--force"]].concat());
    assert_eq!(config(&world)["leadSessionId"], "second");
    world.ok(&["team", "join", "--session", "first", "--pid", &lead.pid()]);
    drop(lead);
    let adopted = world.json(&["team", "join", "--session", "third"]);
    assert!(adopted["evidence"].as_str().unwrap().ends_with("is gone"), "{adopted}");
    assert_eq!(config(&world)["leadProcess"], Value::Null, "the record of the dead is dropped");
}

#[test]
fn a_number_that_another_process_has_now_is_not_the_lead() {
    let world = World::with_team();
    let other = Lead::start();
    world.ok(&["team", "join", "--session", "first", "--pid", &other.pid()]);
    change_config(&world, |config| config["leadProcess"]["procStart"] = "1".into());
    if cfg!(target_os = "linux") {
        world.ok(&["team", "join", "--session", "second"]);
    }
    world.ok(&["team", "join", "--session", "third", "--pid", &other.pid(), "--force"]);
    change_config(&world, |config| config["leadProcess"]["pidSpace"] = "moon#pid:[1]".into());
    refused(&world.atm(&["--json", "team", "join", "--session", "fourth"]), 4, "lead_runs", "moon");
}

#[test]
fn a_session_that_joins_under_a_new_name_becomes_a_member() {
    let world = World::with_team();
    world.ok(&["--as", "captain", "team", "join", "--session", "s"]);
    assert_eq!(config(&world)["leadAgentId"], "captain@dev");
    assert!(world.root().join("teams/dev/inboxes/captain.json").exists());
    world.ok(&["--as", "alice", "team", "join", "--session", "s2"]);
    assert_eq!(config(&world)["leadAgentId"], "alice@dev");
    assert_eq!(config(&world)["members"].as_array().unwrap().len(), 4);
}

#[test]
fn joining_needs_a_session_a_team_and_a_process_that_runs() {
    let world = World::with_team();
    refused(&world.atm(&["--json", "team", "join"]), 2, "usage", "--session");
    refused(&world.atm(&["--json", "team", "join", "devv", "--session", "s"]), 3, "no_such_team", "dev");
    let gone = { Lead::start().pid() };
    let pid = ["--json", "team", "join", "--session", "s", "--pid", &gone];
    refused(&world.atm(&pid), 3, "no_such_process", &gone);
    assert_eq!(config(&world)["leadSessionId"], Value::Null);
    let mut command = world.command(&["team", "join"]);
    command.env("CLAUDE_CODE_SESSION_ID", "from-a-hook");
    assert_eq!(Answer::of(&world, &command.output().unwrap()).code, Some(0));
    assert_eq!(config(&world)["leadSessionId"], "from-a-hook");
}

/// Inboxes of `bobb`, whom nobody knows, with mail from programs that do not look at the list.
fn with_phantom(layout: Layout) -> World {
    let (world, team) = foreign_team(layout);
    match layout {
        Layout::Array => team.write_inbox(
            "bobb",
            r#"[{"from":"alice","text":"for bob","timestamp":"2026-11-15T10:00:00.000Z","read":false,"extra":1},
                {"from":"alice","text":"was read","timestamp":"2026-11-15T09:00:00.000Z","read":true}]"#,
        ),
        Layout::Log => {
            fs::create_dir_all(team.inbox("bobb").parent().unwrap()).unwrap();
            let line = r#"{"type":"message","from":"alice","to":"bobb","timestamp":"2026-11-15T10:00:00.000Z","content":{"text":"for bob"}}"#;
            team.write_inbox("bobb", format!("{line}\n"));
        }
    }
    world
}

/// What the doctor finds of one kind.
fn findings(world: &World, code: &str, args: &[&str]) -> Vec<Value> {
    let answer = world.atm(&[&["doctor", "--json"], args].concat());
    let document: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"));
    let all = document["findings"].as_array().unwrap();
    all.iter().filter(|finding| finding["code"] == code).cloned().collect()
}

const PHANTOM: &str = "ATM-D001";

#[test]
fn a_phantoms_mail_goes_to_whom_it_was_meant_for() {
    for layout in [Layout::Array, Layout::Log] {
        let world = with_phantom(layout);
        let inbox = world.json(&["inbox", "bobb"]);
        let plan = findings(&world, PHANTOM, &["--dry-run"]);
        assert!(plan[0]["fix"].as_str().unwrap().ends_with("of bobb to bob"), "{plan:?}");
        assert_eq!(world.json(&["inbox", "bobb"]), inbox, "a plan changes nothing");
        assert_eq!(world.json(&["inbox", "bob"]), json!([]));

        let done = findings(&world, PHANTOM, &["--fix", "--yes"]);
        let mail = world.json(&["inbox", "bob"]);
        assert_eq!(texts(&mail)[0], "for bob");
        let (from, id) = (&mail[0]["from"], mail[0]["id"].as_str().unwrap());
        assert_eq!(
            (from, id, &mail[0]["timestamp"]),
            (&json!("alice"), inbox[0]["id"].as_str().unwrap(), &inbox[0]["timestamp"])
        );
        assert_eq!(world.atm(&["inbox", "bobb"]).code, Some(3), "the phantom is gone");
        assert_eq!(findings(&world, PHANTOM, &[]), Vec::<Value>::new());
        assert_eq!(world.json(&["track", id])["to"], "bob");

        let journal = done[0]["journal"].as_str().unwrap();
        world.ok(&["doctor", "--undo", journal]);
        assert_eq!(texts(&world.json(&["inbox", "bobb"])), texts(&inbox), "it can be undone");
        assert_eq!(world.json(&["inbox", "bob"]), json!([]));
    }
}

#[test]
fn mail_that_comes_while_a_phantom_is_emptied_is_not_lost() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox("bobb", "[]");
    let mut writer = Foreign::python(&team.inbox("bobb")).sending("late ", 40).renaming().start();
    writer.wait_for_lines(1);
    let mut rounds = 0;
    while rounds < 200 && !writer.said_all(40) {
        world.atm(&["doctor", "--fix", "--yes"]);
        rounds += 1;
    }
    writer.finish();
    wait_until("the phantom is at rest", || {
        world.atm(&["doctor", "--fix", "--yes"]);
        world.atm(&["inbox", "bobb"]).code == Some(3)
    });
    let mut there = texts(&world.json(&["inbox", "bob"]));
    there.sort();
    let mut sent: Vec<String> = (0..40).map(|n| format!("late {n}")).collect();
    sent.sort();
    assert_eq!(there, sent);
}

#[test]
fn who_left_is_no_phantom_and_who_is_like_several_has_to_be_named() {
    let world = World::with_team();
    world.ok(&["member", "add", "bob-two"]);
    for name in ["bobby", "zzz"] {
        world.ok(&["send", name, "for whom?", "--create"]);
    }
    world.ok(&["--as", "alice", "send", "bob", "I was here"]);
    world.ok(&["member", "remove", "alice"]);
    let open = findings(&world, PHANTOM, &["--fix", "--yes"]);
    let states: Vec<_> = open.iter().map(|one| (&one["state"], &one["automatic"])).collect();
    assert_eq!(states, [(&json!("open"), &json!(false)); 2], "{open:?}");
    assert!(open[0]["evidence"].to_string().contains("bob and bob-two"), "{open:?}");
    let session = world.session(
        "
        atm doctor --fix --route bobby=bobb
        atm doctor --fix --route alicee=bob
        atm doctor --fix --route bob=bob-two
        atm doctor --fix --route bobby
    ",
    );
    assert_snapshot!(session, @r#"
    $ atm doctor --fix --route bobby=bobb
    2> error: team dev has no member "bobb"
    2>   hint: did you mean bobby, bob, bob-two?
    [exit 3]
    $ atm doctor --fix --route alicee=bob
    2> error: alicee is no phantom in team dev
    2>   hint: `atm doctor` shows the phantoms
    [exit 3]
    $ atm doctor --fix --route bob=bob-two
    2> error: bob is no phantom in team dev
    2>   hint: `atm doctor` shows the phantoms
    [exit 3]
    $ atm doctor --fix --route bobby
    2> error: invalid value 'bobby' for '--route <PHANTOM=NAME>': it is PHANTOM=NAME
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
    let routed = findings(&world, PHANTOM, &["--fix", "--route", "bobby=bob-two", "--route", "zzz=bob"]);
    assert!(routed.iter().all(|one| one["state"] == "fixed"), "naming whose it is, is consent: {routed:?}");
    assert_eq!(texts(&world.json(&["inbox", "bob-two"])).len(), 1);
    assert_eq!(texts(&world.json(&["inbox", "bob"])).len(), 2);
}

#[test]
fn names_that_stand_twice_stay_once() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    change_config(&world, |config| {
        for at in [2, 2] {
            let mut twin = config["members"][at].clone();
            twin["isActive"] = false.into();
            twin["model"] = "old".into();
            config["members"].as_array_mut().unwrap().insert(0, twin);
        }
    });
    let before = fs::read(world.root().join("teams/dev/config.json")).unwrap();
    let plan = findings(&world, "ATM-D025", &["dev", "--dry-run"]);
    assert_eq!(plan.len(), 2, "{plan:?}");
    assert!(plan[0]["message"].as_str().unwrap().contains("stands 2 times"), "{plan:?}");
    assert_eq!(fs::read(world.root().join("teams/dev/config.json")).unwrap(), before);
    let done = findings(&world, "ATM-D025", &["dev", "--fix"]);
    assert!(done.iter().all(|one| one["state"] == "fixed"), "{done:?}");
    let kept = tree(&world.state().join("quarantine"));
    assert!(kept.iter().any(|file| fs::read(file).is_ok_and(|bytes| bytes == before)), "{kept:?}");
    let members = config(&world)["members"].clone();
    let models: Vec<&Value> = members.as_array().unwrap().iter().map(|member| &member["model"]).collect();
    assert_eq!(models, ["sonnet", "sonnet", "sonnet"]);
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["hello"]);
}

#[test]
fn a_lead_whose_process_is_gone_is_recorded_as_offline() {
    let world = World::with_team();
    let lead = Lead::start();
    world.ok(&["team", "join", "--session", "first", "--pid", &lead.pid()]);
    assert_eq!(findings(&world, "ATM-D008", &[]), Vec::<Value>::new());
    drop(lead);
    let plan = findings(&world, "ATM-D008", &[]);
    assert_eq!(plan[0]["automatic"], true, "{plan:?}");
    assert!(plan[0]["fix"].as_str().unwrap().contains("atm team join"), "{plan:?}");
    assert_eq!(findings(&world, "ATM-D008", &["--fix"])[0]["state"], "fixed");
    assert_eq!(world.json(&["send", "team-lead", "are you there?"])["status"], "queued");
    world.ok(&["team", "join", "--session", "second"]);
    assert_eq!(world.json(&["send", "team-lead", "and now?"])["status"], "delivered");
    assert_eq!(findings(&world, "ATM-D008", &[]), Vec::<Value>::new());
}

#[test]
fn a_team_that_a_client_made_has_the_names_that_its_people_give_it() {
    let world = World::new();
    for (name, folder) in [("session-1a2b3c4d", "shop"), ("session-5e6f7a8b", "shop"), ("dev", "dev")] {
        world.team(name, Layout::Array, &["team-lead", "bob"]);
        let file = world.root().join("teams").join(name).join("config.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("/home/user/project", &format!("/home/user/{folder}"))).unwrap();
    }
    let session = world.session(
        "
        atm team alias
        atm -t shop members
        atm team alias web session-1a2b3c4d
        atm team alias
        atm team list
        atm -t web send bob hello
        atm -t session-1a2b3c4d inbox bob --unread -q | grep -c hello
        ATM_TEAM=web atm config | tail -n 1
        atm -t dev send bob@web hi
        atm --json team alias backend web
        atm --json team alias web session-5e6f7a8b
        atm team alias dev web
        atm team alias Web dev
        atm team alias other nope
        atm team alias other
        atm -t webb members
        atm team alias --remove webb
        atm team alias --remove web
        atm -t web members
    ",
    );
    assert_snapshot!(session, @r#"
    $ atm team alias
    there are no aliases; `atm team alias NAME TEAM` makes one
    $ atm -t shop members
    2> error: there are several teams, and nothing says which one is meant
    2>   hint: use --team with one of: session-1a2b3c4d (shop, /home/user/shop), session-5e6f7a8b (shop, /home/user/shop)
    [exit 3]
    $ atm team alias web session-1a2b3c4d
    web stands for team session-1a2b3c4d
    $ atm team alias
    ALIAS  TEAM
    web    session-1a2b3c4d
    $ atm team list
    TEAM              CALLED     LAYOUT  MEMBERS  LEAD       MADE              DESCRIPTION
    dev               -          array   2        team-lead  [.....TIME.....]  A team for a test
    session-1a2b3c4d  web, shop  array   2        team-lead  [.....TIME.....]  A team for a test
    session-5e6f7a8b  shop       array   2        team-lead  [.....TIME.....]  A team for a test
    $ atm -t web send bob hello
    delivered for bob@session-1a2b3c4d, id [ID]
    $ atm -t session-1a2b3c4d inbox bob --unread -q | grep -c hello
    1
    $ ATM_TEAM=web atm config | tail -n 1
    commands here use team session-1a2b3c4d
    $ atm -t dev send bob@web hi
    delivered for bob@session-1a2b3c4d, id [ID]
    $ atm --json team alias backend web
    {
      "alias": "backend",
      "team": "session-1a2b3c4d"
    }
    $ atm --json team alias web session-5e6f7a8b
    {
      "alias": "web",
      "team": "session-5e6f7a8b"
    }
    $ atm team alias dev web
    2> error: team dev exists already
    [exit 4]
    $ atm team alias Web dev
    2> error: team name "Web": must be kebab-case: lower-case letters and digits, single hyphens between them
    [exit 2]
    $ atm team alias other nope
    2> error: there is no team "nope"
    2>   hint: did you mean shop?
    [exit 3]
    $ atm team alias other
    2> error: which team?
    2>   hint: `atm team alias NAME TEAM`, or --remove NAME
    [exit 2]
    $ atm -t webb members
    2> error: there is no team "webb"
    2>   hint: did you mean web?
    [exit 3]
    $ atm team alias --remove webb
    2> error: there is no team "webb"
    2>   hint: did you mean web?
    [exit 3]
    $ atm team alias --remove web
    web is no name for session-5e6f7a8b any more
    $ atm -t web members
    2> error: there is no team "web"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    "#);
    world.ok(&["team", "delete", "session-1a2b3c4d", "--force"]);
    refused(&world.atm(&["--json", "-t", "backend", "members"]), 3, "dead_alias", "session-1a2b3c4d");
    assert_eq!(world.json(&["team", "alias", "--remove", "backend"])["removed"], true);
}
