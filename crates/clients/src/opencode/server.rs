//! The server of `OpenCode`: it takes a prompt for a conversation.

use serde_json::{Value, json};

use crate::http::Request;
use crate::wake::ServerApi;

pub(super) const API: ServerApi = ServerApi { conversation, status, busy, prompt };

fn conversation(session: &str) -> Request {
    Request::get(format!("/session/{session}"))
}

/// It lists the conversations that are not idle, but only those in the folder that is asked about; its own, if none is.
fn status(conversation: &Value) -> Request {
    let folder = conversation["directory"].as_str().unwrap_or_default();
    Request::get(format!("/session/status?directory={}", encoded(folder)))
}

fn busy(status: &Value, session: &str) -> Option<String> {
    match status.get(session).map(|status| status["type"].as_str().unwrap_or("busy")) {
        None | Some("idle") => None,
        Some(state) => {
            // What a server says is shown to people: only its first word.
            let word: String = state.chars().take_while(char::is_ascii_alphanumeric).take(20).collect();
            Some(format!("its conversation is {word:?}"))
        }
    }
}

fn prompt(session: &str, line: &str) -> Request {
    let body = json!({ "parts": [{ "type": "text", "text": line }] });
    Request::post(format!("/session/{session}/prompt_async"), body.to_string())
}

/// A folder in an address: everything but letters, digits and `-._~/` as `%XX`.
fn encoded(folder: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let spell = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    folder.bytes().map(spell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_nothing_else_in_an_address() {
        assert_eq!(encoded("/home/zoë/a b"), "/home/zo%C3%AB/a%20b");
        assert_eq!(encoded("/x?y=1&z#\r\nHost: evil"), "/x%3Fy%3D1%26z%23%0D%0AHost%3A%20evil");
    }

    #[test]
    fn a_conversation_is_busy_unless_the_server_says_otherwise() {
        for (status, expected) in [
            (json!({}), None),
            (json!({ "s1": { "type": "idle" } }), None),
            (json!({ "s2": { "type": "busy" } }), None),
            (json!({ "s1": { "type": "busy" } }), Some(r#"its conversation is "busy""#)),
            (json!({ "s1": {} }), Some(r#"its conversation is "busy""#)),
            (json!({ "s1": { "type": "retry\u{1b}[2J" } }), Some(r#"its conversation is "retry""#)),
        ] {
            assert_eq!(busy(&status, "s1").as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn a_line_is_handed_over_as_text() {
        let request = prompt("s1", "say \"hi\"");
        assert_eq!((request.method, request.path.as_str()), ("POST", "/session/s1/prompt_async"));
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body["parts"][0]["text"], "say \"hi\"");
    }
}
