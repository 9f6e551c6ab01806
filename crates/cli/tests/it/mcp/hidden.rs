//! Text that a person does not see, in what a server hands to a model.

use serde_json::{Value, json};

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
            let json = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert_seen(json, tool);
            let mail: Value = serde_json::from_str(json).unwrap();
            assert_seen(mail[0]["text"].as_str().unwrap(), "the text of a message");
        }
    }
    assert_eq!(bob.close(), Some(0));
}
