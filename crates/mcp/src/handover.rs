//! Mail on its way to the client: it counts as read once the answer that has it was written, and not before.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atm_office::mail::read::Reading;
use atm_wire::{MemberName, TeamName};
use rmcp::model::RequestId;
use tokio::sync::{Notify, OwnedRwLockReadGuard, RwLock};

use crate::desk::Desk;

/// A client that reads page by page asks for the next one within this time, most often.
const PAUSE: Duration = Duration::from_millis(25);

/// Mail whose answer has not been written yet, or which is being marked. Dropped, its mail stays unread.
#[derive(Debug)]
pub(crate) struct Handed {
    desk: Arc<Desk>,
    reading: Option<Reading>,
    /// Who has approved its end: its pane closes.
    ending: Option<(TeamName, MemberName)>,
    /// Held until it is marked: the same client's next call sees it so.
    _unsettled: OwnedRwLockReadGuard<()>,
}

impl Handed {
    /// Marks as read what was handed over, and closes the pane of a member that ends. What goes wrong is reported with the next answer: this one has left.
    pub(crate) async fn confirm(self) {
        let desk = self.desk.clone();
        let marking = tokio::task::spawn_blocking(move || {
            let Self { desk, reading, ending, _unsettled } = self;
            match reading.map(Reading::confirm).transpose() {
                Ok(confirmed) => {
                    let warnings = confirmed.into_iter().flat_map(|confirmed| confirmed.warnings);
                    warnings.for_each(|warning| desk.tell_later(warning));
                }
                Err(error) => {
                    desk.tell_later(format!("mail was shown and could not be marked as read: {error}"));
                }
            }
            // The last thing that is done: this server may run in that pane.
            if let Some((team, name)) = ending
                && let Err(error) = desk.office().close_pane(&team, &name)
            {
                desk.tell_later(format!("the pane of {name} is not closed: {error}"));
            }
        });
        // The work itself has reported what there is to report.
        let _ = marking.await;
        if desk.pages().are_open() {
            tokio::spawn(settle_soon(desk));
        }
    }
}

/// Pages that nobody goes on with are marked.
async fn settle_soon(desk: Arc<Desk>) {
    tokio::time::sleep(PAUSE).await;
    let _ = tokio::task::spawn_blocking(move || desk.pages().settle_after(PAUSE)).await;
}

/// Whether what one client was given is marked by now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settling(Arc<RwLock<()>>);

impl Settling {
    /// What is to be done once an answer to this client has left.
    pub(crate) async fn hand(
        &self,
        desk: Arc<Desk>,
        reading: Option<Reading>,
        ending: Option<(TeamName, MemberName)>,
    ) -> Handed {
        Handed { desk, reading, ending, _unsettled: self.0.clone().read_owned().await }
    }

    /// Waits until what earlier answers handed over is marked.
    pub(crate) async fn settled(&self) {
        drop(self.0.write().await);
    }
}

/// The place of one call's mail, between the tool that read it and the transport that writes the answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot(Arc<Place>);

#[derive(Debug, Default)]
struct Place {
    content: Mutex<Content>,
    abandoned: Notify,
}

#[derive(Debug, Default)]
enum Content {
    /// The call is under way.
    #[default]
    Nothing,
    Mail(Box<Handed>),
    /// The answer was written, or never will be.
    Closed,
}

impl Slot {
    /// Keeps mail until its answer was written. Once the slot is closed there is no answer, and the mail is dropped.
    pub(crate) fn put(&self, handed: Handed) {
        let mut content = self.content();
        if !matches!(*content, Content::Closed) {
            *content = Content::Mail(Box::new(handed));
        }
    }

    /// The call is answered, or never will be; gives the mail, for who knows that the answer was written.
    pub(crate) fn close(&self) -> Option<Handed> {
        match mem::replace(&mut *self.content(), Content::Closed) {
            Content::Mail(handed) => Some(*handed),
            Content::Nothing | Content::Closed => None,
        }
    }

    /// The client is gone: its mail stays unread, and a call that waits need not.
    #[cfg(feature = "http")]
    pub(crate) fn abandon(&self) {
        drop(self.close());
        self.0.abandoned.notify_one();
    }

    /// Waits until the client is gone.
    pub(crate) async fn abandoned(&self) {
        self.0.abandoned.notified().await;
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slots of calls that are under way, for a transport that knows its answers by their ids.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handover(Arc<Mutex<HashMap<RequestId, Slot>>>);

impl Handover {
    /// A call begins, that may hand something over.
    pub(crate) fn begin(&self, id: RequestId) -> Slot {
        let slot = Slot::default();
        self.calls().insert(id, slot.clone());
        slot
    }

    /// A call is answered, or cancelled. Of one that was cancelled the mail is just dropped: it stays unread.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Handed> {
        let slot = self.calls().remove(id)?;
        slot.close()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
