//! Waiting for a condition instead of sleeping.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; a test that passes never waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `condition` holds; `what` is what the test hoped for, said when it does not come.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited {} s in vain until {what}", PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(1));
    }
}
