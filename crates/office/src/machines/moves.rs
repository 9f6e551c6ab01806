//! Members that move from one machine to another, and keep their mail.
//!
//! Each machine sends on its own letters that are not known to be taken at the former home: they are accepted again, for the new
//! home, in the order in which they were sent. So nothing depends on the former home, which may be off for ever. That one, when it
//! hears of it, takes the unread mail out of its file, so that nobody reads it twice; what clients there had written goes on to
//! the new home, and what other machines had sent is sent on by those.

use std::collections::HashSet;

use atm_ledger::{Evidence, InboxKey, Recorded, SentOn, Stage};
use atm_store::Receipt;
use atm_wire::{Draft, MachineName, MemberName, Stamp, TeamName};

use super::collect::left_here;
use super::recall::recalled_by;
use super::{Home, Machines};
use crate::error::OfficeError;
use crate::mail::outbox::{parse_draft, render_draft};
use crate::office::USER;
use crate::people::members::MemberPlan;

/// A member's home, as the machines of a realm have settled it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move<'a> {
    /// The member, by its name there.
    pub name: &'a str,
    /// Where it is at home now.
    pub home: Home,
    /// The homes that it has left since this machine last did a move of it.
    pub former: &'a [MachineName],
    /// It was at home here: the member of that name here is the one that has left, if it joined then.
    pub leaves: Option<Option<Stamp>>,
}

/// How often mail may come while a member's mail is sent on, before that is left for later.
const ATTEMPTS: usize = 16;

/// Letters that take others back.
type Recalls = Vec<(Recorded, Draft)>;

