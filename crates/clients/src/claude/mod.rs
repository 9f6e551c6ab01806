//! Claude Code.

pub mod peer;
pub mod peer_frame;
mod plugin;
pub mod process;
mod servers;
pub mod sessions;
pub mod socket;
pub mod transcript;
pub mod versions;

use atm_wire::team::Manner;
use serde_json::json;

use crate::check::SelfCheck;
use crate::client::AgentClient;
use crate::conversations::{ConversationFormat, Conversations, Openness};
use crate::folders::{Folders, Scope};
use crate::hook::{self, GO_ON, HeldBy, HookAnswer, HookEvent, HookFormat, Remembers};
use crate::launch::{Launch, Role, words};
use crate::profile::{Plugin, Profile};
use crate::settings::{Dialect, HOOK_SECONDS, Identity, Piece, SERVER, SettingsFile, edit_hook};
use crate::wake::{WakeMethod, WakeWay};

const NAME: &str = "claude";
const VARIABLE: &str = "CLAUDE_CONFIG_DIR";
const EVENTS: [(HookEvent, &str); 6] = [
    (HookEvent::SessionStart, "SessionStart"),
    (HookEvent::Prompt, "UserPromptSubmit"),
    (HookEvent::Tool, "PostToolUse"),
    (HookEvent::Stop, "Stop"),
    (HookEvent::TeammateIdle, "TeammateIdle"),
    (HookEvent::SessionEnd, "SessionEnd"),
];
/// The hook before a tool is called, and the tools that edit.
const BEFORE_TOOL: &str = "PreToolUse";
const EDITORS: &str = "Write|Edit|MultiEdit|NotebookEdit";
/// How long the hook that wakes it may wait for mail.
const SECONDS_OF_WAITING: u64 = 24 * 60 * 60;

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Claude,
    name: NAME,
    title: "Claude Code",
    variables: &[VARIABLE],
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    // Its registry of sessions says so, and its command line need not.
    is_single_run: |_| false,
    settings,
    left_to_do,
    check: SelfCheck::List { args: &["mcp", "list"], explain: |_| None },
    hooks: Some(HookFormat {
        events: &EVENTS,
        // What nobody else claims is taken for its own.
        recognises: |_, _| false,
        takes_text_at_start: true,
        remembers: Remembers::Turns,
        takes_text_in_turn: true,
        stop_is_held_by: HeldBy::Wanted,
        largest_text: hook::LARGEST_TEXT,
        answer: hook_answer,
    }),
    conversations: Some(Conversations {
        place: |folders| folders.below(Scope::User, Some(VARIABLE), ".claude").join("projects"),
        format: ConversationFormat::JsonLines {
            session_in: |name| name.strip_suffix(".jsonl"),
            shown: transcript::shown,
            answered: transcript::answered,
        },
        openness: |_, _| Openness::Unknown,
    }),
    wake: Some(WakeMethod {
        manner: Manner::Poll,
        title: "its own look into the inbox",
        way: WakeWay::Polls,
    }),
    launch: Some(Launch {
        arguments,
        environment: &[("CLAUDECODE", "1"), ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")],
        has_short_models: true,
        permission_option: Some("--permission-mode"),
        headless: &["-p"],
    }),
    plugin: Some(Plugin {
        manifest: plugin::MANIFEST,
        is_ours: plugin::is_ours,
        files: plugin::files,
        usage: plugin::usage,
    }),
    has_rewake_hook: true,
    serves_folders: false,
};

/// Its JSON is strict: a comment makes a whole file ineffective, silently.
fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let server = vec![Piece::Server { at: "mcpServers", value: servers::entry(&identity.env()) }];
    let servers = match scope {
        Scope::User => {
            let folder = folders.named_by(VARIABLE).unwrap_or(&folders.home);
            SettingsFile::json(folder.join(".claude.json"), Dialect::Strict, server)
                .rewritten_by(servers::commands)
        }
        Scope::Project => SettingsFile::json(folders.project.join(".mcp.json"), Dialect::Strict, server),
    };
    let hooks_file = folders.below(scope, Some(VARIABLE), ".claude").join("settings.json");
    vec![servers, SettingsFile::json(hooks_file, Dialect::Strict, hooks(identity))]
}

fn left_to_do(scope: Scope) -> &'static [&'static str] {
    match scope {
        Scope::User => &["start Claude Code anew; /hooks and /mcp show what it has"],
        Scope::Project => &[
            "Claude Code asks at its next start in this folder whether you trust it, and whether to use the server `atm`: say yes to both",
        ],
    }
}

/// A teammate that is about to idle is the one thing that it holds by the exit code alone.
fn hook_answer(event: HookEvent, text: &str) -> HookAnswer {
    match event {
        HookEvent::TeammateIdle => HookAnswer { stdout: None, stderr: Some(text.to_owned()), code: GO_ON },
        HookEvent::Stop => hook::block("block", text),
        HookEvent::BeforeTool => hook::deny(text),
        event => hook::additional_context(event.name(), text),
    }
}

fn hooks(identity: &Identity) -> Vec<Piece> {
    let hook = |(event, name): &(HookEvent, &'static str)| {
        let args = identity.hook_arguments(AgentClient::Claude, name);
        let mut hooks =
            vec![json!({ "type": "command", "command": SERVER, "args": args, "timeout": HOOK_SECONDS })];
        if identity.is_woken && *event == HookEvent::Stop {
            let args = identity.wake_arguments();
            hooks.push(json!({
                "type": "command", "command": SERVER, "args": args, "asyncRewake": true, "timeout": SECONDS_OF_WAITING
            }));
        }
        Piece::Hook { event: name, value: json!({ "matcher": "", "hooks": hooks }) }
    };
    let mut hooks: Vec<Piece> = EVENTS.iter().map(hook).collect();
    hooks.push(edit_hook(identity, BEFORE_TOOL, || {
        let args = identity.hook_arguments(AgentClient::Claude, BEFORE_TOOL);
        let hook = json!({ "type": "command", "command": SERVER, "args": args, "timeout": HOOK_SECONDS });
        json!({ "matcher": EDITORS, "hooks": [hook] })
    }));
    hooks
}

/// It is a member of the team by its own means: a separate process. Without a terminal it has no team, and is a member by its
/// environment and its hooks.
fn arguments(role: &Role<'_>) -> Vec<String> {
    if role.headless.is_some() {
        return role.model.map(|model| words(&["--model", model])).unwrap_or_default();
    }
    let id = format!("{}@{}", role.name, role.team);
    let mut arguments = words(&[process::AGENT_ID, &id, "--agent-name", role.name.as_str()]);
    let color = role.color.to_string();
    arguments.extend(words(&["--team-name", role.team.as_str(), "--agent-color", &color]));
    if let Some(session) = role.lead_session {
        arguments.extend(words(&["--parent-session-id", session]));
    }
    arguments.extend(words(&["--agent-type", role.agent_type]));
    if let Some(model) = role.model {
        arguments.extend(words(&["--model", model]));
    }
    if role.plan_mode {
        arguments.push("--plan-mode-required".to_owned());
    }
    arguments
}
