//! Ending what waits.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Ends waiting from another thread, for good.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<Stopping>>);

#[derive(Debug, Default)]
struct Stopping {
    stopped: bool,
    waiting: Vec<Sender<()>>,
    children: Vec<Weak<Mutex<Stopping>>>,
}

impl Stop {
    /// Wakes all that wait with this, now and later.
    pub fn stop(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.stopped = true;
        for waiting in state.waiting.drain(..) {
            let _ = waiting.send(());
        }
        for child in state.children.drain(..).filter_map(|child| child.upgrade()) {
            Self(child).stop();
        }
    }

    /// One that can be stopped by itself, and stops with this one.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::default();
        self.also_stops(&child);
        child
    }

    /// Lets another one stop with this one, too.
    pub fn also_stops(&self, other: &Self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            other.stop();
        } else {
            state.children.retain(|child| child.strong_count() > 0);
            state.children.push(Arc::downgrade(&other.0));
        }
    }

    /// Whether somebody has said so.
    pub fn is_stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stopped
    }

    /// Waits for so long at most; says whether somebody has said so.
    pub fn wait(&self, time: Duration) -> bool {
        let (waiting, woken) = mpsc::channel();
        self.wakes(&waiting);
        // Woken or not, what counts is whether it is over.
        let _ = woken.recv_timeout(time);
        self.is_stopped()
    }

    pub(super) fn wakes(&self, waiting: &Sender<()>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            let _ = waiting.send(());
        } else {
            state.waiting.push(waiting.clone());
        }
    }
}
