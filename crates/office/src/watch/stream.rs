//! Mail as it comes. Watching consumes nothing.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

use atm_store::Signature;
use atm_store::watch::{FolderWatch, Stop};
use atm_store::{Mailbox, Receipt};
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::view::{MessageView, Viewer};

/// A stream of messages that come into some inboxes.
#[derive(Debug)]
pub struct MailStream {
    office: Office,
    boxes: Vec<Watched>,
    watch: FolderWatch,
}

#[derive(Debug)]
struct Watched {
    team: TeamName,
    name: MemberName,
    mailbox: Mailbox,
    signature: Option<Signature>,
    shown: HashSet<Receipt>,
}

impl Office {
    /// Watches the inboxes of `names`. What is there now is only given when `backlog` is set.
    pub fn watch(
        &self,
        team: &TeamName,
        names: &[MemberName],
        backlog: bool,
    ) -> Result<MailStream, OfficeError> {
        let inboxes: Vec<_> = names.iter().map(|name| (team.clone(), name.clone())).collect();
        self.watch_until(&inboxes, backlog, &Stop::default())
    }

    /// The same for inboxes of any teams, until somebody says stop.
    pub fn watch_until(
        &self,
        inboxes: &[(TeamName, MemberName)],
        backlog: bool,
        stop: &Stop,
    ) -> Result<MailStream, OfficeError> {
        let (mut boxes, mut teams) = (Vec::new(), HashMap::new());
        for (team, name) in inboxes.iter().cloned() {
            let handle = match teams.entry(team.clone()) {
                Entry::Occupied(loaded) => loaded.into_mut(),
                Entry::Vacant(place) => place.insert(self.team(&team)?),
            };
            let mailbox = handle.known_mailbox(&name)?;
            boxes.push(Watched { team, name, mailbox, signature: None, shown: HashSet::new() });
        }
        let folders = boxes.iter().filter_map(|b| b.mailbox.file().parent().map(ToOwned::to_owned));
        let watch = self.hub.folders_until(folders, stop);
        let mut stream = MailStream { office: self.clone(), boxes, watch };
        if !backlog {
            // Mail that this stream itself completes arrives while it watches, so it is not part of the backlog.
            stream.list_new()?;
        }
        Ok(stream)
    }
}

impl MailStream {
    /// Waits for the next messages; `None` when `deadline` is over.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Vec<MessageView>>, OfficeError> {
        loop {
            let new = self.look()?;
            if !new.is_empty() {
                return Ok(Some(new));
            }
            if !self.watch.wait(deadline) {
                return Ok(None);
            }
        }
    }

    fn look(&mut self) -> Result<Vec<MessageView>, OfficeError> {
        for watched in &self.boxes {
            self.office.look_for(&watched.team, &watched.name);
        }
        self.list_new()
    }

    fn list_new(&mut self) -> Result<Vec<MessageView>, OfficeError> {
        let mut new = Vec::new();
        for watched in &mut self.boxes {
            let signature = watched.mailbox.signature();
            if watched.signature.as_ref() == Some(&signature) {
                continue;
            }
            let messages = watched.mailbox.list()?.messages;
            // What left the inbox cannot come again under the same receipt, so only what is there is remembered.
            let there: HashSet<Receipt> = messages.iter().map(Receipt::of).collect();
            let viewer = Viewer::new(&self.office, &watched.name, &watched.team);
            for message in &messages {
                if !watched.shown.contains(&Receipt::of(message)) {
                    new.push(viewer.view(message));
                }
            }
            watched.shown = there;
            watched.signature = Some(signature);
        }
        Ok(new)
    }
}
