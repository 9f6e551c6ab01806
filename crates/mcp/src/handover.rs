//! Mail on its way to the client: it counts as read once the answer that has it was written, and not before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The calls that are under way, and the readings whose answers have not been written yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handover {
    waiting: Arc<Mutex<HashMap<RequestId, Option<Handed>>>>,
    unsettled: Arc<RwLock<()>>,
}

impl Handover {
    /// A call begins, that may hand something over.
    pub(crate) fn begin(&self, id: RequestId) {
        self.calls().insert(id, None);
    }

    /// Keeps a reading until its answer was written. Of a call that was cancelled meanwhile it is dropped: there will be
    /// no answer, and nobody else to drop it.
    pub(crate) async fn put(&self, id: &RequestId, reading: Reading) {
        let handed = Handed { reading, _unsettled: self.unsettled.clone().read_owned().await };
        if let Some(place) = self.calls().get_mut(id) {
            *place = Some(handed);
        }
    }

    /// A call is answered, or cancelled. Of one that was cancelled the reading is just dropped: the mail stays unread.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Handed> {
        self.calls().remove(id).flatten()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, Option<Handed>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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
