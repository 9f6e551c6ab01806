//! Connections that have not shown the token yet: where all places are taken, the oldest of them makes room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All of them, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Strangers(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    evictions: BTreeMap<u64, Arc<Notify>>,
}

/// One connection; it counts as a stranger until it is dropped or known.
#[derive(Debug)]
pub(super) struct Stranger {
    strangers: Arc<Strangers>,
    number: u64,
    eviction: Arc<Notify>,
}

impl Strangers {
    pub(super) fn enter(self: &Arc<Self>) -> Stranger {
        let eviction = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.evictions.insert(number, eviction.clone());
        drop(waiting);
        Stranger { strangers: self.clone(), number, eviction }
    }

    /// Has the oldest one closed; `false` if there is none.
    pub(super) fn evict_oldest(&self) -> bool {
        let oldest = self.waiting().evictions.pop_first();
        oldest.inspect(|(_, eviction)| eviction.notify_one()).is_some()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stranger {
    /// It has shown the token, and keeps its place from now on.
    pub(super) fn become_known(&self) {
        self.strangers.waiting().evictions.remove(&self.number);
    }

    /// Waits until its place is needed.
    pub(super) async fn evicted(&self) {
        self.eviction.notified().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.become_known();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_and_who_is_known_or_gone_does_not_count() {
        let strangers: Arc<Strangers> = Arc::default();
        let (known, gone, oldest, newest) =
            (strangers.enter(), strangers.enter(), strangers.enter(), strangers.enter());
        known.become_known();
        drop(gone);
        assert!(strangers.evict_oldest());
        assert_eq!(strangers.waiting().evictions.keys().copied().collect::<Vec<_>>(), [newest.number]);
        drop(oldest);
        drop(newest);
        assert!(!strangers.evict_oldest());
    }
}
