//! Mail on its way to the client: it counts as read once the answer that has it was written, and not before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use atm_office::read::Reading;
use rmcp::model::RequestId;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::desk::Desk;

/// Mail whose answer has not been written yet, or which is being marked.
#[derive(Debug)]
pub(crate) struct Handed {
    reading: Reading,
    /// Held until it is marked: the same client's next call sees it so.
    _unsettled: OwnedRwLockReadGuard<()>,
}

/// The readings whose answers have not been written yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handover {
    waiting: Arc<Mutex<HashMap<RequestId, Handed>>>,
    unsettled: Arc<RwLock<()>>,
}

impl Handover {
    pub(crate) async fn put(&self, id: RequestId, reading: Reading) {
        let handed = Handed { reading, _unsettled: self.unsettled.clone().read_owned().await };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, handed);
    }

    /// Of a request that was cancelled, the reading is just dropped: the mail stays unread.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Handed> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    /// Waits until what earlier answers handed over is marked.
    pub(crate) async fn settled(&self) {
        drop(self.unsettled.write().await);
    }
}

impl Handed {
    pub(crate) async fn confirm(self, desk: Arc<Desk>) {
        confirm(desk, self.reading).await;
    }
}

/// Marks as read what was handed over. What goes wrong is told with the next answer: this one has left.
pub(crate) async fn confirm(desk: Arc<Desk>, reading: Reading) {
    let marking = tokio::task::spawn_blocking(move || match reading.confirm() {
        Ok(confirmed) => confirmed.warnings.into_iter().for_each(|warning| desk.tell_later(warning)),
        Err(error) => desk.tell_later(format!("mail was shown and could not be marked as read: {error}")),
    });
    // The work itself has told what there is to tell.
    let _ = marking.await;
}
