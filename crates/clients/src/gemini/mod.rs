//! Gemini CLI.

mod chat;

use serde_json::json;

use crate::check::SelfCheck;
use crate::client::AgentClient;
use crate::conversations::{ConversationFormat, Conversations, Openness};
use crate::folders::{Folders, Scope};
use crate::hook::{self, HeldBy, HookAnswer, HookEvent, HookFormat, Remembers};
use crate::invocation::Invocation;
use crate::launch::{self, Launch};
use crate::profile::Profile;
use crate::settings::{
    Dialect, HOOK_SECONDS, Identity, SERVER, SettingsFile, edit_hook, grouped_hooks, server,
};

const NAME: &str = "gemini";
const EVENTS: [(HookEvent, &str); 6] = [
    (HookEvent::SessionStart, "SessionStart"),
    (HookEvent::Prompt, "BeforeAgent"),
    (HookEvent::Permission, "Notification"),
    (HookEvent::Tool, "AfterTool"),
    (HookEvent::Stop, "AfterAgent"),
    (HookEvent::SessionEnd, "SessionEnd"),
];

/// The hook before a tool is called, and the tools that edit.
const BEFORE_TOOL: &str = "BeforeTool";
const EDITORS: &str = "write_file|replace";

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Gemini,
    name: NAME,
    title: "Gemini CLI",
    variables: &[],
    session_variable: None,
    is_single_run,
    settings,
    left_to_do,
    check: SelfCheck::List { args: &["mcp", "list"], explain },
    hooks: Some(HookFormat {
        events: &EVENTS,
        recognises: |input, event| {
            input.has_name(event, &["BeforeAgent", "AfterAgent", "AfterTool", BEFORE_TOOL])
        },
        takes_text_at_start: true,
        remembers: Remembers::Turns,
        takes_text_in_turn: true,
        stop_is_held_by: HeldBy::Wanted,
        largest_text: hook::LARGEST_TEXT,
        answer: hook_answer,
    }),
    conversations: Some(Conversations {
        place: |folders| folders.below(Scope::User, None, ".gemini").join("tmp"),
        format: ConversationFormat::JsonLines { session_in, shown: chat::shown, answered: chat::answered },
        openness: |_, _| Openness::Unknown,
    }),
    wake: None,
    launch: Some(Launch { permission_option: Some("--approval-mode"), headless: &["-p"], ..launch::PLAIN }),
    plugin: None,
    has_rewake_hook: false,
    serves_folders: false,
};

/// Without a terminal it takes one turn, whatever it was told, unless an editor speaks to it.
fn is_single_run(invocation: &Invocation) -> bool {
    let has = |letter, name| invocation.has_option(letter, name);
    let goes_on =
        has(Some('i'), "--prompt-interactive") || has(None, "--acp") || has(None, "--experimental-acp");
    !goes_on && (has(Some('p'), "--prompt") || invocation.has_terminal == Some(false))
}

/// Its times are milliseconds.
fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let mut pieces = vec![server(identity)];
    let hook = |event: &str| {
        let line = identity.hook_line(AgentClient::Gemini, event);
        json!({ "name": SERVER, "type": "command", "command": line, "timeout": HOOK_SECONDS * 1000 })
    };
    pieces.extend(grouped_hooks(&EVENTS, hook));
    pieces.push(edit_hook(
        identity,
        BEFORE_TOOL,
        || json!({ "matcher": EDITORS, "hooks": [hook(BEFORE_TOOL)] }),
    ));
    let path = folders.below(scope, None, ".gemini").join("settings.json");
    vec![SettingsFile::json(path, Dialect::Comments, pieces)]
}

fn hook_answer(event: HookEvent, text: &str) -> HookAnswer {
    if matches!(event, HookEvent::Stop | HookEvent::BeforeTool) {
        return hook::block("deny", text);
    }
    let named = EVENTS.iter().find(|(named, _)| *named == event);
    hook::additional_context(named.map_or(event.name(), |(_, name)| name), text)
}

fn explain(said: &str) -> Option<&'static str> {
    said.contains("Disabled").then_some("you do not trust this folder (/permissions)")
}

/// `session-TIME-ID.jsonl`, where the id is the beginning of the session's.
fn session_in(file_name: &str) -> Option<&str> {
    let name = file_name.strip_prefix("session-")?.strip_suffix(".jsonl")?;
    name.rsplit_once('-').map(|(_, session)| session)
}

fn left_to_do(_: Scope) -> &'static [&'static str] {
    &["in a folder that you do not trust Gemini CLI shows the server as disabled: /permissions trusts it"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::invoked;

    #[test]
    fn a_run_with_a_prompt_or_without_a_terminal_is_a_single_one() {
        for (line, expected) in [
            ("gemini", false),
            ("gemini -p hi", true),
            ("gemini --prompt hi", true),
            ("gemini --prompt=hi", true),
            ("gemini -yp hi", true),
            ("gemini --resume latest -m gemini-2.5-flash --approval-mode yolo -p hi", true),
            ("node --max-old-space-size=4096 /usr/bin/gemini -p hi", true),
            ("node --no-warnings /usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js -y", false),
            // A prompt without an option opens the terminal UI, where there is a terminal.
            ("gemini explain", false),
            ("gemini explain <", true),
            ("gemini <", true),
            ("gemini -i hi", false),
            ("gemini --prompt-interactive hi", false),
            ("gemini --prompt-interactive=hi <", false),
            ("gemini --acp <", false),
            ("gemini --experimental-acp <", false),
            ("gemini -- -p", false),
        ] {
            assert_eq!(is_single_run(&invoked(line)), expected, "{line}");
        }
        // Where the system does not show what a process reads from.
        let shown = |line| Invocation { has_terminal: None, ..invoked(line) };
        assert!(is_single_run(&shown("gemini -p hi")));
        assert!(!is_single_run(&shown("gemini explain")));
    }
}
