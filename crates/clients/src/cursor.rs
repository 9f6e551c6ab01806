//! Cursor.

use serde_json::json;

use crate::check::SelfCheck;
use crate::client::AgentClient;
use crate::folders::{Folders, Scope};
use crate::hook::{self, HeldBy, HookAnswer, HookEvent, HookFormat, HookInput, Remembers};
use crate::profile::Profile;
use crate::settings::{Dialect, Identity, Piece, SettingsFile, edit_hook, server};

const NAME: &str = "cursor";
const EVENTS: [(HookEvent, &str); 3] = [
    (HookEvent::SessionStart, "sessionStart"),
    (HookEvent::Prompt, "beforeSubmitPrompt"),
    (HookEvent::Stop, "stop"),
];
/// The hook before a tool is called, and the tools that edit.
const BEFORE_TOOL: &str = "preToolUse";
const EDITORS: &str = "Write|Delete";
/// How often in a row a stop may be answered with another message.
const LOOP_LIMIT: u64 = 5;

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Cursor,
    name: NAME,
    title: "Cursor",
    variables: &[],
    session_variable: None,
    is_single_run: |_| false,
    settings,
    left_to_do,
    check: SelfCheck::Impossible,
    hooks: Some(HookFormat {
        events: &EVENTS,
        recognises,
        takes_text_at_start: true,
        remembers: Remembers::Nothing,
        takes_text_in_turn: false,
        stop_is_held_by: HeldBy::Any,
        largest_text: hook::LARGEST_TEXT,
        answer: hook_answer,
    }),
    conversations: None,
    wake: None,
    launch: None,
    plugin: None,
    has_rewake_hook: false,
    serves_folders: false,
};

/// Its hooks are not grouped.
fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let folder = folders.below(scope, None, ".cursor");
    let mut hooks = vec![Piece::Beginning { key: "version", value: json!(1) }];
    for (event, name) in EVENTS {
        let mut hook = json!({ "command": identity.hook_line(AgentClient::Cursor, name) });
        if event == HookEvent::Stop {
            hook["loop_limit"] = json!(LOOP_LIMIT);
        }
        hooks.push(Piece::Hook { event: name, value: hook });
    }
    hooks.push(edit_hook(
        identity,
        BEFORE_TOOL,
        || json!({ "command": identity.hook_line(AgentClient::Cursor, BEFORE_TOOL), "matcher": EDITORS }),
    ));
    vec![
        SettingsFile::json(folder.join("mcp.json"), Dialect::Loose, vec![server(identity)]),
        SettingsFile::json(folder.join("hooks.json"), Dialect::Loose, hooks),
    ]
}

fn recognises(input: &HookInput, event: &str) -> bool {
    let has_no_session = input.session_id.is_none() && input.conversation_id.is_some();
    has_no_session || input.has_name(event, &["beforeSubmitPrompt"])
}

fn hook_answer(event: HookEvent, text: &str) -> HookAnswer {
    match event {
        HookEvent::Stop => json!({ "followup_message": text }).into(),
        HookEvent::BeforeTool => {
            json!({ "permission": "deny", "user_message": text, "agent_message": text }).into()
        }
        _ => json!({ "additional_context": text }).into(),
    }
}

fn left_to_do(_: Scope) -> &'static [&'static str] {
    &["Cursor lists the server under Settings, MCP: switch it on there if it is off"]
}
