//! What was mended, and undoing it.

use atm_upkeep::doctor;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::output::table::{cut, spare, whole};

/// Lists what was mended, newest last.
pub(super) fn list(context: &mut Context) -> Result<i32, Failure> {
    let entries = doctor::journal(&context.office);
    let out = &mut context.out;
    if out.json {
        out.document(&entries)?;
    } else if entries.is_empty() {
        out.note("nothing was mended yet")?;
    } else {
        let rows = entries.iter().map(|entry| {
            let state = match (entry.undone_at, entry.done) {
                (Some(_), _) => "undone",
                (None, true) => "done",
                (None, false) => "cut short",
            };
            vec![
                (&entry.id).into(),
                (&entry.code).into(),
                state.into(),
                entry.changes.len().to_string().into(),
                (&entry.what).into(),
            ]
        });
        out.page();
        let columns = [whole("ID"), whole("CODE"), whole("STATE"), spare("FILES", 1), cut("WHAT", 20)];
        out.table(&columns, rows)?;
    }
    Ok(0)
}

/// Undoes one entry.
pub(super) fn undo(context: &mut Context, id: Option<&str>, force: bool) -> Result<i32, Failure> {
    let undone = doctor::undo(&context.office, id, force)?;
    let out = &mut context.out;
    let entry = &undone.entry;
    if out.json {
        let files: Vec<_> = entry.changes.iter().map(|change| &change.path).collect();
        out.document(&json!({ "undone": entry.id, "what": entry.what, "files": files, "by": undone.by }))?;
    } else {
        out.line(format!("undone: {} ({})", safe::line(&entry.what), entry.id))?;
        for change in &entry.changes {
            out.note(format!("  {}", safe::line(&change.path.display().to_string())))?;
        }
    }
    Ok(0)
}
