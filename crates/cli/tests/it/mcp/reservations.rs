//! Path reservations by a tool.

use serde_json::json;

use super::client::Client;
use crate::reservations::Shop;

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
