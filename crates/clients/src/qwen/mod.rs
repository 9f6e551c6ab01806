//! Qwen Code.

mod chat;

use serde_json::json;

use crate::check::SelfCheck;
use crate::client::AgentClient;
use crate::conversations::{ConversationFormat, Conversations, Openness};
use crate::folders::{Folders, Scope};
use crate::hook::{self, HeldBy, HookAnswer, HookEvent, HookFormat, HookInput, Remembers};
use crate::launch::{self, Launch};
use crate::profile::Profile;
use crate::settings::{
    Dialect, HOOK_SECONDS, Identity, SERVER, SettingsFile, edit_hook, grouped_hooks, server,
};

const NAME: &str = "qwen";
const VARIABLE: &str = "QWEN_HOME";
const EVENTS: [(HookEvent, &str); 6] = [
    (HookEvent::SessionStart, "SessionStart"),
    (HookEvent::Prompt, "UserPromptSubmit"),
    (HookEvent::Permission, "PermissionRequest"),
    (HookEvent::Tool, "PostToolUse"),
    (HookEvent::Stop, "Stop"),
    (HookEvent::SessionEnd, "SessionEnd"),
];

/// The hook before a tool is called, and the tools that edit.
const BEFORE_TOOL: &str = "PreToolUse";
const EDITORS: &str = "edit|write_file";

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Qwen,
    name: NAME,
    title: "Qwen Code",
    variables: &[VARIABLE],
    session_variable: None,
    settings,
    left_to_do,
    check: SelfCheck::List { args: &["mcp", "list"], explain },
    hooks: Some(HookFormat {
        events: &EVENTS,
        recognises,
        takes_text_at_start: false,
        remembers: Remembers::All,
        takes_text_in_turn: true,
        stop_is_held_by: HeldBy::Wanted,
        largest_text: hook::LARGEST_TEXT,
        answer: hook_answer,
    }),
    conversations: Some(Conversations {
        place: |folders| folders.below(Scope::User, Some(VARIABLE), ".qwen").join("projects"),
        format: ConversationFormat::JsonLines {
            session_in: |name| name.strip_suffix(".jsonl"),
            shown: chat::shown,
        },
        openness: |_, _| Openness::Unknown,
    }),
    wake: None,
    launch: Some(Launch { permission_option: Some("--approval-mode"), headless: &["-p"], ..launch::PLAIN }),
    plugin: None,
    has_rewake_hook: false,
    serves_folders: false,
};

/// Its times are seconds; from 1000 on they would be milliseconds.
fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let mut pieces = vec![server(identity)];
    let hook = |event: &str| {
        let line = identity.hook_line(AgentClient::Qwen, event);
        json!({ "name": SERVER, "type": "command", "command": line, "timeout": HOOK_SECONDS })
    };
    pieces.extend(grouped_hooks(&EVENTS, hook));
    pieces.push(edit_hook(
        identity,
        BEFORE_TOOL,
        || json!({ "matcher": EDITORS, "hooks": [hook(BEFORE_TOOL)] }),
    ));
    let path = folders.below(scope, Some(VARIABLE), ".qwen").join("settings.json");
    vec![SettingsFile::json(path, Dialect::Comments, pieces)]
}

/// Its input is that of Claude Code; its conversations are in folders of another name.
fn recognises(input: &HookInput, _: &str) -> bool {
    let file = format!("/chats/{}.jsonl", input.session());
    input.session_id.is_some() && input.transcript_path.as_deref().is_some_and(|path| path.ends_with(&file))
}

fn hook_answer(event: HookEvent, text: &str) -> HookAnswer {
    match event {
        HookEvent::Stop => hook::block("block", text),
        HookEvent::BeforeTool => hook::deny(text),
        event => hook::additional_context(event.name(), text),
    }
}

fn explain(said: &str) -> Option<&'static str> {
    said.contains("Disconnected").then_some("`qwen mcp list` in that folder shows why")
}

fn left_to_do(scope: Scope) -> &'static [&'static str] {
    match scope {
        Scope::User => &["start Qwen Code anew; /hooks and /mcp show what it has"],
        Scope::Project => &["Qwen Code reads .qwen/settings.json only in folders that you trust: /trust"],
    }
}
