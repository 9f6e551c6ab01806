//! What is wrong with a team, and what can be done about it: first said, then done.

use std::collections::HashSet;
use std::path::PathBuf;

use atm_ledger::{Evidence, Stage};
use atm_store::Receipt;
use atm_wire::message::Draft;
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{Address, MemberName, Message, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::join::lead_runs;
use crate::nearest::nearest;
use crate::office::{Office, USER};
use crate::send::{Letter, SendOptions};

/// How often mail that comes in while a phantom is emptied is gone after.
const ROUNDS: usize = 5;

/// A thing that is wrong, and what is done about it.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "trouble", rename_all = "snake_case")]
pub enum Trouble {
    /// An inbox of a name that is nobody's.
    PhantomInbox {
        /// The name.
        name: String,
        /// How many messages nobody has read.
        unread: usize,
        /// The members that were probably meant, best first.
        nearest: Vec<String>,
        /// Who gets the mail; nobody, if that has to be said.
        to: Option<String>,
        /// Where the phantom's file is kept afterwards.
        kept: Option<PathBuf>,
    },
    /// A team whose lead has ended.
    Orphaned {
        /// Whoever leads.
        lead: String,
        /// How we know that it has ended.
        why: String,
    },
    /// Several entries of one name.
    DuplicateName {
        /// The name.
        name: String,
        /// How many entries there are.
        entries: usize,
        /// Which one stays, counted from 0 in the file's list.
        stays: usize,
        /// Where a copy of the file is kept from before.
        kept: Option<PathBuf>,
    },
}

impl Trouble {
    /// Whether repairing changes anything.
    pub fn has_remedy(&self) -> bool {
        match self {
            Self::PhantomInbox { to, unread, .. } => to.is_some() || *unread == 0,
            Self::Orphaned { .. } | Self::DuplicateName { .. } => true,
        }
    }
}

/// What was found in a team, and whether something was done about it.
#[derive(Debug, Clone, Serialize)]
pub struct Repair {
    /// The team.
    pub team: TeamName,
    /// Whether it was done, or only said.
    pub applied: bool,
    /// What was found.
    pub troubles: Vec<Trouble>,
}

impl Office {
    /// Finds what is wrong with a team, and with `apply` does something about it. `routes` says whose mail a phantom's
    /// really is. No mail is lost: what is taken out of the tree is kept in quarantine.
    pub fn repair(
        &self,
        team: &TeamName,
        routes: &[(MemberName, MemberName)],
        apply: bool,
    ) -> Result<Repair, OfficeError> {
        let folder = self.folder(team)?;
        let config = folder.load()?;
        for (phantom, to) in routes {
            if config.member(to.as_str()).is_none() {
                return Err(self.no_member(team, &config, to.as_str()));
            }
            if config.member(phantom.as_str()).is_some() || !self.mailbox(team, phantom).exists() {
                return Err(OfficeError::NoPhantom { team: team.clone(), name: phantom.to_string() });
            }
        }
        let mut troubles = self.duplicates(team, &config, apply)?;
        troubles.extend(self.orphaned(team, &config, apply)?);
        for name in self.inbox_names(team) {
            if let Some(trouble) = self.phantom(team, &config, &name, routes)? {
                troubles.push(if apply { self.lay_to_rest(team, &name, trouble)? } else { trouble });
            }
        }
        Ok(Repair { team: team.clone(), applied: apply, troubles })
    }

    fn duplicates(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        apply: bool,
    ) -> Result<Vec<Trouble>, OfficeError> {
        let mut seen = HashSet::new();
        let mut troubles = Vec::new();
        for member in &config.members {
            let same: Vec<&Member> =
                config.members.iter().filter(|other| other.name == member.name).collect();
            if same.len() < 2 || !seen.insert(member.name.clone()) {
                continue;
            }
            // Who runs, else who came last.
            let stays = same.iter().max_by_key(|member| {
                (member.is_active == Some(true), member.spawned_at.or(member.joined_at), member.index)
            });
            let stays = stays.map_or(member.index, |member| member.index);
            let keep =
                || self.folder(team)?.keep_one(&member.name, stays, &self.state).map_err(OfficeError::from);
            let kept = apply.then(keep).transpose()?;
            troubles.push(Trouble::DuplicateName {
                name: member.name.clone(),
                entries: same.len(),
                stays,
                kept,
            });
        }
        Ok(troubles)
    }

    /// A lead whose recorded process has ended is entered as off, so that its mail waits for whoever joins.
    fn orphaned(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        apply: bool,
    ) -> Result<Option<Trouble>, OfficeError> {
        let Some(lead) = config.lead().filter(|lead| !lead.is_offline()) else { return Ok(None) };
        if config.lead_process.as_ref().is_none_or(|process| process.pid.is_none()) {
            return Ok(None);
        }
        let (runs, why) = lead_runs(config)?;
        if runs {
            return Ok(None);
        }
        if apply {
            let off = [("isActive", false.into()), ("shutdownAt", self.now().to_string().into())];
            self.folder(team)?.set_member(&lead.name, &off)?;
        }
        Ok(Some(Trouble::Orphaned { lead: lead.name.clone(), why }))
    }

    /// Whether an inbox is a phantom's: of nobody who is a member, and of nobody who ever said a word.
    fn phantom(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        name: &MemberName,
        routes: &[(MemberName, MemberName)],
    ) -> Result<Option<Trouble>, OfficeError> {
        // A client spells a name in a file's name in its own way.
        let is_member = config.members.iter().any(|member| {
            member.name == name.as_str()
                || member.checked_name().is_ok_and(|member| member.file_stem() == name.as_str())
        });
        if is_member || name.as_str() == USER || self.has_spoken(team, name)? {
            return Ok(None);
        }
        let unread = self.mailbox(team, name).list()?.messages.iter().filter(|message| !message.read).count();
        let nearest = nearest(name.as_str(), config.members.iter().map(|member| member.name.as_str()));
        let told = routes.iter().find(|(phantom, _)| phantom == name).map(|(_, to)| to.to_string());
        let to = told.or_else(|| match nearest.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        });
        Ok(Some(Trouble::PhantomInbox { name: name.to_string(), unread, nearest, to, kept: None }))
    }

    /// Whether somebody of that name ever wrote: then it is not just a slip of somebody else's.
    pub(crate) fn has_spoken(&self, team: &TeamName, name: &MemberName) -> Result<bool, OfficeError> {
        let root = self.root_key();
        if self.books.exist()
            && self.books.with(|ledger| ledger.last_word(&root, team.as_str(), name.as_str()))?.is_some()
        {
            return Ok(true);
        }
        let inboxes = self.inbox_names(team);
        let mut lists = inboxes.iter().filter_map(|inbox| self.mailbox(team, inbox).list().ok());
        Ok(lists.any(|list| list.messages.iter().any(|message| message.from == name.as_str())))
    }

    /// Brings a phantom's unread mail to whom it was meant for, and then its file to the quarantine.
    fn lay_to_rest(
        &self,
        team: &TeamName,
        name: &MemberName,
        trouble: Trouble,
    ) -> Result<Trouble, OfficeError> {
        let Trouble::PhantomInbox { unread, nearest, to, .. } = trouble else { return Ok(trouble) };
        let rests = |to: Option<String>, kept| Trouble::PhantomInbox {
            name: name.to_string(),
            unread,
            nearest: nearest.clone(),
            to,
            kept,
        };
        let mailbox = self.mailbox(team, name);
        for _ in 0..ROUNDS {
            let messages = mailbox.list()?.messages;
            let waiting: Vec<&Message> = messages.iter().filter(|message| !message.read).collect();
            match &to {
                None if !waiting.is_empty() => return Ok(rests(None, None)),
                None => {}
                Some(to) => self.reroute(team, name, &MemberName::parse(to)?, &waiting)?,
            }
            let known: HashSet<Receipt> = messages.iter().map(Receipt::of).collect();
            // Somebody may have written to it meanwhile: then once more.
            if let Some(kept) = mailbox.retire(&known, "phantom-inbox")? {
                return Ok(rests(to, Some(kept)));
            }
        }
        Ok(rests(to, None))
    }

    /// Delivers messages once more, to another inbox, under their ids: whoever dies here does it again.
    fn reroute(
        &self,
        team: &TeamName,
        from: &MemberName,
        to: &MemberName,
        messages: &[&Message],
    ) -> Result<(), OfficeError> {
        let now = self.now();
        let mut addressed = Vec::new();
        for message in messages {
            let address = Address { name: to.clone(), team: None };
            let letter =
                Letter { id: Some(message.id.clone()), ..Letter::new(address, message.text.clone()) };
            let sender = MemberName::parse(&message.from).or_else(|_| MemberName::parse(USER))?;
            let mut new =
                self.address(team, &sender, &letter, SendOptions { no_tag: true, ..SendOptions::default() })?;
            new.draft = Draft {
                from: message.from.clone(),
                summary: message.summary.clone().or(new.draft.summary),
                timestamp: message.sent_at.unwrap_or(now),
                color: message.color.clone(),
                ours: message.ours(),
                kind: message.outer_type.clone(),
                ..new.draft
            };
            addressed.push(new);
        }
        for sent in self.deliver(addressed, false) {
            sent?;
        }
        let inbox = self.inbox_key(team, from);
        let evidence = Evidence::certain(format!("nobody is called {from}: it went to {to} instead"));
        let at = Stamp::as_millis(now);
        for message in messages {
            let _ =
                self.books.with(|ledger| ledger.advance(&inbox, &message.id, Stage::Failed, at, &evidence));
        }
        Ok(())
    }
}
