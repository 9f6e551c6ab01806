//! How each client is made to use our model, to take a turn without a terminal, and to go on with its conversation.

use std::path::Path;
use std::process::Command;

/// What a turn is told.
pub(super) struct Words {
    text: String,
    /// The conversation of before goes on.
    is_again: bool,
}

impl Words {
    pub(super) fn first(text: &str) -> Self {
        Self { text: text.to_owned(), is_again: false }
    }

    pub(super) fn again(text: &str) -> Self {
        Self { text: text.to_owned(), is_again: true }
    }
}

/// A file of its user's that names our model.
pub(super) fn configure(client: &str, url: &str) -> (&'static str, String) {
    match client {
        "claude" => (".claude/settings.json", "{\"permissions\":{\"allow\":[\"Bash\"]}}".to_owned()),
        "codex" => (
            ".codex/config.toml",
            format!(
                "model = \"m\"\nmodel_provider = \"here\"\n[model_providers.here]\nname = \"here\"\n\
                 base_url = \"{url}/v1\"\nwire_api = \"responses\"\n"
            ),
        ),
        "gemini" => (
            ".gemini/settings.json",
            "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}}}".to_owned(),
        ),
        "qwen" => {
            (".qwen/settings.json", "{\"security\":{\"auth\":{\"selectedType\":\"openai\"}}}".to_owned())
        }
        _ => (
            ".config/opencode/opencode.json",
            format!(
                "{{\"$schema\":\"https://opencode.ai/config.json\",\"model\":\"here/m\",\"small_model\":\"here/m\",\
                 \"permission\":{{\"bash\":\"allow\",\"external_directory\":\"allow\"}},\
                 \"provider\":{{\"here\":{{\"npm\":\"@ai-sdk/openai-compatible\",\"options\":{{\"baseURL\":\"{url}/v1\",\
                 \"apiKey\":\"none\"}},\"models\":{{\"m\":{{}}}}}}}}}}"
            ),
        ),
    }
}

/// How a client is started in a terminal, for turns that its user begins there.
pub(super) struct Interactive {
    pub(super) options: Vec<&'static str>,
    /// What its screen shows when it takes words.
    pub(super) is_ready: &'static str,
    /// What its screen shows when it asks for a permission; the answer that is proposed lets the tool run.
    pub(super) asks: &'static str,
    /// What begins another conversation.
    pub(super) clear: &'static str,
}

/// Without a way for Claude Code, whose sessions have a part of their own.
pub(super) fn interactive(client: &str, asks: bool) -> Option<Interactive> {
    let mode = if asks { "default" } else { "yolo" };
    Some(match client {
        "codex" => {
            let mut options = vec!["--dangerously-bypass-hook-trust"];
            options.extend(if asks {
                &["--ask-for-approval", "on-request", "--sandbox", "workspace-write"][..]
            } else {
                &["--dangerously-bypass-approvals-and-sandbox"]
            });
            Interactive { options, is_ready: "›", asks: "Would you like to run", clear: "/clear" }
        }
        "gemini" => Interactive {
            options: vec!["-m", "gemini-2.5-flash", "--approval-mode", mode],
            is_ready: "Type your message",
            asks: "Allow execution",
            clear: "/clear",
        },
        "qwen" => Interactive {
            options: vec!["--approval-mode", mode],
            is_ready: "Type your message",
            asks: "Allow execution",
            clear: "/clear",
        },
        "opencode" => Interactive {
            options: Vec::new(),
            is_ready: "Ask anything",
            asks: "Permission required",
            clear: "/new",
        },
        _ => return None,
    })
}

/// What a client's user has to have settled before its terminal takes words: whether tools ask, and that the folder is trusted.
pub(super) fn settle(client: &str, text: &str, asks: bool, work: &Path) -> String {
    match client {
        "codex" if !text.contains("trust_level") => {
            format!("{text}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", work.display())
        }
        "opencode" => {
            let (from, to) = if asks { ("allow", "ask") } else { ("ask", "allow") };
            text.replace(&format!("\"bash\":\"{from}\""), &format!("\"bash\":\"{to}\""))
        }
        _ => text.to_owned(),
    }
}

/// Makes a command one of a single turn.
pub(super) fn turn(client: &str, command: &mut Command, url: &str, words: &Words) {
    let again = |option: &'static [&'static str]| if words.is_again { option } else { &[] };
    provide(client, command, url);
    match client {
        "claude" => {
            command.args(again(&["--continue"])).args(["-p", "--allowedTools", "Bash", "--"]);
        }
        "codex" => {
            // Its own doors for programs that know whose hooks and commands they run: in this home they are all ours.
            command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]);
            command.arg("--dangerously-bypass-approvals-and-sandbox").args(again(&["resume", "--last"]));
        }
        "gemini" => {
            command.args(again(&["--resume", "latest"]));
            command.args(["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p"]);
        }
        "qwen" => {
            command.args(again(&["--continue"])).args(["--approval-mode", "yolo", "-p"]);
        }
        _ => drop(command.arg("run").args(again(&["--continue"]))),
    }
    command.arg(&words.text);
}

/// Variables that name our model.
pub(super) fn provide(client: &str, command: &mut Command, url: &str) {
    match client {
        "claude" => command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "none"),
        "gemini" => command.env("GOOGLE_GEMINI_BASE_URL", url).env("GEMINI_API_KEY", "none"),
        "qwen" => {
            command.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", "none");
            command.env("OPENAI_MODEL", "m")
        }
        _ => command,
    };
}
