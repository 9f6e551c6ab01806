//! What the files of a team are, by where they are.

use std::path::Path;

use atm_wire::task::TaskId;

use crate::convert::mark::is_of_conversion;

/// What a file of a backup is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `config.json`.
    Config,
    /// An array inbox.
    Array,
    /// A log that mail is written to.
    Log,
    /// A log that was rotated, or a recipe's archive of one.
    OldLog,
    /// How far a log was read.
    Cursor,
    /// A file that somebody locks, or that is there for a conversion: it means nothing elsewhere.
    Lock,
    /// A task.
    Task(TaskId),
    /// The number of the last task.
    LastTask,
    /// Our archive.
    Archive,
    /// Whatever else there is.
    Other,
}

/// The kind of the file at a place below `team`, `tasks` or `archive`.
pub(super) fn kind(place: &[u8]) -> Kind {
    let parts = place.split(|byte| *byte == b'/').map(std::str::from_utf8);
    let Ok(parts) = parts.collect::<Result<Vec<&str>, _>>() else { return Kind::Other };
    match parts.as_slice() {
        ["team", .., name] if is_of_conversion(Path::new(name)) => Kind::Lock,
        ["team", "config.json"] => Kind::Config,
        ["team", "inboxes", ".lock"] | ["tasks", ".lock"] => Kind::Lock,
        ["team", "inboxes", name] if name.strip_suffix(".json").is_some() => Kind::Array,
        ["team", "members", _, "inbox" | "inbox-high" | "inbox-low"] => Kind::Log,
        ["team", "members", _, "state.json"] => Kind::Cursor,
        ["team", "members", _, name] if name.starts_with("inbox") => {
            if name.strip_suffix(".lock").is_some() {
                Kind::Lock
            } else {
                Kind::OldLog
            }
        }
        ["tasks", ".highwatermark"] => Kind::LastTask,
        ["tasks", name] => {
            name.strip_suffix(".json").and_then(|id| TaskId::parse(id).ok()).map_or(Kind::Other, Kind::Task)
        }
        ["archive", ..] => Kind::Archive,
        _ => Kind::Other,
    }
}
