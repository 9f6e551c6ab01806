//! The clients: where their files are, and what of ours goes into them.
#![expect(clippy::doc_markdown, reason = "these comments are the help text")]

use std::env;
use std::path::{Path, PathBuf};

use atm_office::spawn::find_in_path;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::identity::Identity;
use super::json::{Dialect, Piece};
use super::target::{Kind, Target};

/// How long a client waits for a hook, in seconds.
const SECONDS: u64 = 10;
/// At the end of a session Codex waits no longer.
const SECONDS_AT_THE_END: u64 = 3;
/// How long one that wakes its client may wait for mail.
const SECONDS_OF_WAITING: u64 = 24 * 60 * 60;
/// The plugin that takes the place of hooks where there are none.
const OPENCODE_PLUGIN: &str = include_str!("opencode.js");

/// A program that agents run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// OpenCode
    Opencode,
    /// Cursor
    Cursor,
}

pub(crate) const ALL: [Client; 5] =
    [Client::Claude, Client::Codex, Client::Gemini, Client::Opencode, Client::Cursor];

/// For whom it is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    User,
    Project,
}

/// The folders that clients keep their files in.
#[derive(Debug)]
pub(crate) struct Folders {
    home: PathBuf,
    project: PathBuf,
}

impl Folders {
    /// `home` is the user's, `project` where we are.
    pub(crate) fn new(home: PathBuf, project: PathBuf) -> Self {
        Self { home, project }
    }

    fn below(&self, scope: Scope, variable: Option<&str>, name: &str) -> PathBuf {
        match scope {
            Scope::Project => self.project.join(name),
            Scope::User => variable.and_then(folder_in).unwrap_or_else(|| self.home.join(name)),
        }
    }

    /// Where Claude Code keeps a user's servers.
    pub(crate) fn claude_json(&self) -> PathBuf {
        folder_in("CLAUDE_CONFIG_DIR").unwrap_or_else(|| self.home.clone()).join(".claude.json")
    }

    fn opencode(&self, scope: Scope) -> (PathBuf, PathBuf) {
        let (config, plugins) = match scope {
            Scope::Project => (self.project.clone(), self.project.join(".opencode/plugins")),
            Scope::User => {
                let config = folder_in("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"));
                (config.join("opencode"), config.join("opencode/plugins"))
            }
        };
        let there = ["opencode.jsonc", "opencode.json"].map(|name| config.join(name));
        let file = there.iter().find(|path| path.exists()).unwrap_or(&there[1]).clone();
        (file, plugins.join("atm.js"))
    }
}

