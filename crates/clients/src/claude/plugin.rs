//! A Claude Code plugin: server, hooks and skill in one folder, from the same source as everything else.

use serde_json::{Value, json};

use super::hooks;
use crate::profile::PluginFile;
use crate::settings::{Dialect, Document, Identity, Piece, SERVER, SettingsError};

pub(super) const MANIFEST: &str = ".claude-plugin/plugin.json";

pub(super) fn is_ours(manifest: &str) -> bool {
    serde_json::from_str::<Value>(manifest).is_ok_and(|manifest| manifest["name"] == SERVER)
}

pub(super) fn files(skill: &str) -> Result<Vec<PluginFile>, SettingsError> {
    let server = Piece::Server { at: "mcpServers", value: json!({ "command": SERVER, "args": ["mcp"] }) };
    let document = |pieces: &[Piece]| -> Result<String, SettingsError> {
        let mut document = Document::new("", Dialect::Strict)?;
        for piece in pieces {
            document.put(piece)?;
        }
        Ok(document.into_text())
    };
    let manifest = json!({
        "name": SERVER,
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Durable mail for teams of coding agents",
        "author": { "name": SERVER },
    });
    Ok(vec![
        (MANIFEST, format!("{manifest:#}\n")),
        (".mcp.json", document(&[server])?),
        ("hooks/hooks.json", document(&hooks(&Identity::nobody()))?),
        ("skills/atm/SKILL.md", skill.to_owned()),
    ])
}

pub(super) fn usage(folder: &str) -> String {
    format!("check it: claude plugin validate {folder}\nuse it:   claude --plugin-dir {folder}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_says_whose_it_is() {
        let files = files("# atm\n").unwrap();
        let (name, manifest) = &files[0];
        assert!(*name == MANIFEST && is_ours(manifest));
        assert!(!is_ours(r#"{"name":"other"}"#) && !is_ours("{"));
        assert_eq!(files[3], ("skills/atm/SKILL.md", "# atm\n".to_owned()));
    }
}
