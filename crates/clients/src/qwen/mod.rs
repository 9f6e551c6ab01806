//! Qwen Code.

mod chat;

use serde_json::json;

use crate::check::SelfCheck;
use crate::client::AgentClient;
use crate::conversations::{ConversationFormat, Conversations, Openness};
use crate::folders::{Folders, Scope};
use crate::hook::{self, HeldBy, HookAnswer, HookEvent, HookFormat, HookInput, Remembers};
use crate::invocation::{Invocation, is_among};
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

/// Its commands that keep sessions of others.
const SERVERS: [&str; 2] = ["serve", "channel"];
/// Its options without a value.
const FLAGS: &str = "-d --debug --bare --safe-mode --insecure --chat-recording -s --sandbox -y --yolo --experimental-lsp \
    --restore-ask-user-question -l --list-extensions --openai-logging --screen-reader \
    --include-partial-messages -c --continue --fork-session --telemetry --telemetry-log-prompts";
/// Its options that take all words up to the next one.
const LISTS: &str = "--fallback-model --allowed-mcp-server-names --allowed-tools -e --extensions --include-directories \
    --add-dir --core-tools --exclude-tools --disabled-slash-commands";

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Qwen,
    name: NAME,
    title: "Qwen Code",
    variables: &[VARIABLE],
    session_variable: None,
    is_single_run,
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
            answered: chat::answered,
        },
        openness: |_, _| Openness::Unknown,
    }),
    wake: None,
    launch: Some(Launch { permission_option: Some("--approval-mode"), headless: &["-p"], ..launch::PLAIN }),
    plugin: None,
    has_rewake_hook: false,
    serves_folders: false,
};

/// A prompt is one turn, with or without an option for it, and so is whatever has no terminal; unless an editor speaks to it, or it
/// serves others.
fn is_single_run(invocation: &Invocation) -> bool {
    let has = |letter, name| invocation.has_option(letter, name);
    let values = |option: &str| match option {
        option if is_among(option, FLAGS) => 0,
        option if is_among(option, LISTS) => usize::MAX,
        _ => 1,
    };
    let word = invocation.first_word(values);
    let goes_on = has(Some('i'), "--prompt-interactive")
        || has(None, "--acp")
        || has(None, "--experimental-acp")
        || word.is_some_and(|word| SERVERS.contains(&word));
    !goes_on && (word.is_some() || has(Some('p'), "--prompt") || invocation.has_terminal == Some(false))
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::invoked;

    #[test]
    fn a_run_with_a_prompt_or_without_a_terminal_is_a_single_one() {
        for (line, expected) in [
            ("qwen", false),
            ("qwen -p hi", true),
            ("qwen --continue --approval-mode yolo -p hi", true),
            ("qwen explain", true),
            ("qwen --approval-mode yolo explain", true),
            ("qwen --continue explain", true),
            ("node --expose-gc /usr/lib/node_modules/@qwen-code/qwen-code/cli.js explain", true),
            ("node /usr/bin/qwen --approval-mode yolo", false),
            ("qwen --continue --model m --yolo", false),
            ("qwen --resume 0b7e1c52", false),
            ("qwen --allowed-tools edit write_file", false),
            ("qwen --telemetry false", false),
            ("qwen -s false --model m", false),
            ("qwen -s false explain", true),
            ("qwen -i explain", false),
            ("qwen --prompt-interactive explain", false),
            ("qwen --acp <", false),
            ("qwen serve <", false),
            ("qwen channel start <", false),
            ("qwen --input-format stream-json <", true),
            ("qwen <", true),
        ] {
            assert_eq!(is_single_run(&invoked(line)), expected, "{line}");
        }
    }
}
