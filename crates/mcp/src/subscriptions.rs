//! Telling clients that there is new mail in an inbox they look at.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use atm_office::Office;
use atm_store::watch::Stop;
use atm_wire::{MemberName, TeamName};
use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::Peer;
use tokio::sync::mpsc;

use crate::trouble::Trouble;

/// Each one is a thread that sleeps on file events.
const MOST: usize = 16;

/// The inboxes that clients look at, by their address.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, Stop>>);

impl Subscriptions {
    /// Tells `peer` of new mail in an inbox, until it is removed. Again for the same address, it replaces the old one.
    pub(crate) fn add(
        &self,
        office: &Office,
        uri: String,
        (team, name): (TeamName, MemberName),
        peer: Peer<RoleServer>,
    ) -> Result<(), Trouble> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= MOST && !watched.contains_key(&uri) {
            return Err(Trouble::new(format!("{MOST} inboxes are subscribed to already")));
        }
        let stop = Stop::default();
        let mut stream = office.watch_until(&[(team, name)], false, &stop)?;
        if let Some(before) = watched.insert(uri.clone(), stop.clone()) {
            before.stop();
        }
        let (send, mut news) = mpsc::channel(1);
        let watching = thread::Builder::new().name("subscription".to_owned()).spawn(move || {
            // Many at once are one piece of news. An inbox that cannot be read has none.
            while let Ok(Some(_)) = stream.next(None) {
                if let Err(mpsc::error::TrySendError::Closed(())) = send.try_send(()) {
                    break;
                }
            }
        });
        watching.map_err(|error| Trouble::new(format!("no thread to watch with: {error}")))?;
        tokio::spawn(async move {
            while news.recv().await.is_some() && !stop.is_stopped() {
                let update = ResourceUpdatedNotificationParam::new(uri.clone());
                if peer.notify_resource_updated(update).await.is_err() {
                    break;
                }
            }
            stop.stop();
        });
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        if let Some(stop) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri) {
            stop.stop();
        }
    }

    pub(crate) fn clear(&self) {
        for (_, stop) in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            stop.stop();
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.clear();
    }
}
