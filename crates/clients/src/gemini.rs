//! Gemini CLI.

use serde_json::json;

use crate::client::AgentClient;
use crate::folders::{Folders, Scope};
use crate::profile::Profile;
use crate::settings::{Dialect, HOOK_SECONDS, Identity, SERVER, SettingsFile, grouped_hooks, server};

const NAME: &str = "gemini";
const EVENTS: [&str; 5] = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"];

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Gemini,
    name: NAME,
    title: "Gemini CLI",
    variables: &[],
    settings,
    left_to_do,
    plugin: None,
    has_rewake_hook: false,
};

/// Its times are milliseconds.
fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let mut pieces = vec![server(identity)];
    pieces.extend(grouped_hooks(&EVENTS, |event| {
        let line = identity.hook_line(AgentClient::Gemini, event);
        json!({ "name": SERVER, "type": "command", "command": line, "timeout": HOOK_SECONDS * 1000 })
    }));
    let path = folders.below(scope, None, ".gemini").join("settings.json");
    vec![SettingsFile::json(path, Dialect::Comments, pieces)]
}

fn left_to_do(_: Scope) -> &'static [&'static str] {
    &["in a folder that you do not trust Gemini CLI shows the server as disabled: /permissions trusts it"]
}
