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
mod standing;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use atm_ledger::{Cursor, Event, Feed, InboxKey, LedgerError, Recording, TeamInbox};
use atm_store::{Mailboxes, Signature, TeamFolder};
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};

use crate::books::Books;
use crate::error::OfficeError;
use crate::office::Office;
use crate::team::Team;
use crate::trail::putback::put_back;

pub(crate) use record::{READ, UNREAD, found, found_late, in_inbox};

/// How often a look is made again that others were quicker than. What is left is for the next look.
const ATTEMPTS: usize = 4;

/// What a look found out: the part of the log that was written between its first question to the ledger and its end, by
/// this process or another one that looked at the same time.
#[derive(Debug)]
pub struct Looked {
    books: Books,
    root: String,
    team: String,
    from: Cursor,
    to: Cursor,
}

impl Looked {
    /// Whether anything was recorded, about this team or another one.
    pub fn has_news(&self) -> bool {
        self.from != self.to
    }

    /// The place in the log behind all that this look knows.
    pub fn cursor(&self) -> &Cursor {
        &self.to
    }

    /// What was recorded about the team, oldest first: read from the log now, since most who look ask for no more than the
    /// state that it leads to.
    pub fn events(&self) -> Result<Vec<Event>, OfficeError> {
        if !self.has_news() {
            return Ok(Vec::new());
        }
        let feed = self.books.with(|ledger| ledger.events_until(&self.from, &self.to))?;
        let is_ours = |event: &Event| {
            event.inbox.as_ref().is_some_and(|inbox| inbox.root == self.root && inbox.team == self.team)
        };
        Ok(match feed {
            Feed::Events { events, .. } => events.into_iter().filter(is_ours).collect(),
            // Another log took its place: nothing of what was recorded is left.
            Feed::Reset { .. } => Vec::new(),
        })
    }
}

/// What the inboxes of a team look like, beside what they looked like at the last look.
struct Appearances<'a> {
    mailboxes: Mailboxes<'a>,
    known: &'a HashMap<String, TeamInbox>,
    unchanged: HashMap<String, Signature>,
    changed: HashSet<String>,
}

impl<'a> Appearances<'a> {
    fn new(mailboxes: Mailboxes<'a>, known: &'a HashMap<String, TeamInbox>) -> Self {
        let unchanged = HashMap::with_capacity(known.len());
        Self { mailboxes, known, unchanged, changed: HashSet::new() }
    }

    fn has(&self, name: &str) -> bool {
        self.unchanged.contains_key(name) || self.changed.contains(name)
    }

    /// Looks at one from outside, for the first time or again.
    fn compare(&mut self, name: &MemberName) {
        let signature = self.mailboxes.signature(&self.mailboxes.open(name));
        let before = self.known.get(name.as_str()).and_then(|inbox| inbox.signature.as_deref());
        if before == Some(signature.to_string().as_str()) {
            self.changed.remove(name.as_str());
            self.unchanged.insert(name.to_string(), signature);
        } else {
            self.unchanged.remove(name.as_str());
            self.changed.insert(name.to_string());
        }
    }
}

impl Office {
    /// Looks at everything of a team that changed since the last look, and finishes what was left undone. Of a team whose
    /// folder is gone it finds out what became of its mail.
    pub fn look(&self, team: &TeamName) -> Result<Looked, OfficeError> {
        match self.team(team) {
            Ok(mut team) => team.look(),
            // Its configuration cannot be read now; what its inboxes show is no less true.
            Err(unreadable) if self.folder_of(team).exists() => {
                let from = self.end_of_log()?;
                self.complete_accepted(team, None);
                let root = self.root_key();
                let known = self.books.with(|ledger| ledger.team_inboxes(&root, team.as_str()))?;
                self.look_into(&root, team, &self.folder_of(team), None, &known).map_err(|_| unreadable)?;
                self.books.tidy();
                self.looked(team, from)
            }
            Err(missing) => {
                // None is made for a team that never was.
                let from = if self.books.exist() { Some(self.end_of_log()?) } else { None };
                match from {
                    Some(from) if self.close_team(team)? => self.looked(team, from),
                    _ => Err(missing),
                }
            }
        }
    }

