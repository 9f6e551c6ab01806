//! Accepting letters, writing them, and the answer for each.
//!
//! An answer is one of three, and true: the letter is in its inbox; it is not there and never will be (an error); it is
//! accepted, not written yet, and will be ([`Sent::is_only_accepted`]). A letter is taken back only inside the queue of its
//! inbox, where nobody else can be writing it. Where that queue cannot be had, or the ledger cannot record it, the letter
//! stays accepted.

use std::io;
use std::sync::Arc;

use atm_ledger::{Acceptance, Fate, LedgerError, NewMessage, Stage};
use atm_store::{Appended, Mailbox, StoreError, interrupt};
use atm_wire::{Draft, MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::address::Addressed;
use crate::mail::outbox::{Accepted, as_message, render_draft};
use crate::mail::send::Sent;
use crate::office::Office;
use crate::trail::effects;

/// Letters to one recipient, each with its place among all.
type Group = Vec<(usize, Addressed)>;
type Answer = Result<Sent, OfficeError>;

impl Office {
    /// Accepts letters, all at once, and writes them, one write for each inbox; the answers stand in the order of the
    /// letters.
    pub(crate) fn deliver(&self, addressed: Vec<Addressed>, strict: bool) -> Vec<Answer> {
        let _span = tracing::debug_span!("deliver", letters = addressed.len()).entered();
        if let Err(error) = interrupt::begin(self.state().path()) {
            return addressed.iter().map(|_| Err(error.clone().into())).collect();
        }
        let is_known = self.books.exist();
        let accepted = self.accept(&addressed);
        if !is_known {
            self.introduce_teams(&addressed);
        }
        let underway = accepted.is_ok().then(|| self.deliveries.begin(&self.state().ledger()));
        self.remember_leads(&addressed);
        atm_store::points::reached("accepted");
        let mut answers: Vec<(usize, Answer)> = Vec::new();
        let letters = addressed.into_iter().enumerate();
        let (elsewhere, mut waiting): (Group, Group) =
            letters.partition(|(_, letter)| letter.draft.home.is_some());
        while let Some((_, first)) = waiting.first() {
            let (team, to) = (first.team.clone(), first.to.clone());
            let (group, rest) = waiting.into_iter().partition(|(_, a)| a.team == team && a.to == to);
            waiting = rest;
            self.deliver_to_one(&team, &to, group, strict, &accepted, &mut answers);
        }
        self.hand_to_bridge(elsewhere, &accepted, &mut answers);
        drop(underway);
        self.books.tidy();
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Records which teams these are in a ledger that was made just now: before, there was none to recognise them by.
    fn introduce_teams(&self, addressed: &[Addressed]) {
        let mut teams: Vec<_> = addressed.iter().map(|letter| (&letter.team, letter.created_at)).collect();
        teams.dedup();
        for (team, created_at) in teams {
            self.recognise_by(team, created_at);
        }
    }

    /// What it takes to find the conversations of these letters' readers, should their team's folder be deleted.
    fn remember_leads(&self, addressed: &[Addressed]) {
        let mut last = None;
        for letter in addressed.iter().filter(|letter| letter.lead.is_some()) {
            if last != Some(&letter.team) {
                letter.lead.iter().for_each(|lead| self.remember_lead(&letter.team, lead));
            }
            last = Some(&letter.team);
        }
    }

    /// Promises to write the letters. Gives the ids that their inboxes have had before.
    fn accept(&self, addressed: &[Addressed]) -> Result<Vec<String>, LedgerError> {
        let now = self.now().as_millis();
        let by = addressed.first().map(Addressed::decided_by).unwrap_or_default();
        let accepted: Vec<Acceptance> = addressed
            .iter()
            .map(|addressed| Acceptance {
                inbox: self.inbox_key(&addressed.team, &addressed.to),
                message: NewMessage {
                    home: addressed.draft.home.as_ref().map(ToString::to_string),
                    ..effects::noticed_with(&as_message(&addressed.draft), &addressed.content, now)
                },
                is_new: addressed.is_new,
                draft: render_draft(&addressed.draft),
            })
            .collect();
        self.books.with(|ledger| ledger.accept(&accepted, now, &by))
    }

    fn deliver_to_one(
        &self,
        team: &TeamName,
        to: &MemberName,
        group: Group,
        strict: bool,
        accepted: &Result<Vec<String>, LedgerError>,
        answers: &mut Vec<(usize, Answer)>,
    ) {
        if let Err(error) = accepted
            && group.iter().any(|(_, letter)| letter.draft.ours.machine.is_some())
        {
            // What another machine sent is brought again until it is on record. Written without that, it would be there twice.
            let refused = |(index, _): (usize, Addressed)| (index, Err(self.unrecorded(error).into()));
            answers.extend(group.into_iter().map(refused));
            return;
        }
        let inbox = self.inbox_key(team, to);
        let mailbox = self.mailbox(team, to);
        let drafts: Vec<Draft> = group.iter().map(|(_, addressed)| addressed.draft.clone()).collect();
        let mut outbox = Accepted::new(self, &inbox, &mailbox, &drafts);
        if accepted.is_ok() {
            outbox.find_effects(group.iter().map(|(_, addressed)| &addressed.content));
        }
        // Once a part of them is written, a stop does not take the others back: they stay accepted.
        outbox.stays_on_stop = answers.iter().any(|(_, answer)| answer.is_ok());
        outbox.known = accepted.as_ref().map_or(&[], Vec::as_slice);
        let written = match accepted {
            Ok(known) => write_tracked(&mailbox, &mut outbox, strict).map(|mut appended| {
                appended.known.extend_from_slice(known);
                appended
            }),
            Err(error) => write_untracked(&mailbox, &mut outbox, strict, error),
        };
        let trouble = accepted.as_ref().err().or(outbox.trouble.as_ref()).map(|error| match accepted {
            Ok(_) => error.to_string(),
            Err(_) => format!("untracked: {error}; the mail goes without it"),
        });
        let fates: Vec<Fate> = drafts.iter().map(|draft| outbox.fate(&draft.id)).collect();
        for ((index, addressed), fate) in group.into_iter().zip(fates) {
            let answer = match (fate, &written) {
                (Fate::Written, Ok(appended)) => Ok(addressed.written(appended)),
                (Fate::Written, Err(_)) => Ok(addressed.written(&Appended::default())),
                (Fate::Waiting, _) => Ok(self.only_accepted(addressed, written.as_ref().err())),
                (Fate::Withdrawn | Fate::Unknown, Err(error)) => Err(error.clone().into()),
                (Fate::Withdrawn | Fate::Unknown, Ok(_)) => {
                    Err(OfficeError::Withdrawn { id: addressed.draft.id })
                }
            };
            let answer = answer.map(|mut sent| {
                sent.warnings.extend(trouble.clone());
                self.deliveries.note_answer(&sent.id, !sent.is_only_accepted());
                sent
            });
            answers.push((index, answer));
        }
    }

    /// The error for mail that must not be written while the ledger cannot take it.
    fn unrecorded(&self, error: &LedgerError) -> StoreError {
        let source = Arc::new(io::Error::other(error.to_string()));
        StoreError::Io { action: "put mail on record in", path: self.state().ledger(), source }
    }

    /// Answers for letters to other machines: nothing here but the ledger has them. A bridge that runs is given a little
    /// time to bring the word that they are written there.
    fn hand_to_bridge(
        &self,
        letters: Group,
        accepted: &Result<Vec<String>, LedgerError>,
        answers: &mut Vec<(usize, Answer)>,
    ) {
        if letters.is_empty() {
            return;
        }
        if let Err(error) = accepted {
            // Without the ledger there is no way to another machine.
            let why = format!("not accepted: {error}");
            answers.extend(
                letters
                    .into_iter()
                    .map(|(index, letter)| (index, letter.told(Stage::Failed, Some(why.clone())))),
            );
            return;
        }
        let durable = self.books.with(|ledger| ledger.make_durable());
        let keys: Vec<_> = letters
            .iter()
            .map(|(_, letter)| (self.inbox_key(&letter.team, &letter.to), letter.draft.id.clone()))
            .collect();
        self.await_machines(&keys);
        for ((index, letter), (inbox, id)) in letters.into_iter().zip(keys) {
            let answer = self.told_of(&inbox, &id).and_then(|(stage, why)| letter.told(stage, why));
            let answer = answer.map(|mut sent| {
                if let Err(error) = &durable {
                    sent.warnings.push(format!("accepted, but a power cut could undo it: {error}"));
                }
                self.deliveries.note_answer(&sent.id, !sent.is_only_accepted());
                sent
            });
            answers.push((index, answer));
        }
    }

    /// The answer for a letter that nothing but the ledger has: that has to survive a power cut, too.
    fn only_accepted(&self, addressed: Addressed, error: Option<&StoreError>) -> Sent {
        let mut sent = addressed.accepted();
        sent.warnings.extend(error.map(|error| format!("not written yet: {error}")));
        if let Err(error) = self.books.with(|ledger| ledger.make_durable()) {
            sent.warnings.push(format!("accepted, but a power cut could undo it: {error}"));
        }
        sent
    }
}

/// Writes letters that are in the ledger.
fn write_tracked(mailbox: &Mailbox, outbox: &mut Accepted, strict: bool) -> Result<Appended, StoreError> {
    let written = if interrupt::is_requested() {
        Err(StoreError::Interrupted { path: mailbox.file() })
    } else {
        mailbox.deliver(outbox, strict)
    };
    if let Err(error) = &written
        && !outbox.is_settled()
    {
        // Not told inside the queue. If it is free now, nobody is writing these; if not, they stay accepted.
        let _ = mailbox.give_up(outbox, error);
    }
    written
}

/// Writes letters that the ledger could not take.
fn write_untracked(
    mailbox: &Mailbox,
    outbox: &mut Accepted,
    strict: bool,
    why: &LedgerError,
) -> Result<Appended, StoreError> {
    let written = mailbox.append(outbox.own(), strict);
    if why.is_busy() {
        outbox.note_untracked(written.is_ok());
        return written;
    }
    // An error at the commit leaves open whether it happened: the ledger must not have them written again.
    match &written {
        Ok(_) => {
            outbox.note_untracked(true);
            outbox.record_own();
        }
        Err(error) => drop(mailbox.give_up(outbox, error)),
    }
    outbox.settle_untracked();
    written
}
