//! Dying at a named point, for tests of what a crash there leaves.
//!
//! Nothing of this is in a release build: there the calls are empty.

use std::sync::OnceLock;

static DIE_AT: OnceLock<String> = OnceLock::new();

/// The points, in the order in which a send passes them.
pub const ALL: [&str; 8] =
    ["accepted", "queued", "staged", "locked", "noted", "renamed", "released", "recorded"];

/// From now on the process kills itself when it gets to `point`.
pub fn die_at(point: String) {
    let _ = DIE_AT.set(point);
}

/// The process got to a point.
pub fn reached(point: &str) {
    if cfg!(debug_assertions) && DIE_AT.get().is_some_and(|chosen| chosen == point) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal may take a moment; nothing more may happen meanwhile.
        loop {
            std::thread::park();
        }
    }
}