    fn end_of_log(&self) -> Result<Cursor, LedgerError> {
        self.books.with(|ledger| ledger.cursor())
    }

    fn looked(&self, team: &TeamName, from: Cursor) -> Result<Looked, OfficeError> {
        let (books, root, team) = (self.books.clone(), self.root_key(), team.to_string());
        Ok(Looked { books, root, team, from, to: self.end_of_log()? })
    }

    /// Looks at all teams, also at those that are gone.
    pub(crate) fn look_at_all(&self) -> Result<(), OfficeError> {
        self.complete_all_accepted();
        let root = self.root_key();
        let known = self.books.with(|ledger| ledger.inboxes_of_teams(&root))?;
        let (teams, nothing) = (TeamFolder::list(&self.root)?, HashMap::new());
        for team in &teams {
            let folder = self.folder_of(team);
            let known = known.get(team.as_str()).unwrap_or(&nothing);
            // One team that cannot be read does not keep the others from being looked at.
            if let Err(error) = self.look_into(&root, team, &folder, None, known)
                && folder.load().is_ok()
            {
                return Err(error);
            }
        }
        self.close_teams_but(&teams)?;
        self.books.tidy();
        Ok(())
    }

    /// Looks into a team's folder, of whose inboxes the ledger knows this; `config` is its configuration, where that was loaded
    /// already. Also says what the inboxes look like that did not change.
    fn look_into(
        &self,
        root: &str,
        team: &TeamName,
        folder: &TeamFolder,
        config: Option<&TeamConfig>,
        known: &HashMap<String, TeamInbox>,
    ) -> Result<HashMap<String, Signature>, OfficeError> {
        let _span = tracing::debug_span!("look", %team).entered();
        let mut seen = Appearances::new(self.mailboxes(folder), known);
        let is_here = |config: &TeamConfig, name: &str| config.machine_of(name).is_none();
        let shared = config.filter(|config| config.is_shared());
        let mut names = folder.inbox_names();
        // Inboxes of other machines' members are judged there.
        names.retain(|name| shared.is_none_or(|config| is_here(config, name.as_str())));
        for name in &names {
            seen.compare(name);
        }
        let gone =
            known.keys().filter(|name| !seen.has(name)).filter_map(|name| MemberName::parse(name).ok());
        let gone = gone.filter(|name| shared.is_none_or(|config| is_here(config, name.as_str())));
        let gone: Vec<MemberName> = gone.collect();
        for name in &gone {
            seen.compare(name);
        }
        names.extend(gone);
        if !seen.changed.is_empty() || known.values().any(|inbox| inbox.has_open) {
            let loaded;
            let config = if let Some(config) = config {
                config
            } else {
                loaded = folder.load()?;
                if self.recognise(team, &loaded) {
                    let known = self.books.with(|ledger| ledger.team_inboxes(root, team.as_str()))?;
                    return self.look_into(root, team, folder, Some(&loaded), &known);
                }
                &loaded
            };
            names.extend(config.members.iter().filter_map(|member| member.checked_name().ok()));
            if config.is_shared() {
                names.retain(|name| is_here(config, name.as_str()));
            }
            names.sort();
            names.dedup();
            let conversations = self.conversations(team, Some(config));
            for name in &names {
                let has_open = known.get(name.as_str()).is_some_and(|inbox| inbox.has_open);
                let transcripts = conversations.of(name.as_str());
                if transcripts.is_empty() && seen.unchanged.contains_key(name.as_str()) {
                    continue;
                }
                // What the conversation gained is read before the inbox.
                let inbox =
                    InboxKey { root: root.to_owned(), team: team.to_string(), name: name.to_string() };
                let mut gains =
                    if has_open { self.read_conversations(&inbox, transcripts)? } else { Vec::new() };
                if !gains.is_empty() || !seen.unchanged.contains_key(name.as_str()) {
                    seen.compare(name);
                }
                if seen.changed.contains(name.as_str()) {
                    let has_news = self.look_at_inbox(team, name, Some(config))?;
                    // What the inbox shows for the first time may be in the conversation already.
                    if !has_open && has_news {
                        gains = self.read_conversations(&inbox, transcripts)?;
                    }
                }
                self.prove_seen(team, &inbox, transcripts, gains)?;
            }
        }
        Ok(seen.unchanged)
    }

