//! The servers of a user of Claude Code. It rewrites their file while it runs, so its own command changes it, if that is
//! installed.

use serde_json::{Value, json};

use super::NAME;
use crate::command::CommandLine;
use crate::settings::json::{is_our_server, renewed};
use crate::settings::{Identity, Installing, SERVER, SettingsError, object};

/// Our server's entry, as its own command writes it.
pub(super) fn entry(env: &[(String, String)]) -> Value {
    json!({ "type": "stdio", "command": SERVER, "args": ["mcp"], "env": object(env) })
}

/// The calls that put our server into the file, or take it out.
pub(super) fn commands(
    text: Option<&str>,
    identity: &Identity,
    installing: Installing,
) -> Result<Vec<CommandLine>, SettingsError> {
    let document: Value = text.map(serde_json::from_str).transpose()?.unwrap_or_default();
    let there = document.pointer("/mcpServers/atm");
    let wanted = entry(&identity.env());
    let wanted = match there {
        Some(there) if is_our_server(there) => Value::Object(renewed(there, &wanted)),
        Some(_) if installing == Installing::Out => return Ok(Vec::new()),
        Some(_) => return Err(SettingsError::NotOurs("the server `atm`")),
        None => wanted,
    };
    let wanted = Some(wanted).filter(|_| installing == Installing::In);
    if there == wanted.as_ref() {
        return Ok(Vec::new());
    }
    let mut calls = Vec::new();
    if there.is_some() {
        calls.push(CommandLine::new(NAME, &["mcp", "remove", SERVER, "-s", "user"]));
    }
    if let Some(server) = wanted {
        calls.push(CommandLine::new(NAME, &["mcp", "add-json", "-s", "user", SERVER, &server.to_string()]));
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_command_is_called_only_where_something_changes() {
        let identity = Identity { name: Some("bob".to_owned()), ..Identity::nobody() };
        let calls = |text: Option<&str>, installing| {
            let calls = commands(text, &identity, installing).unwrap();
            calls.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let ours = json!({ "mcpServers": { "atm": entry(&identity.env()) } }).to_string();
        let stale = ours.replace("bob", "carol");
        let foreign = r#"{"mcpServers":{"atm":{"command":"teller"}}}"#;
        let remove = "claude mcp remove atm -s user";
        let add = calls(None, Installing::In);
        assert!(add.len() == 1 && add[0].starts_with("claude mcp add-json -s user atm '{"), "{add:?}");
        assert_eq!(calls(Some("{}"), Installing::In), add);
        assert_eq!(calls(Some(&ours), Installing::In), [""; 0]);
        assert_eq!(calls(Some(&stale), Installing::In), [remove, &add[0]]);
        assert_eq!(calls(Some(&ours), Installing::Out), [remove]);
        assert_eq!(calls(Some(foreign), Installing::Out), [""; 0]);
        assert_eq!(calls(None, Installing::Out), [""; 0]);
        let refused = commands(Some(foreign), &identity, Installing::In);
        assert!(matches!(refused, Err(SettingsError::NotOurs(_))), "{refused:?}");
        let refused = commands(Some("{"), &identity, Installing::In);
        assert!(matches!(refused, Err(SettingsError::NoJson(_))), "{refused:?}");
    }
}
