//! Deliveries that are under way in this process, so that a front that is told to stop can wait for their end.

use std::sync::atomic::{AtomicUsize, Ordering};

static UNDERWAY: AtomicUsize = AtomicUsize::new(0);

/// A delivery between its first step and its answer; over on drop.
pub(crate) struct Underway(());

impl Underway {
    pub(crate) fn begin() -> Self {
        UNDERWAY.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        UNDERWAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether letters are being accepted or written by this process now.
pub fn is_delivering() -> bool {
    UNDERWAY.load(Ordering::SeqCst) > 0
}
