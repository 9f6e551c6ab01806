//! `atm install CLIENT --plugin DIR`: everything of ours in one folder, for clients that load such.

use std::fs;
use std::path::Path;

use atm_clients::{Plugin, shell};
use atm_office::OfficeError;
use atm_store::client_file::ClientFile;
use atm_store::files::read_small;
use serde::Serialize;

use super::refused;
use crate::cmd::primer;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

const LARGEST_MANIFEST: u64 = 1 << 20;

#[derive(Serialize)]
struct Report<'a> {
    folder: String,
    dry_run: bool,
    files: Vec<&'a str>,
}

pub(super) fn run(
    context: &mut Context,
    plugin: &Plugin,
    folder: &Path,
    dry_run: bool,
) -> Result<i32, Failure> {
    if !is_free(plugin, folder) {
        let text = format!("{} is not empty, and no plugin of ours", folder.display());
        return Err(Failure::new(ExitCode::Refused, "exists", text).hint("give a new folder"));
    }
    let files =
        (plugin.files)(&primer::skill()).map_err(|error| refused(&error, Path::new(plugin.manifest)))?;
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
    let shown = shell::quote(&shown);
    out.note((plugin.usage)(&safe::line(&shown)))?;
    Ok(0)
}

/// Whether we may write there: there is nothing, or a plugin of ours.
fn is_free(plugin: &Plugin, folder: &Path) -> bool {
    let empty = fs::read_dir(folder).map_or(!folder.exists(), |mut entries| entries.next().is_none());
    let manifest = || read_small(&folder.join(plugin.manifest), LARGEST_MANIFEST).ok().flatten();
    let text = || String::from_utf8(manifest()?.bytes).ok();
    empty || text().is_some_and(|text| (plugin.is_ours)(&text))
}
