//! Codex.

mod app_server;
mod rollout;
mod threads;

use atm_wire::team::Manner;
use serde_json::json;

use crate::client::AgentClient;
use crate::command::CommandLine;
use crate::conversations::{ConversationFormat, Conversations};
use crate::folders::{Folders, Scope};
use crate::hook::{self, HeldBy, HookAnswer, HookEvent, HookFormat, HookInput, Remembers};
use crate::invocation::{Invocation, is_among};
use crate::launch::{self, Launch};
use crate::profile::Profile;
use crate::settings::{Dialect, HOOK_SECONDS, Identity, SettingsFile, edit_hook, grouped_hooks};
use crate::wake::{WakeMethod, WakeWay};

const NAME: &str = "codex";
const VARIABLE: &str = "CODEX_HOME";
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
const EDITORS: &str = "apply_patch|Edit|Write";
/// Its commands that take a turn without a terminal, and end.
const SINGLE_RUNS: [&str; 3] = ["exec", "e", "review"];
/// Its options, before a command, whose value is a word of its own.
const WITH_VALUE: &str = "-c --config --enable --disable --remote --remote-auth-token-env -m --model --local-provider -p \
    --profile -s --sandbox -C --cd --add-dir -a --ask-for-approval";
/// At the end of a session it waits no longer.
const SECONDS_AT_THE_END: u64 = 3;

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Codex,
    name: NAME,
    title: "Codex",
    variables: &[VARIABLE],
    session_variable: None,
    is_single_run,
    settings,
    left_to_do,
    check: app_server::CHECK,
    hooks: Some(HookFormat {
        events: &EVENTS,
        recognises,
        takes_text_at_start: true,
        remembers: Remembers::All,
        takes_text_in_turn: true,
        stop_is_held_by: HeldBy::Wanted,
        largest_text: hook::LARGEST_TEXT,
        answer: hook_answer,
    }),
    conversations: Some(Conversations {
        place: |folders| folders.below(Scope::User, Some(VARIABLE), ".codex").join("sessions"),
        format: ConversationFormat::JsonLines {
            session_in: thread_in,
            shown: rollout::shown,
            answered: rollout::answered,
        },
        openness: threads::openness,
    }),
    wake: Some(WakeMethod { manner: Manner::Codex, title: "codex queue", way: WakeWay::Command(queue) }),
    launch: Some(Launch {
        permission_option: Some("--ask-for-approval"),
        headless: &["exec", "--skip-git-repo-check"],
        ..launch::PLAIN
    }),
    plugin: None,
    has_rewake_hook: false,
    serves_folders: false,
};

fn is_single_run(invocation: &Invocation) -> bool {
    let values = |option: &str| match option {
        "-i" | "--image" => usize::MAX,
        option => usize::from(is_among(option, WITH_VALUE)),
    };
    invocation.first_word(values).is_some_and(|word| SINGLE_RUNS.contains(&word))
}

fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let folder = folders.below(scope, Some(VARIABLE), ".codex");
    let hook = |event: &str| {
        let timeout = if event == "SessionEnd" { SECONDS_AT_THE_END } else { HOOK_SECONDS };
        json!({ "type": "command", "command": identity.hook_line(AgentClient::Codex, event), "timeout": timeout })
    };
    let mut hooks = grouped_hooks(&EVENTS, hook);
    hooks.push(edit_hook(
        identity,
        BEFORE_TOOL,
        || json!({ "matcher": EDITORS, "hooks": [hook(BEFORE_TOOL)] }),
    ));
    vec![
        SettingsFile::toml(folder.join("config.toml"), identity.env()),
        SettingsFile::json(folder.join("hooks.json"), Dialect::Strict, hooks),
    ]
}

/// Its input is that of Claude Code, and has the turn's number, too.
fn recognises(input: &HookInput, event: &str) -> bool {
    let name = hook::plain(input.hook_event_name.as_deref().unwrap_or(event));
    let mut own = EVENTS.iter().map(|(_, own)| *own).chain([BEFORE_TOOL]);
    let has_such_an_event = own.any(|own| hook::plain(own) == name);
    input.turn_id.is_some() && input.session_id.is_some() && has_such_an_event
}

/// It is strict: at a stop it takes these two keys, and no other.
fn hook_answer(event: HookEvent, text: &str) -> HookAnswer {
    match event {
        HookEvent::Stop => hook::block("block", text),
        HookEvent::BeforeTool => hook::deny(text),
        event => hook::additional_context(event.name(), text),
    }
}

/// Puts a line into an idle terminal. A success means that it is stored, not that it was seen.
fn queue(session: &str, line: &str) -> CommandLine {
    CommandLine::new(NAME, &["queue", "--thread", session, "--message", line])
}

/// `rollout-TIME-THREAD.jsonl`, where the thread is a UUID.
fn thread_in(file_name: &str) -> Option<&str> {
    const UUID: usize = 36;
    let name = file_name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let thread = name.get(name.len().checked_sub(UUID)?..)?;
    name.len().checked_sub(UUID + 1).filter(|dash| name.as_bytes()[*dash] == b'-').map(|_| thread)
}

fn left_to_do(scope: Scope) -> &'static [&'static str] {
    const ALL: [&str; 3] = [
        "Codex skips new hooks, without a word, until you have reviewed them: start it, type /hooks, and trust those of atm",
        "`codex exec` refuses the tools unless you add default_tools_approval_mode = \"approve\" below [mcp_servers.atm]",
        "Codex reads .codex/config.toml only in folders that you trust: it asks at its start",
    ];
    match scope {
        Scope::User => &ALL[..2],
        Scope::Project => &ALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::invoked;

    #[test]
    fn a_run_of_exec_or_review_is_a_single_one() {
        for (line, expected) in [
            ("codex", false),
            ("codex exec hi", true),
            ("codex e hi", true),
            ("codex review", true),
            ("codex exec --skip-git-repo-check --dangerously-bypass-hook-trust resume --last hi", true),
            ("/opt/vendor/codex -c model=o3 exec hi", true),
            ("codex -m gpt --sandbox read-only -a never -C /w --add-dir /v exec hi", true),
            ("codex --model=gpt --search exec hi", true),
            ("codex -c exec", false),
            ("codex -p exec hi", false),
            ("node /usr/lib/node_modules/@openai/codex/bin/codex.js exec hi", true),
            // A prompt, not a command.
            ("codex please exec", false),
            ("codex -- exec-like", false),
            ("codex resume --last", false),
            ("codex app-server", false),
            ("codex exec-server", false),
            ("codex mcp-server", false),
            ("codex -i a.png exec", false),
            ("codex <", false),
        ] {
            assert_eq!(is_single_run(&invoked(line)), expected, "{line}");
        }
    }
}
