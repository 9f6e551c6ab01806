//! How each client is made to use our model, to take a turn without a terminal, and to go on with its conversation.

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

/// Makes a command one of a single turn.
pub(super) fn turn(client: &str, command: &mut Command, url: &str, words: &Words) {
    let again = |option: &'static [&'static str]| if words.is_again { option } else { &[] };
    match client {
        "claude" => {
            command.args(again(&["--continue"])).args(["-p", "--allowedTools", "Bash", "--"]);
            command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "none");
        }
        "codex" => {
            // Its own doors for programs that know whose hooks and commands they run: in this home they are all ours.
            command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]);
            command.arg("--dangerously-bypass-approvals-and-sandbox").args(again(&["resume", "--last"]));
        }
        "gemini" => {
            command.args(again(&["--resume", "latest"]));
            command.args(["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p"]);
            command.env("GOOGLE_GEMINI_BASE_URL", url).env("GEMINI_API_KEY", "none");
        }
        "qwen" => {
            command.args(again(&["--continue"])).args(["--approval-mode", "yolo", "-p"]);
            command.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", "none");
            command.env("OPENAI_MODEL", "m");
        }
        _ => drop(command.arg("run").args(again(&["--continue"]))),
    }
    command.arg(&words.text);
}
