//! Mail on its way to the client: it counts as read once the answer that has it was written, and not before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use atm_office::read::Reading;
use rmcp::model::RequestId;

use crate::desk::Desk;

/// The readings whose answers have not been written yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handover(Arc<Mutex<HashMap<RequestId, Reading>>>);

impl Handover {
    pub(crate) fn put(&self, id: RequestId, reading: Reading) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, reading);
    }

    /// Of a request that was cancelled, the reading is just dropped: the mail stays unread.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
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
