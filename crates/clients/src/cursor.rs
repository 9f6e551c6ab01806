//! Cursor.

use serde_json::json;

use crate::client::AgentClient;
use crate::folders::{Folders, Scope};
use crate::profile::Profile;
use crate::settings::{Dialect, Identity, Piece, SettingsFile, server};

const NAME: &str = "cursor";
/// How often in a row a stop may be answered with another message.
const LOOP_LIMIT: u64 = 5;

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Cursor,
    name: NAME,
    title: "Cursor",
    variables: &[],
    settings,
    left_to_do,
    plugin: None,
    has_rewake_hook: false,
};

/// Its hooks are not grouped.
fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let folder = folders.below(scope, None, ".cursor");
    let mut hooks = vec![Piece::Beginning { key: "version", value: json!(1) }];
    for event in ["sessionStart", "beforeSubmitPrompt", "stop"] {
        let mut hook = json!({ "command": identity.hook_line(AgentClient::Cursor, event) });
        if event == "stop" {
            hook["loop_limit"] = json!(LOOP_LIMIT);
        }
        hooks.push(Piece::Hook { event, value: hook });
    }
    vec![
        SettingsFile::json(folder.join("mcp.json"), Dialect::Loose, vec![server(identity)]),
        SettingsFile::json(folder.join("hooks.json"), Dialect::Loose, hooks),
    ]
}

fn left_to_do(_: Scope) -> &'static [&'static str] {
    &["Cursor lists the server under Settings, MCP: switch it on there if it is off"]
}
