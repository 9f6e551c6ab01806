//! `OpenCode`. It has no hooks but plugins: ours calls `atm hook`.

mod database;
mod server;

use std::path::{Path, PathBuf};

use atm_wire::team::Manner;
use serde_json::json;

use crate::check::SelfCheck;
use crate::client::AgentClient;
use crate::conversations::{ConversationFormat, Conversations, Openness};
use crate::folders::{Folders, Scope};
use crate::hook::{self, HeldBy, HookAnswer, HookEvent, HookFormat, Remembers};
use crate::invocation::{Invocation, is_among};
use crate::launch;
use crate::profile::Profile;
use crate::settings::{Dialect, Identity, Piece, SERVER, SettingsFile, object};
use crate::wake::{WakeMethod, WakeWay};

const NAME: &str = "opencode";
const DATA_VARIABLE: &str = "XDG_DATA_HOME";
const CONFIG_VARIABLE: &str = "XDG_CONFIG_HOME";
/// The plugin that takes the place of hooks.
const PLUGIN: &str = include_str!("plugin.js");

/// Its options, before a command, whose value is a word of its own.
const WITH_VALUE: &str =
    "--log-level --port --hostname --mdns-domain -m --model -s --session --prompt --agent --replay-limit";

pub(crate) static PROFILE: Profile = Profile {
    client: AgentClient::Opencode,
    name: NAME,
    title: "OpenCode",
    variables: &[CONFIG_VARIABLE, DATA_VARIABLE],
    session_variable: None,
    is_single_run,
    settings,
    left_to_do,
    check: SelfCheck::List { args: &["mcp", "list"], explain: |_| None },
    // Our plugin calls `atm hook` as other clients do, by their names for events.
    hooks: Some(HookFormat {
        events: &[],
        recognises: |_, _| false,
        takes_text_at_start: true,
        remembers: Remembers::Nothing,
        takes_text_in_turn: true,
        stop_is_held_by: HeldBy::Wanted,
        largest_text: hook::LARGEST_TEXT,
        answer: hook_answer,
    }),
    conversations: Some(Conversations {
        place,
        format: ConversationFormat::Database { shown_since: database::shown_since },
        openness: |_, _| Openness::Unknown,
    }),
    wake: Some(WakeMethod {
        manner: Manner::Opencode,
        title: "the server of OpenCode",
        way: WakeWay::Server(server::API),
    }),
    launch: Some(launch::PLAIN),
    plugin: None,
    has_rewake_hook: true,
    serves_folders: true,
};

/// With `--attach`, the session is one of the server, which goes on.
fn is_single_run(invocation: &Invocation) -> bool {
    let values = |option: &str| match option {
        "--cors" => usize::MAX,
        option => usize::from(is_among(option, WITH_VALUE)),
    };
    let goes_on =
        || invocation.has_option(Some('i'), "--interactive") || invocation.has_option(None, "--attach");
    invocation.first_word(values) == Some("run") && !goes_on()
}

fn settings(scope: Scope, folders: &Folders, identity: &Identity) -> Vec<SettingsFile> {
    let (config, plugins) = match scope {
        Scope::Project => (folders.project.clone(), folders.project.join(".opencode/plugins")),
        Scope::User => {
            let config = folders.below(scope, Some(CONFIG_VARIABLE), ".config").join(NAME);
            (config.clone(), config.join("plugins"))
        }
    };
    let env = object(&identity.env());
    let server = json!({ "type": "local", "command": [SERVER, "mcp"], "environment": env });
    // It adds this by itself to a file without it, which would then not be the one that we made.
    let schema = Piece::Beginning { key: "$schema", value: json!("https://opencode.ai/config.json") };
    let pieces = vec![schema, Piece::Server { at: "mcp", value: server }];
    vec![
        SettingsFile::json(config_in(&config), Dialect::Loose, pieces),
        SettingsFile::whole(plugins.join("atm.js"), plugin(identity)),
    ]
}

/// It reads either; the one that is there is edited.
fn config_in(folder: &Path) -> PathBuf {
    let there = ["opencode.jsonc", "opencode.json"].map(|name| folder.join(name));
    there.iter().find(|path| path.exists()).unwrap_or(&there[1]).clone()
}

fn plugin(identity: &Identity) -> String {
    let arguments = serde_json::Value::from(identity.arguments()).to_string();
    let switched = |plugin: String, switch: &str, is_on: bool| {
        let (before, after) = (format!("/* {switch} */ false"), if is_on { "true" } else { "false" });
        plugin.replace(&before, after)
    };
    let plugin = PLUGIN.replace("/* arguments */ []", &arguments);
    let plugin = switched(plugin, "reservations", identity.heeds_reservations);
    switched(plugin, "wakes", identity.is_woken)
}

fn place(folders: &Folders) -> PathBuf {
    folders.below(Scope::User, Some(DATA_VARIABLE), ".local/share").join(NAME).join("opencode.db")
}

fn hook_answer(event: HookEvent, text: &str) -> HookAnswer {
    match event {
        HookEvent::Stop => hook::block("block", text),
        HookEvent::BeforeTool => hook::deny(text),
        event => hook::additional_context(event.name(), text),
    }
}

fn left_to_do(_: Scope) -> &'static [&'static str] {
    &[
        "start OpenCode anew; with a plugin it fetches the package @opencode-ai/plugin once, and needs the network for that",
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::invoked;

    #[test]
    fn a_run_that_takes_one_turn_by_itself_is_a_single_one() {
        for (line, expected) in [
            ("opencode", false),
            ("opencode run hi", true),
            ("opencode run --continue hi", true),
            ("/opt/opencode --print-logs --log-level DEBUG run hi", true),
            ("bun run /src/index.ts run hi", true),
            ("opencode run --interactive", false),
            ("opencode run -i hi", false),
            ("opencode run --attach http://localhost:4096 hi", false),
            ("opencode run --attach=http://localhost:4096 hi", false),
            ("opencode serve", false),
            ("opencode web", false),
            ("opencode attach http://localhost:4096", false),
            ("opencode acp <", false),
            ("opencode --prompt run", false),
            ("opencode /w/run", false),
            ("opencode pr 7", false),
        ] {
            assert_eq!(is_single_run(&invoked(line)), expected, "{line}");
        }
    }
}