    /// As [`Team::look_for`], for who has looked at the team's configuration long ago: it is read if it matters.
    pub(crate) fn look_for(&self, team: &TeamName, who: &MemberName) {
        self.complete_accepted(team, Some(who));
        if self.books.exist() {
            let _ = self.restore_undone(team, who, None);
        }
    }

    fn restore_undone(
        &self,
        team: &TeamName,
        name: &MemberName,
        config: Option<&TeamConfig>,
    ) -> Result<(), OfficeError> {
        let known = self.known_inbox(team, name)?;
        let Some(known) = known.filter(|known| known.messages.iter().any(|message| message.ours)) else {
            return Ok(());
        };
        let gathered = self.gather_inbox(team, name, config, known)?;
        let findings = judge::judge_inbox(&gathered, self.now().as_millis());
        if !findings.undone.is_empty() {
            put_back(self, &gathered.key, &self.hurried().mailbox(team, name), &findings.undone)?;
        }
        Ok(())
    }

    /// Brings the ledger up to date with one inbox; says whether there was anything new.
    pub(crate) fn look_at_inbox(
        &self,
        team: &TeamName,
        name: &MemberName,
        config: Option<&TeamConfig>,
    ) -> Result<bool, OfficeError> {
        let mut has_any_news = false;
        for _ in 0..ATTEMPTS {
            let Some(known) = self.known_inbox(team, name)? else { break };
            let gathered = self.gather_inbox(team, name, config, known)?;
            let findings = judge::judge_inbox(&gathered, self.now().as_millis());
            let (recording, has_news) = self.record_inbox(team, name, &gathered, &findings)?;
            has_any_news |= has_news;
            // What was settled about recalled mail may show that its reader took it: that is for another look.
            if recording == Recording::Done && findings.recalls.is_empty() {
                break;
            }
        }
        Ok(has_any_news)
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
        self.digests = OnceLock::new();
        self.around.forget_mail();
        let (looked, unchanged) = self.look_without_memory()?;
        self.signatures = unchanged;
        Ok(looked)
    }

    /// The same before the handle was asked about anybody's mail: there is nothing that it would have to forget.
    pub(crate) fn catch_up(&self) -> Result<Looked, OfficeError> {
        self.look_without_memory().map(|(looked, _)| looked)
    }

    /// Also says what the inboxes look like that did not change.
    fn look_without_memory(&self) -> Result<(Looked, HashMap<String, Signature>), OfficeError> {
        let office = self.office();
        let from = office.end_of_log()?;
        // A ledger that was made just now does not know the team yet.
        office.recognise(self.name(), self.config());
        office.complete_accepted(self.name(), None);
        let root = office.root_key();
        let known = office.books.with(|ledger| ledger.team_inboxes(&root, self.name().as_str()))?;
        let unchanged = office.look_into(&root, self.name(), self.folder(), Some(self.config()), &known)?;
        office.look_at_tasks(self.name())?;
        office.books.tidy();
        Ok((office.looked(self.name(), from)?, unchanged))
    }

    /// Looks for one reader, before its mail is listed: writes what was accepted for it, and puts back what was undone. Who
    /// the mail is from, and what became of it otherwise, is left to a look at the team.
    pub fn look_for(&self, who: &MemberName) {
        self.office().complete_accepted(self.name(), Some(who));
        self.put_back_undone(who);
    }

    /// Puts back what was undone in an inbox. What cannot be put back now is for the next look.
    pub(crate) fn put_back_undone(&self, who: &MemberName) {
        if self.office().books.exist() {
            let _ = self.office().restore_undone(self.name(), who, Some(self.config()));
        }
    }
}
