//! Path reservations by a tool.

use std::process::Stdio;

use serde_json::json;

use super::client::Client;
use crate::reservations::Shop;
use crate::scene::ATM;

#[test]
fn an_agent_without_a_shell_reserves_lists_and_releases() {
    let shop = Shop::new();
    let serve = |name: &str| {
        let mut client = Client::of(&mut shop.command(&["mcp", "--as", name]));
        client.greet();
        client
    };
    let (mut alice, mut bob) = (serve("alice@dev"), serve("bob@dev"));
    let wanted = json!({ "paths": ["docs/*.md", "src"], "minutes": 5, "reason": "lexer" });
    let reserved = bob.call("reservations", wanted);
    assert_eq!(reserved["result"].as_array().unwrap().len(), 2, "{reserved}");
    let listed = alice.call("reservations", json!({}));
    assert_eq!(listed, reserved);
    assert_eq!(
        (&listed["result"][1]["path"], &listed["result"][1]["holder"]),
        (&json!("src"), &json!("bob@dev"))
    );
    let refused = alice.refused("reservations", json!({ "paths": ["src/a.rs"] }));
    assert!(refused.contains("src is reserved by bob@dev until "), "{refused}");
    assert!(refused.contains("send_message to bob@dev"), "{refused}");
    assert!(!shop.may_write("alice", "src/a.rs") && shop.may_write("bob", "src/a.rs"));
    assert!(
        alice
            .refused("reservations", json!({ "release": true, "paths": ["src"] }))
            .contains("may not release")
    );
    assert_eq!(bob.call("reservations", json!({ "release": true }))["result"].as_array().unwrap().len(), 2);
    assert!(shop.may_write("alice", "src/a.rs"));
}

/// A server that is nobody's counted as the lead's: every session of the machine was one holder, under a name that is not its own.
#[test]
fn sessions_that_are_nobody_in_the_team_hold_what_they_reserve_each_for_itself() {
    let shop = Shop::new();
    let script = "import subprocess, sys; subprocess.run(sys.argv[1:])";
    let serve = || {
        let mut command = shop.world.program("python3");
        command.args(["-c", script, ATM, "mcp"]).env_remove("ATM_AS").env_remove("ATM_TEAM");
        let mut client = Client::of(command.current_dir(shop.tree()).stdout(Stdio::piped()));
        client.greet();
        client
    };
    let (mut one, mut other) = (serve(), serve());
    let reserved = one.call("reservations", json!({ "paths": ["src"] }));
    let holder = format!("process {}", one.id());
    assert_eq!(reserved["result"][0]["holder"], holder.as_str());
    let refused = other.refused("reservations", json!({ "paths": ["src/a.rs"] }));
    assert!(refused.contains(&format!("src is reserved by {holder} until ")), "{refused}");
    assert!(!shop.may_write("team-lead", "src/a.rs"));
    assert_eq!(one.call("reservations", json!({ "release": true }))["result"].as_array().unwrap().len(), 1);
    // The same where there is no team but that of sessions, which has no lead.
    shop.ok(&["team", "delete", "dev", "--force"]);
    shop.ok(&["sessions", "alias", "here", "."]);
    shop.ok(&["send", "here", "hello"]);
    one.call("reservations", json!({ "paths": ["src"] }));
    other.refused("reservations", json!({ "paths": ["src"] }));
}
