//! What a hook answers.

use serde_json::{Value, json};

/// The exit code that clients take as an order to go on.
pub const GO_ON: i32 = 2;

/// What a hook prints, and how it ends.
#[derive(Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// A document for standard output.
    pub stdout: Option<Value>,
    /// Text for standard error.
    pub stderr: Option<String>,
    /// The exit code.
    pub code: i32,
}

impl From<Value> for HookAnswer {
    fn from(document: Value) -> Self {
        Self { stdout: Some(document), ..Self::default() }
    }
}

/// Text that is added to what the model sees, at the event of this name.
pub(crate) fn additional_context(name: &str, text: &str) -> HookAnswer {
    json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } }).into()
}

/// Keeps a tool from being called, with a text as the reason.
pub(crate) fn deny(reason: &str) -> HookAnswer {
    let output = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    });
    json!({ "hookSpecificOutput": output }).into()
}

/// Keeps the agent from stopping, with a text as the reason. Clients differ in the word for it.
pub(crate) fn block(decision: &str, reason: &str) -> HookAnswer {
    json!({ "decision": decision, "reason": reason }).into()
}
