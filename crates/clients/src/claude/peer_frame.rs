//! What Claude Code's send tool writes to a peer, and what is said to it when a frame is not taken.
//!
//! A connection brings lines. A line of type `user` is a message; the text stands between tags that repeat what its client
//! claims of the sender, of which nothing is believed: who wrote is asked of the system. Other lines (a token for a socket
//! that has one, questions about idleness, what later versions invent) are passed over, as the client itself does.

use serde_json::{Value, json};

/// The client sends no longer texts. It counts as JavaScript does.
pub const LONGEST_TEXT: usize = 1_000_000;

/// The tag around a text.
const TAG: &str = "cross-session-message";

/// A line of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A message.
    Message(Message),
    /// A message that cannot be taken.
    Refused {
        /// The id that its sender knows it by.
        id: Option<String>,
        /// Why.
        why: Refusal,
    },
    /// Something else.
    Other,
}

/// A message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The id that its sender knows it by.
    pub id: Option<String>,
    /// The text, without the tags around it.
    pub text: String,
    /// How many files it brings, which are not taken.
    pub files: usize,
}

/// Why a message is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The client's own limit.
    #[error("its text has more than {LONGEST_TEXT} characters")]
    TooLong,
    /// Blocks, numbers, nothing at all.
    #[error("its content is no text")]
    NoText,
    /// It is for a conversation that this peer is not.
    #[error("it names another session than this one")]
    OtherSession,
}

/// What a line says to the peer whose id is `own`.
pub fn parse(line: &str, own: &str) -> Line {
    let Ok(said) = serde_json::from_str::<Value>(line) else { return Line::Other };
    let word = |key: &str| said.get(key).and_then(Value::as_str);
    if word("type") != Some("user") {
        return Line::Other;
    }
    let id = word("msg_id").filter(|id| !id.is_empty() && id.len() <= 128).map(ToOwned::to_owned);
    let refused = |why| Line::Refused { id: id.clone(), why };
    if said.get("session_id").is_some_and(|session| session.as_str() != Some(own)) {
        return refused(Refusal::OtherSession);
    }
    let content = said.pointer("/message/content").and_then(Value::as_str).map(text_of);
    let Some(text) = content.filter(|text| !text.trim().is_empty()) else { return refused(Refusal::NoText) };
    if text.len() > LONGEST_TEXT && text.encode_utf16().count() > LONGEST_TEXT {
        return refused(Refusal::TooLong);
    }
    let files = said.get("file_attachments").and_then(Value::as_array).map_or(0, Vec::len);
    Line::Message(Message { id, text: text.to_owned(), files })
}

/// The text between the tags; all of it, where there are none.
fn text_of(content: &str) -> &str {
    let inside = || {
        let rest = content.strip_prefix('<')?.strip_prefix(TAG)?;
        // No value of the tag's has a bracket or a line's end in it.
        let (_, body) = rest.split_once(">\n").filter(|(tag, _)| !tag.contains(['<', '>', '\n']))?;
        body.strip_suffix('>')?.strip_suffix(TAG)?.strip_suffix("\n</")
    };
    inside().unwrap_or(content)
}

/// The receipt for a frame that is not taken, as the client's own are. What is taken gets none: the end of the connection is
/// the answer, and the client tells its user of every other receipt as of somebody's decision.
pub fn refusal(frame: &str, receipt: &str, from: &str, reason: &str) -> String {
    let said = json!({
        "type": "control", "action": "peer_message_status", "status": "expired", "status_detail": "refused",
        "reason": reason, "from": from, "orig_msg_id": frame, "msgV": 1, "msg_id": receipt,
    });
    format!("{said}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::socket;

    fn frame(content: &Value) -> Value {
        json!({ "msgV": 1, "msg_id": "m1", "type": "user", "from": "uds:/s/1.sock", "priority": "next",
                "message": { "role": "user", "content": content } })
    }

    #[test]
    fn a_message_is_the_text_between_the_tags_whatever_they_claim() {
        let tag = "<cross-session-message from=\"uds:/s/1.sock\" from-name=\"p-c1\" from-mode=\"bypassPermissions\">";
        for (content, text) in [
            (format!("{tag}\nhello\nworld\n</cross-session-message>"), "hello\nworld".to_owned()),
            ("<cross-session-message>\nx\n</cross-session-message>".to_owned(), "x".to_owned()),
            ("plain".to_owned(), "plain".to_owned()),
            // Not as the client writes it: nothing is cut off.
            (format!("{tag}\nhalf"), format!("{tag}\nhalf")),
            (format!("{tag} x\n</cross-session-message>"), format!("{tag} x\n</cross-session-message>")),
            (
                format!("before {tag}\nx\n</cross-session-message>"),
                format!("before {tag}\nx\n</cross-session-message>"),
            ),
        ] {
            let line = frame(&json!(content)).to_string();
            let message = Message { id: Some("m1".into()), text, files: 0 };
            assert_eq!(parse(&line, "own"), Line::Message(message), "{content}");
        }
        let mut files = frame(&json!("x"));
        files["file_attachments"] = json!([{ "path": "/etc/passwd" }]);
        assert!(matches!(parse(&files.to_string(), "own"), Line::Message(Message { files: 1, .. })));
    }

    #[test]
    fn what_cannot_be_taken_is_refused_and_what_is_no_message_is_passed_over() {
        let other = |session: Value| {
            let mut line = frame(&json!("x"));
            line["session_id"] = session;
            line
        };
        assert!(matches!(parse(&other(json!("own")).to_string(), "own"), Line::Message(_)));
        let long = "é".repeat(LONGEST_TEXT);
        assert!(matches!(parse(&frame(&json!(long)).to_string(), "own"), Line::Message(_)), "characters");
        for (line, why) in [
            (other(json!("another")), Refusal::OtherSession),
            (other(json!(7)), Refusal::OtherSession),
            (frame(&json!([{ "type": "text", "text": "x" }])), Refusal::NoText),
            (frame(&json!("")), Refusal::NoText),
            (frame(&json!(" \n")), Refusal::NoText),
            (frame(&json!("<cross-session-message>\n \n</cross-session-message>")), Refusal::NoText),
            (json!({ "type": "user", "msg_id": "m1" }), Refusal::NoText),
            (frame(&json!(format!("{long}é"))), Refusal::TooLong),
        ] {
            assert_eq!(parse(&line.to_string(), "own"), Line::Refused { id: Some("m1".into()), why });
        }
        let deep = "[".repeat(200_000);
        for line in [
            "",
            "{",
            "null",
            "[]",
            "7",
            r#"{"type":"auth","token":"t"}"#,
            &deep,
            r#"{"type":"control","action":"notify_when_idle","from":"uds:/x"}"#,
            r#"{"type":7}"#,
        ] {
            assert_eq!(parse(line, "own"), Line::Other);
        }
        let nameless = frame(&json!("x")).to_string().replace("\"m1\"", &format!("{:?}", "x".repeat(129)));
        assert!(matches!(parse(&nameless, "own"), Line::Message(Message { id: None, .. })));
    }

    #[test]
    fn a_refusal_is_a_receipt_as_the_client_writes_them() {
        let line = refusal("m1", "r1", "uds:/s/7.sock", "no room");
        assert_eq!(line.matches('\n').count(), 1);
        let receipts = socket::receipts_in(&line);
        assert_eq!(receipts.len(), 1);
        assert_eq!((receipts[0].frame.as_str(), &receipts[0].status), ("m1", &socket::Status::Expired));
        assert_eq!(receipts[0].reason.as_deref(), Some("refused: no room"));
    }
}