impl Machines<'_> {
    /// A member has moved: its home is another one from now on, and its mail goes there. Repeating it costs traffic alone. Says
    /// whether it is done: a member that is to be here has to be one of the team's first.
    pub fn set_home(&self, team: &TeamName, moved: &Move<'_>) -> Result<bool, OfficeError> {
        let office = self.office;
        let name = MemberName::parse(moved.name)?;
        let folder = office.folder(team)?;
        let config = folder.load()?;
        // Every machine has its own of these: the one that moves is another, which has its machine's name with its own here.
        let is_own = office.lead_of(team, &config).is_ok_and(|lead| lead == name) || moved.name == USER;
        let here = config.member(moved.name).filter(|member| member.machine.is_none());
        let is_here = here.is_some();
        // Another member that has the name stays, also one that has just been added.
        let is_leaving = !is_own
            && here.is_some_and(|member| {
                moved.leaves.is_some_and(|joined| joined.is_none_or(|at| member.joined_at == Some(at)))
            });
        match &moved.home {
            Home::Here if is_own => {}
            Home::Here if !is_here => return Ok(false),
            Home::Here => {
                let Some(recalls) = self.send_on(team, &name, (None, &name), moved.former)? else {
                    return Ok(false);
                };
                // From here on what waits is written, in the order of the log.
                office.set_arriving(team, moved.name, None)?;
                office.complete_accepted(team, Some(&name));
                recalls.iter().try_for_each(|(message, draft)| self.recall_here(message, draft))?;
            }
            Home::Machine(machine) => {
                if is_leaving {
                    // What was taken is known to be, and all that is promised is in the file, before the file is nobody's.
                    office.look(team)?;
                    office.write_accepted(team, &name)?;
                    let entry = self.entry_of(team, &name, machine, config.members.len());
                    folder.hand_over(&entry, &office.state)?;
                    office.set_arriving(team, moved.name, None)?;
                    // Whoever was writing into the file has ended when this has its turn, and nobody begins any more.
                    office.write_accepted(team, &name)?;
                    self.collect(team)?;
                }
                let has_name = is_own || (is_here && !is_leaving);
                let qualified = has_name.then(|| MemberName::parse(&machine.qualify(moved.name)));
                let called = match qualified {
                    None => name.clone(),
                    Some(Ok(called)) => called,
                    // It cannot be called anything here, as placing it says: its mail waits until it can.
                    Some(Err(_)) => return Ok(false),
                };
                return Ok(self.send_on(team, &name, (Some(machine), &called), moved.former)?.is_some());
            }
        }
        Ok(true)
    }

    /// Makes a member of another machine one of this machine: with the entry that it had here before, if it had one. Says when it
    /// joined.
    pub fn take_member(&self, team: &TeamName, name: &MemberName) -> Result<Option<Stamp>, OfficeError> {
        let office = self.office;
        let folder = office.folder(team)?;
        let config = folder.load()?;
        if let Home::Machine(machine) = self.home(team, name.as_str())? {
            // What is sent from here meanwhile waits for what was sent to its former home.
            office.set_arriving(team, name.as_str(), Some(&machine))?;
        }
        match config.member(name.as_str()) {
            Some(member) if member.machine.is_none() => return Ok(member.joined_at),
            Some(_) => {
                let member = MemberPlan::new(name.as_str()).resolve(team, &config, office.now())?;
                folder.take_over(name, &member.render(), &office.state)?;
            }
            None => drop(office.add_member(team, &MemberPlan::new(name.as_str()))?),
        }
        let mailbox = office.mailbox(team, name);
        if !mailbox.exists() {
            mailbox.create()?;
        }
        Ok(folder.load()?.member(name.as_str()).and_then(|member| member.joined_at))
    }

    /// Undoes [`Self::take_member`], if this machine has not become the member's home: the list has the name again as it was
    /// [`listed`](Self::listed) before.
    pub fn give_back(
        &self,
        team: &TeamName,
        name: &MemberName,
        before: Option<&Home>,
    ) -> Result<(), OfficeError> {
        let (office, folder) = (self.office, self.office.folder(team)?);
        match before {
            Some(Home::Here) => {}
            Some(Home::Machine(machine)) => {
                let entry = self.entry_of(team, name, machine, folder.load()?.members.len());
                folder.hand_over(&entry, &office.state)?;
            }
            None => office.remove_member(team, name)?,
        }
        office.set_arriving(team, name.as_str(), None)
    }

    /// Whose member of a name is on a team's list here; none if there is nobody of the name.
    pub fn listed(&self, team: &TeamName, name: &MemberName) -> Result<Option<Home>, OfficeError> {
        let config = self.office.folder(team)?.load()?;
        let member = config.member(name.as_str());
        Ok(member.map(|member| member.machine.clone().map_or(Home::Here, Home::Machine)))
    }

    /// Sends on what was sent from here to a member and is not known to be taken, to its new home: another machine, or this; and what
    /// it is called here then. Gives the letters that take others back, which are here now; nothing if mail came meanwhile, again and
    /// again, so that it is not done.
    fn send_on(
        &self,
        team: &TeamName,
        name: &MemberName,
        place: (Option<&MachineName>, &MemberName),
        former: &[MachineName],
    ) -> Result<Option<Recalls>, OfficeError> {
        for _ in 0..ATTEMPTS {
            let recalls = self.try_send_on(team, name, place, former)?;
            if recalls.is_some() {
                return Ok(recalls);
            }
        }
        Ok(None)
    }

    /// The same; nothing is done if mail comes meanwhile.
    fn try_send_on(
        &self,
        team: &TeamName,
        name: &MemberName,
        (home, called): (Option<&MachineName>, &MemberName),
        former: &[MachineName],
    ) -> Result<Option<Recalls>, OfficeError> {
        let office = self.office;
        // Names that were held twice had their machine's with them. A former home may have another member of the name since:
        // that one's mail is not this one's. The new home has one of the name, and that is this.
        let table = office.table(team);
        let qualified = former
            .iter()
            .filter(|machine| home != Some(*machine) && !table.has_another(name.as_str(), machine))
            .chain(home);
        let names = qualified.filter_map(|machine| MemberName::parse(&machine.qualify(name.as_str())).ok());
        let mut letters: Vec<(Recorded, Draft)> = Vec::new();
        let since = office.books.with(|ledger| ledger.last_number())?;
        let names = std::iter::once(name.clone()).chain(names);
        let mut inboxes: Vec<InboxKey> = names.map(|name| office.inbox_key(team, &name)).collect();
        for inbox in &inboxes {
            let found = office.books.with(|ledger| {
                let own = ledger.untaken_elsewhere(inbox)?.into_iter();
                let own = own.filter(|message| message.machine.is_none());
                own.map(|message| Ok((ledger.draft_of(&message)?, message))).collect::<Result<Vec<_>, _>>()
            })?;
            let parse = |(draft, message): (Option<String>, Recorded)| Some((message, parse_draft(&draft?)?));
            letters.extend(found.into_iter().filter_map(parse));
        }
        // What waits to be written here: it was accepted by somebody who did not know of the move, or waits for these.
        let waiting = if called == name {
            self.waiting_here(team, name)?
        } else {
            // That is the inbox of somebody else here.
            inboxes.remove(0);
            Vec::new()
        };
        let (own, others): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(message, _)| message.machine.is_none());
        let mut was_waiting: HashSet<String> = HashSet::new();
        if home.is_some() || !letters.is_empty() {
            was_waiting.extend(own.iter().map(|(message, _)| message.id.clone()));
            letters.extend(own);
        }
        // All of them: one that stayed in its place would be overtaken by those before it. Also those for the same machine: the
        // member may have been away since, and have left them behind.
        letters.sort_by_key(|(message, _)| message.number());
        let is_recall = |(_, draft): &(Recorded, Draft)| home.is_none() && recalled_by(draft).is_some();
        let (recalls, letters): (Vec<_>, Vec<_>) = letters.into_iter().partition(is_recall);
        let mut sent_on: Vec<SentOn> = letters
            .into_iter()
            .map(|(message, draft)| SentOn {
                was_waiting: was_waiting.contains(&message.id),
                message,
                name: called.to_string(),
                home: home.map(ToString::to_string),
                draft: render_draft(&Draft { home: home.cloned(), to: called.to_string(), ..draft }),
                waits: true,
            })
            .collect();
        if let Some(machine) = home {
            sent_on.extend(others.into_iter().map(|(message, draft)| left_here(message, draft, machine)));
        } else if !sent_on.is_empty() {
            self.take_copies_out(team, name, &sent_on)?;
        }
        let place = home.map_or_else(|| "this machine".to_owned(), |home| format!("machine {home}"));
        let evidence = Evidence::certain(format!("sent on: {name} is at home on {place}"));
        let now = office.now().as_millis();
        let is_done = office.books.with(|ledger| {
            let is_done = ledger.send_on(&sent_on, (&inboxes, since), now, &evidence)?;
            if is_done && !sent_on.is_empty() {
                ledger.make_durable()?;
            }
            Ok(is_done)
        })?;
        Ok(is_done.then_some(recalls))
    }

    /// What is accepted for a member here, and not written.
    fn waiting_here(
        &self,
        team: &TeamName,
        name: &MemberName,
    ) -> Result<Vec<(Recorded, Draft)>, OfficeError> {
        let inbox = self.office.inbox_key(team, name);
        Ok(self.office.books.with(|ledger| {
            let mut found = Vec::new();
            for (id, draft) in ledger.waiting(&inbox)? {
                let Some(draft) = parse_draft(&draft).filter(|draft| draft.home.is_none()) else { continue };
                found.extend(ledger.message_in(&inbox, &id)?.map(|message| (message, draft)));
            }
            Ok(found)
        })?)
    }

    /// Takes out of a member's file what was collected from it and is brought back now: old clients' entries were left there, marked
    /// as read, and nobody would write them again beside those. The log has all of them.
    fn take_copies_out(
        &self,
        team: &TeamName,
        name: &MemberName,
        letters: &[SentOn],
    ) -> Result<(), OfficeError> {
        let mailbox = self.office.mailbox(team, name);
        let ids: HashSet<&str> = letters.iter().map(|letter| letter.message.id.as_str()).collect();
        let listing = mailbox.list()?;
        let copies = listing.messages.iter().filter(|message| message.read && ids.contains(&*message.id));
        let copies: HashSet<Receipt> = copies.map(Receipt::of).collect();
        if !copies.is_empty() {
            mailbox.take_out(&copies)?;
        }
        Ok(())
    }

    /// A letter that takes another one back, which is here now.
    fn recall_here(&self, letter: &Recorded, draft: &Draft) -> Result<(), OfficeError> {
        let (office, target) = (self.office, recalled_by(draft).unwrap_or_default());
        let name = MemberName::parse(&draft.to)?;
        let inbox = office.inbox_key(&TeamName::parse(&letter.inbox.team)?, &name);
        let message = office.books.with(|ledger| ledger.message_in(&inbox, target))?;
        let (stage, what) = match message {
            Some(message) => match office.take_back(None, &MemberName::parse(&letter.sender)?, &message) {
                Ok(_) => (Stage::Done, "taken back by its sender, unread".to_owned()),
                Err(error @ OfficeError::NotRecallable { .. }) => (Stage::Failed, error.to_string()),
                Err(error) => return Err(error),
            },
            None => (Stage::Failed, "there is no such message".to_owned()),
        };
        let (now, evidence) = (office.now().as_millis(), Evidence::certain(what));
        office.books.with(|ledger| {
            ledger.withdraw(&letter.inbox, &letter.id, now, &evidence)?;
            ledger.advance(&letter.inbox, &letter.id, stage, now, &evidence)
        })?;
        Ok(())
    }
}
