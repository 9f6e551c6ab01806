//! The inboxes here of members whose home is another machine: clients write into them, and the bridge is their reader.
//!
//! An entry is in the log, durably, before it is taken out of the file, and known there by its id: it is carried once, also
//! if the process dies in between. The log comes first for all inboxes, since it waits for no client's lock: a client that deletes its
//! team's folder a moment later takes nothing with it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::SystemTime;

use atm_ledger::{Acceptance, Evidence, InboxKey, Recorded, SentOn, Stage};
use atm_store::paths::array_inbox;
use atm_store::{Mailbox, Receipt, Signature, StoreError};
use atm_wire::message::{Delivery, Ours};
use atm_wire::team::TeamConfig;
use atm_wire::{Draft, MachineName, MemberName, Message, Stamp, TeamName, metadata};

use super::Machines;
use crate::error::OfficeError;
use crate::mail::outbox::{as_message, parse_draft, render_draft};
use crate::office::USER;
use crate::trail::effects;

/// What evidence names as the one who accepted it.
const COLLECTOR: &str = "bridge, from the local inbox";

/// Whose inbox is read for another machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reader {
    name: MemberName,
    machine: MachineName,
    /// The name means nobody now, and meant a member of that machine before.
    is_former: bool,
}

/// What a team's files looked like when there was nothing to collect, if that is known.
#[derive(Debug, Default)]
pub struct Quiet(Option<Signature>);

impl Quiet {
    /// Whether that is known.
    pub fn is_known(&self) -> bool {
        self.0.is_some()
    }
}

/// An inbox that was read, with what has to leave it.
struct Found {
    mailbox: Mailbox,
    inbox: InboxKey,
    machine: MachineName,
    messages: Vec<Message>,
}

impl Found {
    /// Clients that say no type leave what they read, marked; the others take it out.
    fn take_out(&self) -> Result<(), StoreError> {
        let (removed, marked): (Vec<&Message>, Vec<&Message>) =
            self.messages.iter().partition(|message| message.outer_type.is_some());
        let receipts = |messages: &[&Message]| -> HashSet<Receipt> {
            messages.iter().map(|message| Receipt::of(message)).collect()
        };
        self.mailbox.take_out(&receipts(&removed))?;
        self.mailbox.mark_read(&receipts(&marked))?;
        Ok(())
    }
}

