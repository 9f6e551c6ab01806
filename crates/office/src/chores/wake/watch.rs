//! Waking members as their mail comes.

use std::collections::HashMap;
use std::time::Instant;

use atm_store::Signature;
use atm_store::watch::FolderWatch;
use atm_wire::{MemberName, Message, TeamName};

use super::{Ladder, Memory, Woken, unread};
use crate::error::OfficeError;
use crate::office::Office;

/// Wakes members when mail comes or a step of the ladder is due, for as long as it is asked to.
#[derive(Debug)]
pub struct WakeWatch<'a> {
    office: &'a Office,
    team: &'a TeamName,
    only: Option<&'a MemberName>,
    ladder: &'a Ladder,
    folders: FolderWatch,
    seen: HashMap<MemberName, Seen>,
}

/// What was found at a member's inbox.
#[derive(Debug, Default)]
struct Seen {
    signature: Option<Signature>,
    unread: Vec<Message>,
    /// Why it was not woken, as it was told last.
    told: Option<String>,
}

impl Office {
    /// Watches the inboxes of a team, or of one member.
    pub fn watch_to_wake<'a>(
        &'a self,
        team: &'a TeamName,
        only: Option<&'a MemberName>,
        ladder: &'a Ladder,
    ) -> Result<WakeWatch<'a>, OfficeError> {
        let names = match only {
            // Says so, with the nearest names, if there is nobody of that name.
            Some(name) => vec![self.team(team)?.known_mailbox(name).map(|_| name.clone())?],
            None => self.member_names(team)?,
        };
        let folders =
            names.iter().filter_map(|name| Some(self.mailbox(team, name).file().parent()?.to_owned()));
        let folders = self.hub.folders(folders);
        Ok(WakeWatch { office: self, team, only, ladder, folders, seen: HashMap::new() })
    }

    pub(crate) fn member_names(&self, team: &TeamName) -> Result<Vec<MemberName>, OfficeError> {
        let config = self.folder(team)?.load()?;
        let here = config.members.iter().filter(|member| member.machine.is_none());
        Ok(here.filter_map(|member| member.checked_name().ok()).collect())
    }
}

impl WakeWatch<'_> {
    /// Waits until somebody was woken, or could not be for a reason that is new; `None` when `deadline` is over.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Vec<Woken>>, OfficeError> {
        loop {
            let woken = self.look()?;
            if !woken.is_empty() {
                return Ok(Some(woken));
            }
            if !self.folders.wait(deadline) {
                return Ok(None);
            }
        }
    }

    fn look(&mut self) -> Result<Vec<Woken>, OfficeError> {
        let names = match self.only {
            Some(name) => vec![name.clone()],
            // Members that joined since are watched too.
            None => self.office.member_names(self.team)?,
        };
        self.seen.retain(|name, _| names.contains(name));
        self.office.complete_accepted(self.team, self.only);
        let mut news = Vec::new();
        // Made for the first that is called: what runs is looked at once for all of them.
        let mut handle = None;
        for name in names {
            let seen = self.seen.entry(name.clone()).or_default();
            if !seen.calls(self.office, self.team, &name, self.ladder)? {
                seen.told = None;
                continue;
            }
            if handle.is_none() {
                handle = Some(self.office.team_with_exits(self.team)?);
            }
            let Some(handle) = &handle else { break };
            let woken = self.office.wake_or_say_why(handle, &name, self.ladder, false);
            if woken.woken || seen.told != woken.why {
                seen.told.clone_from(&woken.why);
                news.push(woken);
            }
        }
        Ok(news)
    }
}

impl Seen {
    /// Whether there is mail worth a wake: asked of two small files, unless the inbox has changed.
    fn calls(
        &mut self,
        office: &Office,
        team: &TeamName,
        name: &MemberName,
        ladder: &Ladder,
    ) -> Result<bool, OfficeError> {
        let mailbox = office.mailbox(team, name);
        let now = mailbox.signature();
        if self.signature.as_ref() != Some(&now) {
            self.unread = unread(&mailbox)?;
            self.signature = Some(now);
        }
        if self.unread.is_empty() {
            return Ok(false);
        }
        let memory = Memory::parse(office.memo(&mailbox).read()?.as_deref());
        Ok(memory.calls(&self.unread, ladder, office.now()))
    }
}
