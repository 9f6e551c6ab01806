//! Whatever goes "to the lead" goes to the same name.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;

use atm_office::Office;
use atm_office::chores::retry::{Policies, Policy};
use atm_office::clock::FixedClock;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::protocol::report::Alive;
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::{MemberName, Stamp};

fn at(minutes: i64) -> FixedClock {
    FixedClock(Stamp::from_millis(1_794_768_000_000 + minutes * 60_000))
}

fn who(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}

fn configure(team: &TestTeam, is_active: bool) {
    let config = format!(r#"{{"name":"demo","members":[{{"name":"bob","isActive":{is_active}}}]}}"#);
    fs::write(team.config_file(), config).unwrap();
}

#[test]
fn heartbeat_and_escalation_reach_the_same_lead_that_is_no_member() {
    let team = TestEnv::new().team("demo", Layout::Array, &["bob"]);
    let office = Office::new(team.env().store_root(), team.env().store_state()).with_clock(at(0));
    configure(&team, false);
    fs::write(team.inbox("coordinator"), "[]").unwrap();
    let letter = Letter::new("bob".parse().unwrap(), "mend the build");
    office.send(team.name(), &who("user"), &letter, SendOptions::default()).unwrap();

    configure(&team, true);
    let escalation =
        Policy { retry_after: Vec::new(), escalate_to: vec!["lead".to_owned()], expire_after: None };
    let policies = Policies { high: escalation.clone(), normal: escalation.clone(), low: escalation };
    let later = office.clone().with_clock(at(60));
    let steps = later.retry(team.name(), &policies, false).unwrap();
    assert_eq!(steps.len(), 1, "{steps:?}");
    later.team(team.name()).unwrap().heartbeat(&who("bob"), &Alive::default()).unwrap();

    let texts = team.texts("coordinator");
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("mend the build") && texts[1].contains("heartbeat"), "{texts:?}");
    assert!(!team.inbox("user").exists(), "nobody else is told");
    let handle = later.team(team.name()).unwrap();
    assert_eq!(handle.lead().unwrap().as_str(), "coordinator");
    assert!(later.leads(team.name(), handle.config(), &who("coordinator")));
    assert!(!later.leads(team.name(), handle.config(), &who("team-lead")));
}