impl Machines<'_> {
    /// Brings what clients wrote for members of other machines into the log, and takes it out of the files. Says how many
    /// letters are new. An inbox that cannot be read or written keeps no other one waiting; the first error is said then.
    pub fn collect(&self, team: &TeamName) -> Result<usize, OfficeError> {
        self.collect_all(team).map(|(accepted, _)| accepted)
    }

    /// The same, unless the team's files look as they did when there was nothing to collect.
    pub fn collect_changed(&self, team: &TeamName, quiet: &mut Quiet) -> Result<usize, OfficeError> {
        let (now, look) = (SystemTime::now(), self.look_of(team));
        if look.is_some() && look == quiet.0 {
            return Ok(0);
        }
        quiet.0 = None;
        let (accepted, has_unread) = self.collect_all(team)?;
        quiet.0 = look.filter(|look| !has_unread && look.is_settled(now));
        Ok(accepted)
    }

    /// What everything that is read here looks like, if all mail is in arrays.
    fn look_of(&self, team: &TeamName) -> Option<Signature> {
        let folder = self.office.root().team(team);
        if folder.join("members").is_dir() {
            return None;
        }
        let own = [folder.join("config.json"), folder.join("inboxes"), self.office.table_file()];
        let inboxes = self.office.inbox_names(team).into_iter().map(|name| array_inbox(&folder, &name));
        Some(Signature::of(own.into_iter().chain(inboxes)))
    }

    /// Says as well whether anything is unread, whoever may take it.
    fn collect_all(&self, team: &TeamName) -> Result<(usize, bool), OfficeError> {
        let (mut found, mut failed) = (Vec::new(), None);
        let (readers, mut has_unread) = self.read_here(team)?;
        for Reader { name, machine, is_former } in readers {
            let mailbox = self.office.mailbox(team, &name);
            // Of a file that is broken, or just being written, what is whole is collected: nobody else mends it here.
            let listing = match mailbox.list() {
                Ok(listing) => listing,
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            let inbox = self.office.inbox_key(team, &name);
            let mut messages = Vec::new();
            for message in listing.messages.into_iter().filter(|message| !message.read) {
                has_unread = true;
                if self.may_leave(&inbox, &message, is_former)? {
                    messages.push(message);
                }
            }
            if !messages.is_empty() {
                found.push(Found { mailbox, inbox, machine, messages });
            }
        }
        let accepted = self.accept_found(&found)?;
        for found in &found {
            if let Err(error) = found.take_out() {
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok((accepted, has_unread)), |error| Err(error.into()))
    }

    /// The folders in which that mail comes.
    pub fn watched(&self, team: &TeamName) -> Vec<PathBuf> {
        self.office.mail_folders(team)
    }

    /// Everybody whose inbox a bridge reads here: the members of other machines, their users, names that meant one before, and
    /// those outside of the team who wrote to it. Says as well whether those have unread mail.
    fn read_here(&self, team: &TeamName) -> Result<(Vec<Reader>, bool), OfficeError> {
        let config = self.office.folder(team)?.load()?;
        let table = self.office.table(team);
        let marked =
            config.members.iter().filter_map(|member| Some((member.name.as_str(), member.machine.as_ref()?)));
        // A client may have dropped entries since.
        let dropped = table.names().filter(|(name, _)| config.member(name).is_none());
        let all: Vec<(&str, &MachineName)> = marked.chain(dropped).collect();
        let users = all.iter().map(|(_, machine)| (machine.qualify(USER), *machine));
        let everybody = all.iter().map(|(name, machine)| ((*name).to_owned(), *machine)).chain(users);
        let reader = |name: &str, machine: &MachineName, is_former| {
            Some(Reader { name: MemberName::parse(name).ok()?, machine: machine.clone(), is_former })
        };
        let former = table.gone().filter(|(name, _)| config.member(name).is_none());
        let former = former.filter_map(|(name, machine)| reader(name, machine, true));
        let readers = everybody.filter_map(|(name, machine)| reader(&name, machine, false));
        let mut readers: Vec<Reader> = readers.chain(former).collect();
        let machines: BTreeSet<&MachineName> =
            all.iter().map(|(_, machine)| *machine).chain(table.gone().map(|(_, machine)| machine)).collect();
        let outsiders = self.answered_outsiders(team, &config, &machines, &readers)?;
        let has_unread = outsiders.is_some();
        readers.extend(outsiders.into_iter().flatten());
        readers.sort();
        readers.dedup();
        Ok((readers, has_unread))
    }

    /// Those outside of the team, on other machines, whom a client has written to: it knows their names from their mail and makes a
    /// file for them, which no member has. Such a file is only looked at if its name ends as a machine's. If it has anything unread, the
    /// log is asked who has that name: a client writes a dot as a hyphen. Nothing: no such file has anything unread.
    fn answered_outsiders(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        machines: &BTreeSet<&MachineName>,
        readers: &[Reader],
    ) -> Result<Option<Vec<Reader>>, OfficeError> {
        let members = config.members.iter().filter_map(|member| member.checked_name().ok());
        let known: HashSet<String> = members
            .chain(readers.iter().map(|reader| reader.name.clone()))
            .map(|name| name.file_stem())
            .collect();
        let is_of_machine =
            |stem: &str| machines.iter().any(|machine| stem.ends_with(&format!("-{}", machine.as_str())));
        let names = self.office.inbox_names(team).into_iter().map(|name| (name.file_stem(), name));
        let files: HashSet<String> = names
            .filter(|(stem, _)| !known.contains(stem) && is_of_machine(stem))
            .filter(|(_, name)| self.has_unread(team, name))
            .map(|(stem, _)| stem)
            .collect();
        if files.is_empty() {
            return Ok(None);
        }
        let root = self.office.root_key();
        let senders = self.office.books.with(|ledger| ledger.dotted_senders(&root, team.as_str()))?;
        let mut found: HashMap<String, Vec<Reader>> = HashMap::new();
        for sender in senders {
            let machine = machines.iter().find(|machine| machine.unqualify(&sender) != sender);
            let (Some(machine), Ok(name)) = (machine, MemberName::parse(&sender)) else { continue };
            let stem = name.file_stem();
            if files.contains(&stem) {
                let reader = Reader { name, machine: (*machine).clone(), is_former: false };
                found.entry(stem).or_default().push(reader);
            }
        }
        // Where two have one file, nobody can tell whom it is for.
        Ok(Some(found.into_values().filter(|readers| readers.len() == 1).flatten().collect()))
    }

    /// Whether an inbox has anything to collect, as far as it can be read.
    fn has_unread(&self, team: &TeamName, name: &MemberName) -> bool {
        let listing = self.office.mailbox(team, name).list();
        listing.map_or(true, |listing| listing.messages.iter().any(|message| !message.read))
    }

    /// Whether an entry may be taken out of a file whose member is on another machine now. Of a member that was here before,
    /// one may still be about to be recorded as written; and what another machine sent, and was told that it was taken, is
    /// sent on by nobody. Under a name that means nobody now, only what clients wrote: ours was meant for this file.
    fn may_leave(&self, inbox: &InboxKey, message: &Message, is_former: bool) -> Result<bool, OfficeError> {
        Ok(self.office.books.with(|ledger| {
            let Some(known) = ledger.message_in(inbox, &message.id)? else { return Ok(true) };
            let draft = ledger.draft_of(&known)?.as_deref().and_then(parse_draft);
            if is_former && draft.as_ref().is_some_and(|draft| draft.home.is_none()) {
                return Ok(false);
            }
            let was_here = draft.is_some_and(|draft| draft.home.is_none());
            let is_underway = was_here && ledger.is_waiting(inbox, &message.id)?;
            Ok(!is_underway && (known.machine.is_none() || known.stage < Stage::Taken))
        })?)
    }

    /// Accepts what the log does not have as a letter for that machine, durably.
    fn accept_found(&self, found: &[Found]) -> Result<usize, OfficeError> {
        let now = self.office.now();
        let (mut accepted, mut left): (Vec<Acceptance>, Vec<SentOn>) = Default::default();
        for Found { inbox, machine, messages, .. } in found {
            for message in messages {
                let known = self.office.books.with(|ledger| {
                    let Some(known) = ledger.message_in(inbox, &message.id)? else { return Ok(None) };
                    Ok(Some((ledger.draft_of(&known)?, known)))
                })?;
                let (draft, known) = known.unzip();
                let draft = draft.flatten().as_deref().and_then(parse_draft);
                let is_collected = draft.as_ref().is_some_and(|draft| draft.home.is_some());
                if let Some(known) = known.filter(|known| known.machine.is_some()) {
                    left.extend(
                        draft.filter(|_| !is_collected).map(|draft| left_here(known, draft, machine)),
                    );
                } else if !is_collected {
                    let draft = draft_of(message, &inbox.name, machine, now);
                    let new = effects::noticed(&as_message(&draft), now.as_millis());
                    let new = atm_ledger::NewMessage { home: Some(machine.to_string()), ..new };
                    let draft = render_draft(&draft);
                    accepted.push(Acceptance { inbox: inbox.clone(), message: new, is_new: true, draft });
                }
            }
        }
        if !found.is_empty() {
            self.office.books.with(|ledger| {
                ledger.accept(&accepted, now.as_millis(), COLLECTOR)?;
                ledger.send_on(
                    &left,
                    (&[], 0),
                    now.as_millis(),
                    &Evidence::certain("its recipient has left this machine"),
                )?;
                ledger.make_durable()
            })?;
        }
        Ok(accepted.len())
    }
}

/// What another machine sent to a member that has left: it is sent on by that machine, and is not here any more.
pub(super) fn left_here(message: Recorded, draft: Draft, machine: &MachineName) -> SentOn {
    let (name, home) = (message.inbox.name.clone(), Some(machine.to_string()));
    let draft = render_draft(&Draft { home: Some(machine.clone()), ..draft });
    SentOn { message, name, home, draft, waits: false, was_waiting: false }
}

/// What is carried of an entry that a client wrote.
fn draft_of(message: &Message, to: &str, machine: &MachineName, now: Stamp) -> Draft {
    Draft {
        id: message.id.clone(),
        from: message.from.clone(),
        to: to.to_owned(),
        text: message.text.clone(),
        summary: message.summary.clone(),
        timestamp: message.sent_at.unwrap_or(now),
        color: message.color.clone(),
        delivery: Delivery::Delivered,
        ack_id: message.ack_id(),
        ours: Ours { offer: None, session: None, from_session: None, origin: None, ..message.ours() },
        kind: message.outer_type.clone().filter(|kind| kind != "message"),
        recipients: Vec::new(),
        metadata: metadata::others(message.metadata.as_deref()),
        home: Some(machine.clone()),
    }
}
