//! Two clients of one name would read each other's mail: with a machine that is a test double.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;

use atm_office::people::probe::{Agent, Nameless, ProcessProbe};
use atm_office::people::spawn_error::SpawnError;
use atm_office::{Office, OfficeError};
use atm_panes::{SpawnPlan, Started, respawn, spawn};
use atm_store::Layout;
use atm_support::TestEnv;
use serde_json::{Value, json};

/// A machine on which process 4242 runs as bob.
#[derive(Debug)]
struct Machine;

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        (pid == 4242).then(|| "322905".to_owned())
    }

    fn pid_space(&self) -> String {
        "test".to_owned()
    }

    fn agents(&self) -> Vec<Agent> {
        vec![Agent { id: "bob@demo".to_owned(), pid: 4242, root: None }]
    }

    fn nameless(&self) -> Vec<Nameless> {
        Vec::new()
    }
}

/// Why bob is not started in a team of these members.
fn refusal(
    members: &Value,
    start: impl FnOnce(&mut atm_office::Team, &SpawnPlan) -> Result<Started, OfficeError>,
) -> String {
    let team = TestEnv::new().team("demo", Layout::Array, &["team-lead", "bob"]);
    let config = json!({"name": "demo", "leadAgentId": "team-lead@demo", "members": members});
    fs::write(team.config_file(), config.to_string()).unwrap();
    let office = Office::new(team.env().store_root(), team.env().store_state()).with_probe(Machine);
    match start(&mut office.team(team.name()).unwrap(), &SpawnPlan::new("bob", &["sh"])) {
        Err(OfficeError::Spawn(SpawnError::Runs { why, .. })) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_second_client_of_a_name_is_started() {
    let bob = json!({"name": "bob", "tmuxPaneId": "%14", "backendType": "tmux", "isActive": false});
    let why = refusal(&json!([{"name": "team-lead"}, bob]), respawn);
    assert!(why.contains("4242"), "{why}");
    let why = refusal(&json!([{"name": "team-lead"}]), spawn);
    assert!(why.contains("4242"), "{why}");
}
