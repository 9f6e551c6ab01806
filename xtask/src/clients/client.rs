//! The clients: what each is called, what it had in its files before us, and how it is made to take a turn.

use std::process::Command;

use super::model::Model;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    /// As people know it.
    pub(super) title: &'static str,
    /// As `atm install` and the shell have it.
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    /// The one that was seen working.
    pub(super) version: &'static str,
}

pub(super) const CLIENTS: [Client; 5] = [
    Client { title: "Claude Code", name: "claude", package: "@anthropic-ai/claude-code", version: "2.1.325" },
    Client { title: "Codex", name: "codex", package: "@openai/codex", version: "0.166.0" },
    Client { title: "Gemini CLI", name: "gemini", package: "@google/gemini-cli", version: "0.61.0" },
    Client { title: "Qwen Code", name: "qwen", package: "@qwen-code/qwen-code", version: "0.24.4" },
    Client { title: "OpenCode", name: "opencode", package: "opencode-ai", version: "1.18.33" },
];

impl Client {
    /// A file of its user, below the home folder, which names our model and has what such files have: comments where
    /// the client takes them, and a layout of its own.
    pub(super) fn file(self, model: &Model) -> (&'static str, String) {
        let url = &model.url;
        match self.name {
            "claude" => (".claude/settings.json", "{\"includeCoAuthoredBy\":false,\n\t\"hooks\": { }}".to_owned()),
            "codex" => (
                ".codex/config.toml",
                format!(
                    "# mine\r\nmodel = \"m\" # small\r\nmodel_provider   = \"here\"\r\n\r\n[model_providers.here]\r\n\
                     name = \"here\"\r\nbase_url = \"{url}/v1\"\r\nwire_api = \"responses\"\r\n# the end"
                ),
            ),
            "gemini" => (
                ".gemini/settings.json",
                "{\n    // mine\n    \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } } /* the end */\n}\n"
                    .to_owned(),
            ),
            "qwen" => (
                ".qwen/settings.json",
                // As the client leaves it: without a version it adds its own, and lays the whole file out anew.
                "{\n  // mine\n  \"$version\": 4,\n  \"security\": { \"auth\": { \"selectedType\": \"openai\" } }\n}\n"
                    .to_owned(),
            ),
            _ => (
                ".config/opencode/opencode.jsonc",
                format!(
                    "// mine\n{{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"model\": \"here/m\", \
                     \"small_model\": \"here/m\",\n  \"provider\": {{ \"here\": {{\n    \"npm\": \
                     \"@ai-sdk/openai-compatible\", /* the usual one */\n    \"options\": {{ \"baseURL\": \"{url}/v1\", \
                     \"apiKey\": \"none\" }},\n    \"models\": {{ \"m\": {{}}, }},\n  }} }},\n}}\n"
                ),
            ),
        }
    }

    /// Makes a command one of a single turn with our model.
    pub(super) fn turn(self, command: &mut Command, model: &Model) {
        match self.name {
            "claude" => {
                command.args(["-p", "hello"]);
                command.env("ANTHROPIC_BASE_URL", &model.url).env("ANTHROPIC_API_KEY", "none");
            }
            // Its own door for programs that know whose hooks they run: in this home they are all ours.
            "codex" => drop(command.args([
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-hook-trust",
                "hello",
            ])),
            "gemini" => {
                command.args(["-m", "gemini-2.5-flash", "-p", "hello"]);
                command.env("GOOGLE_GEMINI_BASE_URL", &model.url).env("GEMINI_API_KEY", "none");
            }
            "qwen" => {
                command.args(["-p", "hello"]);
                command.env("OPENAI_BASE_URL", format!("{}/v1", model.url)).env("OPENAI_API_KEY", "none");
                command.env("OPENAI_MODEL", "m");
            }
            _ => drop(command.args(["run", "hello"])),
        }
    }
}