fn folder_in(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl Client {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "OpenCode",
            Self::Cursor => "Cursor",
        }
    }

    /// The program's name.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Cursor => "cursor",
        }
    }

    /// The files that are edited. `claude_itself`: Claude Code's own command takes care of the file that it rewrites while
    /// it runs.
    pub(crate) fn targets(
        self,
        scope: Scope,
        folders: &Folders,
        who: &Identity,
        claude_itself: bool,
    ) -> Vec<Target> {
        let env = who.env();
        let server = |at: &'static str, value| Piece::Server { at, value };
        let json = |path: PathBuf, pieces, dialect| Target { path, kind: Kind::Json { pieces, dialect } };
        let strict = |path: PathBuf, pieces| json(path, pieces, Dialect::Strict);
        match self {
            Self::Claude => {
                let folder = folders.below(scope, Some("CLAUDE_CONFIG_DIR"), ".claude");
                let servers = match scope {
                    Scope::User => folders.claude_json(),
                    Scope::Project => folders.project.join(".mcp.json"),
                };
                let hooks = strict(folder.join("settings.json"), claude_hooks(who));
                let servers = strict(servers, vec![server("mcpServers", stdio_server(&env))]);
                if claude_itself && scope == Scope::User { vec![hooks] } else { vec![servers, hooks] }
            }
            Self::Codex => {
                let folder = folders.below(scope, Some("CODEX_HOME"), ".codex");
                let config = Target { path: folder.join("config.toml"), kind: Kind::Codex { env } };
                let events = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"];
                let hooks = nested(&events, |event| {
                    let timeout = if event == "SessionEnd" { SECONDS_AT_THE_END } else { SECONDS };
                    json!({ "type": "command", "command": who.line("codex", event), "timeout": timeout })
                });
                vec![config, strict(folder.join("hooks.json"), hooks)]
            }
            Self::Gemini => {
                let folder = folders.below(scope, None, ".gemini");
                let events = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"];
                let mut pieces = nested(&events, |event| {
                    let line = who.line("gemini", event);
                    json!({ "name": "atm", "type": "command", "command": line, "timeout": SECONDS * 1000 })
                });
                let value = json!({ "command": "atm", "args": ["mcp"], "env": object(&env) });
                pieces.insert(0, server("mcpServers", value));
                vec![json(folder.join("settings.json"), pieces, Dialect::Comments)]
            }
            Self::Opencode => {
                let (config, plugin) = folders.opencode(scope);
                let value =
                    json!({ "type": "local", "command": ["atm", "mcp"], "environment": object(&env) });
                // It adds this by itself to a file without it, which would then not be the one that we made.
                let schema =
                    Piece::Beginning { key: "$schema", value: json!("https://opencode.ai/config.json") };
                let pieces = vec![schema, server("mcp", value)];
                let arguments = serde_json::to_string(&who.arguments()).unwrap_or_default();
                let text = OPENCODE_PLUGIN.replace("/* arguments */ []", &arguments);
                vec![
                    json(config, pieces, Dialect::Loose),
                    Target { path: plugin, kind: Kind::Whole { text } },
                ]
            }
            Self::Cursor => {
                let folder = folders.below(scope, None, ".cursor");
                let value = json!({ "command": "atm", "args": ["mcp"], "env": object(&env) });
                let mut hooks = vec![Piece::Beginning { key: "version", value: json!(1) }];
                for event in ["sessionStart", "beforeSubmitPrompt", "stop"] {
                    let mut hook = json!({ "command": who.line("cursor", event) });
                    if event == "stop" {
                        hook["loop_limit"] = json!(5);
                    }
                    hooks.push(Piece::Hook { event, value: hook });
                }
                vec![
                    json(folder.join("mcp.json"), vec![server("mcpServers", value)], Dialect::Loose),
                    json(folder.join("hooks.json"), hooks, Dialect::Loose),
                ]
            }
        }
    }

    /// What the user has to do, which we never do for them.
    pub(crate) fn what_is_left(self, scope: Scope) -> &'static [&'static str] {
        match (self, scope) {
            (Self::Claude, Scope::User) => &["start Claude Code anew; /hooks and /mcp show what it has"],
            (Self::Claude, Scope::Project) => &[
                "Claude Code asks at its next start in this folder whether you trust it, and whether to use the server `atm`: say yes to both",
            ],
            (Self::Codex, scope) => match scope {
                Scope::User => &CODEX,
                Scope::Project => &[
                    CODEX[0],
                    CODEX[1],
                    "Codex reads .codex/config.toml only in folders that you trust: it asks at its start",
                ],
            },
            (Self::Gemini, _) => &[
                "in a folder that you do not trust Gemini CLI shows the server as disabled: /permissions trusts it",
            ],
            (Self::Opencode, _) => &[
                "start OpenCode anew; with a plugin it fetches the package @opencode-ai/plugin once, and needs the network for that",
            ],
            (Self::Cursor, _) => {
                &["Cursor lists the server under Settings, MCP: switch it on there if it is off"]
            }
        }
    }
}

const CODEX: [&str; 2] = [
    "Codex skips new hooks, without a word, until you have reviewed them: start it, type /hooks, and trust those of atm",
    "`codex exec` refuses the tools unless you add default_tools_approval_mode = \"approve\" below [mcp_servers.atm]",
];

/// Claude Code's entry for a server, as its own command writes it.
pub(crate) fn stdio_server(env: &[(String, String)]) -> Value {
    json!({ "type": "stdio", "command": "atm", "args": ["mcp"], "env": object(env) })
}

/// Claude Code's hooks.
pub(crate) fn claude_hooks(who: &Identity) -> Vec<Piece> {
    let events = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "TeammateIdle", "SessionEnd"];
    let hook = |event: &&'static str| {
        let args = who.hook_arguments("claude", event);
        let mut hooks =
            vec![json!({ "type": "command", "command": "atm", "args": args, "timeout": SECONDS })];
        if who.is_woken && *event == "Stop" {
            let args = who.wake_arguments();
            hooks.push(json!({
                "type": "command", "command": "atm", "args": args, "asyncRewake": true, "timeout": SECONDS_OF_WAITING
            }));
        }
        Piece::Hook { event, value: json!({ "matcher": "", "hooks": hooks }) }
    };
    events.iter().map(hook).collect()
}

fn nested(events: &[&'static str], hook: impl Fn(&str) -> Value) -> Vec<Piece> {
    let group = |event: &&'static str| Piece::Hook { event, value: json!({ "hooks": [hook(event)] }) };
    events.iter().map(group).collect()
}

fn object(env: &[(String, String)]) -> Value {
    let members = env.iter().map(|(name, value)| (name.clone(), Value::String(value.clone())));
    Value::Object(members.collect())
}

/// Where a program is, if it is on the path.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    find_in_path(name, Path::new(""), Some(&env::var_os("PATH")?))
}
