//! What the list of tools costs, and for whom it shows what.

use std::path::Path;

use atm_office::Office;
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::{Root, State};
use atm_support::TestEnv;
use serde_json::{Value, json};

use super::*;
use crate::settings::{Settings, Spawning};

/// In bytes of JSON: every conversation pays for it.
const WHOLE_LIST: usize = 9_000;
const SHORT_LIST: usize = 5_000;

fn desk(env: &TestEnv, identity: Option<&str>, profile: Profile) -> Desk {
    Desk::new(Settings {
        office: office(env),
        identity: identity.map(|name| name.parse().unwrap()),
        team: None,
        cwd: Path::new("/").to_owned(),
        profile,
        spawning: Spawning::default(),
    })
}

fn office(env: &TestEnv) -> Office {
    Office::new(Root::new(env.root()), State::new(env.state()))
}

/// A team with a lead and bob.
fn team() -> TestEnv {
    let env = TestEnv::new();
    let team = office(&env).create_team(&TeamPlan::new("dev", "dev")).unwrap();
    office(&env).add_member(&team, &MemberPlan::new("bob")).unwrap();
    env
}

fn list(desk: &Desk) -> Vec<Value> {
    let tools = listed(desk, &callable(desk));
    tools.iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
}

fn names(desk: &Desk) -> Vec<String> {
    list(desk).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn find(desk: &Desk, name: &str) -> Value {
    list(desk).into_iter().find(|tool| tool["name"] == name).unwrap_or_default()
}

#[test]
fn the_lists_are_as_short_as_promised_whoever_asks() {
    let (nobody, team) = (TestEnv::new(), team());
    for (env, identity) in
        [(&nobody, None), (&team, None), (&team, Some("team-lead@dev")), (&team, Some("bob@dev"))]
    {
        for (profile, most) in [(Profile::All, WHOLE_LIST), (Profile::Core, SHORT_LIST)] {
            let tools = list(&desk(env, identity, profile));
            let size = json!({ "tools": tools }).to_string().len();
            let each: Vec<String> =
                tools.iter().map(|tool| format!("{} {tool}", tool.to_string().len())).collect();
            assert!(size <= most, "{identity:?} {profile:?}: {size} bytes\n{}", each.join("\n"));
        }
    }
}

#[test]
fn what_is_for_the_lead_is_listed_by_the_leads_server_alone() {
    let env = team();
    let for_lead = [
        "team_create",
        "team_delete",
        "spawn_teammate",
        "force_kill_teammate",
        "process_shutdown_approved",
        "add_member",
    ];
    let of = |identity| desk(&env, identity, Profile::All);
    let (lead, unbound, bob) =
        (names(&of(Some("team-lead@dev"))), names(&of(None)), names(&of(Some("bob@dev"))));
    assert_eq!(lead, unbound);
    assert_eq!(lead.len(), 24);
    for tool in for_lead {
        assert!(lead.contains(&tool.to_owned()) && !bob.contains(&tool.to_owned()), "{tool}");
    }
    assert_eq!(bob.len() + for_lead.len(), lead.len());
    // Decisions that the table of policies leaves to the lead are kinds of mail.
    let kinds =
        |identity| find(&of(identity), "send_message")["inputSchema"]["properties"]["type"]["enum"].clone();
    for kind in ["shutdown_request", "plan_approval_response"] {
        assert!(kinds(Some("team-lead@dev")).as_array().unwrap().contains(&json!(kind)));
        assert!(!kinds(Some("bob@dev")).as_array().unwrap().contains(&json!(kind)));
        assert!(
            !find(&of(Some("bob@dev")), "send_message")["description"]
                .as_str()
                .unwrap()
                .contains("recipient, request_id")
        );
    }
    assert!(kinds(Some("bob@dev")).as_array().unwrap().contains(&json!("shutdown_response")));
}

#[test]
fn a_team_need_not_be_named_where_there_is_one() {
    let (nobody, team) = (TestEnv::new(), team());
    let required = |env, identity| {
        find(&desk(env, identity, Profile::All), "read_inbox")["inputSchema"]["required"].clone()
    };
    assert_eq!(required(&nobody, None), json!(["team_name", "agent_name"]));
    assert_eq!(required(&team, None), json!(["agent_name"]));
    assert_eq!(required(&team, Some("bob@dev")), Value::Null);
    office(&team).create_team(&TeamPlan::new("ops", "ops")).unwrap();
    assert_eq!(required(&team, None), json!(["team_name", "agent_name"]));
}

#[test]
fn every_example_is_a_correct_call() {
    let env = team();
    let desk = desk(&env, None, Profile::All);
    for offered in callable(&desk) {
        let given: JsonObject =
            serde_json::from_str(offered.example).unwrap_or_else(|_| panic!("{}", offered.name));
        assert!(arguments::check(&given, &offered.accepted).is_ok(), "{}", offered.name);
    }
}
