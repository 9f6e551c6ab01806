//! Text that a person does not see, in what a server hands to a model.

use serde_json::json;

use super::client::Client;
use crate::hidden_text::{assert_seen, hostile, is_hidden, strings, world};

#[test]
fn nothing_hidden_reaches_a_model_through_the_server() {
    let world = world();
    let mut bob = Client::new(&world, &["--as", "bob@dev"]);
    for (tool, arguments) in [
        ("read_inbox", json!({ "mark_as_read": false })),
        ("track", json!({ "message_id": "0c8f1d8e-0000-4000-8000-000000000001" })),
        ("search_mail", json!({ "query": "end" })),
        ("send_message", json!({ "type": "message", "recipient": hostile(), "content": "x" })),
    ] {
        let id = bob.ask_tool(tool, arguments);
        let answer = bob.answer(id);
        for text in strings(&answer) {
            assert!(!text.contains(is_hidden), "{tool}: {answer}");
        }
        if tool == "read_inbox" {
            assert_seen(answer["result"]["content"][0]["text"].as_str().unwrap(), tool);
            let text = &answer["result"]["structuredContent"]["result"][0]["text"];
            assert_seen(text.as_str().unwrap(), "the structured answer");
        }
    }
    assert_eq!(bob.close(), Some(0));
}
