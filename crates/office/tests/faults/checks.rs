//! What must be true of the files whatever happened.

use std::fs;
use std::path::Path;

use atm_office::OfficeError;
use atm_store::StoreError;
use serde_json::Value;

use crate::world::World;

/// Fails with a sentence if something is not as it must be.
pub(crate) fn ensure(is_so: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(why()) }
}

/// Whether it has the name of a lock.
pub(crate) fn is_named_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

/// Whether a command says that it has changed what it was to change: also where it warns of a power cut, or says that
/// something after the change could not be done.
pub(crate) fn says_done<T>(answer: &Result<T, OfficeError>) -> bool {
    matches!(
        answer,
        Ok(_) | Err(OfficeError::Store(StoreError::Unsynced { .. }) | OfficeError::Partly { .. })
    )
}

/// All files that others read can be read. Of a log, readers pass over a line that its writer could not end.
pub(crate) fn everything_parses(world: &World) -> Result<(), String> {
    for (name, path) in
        world.files().into_iter().filter(|(name, path)| name.starts_with("root/") && path.is_file())
    {
        let is_hidden = path.file_name().unwrap_or_default().to_string_lossy().starts_with('.');
        if is_hidden || is_named_lock(&path) {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let is_log = name.contains("/members/") && !name.ends_with("state.json");
        let torn = if is_log {
            let lines: Vec<&[u8]> =
                bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
            lines
                .iter()
                .filter(|line| serde_json::from_slice::<Value>(line).is_err())
                .count()
                .saturating_sub(1)
        } else {
            usize::from(serde_json::from_slice::<Value>(&bytes).is_err())
        };
        ensure(torn == 0, || format!("{name} does not parse: {:?}", String::from_utf8_lossy(&bytes)))?;
    }
    Ok(())
}

/// What stood in an inbox before stands there byte for byte; what was added came behind it.
pub(crate) fn only_added(world: &World, name: &str, before: &str) -> Result<(), String> {
    let after = fs::read_to_string(world.inbox(name)).unwrap_or_default();
    let kept = before.trim_end_matches(']').trim_end();
    ensure(after.starts_with(kept), || format!("{name}'s mail was not left alone: {after}"))
}

/// The inbox of somebody who has nothing to do with it is what it was.
pub(crate) fn untouched(world: &World, name: &str, before: &str) -> Result<(), String> {
    let after = fs::read_to_string(world.inbox(name)).unwrap_or_default();
    ensure(after == before, || format!("{name}'s inbox has changed: {after}"))
}

/// Nothing is left of what a command prepares and locks, and no note claims that messages were put in place. One that only
/// names a temp file is cleared by the next to enter that queue, whenever that is.
pub(crate) fn no_litter(world: &World) -> Result<(), String> {
    for (name, path) in world.files() {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_temp = file.starts_with('.') && file.contains(".atm-");
        let is_lock = path.is_dir() && is_named_lock(&path);
        let is_note = name.starts_with("state/queue/")
            && path.is_file()
            && !file.ends_with(".checked")
            && fs::read(&path)
                .is_ok_and(|note| note.split(|byte| *byte == 0).skip(1).any(|id| !id.is_empty()));
        let is_unfinished = name.starts_with("state/restoring/");
        ensure(!(is_temp || is_lock || is_note || is_unfinished), || format!("{name} was left behind"))?;
    }
    Ok(())
}
