//! A person at a front that only people use decides for the lead, and the records say who it was.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_office::protocol::person::Person;
use atm_office::protocol::plan::{Plan, PlanAnswer, PlanState};
use atm_office::protocol::shutdown::Dialect;
use atm_office::{Office, OfficeError};
use atm_support::TestEnv;
use atm_wire::{MemberName, TeamName};
use serde_json::Value;

fn office() -> (TestEnv, Office, TeamName) {
    let env = TestEnv::new();
    let office = Office::new(env.store_root(), env.store_state());
    let team = office.create_team(&TeamPlan::new("dev", "decides")).unwrap();
    office.add_member(&team, &MemberPlan::new("bob")).unwrap();
    (env, office, team)
}

fn who(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}

/// The last entry of bob's inbox.
fn last_entry(env: &TestEnv) -> Value {
    let text = std::fs::read_to_string(env.root().join("teams/dev/inboxes/bob.json")).unwrap();
    serde_json::from_str::<Vec<Value>>(&text).unwrap().pop().unwrap()
}

#[test]
fn a_plan_is_decided_in_the_leads_name_once_and_recorded_as_the_persons() {
    let (env, office, name) = office();
    let mut team = office.team(&name).unwrap();
    let plan = Plan { text: "first the tests".into(), ..Plan::default() };
    let request = team.submit_plan(&who("bob"), &plan, None).unwrap().request;
    let yes = PlanAnswer { approved: true, ..PlanAnswer::default() };

    // By a name alone, `user` is nobody who could.
    let refused = team.decide_plan(&who("user"), &request, &yes);
    assert!(matches!(refused, Err(OfficeError::NotOpen { .. })), "{refused:?}");

    let sent = team.decide_plan_for_lead(Person::via("ui"), &request, &yes).unwrap();
    assert_eq!((sent.from.as_str(), sent.to.as_str()), ("team-lead", "bob"));
    assert_eq!(last_entry(&env)["metadata"]["atm"]["acted_by"], "user via ui");
    let track = office.track(Some(&name), &sent.id).unwrap();
    assert_eq!(track.stages[0].evidence.by.as_deref(), Some("user via ui"));
    assert_eq!(office.plans(&name).unwrap()[0].state, PlanState::Approved);

    let again = team.decide_plan_for_lead(Person::via("ui"), &request, &yes);
    assert!(matches!(again, Err(OfficeError::NotOpen { .. })), "{again:?}");
}

#[test]
fn a_shutdown_is_asked_for_in_the_leads_name() {
    let (env, office, name) = office();
    let mut team = office.team(&name).unwrap();
    let asked = team.request_shutdown_for_lead(Person::via("web"), &who("bob"), None).unwrap();
    assert_eq!(asked.sent.from.as_str(), "team-lead");
    let entry = last_entry(&env);
    assert_eq!(entry["from"], "team-lead");
    assert_eq!(entry["metadata"]["atm"]["acted_by"], "user via web");
    assert!(team.approve_shutdown(&who("bob"), Some(&asked.request), Dialect::default()).is_ok());
}
