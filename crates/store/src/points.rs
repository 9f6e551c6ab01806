//! Dying at a named point, for tests of what a crash there leaves.
//!
//! Nothing of this is in a release build: there the calls are empty.

/// The points, in the order in which a send passes them.
pub const ALL: [&str; 8] =
    ["accepted", "queued", "staged", "locked", "noted", "renamed", "released", "recorded"];

/// The points that archiving passes on its way through the archive; before the file changes and after it, it passes
/// those of every change of a shared file.
pub const ARCHIVE: [&str; 7] = [
    "archive_entered",
    "archive_appended",
    "archive_synced",
    "archive_indexed",
    "inbox_cut",
    "archive_recorded",
    "archive_left",
];

/// The points that a step of a chore passes: before it is carried out, and before that is recorded.
pub const STEP: [&str; 2] = ["step_taken", "step_carried_out"];

/// The points that taking a message back passes in an array: before it is noted, and those of every change of a shared
/// file.
pub const RECALL: [&str; 8] =
    ["recalling", "queued", "staged", "locked", "noted", "renamed", "released", "recorded"];

/// The same in a log.
pub const RECALL_LINE: [&str; 4] = ["recalling", "queued", "blanked", "recorded"];

/// The points that packing a part of the archive passes.
pub const PACK: [&str; 5] = ["part_closed", "part_staged", "part_packed", "part_dropped", "part_done"];

/// The points that replacing a client's file passes; those of a temp file twice, first for what we remember of it.
pub const CLIENT_FILE: [&str; 8] = [
    "client_entered",
    "client_noted",
    "client_staged",
    "client_renamed",
    "client_remembered",
    "client_noted:2",
    "client_staged:2",
    "client_renamed:2",
];

/// The points that restoring a backup passes.
pub const RESTORE: [&str; 9] = [
    "restore_begun",
    "restore_staged",
    "restore_file",
    "restore_file:3",
    "restore_checked",
    "restore_unpacked",
    "restore_archived",
    "restore_tasks",
    "restore_placed",
];

/// The points that making an array a log passes.
pub const TO_LOG: [&str; 7] = [
    "convert_written",
    "convert_marked",
    "convert_put",
    "taken_out",
    "convert_counts",
    "convert_unmarked",
    "convert_done",
];

/// The points that making a log an array passes; in between, those of every change of a shared file.
pub const TO_ARRAY: [&str; 6] = [
    "convert_marked",
    "convert_counts",
    "lines_taken_out",
    "convert_late",
    "convert_unmarked",
    "convert_done",
];

#[cfg(debug_assertions)]
pub use dying::{die_at, reached};

/// The process got to a point, at which a release build does not die.
#[cfg(not(debug_assertions))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "not even the name may be left of it")]
pub fn reached(_point: &str) {}

#[cfg(debug_assertions)]
mod dying {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Death {
        point: String,
        times: usize,
        by_panic: bool,
    }

    static DEATH: OnceLock<Death> = OnceLock::new();
    static PASSED: AtomicUsize = AtomicUsize::new(0);

    /// From now on the process kills itself when it gets to `point`; to `point:3`, when it gets there the third time; to
    /// `panic=point`, it panics there.
    pub fn die_at(point: &str) {
        let (by_panic, point) = point.strip_prefix("panic=").map_or((false, point), |point| (true, point));
        let (name, times) = point.split_once(':').unwrap_or((point, "1"));
        let _ = DEATH.set(Death { point: name.to_owned(), times: times.parse().unwrap_or(1), by_panic });
    }

    /// The process got to a point.
    ///
    /// # Panics
    ///
    /// Where it was told to.
    pub fn reached(point: &str) {
        let Some(death) = DEATH.get().filter(|death| death.point == point) else { return };
        if death.times == PASSED.fetch_add(1, Ordering::Relaxed) + 1 {
            assert!(!death.by_panic, "a test wants a panic at {point}");
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            // The signal may take a moment; nothing more may happen meanwhile.
            loop {
                std::thread::park();
            }
        }
    }
}
