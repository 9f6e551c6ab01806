//! A Claude Code plugin: server, hooks and skill in one folder, from the same source as everything else.

use std::fs;
use std::path::Path;

use atm_office::{ExitCode, OfficeError};
use atm_store::client_file::ClientFile;
use atm_store::files::read_small;
use serde::Serialize;
use serde_json::{Value, json};

use super::client::claude_hooks;
use super::identity::{Identity, quoted};
use super::json::{Dialect, Document, Piece};
use super::trouble::Trouble;
use crate::cmd::primer;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

const MANIFEST: &str = ".claude-plugin/plugin.json";
const LARGEST_MANIFEST: u64 = 1 << 20;

#[derive(Serialize)]
struct Report<'a> {
    folder: String,
    dry_run: bool,
    files: Vec<&'a str>,
}

pub(crate) fn run(context: &mut Context, folder: &Path, dry_run: bool) -> Result<i32, Failure> {
    if !is_free(folder) {
        let text = format!("{} is not empty, and no plugin of ours", folder.display());
        return Err(Failure::new(ExitCode::Refused, "exists", text).hint("give a new folder"));
    }
    let files = files()?;
    for (name, text) in files.iter().filter(|_| !dry_run) {
        let file = ClientFile::new(folder.join(name), context.office.state()).within(folder);
        file.clear_leftovers().map_err(OfficeError::from)?;
        let before = file.read().map_err(OfficeError::from)?;
        if before.as_deref() != Some(text) {
            file.replace(before.as_deref(), Some(text), None).map_err(OfficeError::from)?;
        }
    }
    let out = &mut context.out;
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let shown = folder.display().to_string();
    if out.json {
        out.document(&Report { folder: shown, dry_run, files: names })?;
        return Ok(0);
    }
    for name in names {
        out.note(format!("{} {name}", if dry_run { "would write" } else { "wrote" }))?;
    }
    let shown = quoted(&shown);
    let shown = safe::line(&shown);
    out.note(format!("check it: claude plugin validate {shown}\nuse it:   claude --plugin-dir {shown}"))?;
    Ok(0)
}

/// Whether we may write there: there is nothing, or a plugin of ours.
fn is_free(folder: &Path) -> bool {
    let ours =
        |text: String| serde_json::from_str::<Value>(&text).is_ok_and(|manifest| manifest["name"] == "atm");
    let empty = fs::read_dir(folder).map_or(!folder.exists(), |mut entries| entries.next().is_none());
    let manifest = || read_small(&folder.join(MANIFEST), LARGEST_MANIFEST).ok().flatten();
    empty || manifest().and_then(|file| String::from_utf8(file.bytes).ok()).is_some_and(ours)
}

fn files() -> Result<Vec<(&'static str, String)>, Failure> {
    let bad = |trouble: Trouble| trouble.with(Path::new(MANIFEST));
    let hooks = claude_hooks(&Identity::nobody());
    let server = Piece::Server { at: "mcpServers", value: json!({ "command": "atm", "args": ["mcp"] }) };
    let document = |pieces: &[Piece]| -> Result<String, Failure> {
        let mut document = Document::new("", Dialect::Strict).map_err(bad)?;
        for piece in pieces {
            document.put(piece).map_err(bad)?;
        }
        Ok(document.into_text())
    };
    let manifest = json!({
        "name": "atm",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Durable mail for teams of coding agents",
        "author": { "name": "atm" },
    });
    Ok(vec![
        (MANIFEST, format!("{manifest:#}\n")),
        (".mcp.json", document(&[server])?),
        ("hooks/hooks.json", document(&hooks)?),
        ("skills/atm/SKILL.md", primer::skill()),
    ])
}
