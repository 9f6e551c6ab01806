//! A member that approves its end: its pane is closed, by the first process that notices the approval.

use atm_support::wait_until;
use serde_json::json;

use super::Stage;
use crate::mcp::client::Client;

#[test]
fn who_approves_its_end_has_its_pane_closed() {
    let stage = Stage::new();
    let (world, pane) = (&stage.world, stage.spawn("bob", &["--", "sleep", "600"])["pane"].clone());
    stage.spawn("eve", &["--", "sleep", "600"]);
    world.ok(&["--as", "team-lead", "shutdown", "request", "bob"]);
    world.ok(&["--as", "bob", "shutdown", "approve", "--keep-pane"]);
    assert_eq!(stage.panes(), 2);
    let told: serde_json::Value = serde_json::from_str(&world.texts_for("team-lead")[0]).unwrap();
    assert_eq!((&told["type"], &told["paneId"]), (&json!("shutdown_approved"), &pane));

    world.ok(&["--as", "team-lead", "shutdown", "request", "eve"]);
    world.ok(&["--as", "eve", "shutdown", "approve"]);
    assert_eq!(stage.panes(), 1, "the other one stays");
    assert_eq!(stage.state("eve"), "offline");
}

#[test]
fn who_approves_from_its_own_pane_is_heard_before_that_closes() {
    let stage = Stage::new();
    let world = &stage.world;
    let script = format!("{} --as bob --team dev shutdown approve; sleep 600", crate::scene::ATM);
    world.ok(&["member", "add", "eve"]);
    stage.spawn("bob", &["--", "sh", "-c", &format!("until [ -e go ]; do sleep 0.01; done; {script}")]);
    world.ok(&["--as", "team-lead", "shutdown", "request", "bob"]);
    std::fs::write(world.home().join("go"), "").unwrap();
    wait_until("its pane is closed", || stage.panes() == 0);
    assert!(world.texts_for("team-lead")[0].contains("shutdown_approved"));
    assert_eq!(stage.state("bob"), "offline");
}

#[test]
fn who_approves_by_a_tool_is_answered_and_then_its_pane_closes() {
    let stage = Stage::new();
    let world = &stage.world;
    stage.spawn("bob", &["--", "sleep", "600"]);
    let request = world.ok(&["--as", "team-lead", "shutdown", "request", "bob"]);
    let mut bob = Client::new(world, &["--as", "bob@dev"]);
    let answer = json!({ "type": "shutdown_response", "request_id": request.trim(), "approve": true });
    assert_eq!(bob.call("send_message", answer)["success"], true);
    wait_until("its pane is closed", || stage.panes() == 0);
    assert_eq!(stage.state("bob"), "offline");
}

#[test]
fn a_lead_that_waits_for_the_approval_closes_the_pane() {
    let stage = Stage::new();
    let world = &stage.world;
    stage.spawn("bob", &["--", "sleep", "600"]);
    let asking = world.start(&["--as", "team-lead", "shutdown", "request", "bob", "--wait"]);
    wait_until("bob is asked", || {
        world.atm(&["--as", "bob", "shutdown", "approve", "--keep-pane"]).code == Some(0)
    });
    assert_eq!(asking.finish().code, Some(0));
    assert_eq!(stage.panes(), 0);
}
