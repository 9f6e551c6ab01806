//! What Codex's server for editors says of us. Its own list starts nothing; this one starts our server, and tells.

use std::path::Path;

use serde_json::{Value, json};

use crate::check::{Said, SelfCheck};
use crate::settings::{SERVER, is_our_hook};

pub(super) const CHECK: SelfCheck = SelfCheck::Dialogue { args: &["app-server"], requests, read };

const OF_SERVERS: i64 = 2;
const OF_HOOKS: i64 = 3;

fn requests(cwd: &Path) -> String {
    let hello = json!({ "id": 1, "method": "initialize", "params": {
        "clientInfo": { "name": SERVER, "version": env!("CARGO_PKG_VERSION") },
        "capabilities": { "experimentalApi": true },
    }});
    let ready = json!({ "method": "initialized" });
    let servers = json!({
        "id": OF_SERVERS, "method": "mcpServerStatus/list", "params": { "detail": "toolsAndAuthOnly" }
    });
    let hooks = json!({ "id": OF_HOOKS, "method": "hooks/list", "params": { "cwds": [cwd] } });
    format!("{hello}\n{ready}\n{servers}\n{hooks}\n")
}

fn read(message: &Value) -> Option<Said> {
    match message["id"].as_i64()? {
        OF_SERVERS => Some(Said::OfServer(of_server(message))),
        OF_HOOKS => Some(Said::OfHooks(of_hooks(message))),
        _ => None,
    }
}

fn of_server(message: &Value) -> String {
    let servers = message.pointer("/result/data").and_then(Value::as_array);
    let ours = servers.and_then(|servers| servers.iter().find(|server| server["name"] == SERVER));
    let tools = ours.and_then(|server| match &server["tools"] {
        Value::Object(tools) => Some(tools.len()),
        Value::Array(tools) => Some(tools.len()),
        _ => None,
    });
    match (ours, tools) {
        (_, Some(tools)) if tools > 0 => format!("connected, {tools} tools"),
        (Some(_), _) => "failed: it shows no tools of the server `atm`".to_owned(),
        (None, _) => "failed: it does not list the server `atm`".to_owned(),
    }
}

/// How many of our hooks it has, and whether its user has reviewed them; nothing, where it does not tell.
fn of_hooks(message: &Value) -> String {
    let folders = message.pointer("/result/data").and_then(Value::as_array).into_iter().flatten();
    let hooks = folders.filter_map(|folder| folder["hooks"].as_array()).flatten();
    let ours: Vec<&Value> = hooks.filter(|hook| is_our_hook(hook)).collect();
    let waiting =
        ours.iter().filter(|hook| ["untrusted", "modified"].iter().any(|s| hook["trustStatus"] == *s));
    match (ours.len(), waiting.count()) {
        (0, _) => String::new(),
        (count, 0) => format!("hooks: {count}"),
        (count, waiting) => {
            format!("hooks: {count}, {waiting} of them skipped until you review them in /hooks")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_what_works() {
        let server = |data: Value| of_server(&json!({ "id": 2, "result": { "data": data } }));
        assert_eq!(server(json!([{ "name": "atm", "tools": { "a": {}, "b": {} } }])), "connected, 2 tools");
        assert!(server(json!([{ "name": "atm", "tools": {} }])).starts_with("failed: it shows no tools"));
        assert!(server(json!([{ "name": "other" }])).starts_with("failed: it does not list"));
        assert!(of_server(&json!({ "id": 2, "error": {} })).starts_with("failed"));
        let hooks = json!({ "id": 3, "result": { "data": [{ "hooks": [
            { "command": "atm hook Stop", "trustStatus": "untrusted" },
            { "command": "atm hook SessionStart", "trustStatus": "trusted" },
            { "command": "say done", "trustStatus": "untrusted" },
        ] }] } });
        assert_eq!(of_hooks(&hooks), "hooks: 2, 1 of them skipped until you review them in /hooks");
        assert!(read(&json!({ "id": 1 })).is_none() && read(&json!({})).is_none());
    }
}
