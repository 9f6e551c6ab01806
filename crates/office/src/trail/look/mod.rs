//! The look: brings the ledger up to date with what files and conversations show. Every reader goes through it.
//!
//! For each inbox that changed: what is known is read from the ledger, then `gather` reads files, with no lock of the
//! ledger held; `judge` decides what became of each message, as a pure function; `record` writes it, unless another process
//! recorded a later look in between: then all of it is done again. Conversations go the same way, with `seen` as their
//! judge, and are read before the inbox: what lies unread there afterwards cannot be what they show.
//!
//! A look also writes mail that was accepted by a sender that died. With nothing new it costs a stat of each file.

pub(super) mod conversation;
mod gather;
mod judge;
mod record;

use std::sync::OnceLock;

use atm_ledger::{InboxKey, Recording, Stage};
use atm_store::TeamFolder;
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::team::Team;
use crate::trail::putback::put_back;

pub(crate) use record::{READ, UNREAD, found, found_late};

/// How often a look is made again that others were quicker than. What is left is for the next look.
const ATTEMPTS: usize = 4;

/// What a look found out.
#[derive(Debug, Default)]
pub struct Looked {
    /// The stages that messages reached, as far as they were not on record.
    pub reached: Vec<Reached>,
}

/// A stage that a message reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// For whom it is.
    pub to: String,
    /// Which message.
    pub id: String,
    /// The stage.
    pub stage: Stage,
}

impl Office {
    /// Looks at everything of a team that changed since the last look, and finishes what was left undone. Of a team whose
    /// folder is gone it finds out what became of its mail.
    pub fn look(&self, team: &TeamName) -> Result<Looked, OfficeError> {
        match self.folder(team) {
            Ok(folder) => {
                self.complete_accepted(team, None);
                self.look_into(&self.root_key(), team, &folder, None)
            }
            Err(_) if self.close_team(team)? => Ok(Looked::default()),
            Err(missing) => Err(missing),
        }
    }

    /// Looks at all teams, also at those that are gone.
    pub(crate) fn look_at_all(&self) -> Result<(), OfficeError> {
        self.complete_all_accepted();
        let root = self.root_key();
        for team in TeamFolder::list(&self.root)? {
            let folder = self.folder_of(&team);
            // One team that cannot be read does not keep the others from being looked at.
            if let Err(error) = self.look_into(&root, &team, &folder, None)
                && folder.load().is_ok()
            {
                return Err(error);
            }
        }
        self.close_deleted_teams()
    }

    /// Looks into a team's folder; `config` is its configuration, where that was loaded already.
    fn look_into(
        &self,
        root: &str,
        team: &TeamName,
        folder: &TeamFolder,
        config: Option<&TeamConfig>,
    ) -> Result<Looked, OfficeError> {
        let _span = tracing::debug_span!("look", %team).entered();
        let known = self.books.with(|ledger| ledger.team_inboxes(root, team.as_str()))?;
        let mut names = folder.inbox_names();
        names.extend(known.keys().filter_map(|name| MemberName::parse(name).ok()));
        let is_changed = |name: &MemberName| {
            let signature = known.get(name.as_str()).and_then(|inbox| inbox.signature.as_deref());
            signature != Some(self.mailbox(team, name).signature().to_string().as_str())
        };
        let mut looked = Looked::default();
        if known.values().any(|inbox| inbox.has_open) || names.iter().any(is_changed) {
            let loaded;
            let config = if let Some(config) = config {
                config
            } else {
                loaded = folder.load()?;
                &loaded
            };
            names.extend(config.members.iter().filter_map(|member| member.checked_name().ok()));
            names.sort();
            names.dedup();
            let conversations = self.conversations(team, Some(config));
            for name in &names {
                let has_open = known.get(name.as_str()).is_some_and(|inbox| inbox.has_open);
                let transcripts = conversations.of(name.as_str());
                // What the conversation gained is read before the inbox.
                let inbox =
                    InboxKey { root: root.to_owned(), team: team.to_string(), name: name.to_string() };
                let mut gains =
                    if has_open { self.read_conversations(&inbox, transcripts)? } else { Vec::new() };
                if is_changed(name) {
                    let reached = self.look_at_inbox(team, name, Some(config))?;
                    // What the inbox shows for the first time may be in the conversation already.
                    if !has_open && !reached.is_empty() {
                        gains = self.read_conversations(&inbox, transcripts)?;
                    }
                    looked.reached.extend(reached);
                }
                looked.reached.extend(self.prove_seen(team, &inbox, transcripts, gains)?);
            }
        }
        self.books.tidy();
        Ok(looked)
    }

    /// Looks for one reader, before its mail is listed: writes what was accepted for it, and puts back what was undone. Who
    /// the mail is from, and what became of it otherwise, is left to a look at the team.
    pub fn look_for(&self, team: &TeamName, who: &MemberName) {
        self.complete_accepted(team, Some(who));
        if self.books.exist() {
            // What cannot be put back now is for the next look.
            let _ = self.restore_undone(team, who);
        }
    }

    fn restore_undone(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        let known = self.known_inbox(team, name)?;
        let Some(known) = known.filter(|known| known.messages.iter().any(|message| message.ours)) else {
            return Ok(());
        };
        let gathered = self.gather_inbox(team, name, None, known)?;
        let findings = judge::judge_inbox(&gathered, self.now().as_millis());
        if !findings.undone.is_empty() {
            put_back(self, &gathered.key, &self.hurried().mailbox(team, name), &findings.undone)?;
        }
        Ok(())
    }

    /// Brings the ledger up to date with one inbox.
    pub(crate) fn look_at_inbox(
        &self,
        team: &TeamName,
        name: &MemberName,
        config: Option<&TeamConfig>,
    ) -> Result<Vec<Reached>, OfficeError> {
        let mut all = Vec::new();
        for _ in 0..ATTEMPTS {
            let Some(known) = self.known_inbox(team, name)? else { break };
            let gathered = self.gather_inbox(team, name, config, known)?;
            let findings = judge::judge_inbox(&gathered, self.now().as_millis());
            let (recording, reached) = self.record_inbox(team, name, &gathered, &findings)?;
            all.extend(reached);
            // What was settled about recalled mail may show that its reader took it: that is for another look.
            if recording == Recording::Done && findings.recalls.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    /// Looks at one inbox, if it changed since the last look.
    pub fn look_into_inbox(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        self.look_at_inbox(team, name, None).map(drop)
    }

    /// The name of this tree in the ledger and in archives.
    pub fn root_key(&self) -> String {
        if let Some(key) = self.root_key.get() {
            return key.clone();
        }
        let key = InboxKey::new(self.root.path(), "", "").root;
        // A root that does not exist yet may turn out to be a link.
        if self.root.path().exists() { self.root_key.get_or_init(|| key).clone() } else { key }
    }

    pub(crate) fn inbox_key(&self, team: &TeamName, name: &MemberName) -> InboxKey {
        InboxKey { root: self.root_key(), team: team.to_string(), name: name.to_string() }
    }
}

impl Team<'_> {
    /// Looks at everything of the team that changed since the last look, and finishes what was left undone.
    pub fn look(&mut self) -> Result<Looked, OfficeError> {
        // A look may write mail, and finds out about old mail.
        self.listings = OnceLock::new();
        self.around.forget_mail();
        let office = self.office();
        office.complete_accepted(self.name(), None);
        office.look_into(&office.root_key(), self.name(), self.folder(), Some(self.config()))
    }
}
