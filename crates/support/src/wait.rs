//! Waiting for a condition instead of sleeping.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; a test that passes never waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until others can see the command line of a process that was just started: its parent goes on a moment before the
/// system has put it there.
pub fn wait_until_visible(process: &std::process::Child) {
    let line = format!("/proc/{}/cmdline", process.id());
    let has_proc = std::path::Path::new("/proc/self/cmdline").exists();
    wait_until("the process is visible", || {
        !has_proc || std::fs::read(&line).is_ok_and(|line| !line.is_empty())
    });
}

/// Waits until `condition` holds; `what` is what the test hoped for, said when it does not come.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited {} s in vain until {what}", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(1));
    }
}
