//! What is said before and beside the greeting, and what a server costs.

use serde_json::json;

use super::client::Client;
use crate::scene::World;

#[test]
fn nothing_that_comes_before_initialize_closes_the_connection() {
    let world = World::with_team();
    let mut client = Client::silent(&world, &[]);
    client.say_line("this is not JSON");
    client
        .say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }));
    client.say(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    let meta = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    for params in [json!({}), meta] {
        let unknown = client.request("server/discover", params);
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        assert_eq!(unknown["error"]["message"], "method not found: server/discover");
    }
    assert_eq!(client.request("no/such/method", json!({}))["error"]["code"], -32601);
    assert_eq!(client.request("tools/list", json!({}))["error"]["message"], "say initialize first");
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.greet()["protocolVersion"], "2025-06-18");
    assert_eq!(client.request("server/discover", json!({}))["error"]["code"], -32601);
    assert_eq!(client.request("no/such/method", json!({}))["error"]["code"], -32601);
    assert_eq!(client.tools().len(), 26);
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_client_that_goes_without_a_word_is_no_error() {
    let world = World::new();
    assert_eq!(Client::silent(&world, &[]).close(), Some(0));
}

#[test]
fn a_newer_protocol_than_ours_is_answered_with_ours() {
    let world = World::new();
    let mut client = Client::silent(&world, &[]);
    let params = json!({
        "protocolVersion": "2199-01-01", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    });
    let greeting = client.request("initialize", params);
    assert_eq!(greeting["result"]["protocolVersion"], "2025-11-25");
}
