//! Teams that are shared, not shared for a while, and shared again.

use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, name, pair, team};

/// Up to where the receipts for laptop were told, as the bridge remembers it.
fn applied(hub: &Machine) -> serde_json::Value {
    let bytes = std::fs::read(hub.env().state().join("bridge/memory.json")).unwrap();
    let memory: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    memory["engine"]["feeds"]["laptop"]["applied"].clone()
}

#[test]
fn receipts_of_a_team_that_was_not_shared_for_a_while_come_home() {
    let server = Server::new();
    let (laptop, mut hub) = pair(&server.url(), &server.url());
    let first = laptop.send("ann", "bob", "first");
    wait_until("it is written", || laptop.stage(&first.id) == "written");
    hub.terminate();
    let before = applied(&hub);
    hub.office.begin_read(&team(), &name("bob"), usize::MAX).unwrap().confirm().unwrap();
    let mut command = hub.command(&hub.at_server(&["run", "--team", "other"]));
    let mut bridge = command.spawn().unwrap();
    wait_until("it has looked at the log", || applied(&hub) != before);
    bridge.kill().unwrap();
    bridge.wait().unwrap();
    hub.start();
    wait_until("its receipts come home", || laptop.stage(&first.id) == "seen");
}

/// Neither heartbeats nor lists went out any more: all of the machine was away, and none of its mail was sent again.
#[test]
fn a_team_that_cannot_be_read_makes_nobody_of_its_machine_disappear() {
    let server = Server::new();
    let (mut laptop, hub) = pair(&server.url(), &server.url());
    laptop.kill();
    let beta = laptop.office.create_team(&TeamPlan::new("beta", "another one")).unwrap();
    laptop.more_teams.push("beta");
    std::fs::write(laptop.env().root().join("teams").join(beta.as_str()).join("config.json"), "{").unwrap();
    wait_until("laptop is away", || hub.status()["machines"]["laptop"]["present"] == false);
    laptop.start();
    wait_until("laptop is there", || hub.status()["machines"]["laptop"]["present"] == true);
    laptop.office.add_member(&team(), &MemberPlan::new("eve")).unwrap();
    hub.wait_for_member("eve");
    hub.send("bob", "ann", "hello");
    wait_until("ann has it", || laptop.texts("ann") == ["hello"]);
    wait_until("the trouble is told", || {
        laptop.own_status()["lastError"]["what"].as_str().is_some_and(|what| what.contains("config.json"))
    });
}
