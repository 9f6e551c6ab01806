//! Answers in each client's own format.

use serde_json::{Value, json};

use super::GO_ON;
use super::input::{Client, Event};

/// What goes to stdout, to stderr, and how we end.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) stdout: Option<Value>,
    pub(crate) stderr: Option<String>,
    pub(crate) code: i32,
}

/// `text` for the model at this moment.
pub(crate) fn answer(client: Client, event: Event, text: String) -> Answer {
    let stdout = match (client, event) {
        // The one moment that Claude Code holds by the exit code alone.
        (_, Event::TeammateIdle) => return Answer { stderr: Some(text), code: GO_ON, ..Answer::default() },
        (Client::Cursor, Event::Stop) => json!({ "followup_message": text }),
        (Client::Cursor, _) => json!({ "additional_context": text }),
        (Client::Gemini, Event::Stop) => json!({ "decision": "deny", "reason": text }),
        (_, Event::Stop) => json!({ "decision": "block", "reason": text }),
        (client, event) => json!({
            "hookSpecificOutput": { "hookEventName": name(client, event), "additionalContext": text }
        }),
    };
    Answer { stdout: Some(stdout), ..Answer::default() }
}

/// The event as the client calls it.
fn name(client: Client, event: Event) -> &'static str {
    match (client, event) {
        (_, Event::SessionStart) => "SessionStart",
        (Client::Gemini, Event::Prompt) => "BeforeAgent",
        (_, Event::Prompt) => "UserPromptSubmit",
        (Client::Gemini, Event::Tool) => "AfterTool",
        (_, Event::Tool) => "PostToolUse",
        (Client::Gemini, Event::Stop) => "AfterAgent",
        (_, Event::Stop) => "Stop",
        (_, Event::TeammateIdle) => "TeammateIdle",
        (_, Event::SessionEnd) => "SessionEnd",
    }
}
