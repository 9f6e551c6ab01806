//! Calling a member: decided in the turn of those who wake, remembered before it is done, and a step of its own.

use atm_ledger::Kind;
use atm_store::Mailbox;
use atm_wire::{MemberName, Message, TeamName};

use super::{Ladder, Memory, Way, chore, line, unread};
use crate::chores::{Carried, Ran, Runner, Step};
use crate::error::OfficeError;
use crate::office::Office;

/// Why nobody is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing is unread.
    AllRead,
    /// There was a call for it, or it is too early.
    NotDue,
    /// Nothing is unread any more.
    JustRead,
}

/// What came of a call.
#[derive(Debug)]
pub(super) enum Called {
    /// There was none.
    No(Silence),
    /// There would be one.
    Would,
    /// There was one, for so many messages.
    Yes(String, usize),
    /// The line is stored, and heard when the member's conversation is opened.
    Queued(String, usize),
}

/// What is decided about a call before it is made.
enum Decision {
    No(Silence),
    Call(String, Vec<Message>),
}

impl Office {
    /// Calls a member that has new mail and waits, with `text` or words of our own. A call is a step: of any number who
    /// want to call for the same mail, one does.
    pub(super) fn call(
        &self,
        team: &TeamName,
        name: &MemberName,
        way: &dyn Way,
        ladder: &Ladder,
        text: Option<&str>,
        dry_run: bool,
    ) -> Result<Called, OfficeError> {
        let mailbox = self.mailbox(team, name);
        let mail = unread(&mailbox)?;
        if mail.is_empty() {
            return Ok(Called::No(Silence::AllRead));
        }
        let memory = Memory::parse(self.memo(&mailbox).read()?.as_deref());
        let Some(step) = chore::step(name, &mail, &memory, ladder, self.now()) else {
            return Ok(Called::No(Silence::NotDue));
        };
        if dry_run {
            way.check_idle()?;
            return Ok(Called::Would);
        }
        let runner = Runner::new(self, team);
        runner.recover(&[])?;
        match runner.run(&step, || self.call_now(team, name, way, ladder, text))? {
            Ran::Done(called) => Ok(called),
            Ran::Moot => Ok(Called::No(Silence::JustRead)),
            Ran::Failed(error) => Err(error),
            Ran::TakenByAnother => Ok(Called::No(Silence::NotDue)),
            Ran::Over => {
                self.learn_wake(team, name, &step)?;
                Ok(Called::No(Silence::NotDue))
            }
        }
    }

    /// The same, for who has taken the step.
    pub(super) fn call_now(
        &self,
        team: &TeamName,
        name: &MemberName,
        way: &dyn Way,
        ladder: &Ladder,
        text: Option<&str>,
    ) -> Result<Carried<Called>, OfficeError> {
        let mailbox = self.mailbox(team, name);
        let (line, mail) = match self.decide(&mailbox, way, ladder)? {
            Decision::No(Silence::JustRead) => return Ok(Carried::Moot),
            Decision::No(why) => return Ok(Carried::Done(Called::No(why))),
            Decision::Call(line, mail) => (line, mail),
        };
        // The turn is over and the memory on disk, which takes a moment: it may have read even now.
        if has_read(&mailbox, &mail)? {
            return Ok(Carried::Done(Called::No(Silence::JustRead)));
        }
        // It is read by a model: nothing in it may hide.
        // One line, for every way: a line break is a space, and what a reader would not see is spelled out.
        let words = text.unwrap_or(&line).replace("\r\n", " ").replace(['\n', '\r', '\t'], " ");
        let done = way.wake(&atm_wire::visible::line(&words));
        let is_queued = way.is_queued();
        let evidence = match &done {
            Ok(way) if is_queued => format!("queued by {way}: told when its conversation is opened again"),
            Ok(way) => format!("woken by {way}; not confirmed"),
            Err(error) => format!("not woken: {error}"),
        };
        let kind = if done.is_ok() && is_queued { Kind::Queued } else { Kind::Woken };
        self.note_wake(team, name, &mail, kind, &evidence);
        Ok(match done {
            Ok(_) if is_queued => Carried::Done(Called::Queued(evidence, mail.len())),
            Ok(_) => Carried::Done(Called::Yes(evidence, mail.len())),
            Err(error) => Carried::Failed(error),
        })
    }

    /// Remembers a wake that the ledger has and the memory lacks: its maker died before it could say so, or the message
    /// was read, forgotten, and offered again.
    pub(super) fn learn_wake(
        &self,
        team: &TeamName,
        name: &MemberName,
        step: &Step,
    ) -> Result<(), OfficeError> {
        let Some(message) = chore::message_of(name, step) else { return Ok(()) };
        let number = usize::try_from(step.number).unwrap_or(usize::MAX);
        self.memo(&self.mailbox(team, name)).update(|before| {
            let mut memory = Memory::parse(before);
            memory.learn(message, number, self.now());
            Ok((Some(memory.render()), ()))
        })
    }

    /// In the turn of those who wake: whether it is time, whether it waits, and what to say. A call is remembered here,
    /// before it is made.
    fn decide(&self, mailbox: &Mailbox, way: &dyn Way, ladder: &Ladder) -> Result<Decision, OfficeError> {
        self.memo(mailbox).update(|before| {
            let mut memory = Memory::parse(before);
            let now = self.now();
            let mail = unread(mailbox)?;
            if mail.is_empty() {
                return Ok((None, Decision::No(Silence::AllRead)));
            }
            if !memory.calls(&mail, ladder, now) {
                return Ok((None, Decision::No(Silence::NotDue)));
            }
            let hearer = way.check_idle()?;
            // It may have read meanwhile.
            let mail = unread(mailbox)?;
            if !memory.calls(&mail, ladder, now) {
                return Ok((None, Decision::No(Silence::JustRead)));
            }
            memory.woke(&mail, ladder, now);
            Ok((Some(memory.render()), Decision::Call(line(&mail, hearer), mail)))
        })
    }
}

/// Whether nothing of this mail is unread any more.
fn has_read(mailbox: &Mailbox, mail: &[Message]) -> Result<bool, OfficeError> {
    let left = unread(mailbox)?;
    Ok(!left.iter().any(|message| mail.iter().any(|told| told.id == message.id)))
}
