//! The letters and receipts of this machine, as the engine gets and brings them.

use std::collections::BTreeSet;
use std::time::Instant;

use atm_office::OfficeError;
use atm_office::machines::{self, Evidence, Incoming, Stage};
use atm_wire::{Stamp, TeamName};

use super::House;
use super::stranded::{Followed, SentOn};
use crate::envelope::Failure;
use crate::local::{Confirmed, Letter, Local, LocalError, Outgoing, Receipt, TakenIn};
use crate::name::Machine;
use crate::protocol::homes::{MemberKey, announced_in};

/// Bytes of letters that are read together: a page ends soon behind them.
const PAGE_BYTES: usize = 4 << 20;

impl Local for House {
    fn epoch(&mut self) -> Result<String, LocalError> {
        let identity = self.office.machines().identity().map_err(transient)?;
        self.origin = identity.origin;
        Ok(identity.epoch)
    }

    fn teams(&mut self) -> BTreeSet<String> {
        self.shares.iter().map(|share| share.shared.clone()).collect()
    }

    fn outgoing(&mut self, after: u64, most: usize) -> Result<Vec<Outgoing>, LocalError> {
        let mut after = i64::try_from(after).unwrap_or(i64::MAX);
        let (mut found, mut bytes, mut sent_on) = (Vec::new(), 0, SentOn::default());
        if after == 0 {
            // All are looked at: one that still cannot be sent on stands before those behind it.
            self.stuck.clear();
        }
        // Letters of teams that are not shared stand between.
        'pages: while found.len() < most && bytes < PAGE_BYTES {
            let page = self.office.machines().outgoing(after, most).map_err(transient)?;
            if page.is_empty() {
                break;
            }
            for letter in page {
                after = letter.n;
                let Some(share) = self.share_of_local(&letter.team) else { continue };
                let key = MemberKey { team: share.shared.clone(), name: letter.to.clone() };
                // Before its move is done here, letters would overtake those that are sent on.
                if !self.homes.is_settled(&key) {
                    continue;
                }
                match self.follow(&share.local, &key, &letter, &mut sent_on) {
                    Followed::Stays => {}
                    Followed::Waits => continue,
                    // All that waits for its recipient has other numbers now.
                    Followed::SentOn => continue 'pages,
                }
                bytes += letter.letter.len();
                found.push(Outgoing {
                    home: self.homes.address(&key, &letter.machine),
                    n: u64::try_from(letter.n).unwrap_or(0),
                    id: letter.id,
                    team: share.shared.clone(),
                    to: letter.to,
                    machine: letter.machine,
                    from_lead: self.leads.get(&letter.team).is_some_and(|leads| leads.contains(&letter.from)),
                    from: letter.from,
                    accepted_at: letter.accepted_at,
                    letter: letter.letter,
                });
            }
        }
        found.truncate(most);
        self.note_stuck(sent_on);
        Ok(found)
    }

    fn whereabouts(&mut self, machine: &Machine, team: &str, to: &str) -> u64 {
        let key = MemberKey { team: team.to_owned(), name: to.to_owned() };
        let listed = self.announced.get(machine).and_then(|teams| announced_in(teams, team, to));
        self.homes.whereabouts(&key, listed.map(|member| member.epoch))
    }

    fn take_in(&mut self, from: &Machine, letters: &[Letter]) -> Vec<Result<TakenIn, LocalError>> {
        let as_lead = self.as_lead.contains(from);
        let mut answers: Vec<Option<Result<TakenIn, LocalError>>> = Vec::with_capacity(letters.len());
        let mut incoming = Vec::new();
        for letter in letters {
            let Some(share) = self.share_of(&letter.team) else {
                let why = format!("the team {} is not shared there", letter.team);
                answers.push(Some(self.refuse(from, letter, why)));
                continue;
            };
            let key = MemberKey { team: letter.team.clone(), name: letter.to.clone() };
            if !self.admits(&share.local, &key, letter.home) {
                answers.push(Some(Ok(TakenIn::NotHome)));
                continue;
            }
            incoming.push(Incoming {
                team: share.local.clone(),
                to: letter.to.clone(),
                from: letter.from.clone(),
                machine: from.clone(),
                from_lead: letter.from_lead,
                as_lead,
                id: letter.id.clone(),
                letter: letter.letter.clone(),
            });
            answers.push(None);
        }
        let machines = self.office.machines();
        for letter in &incoming {
            // An answer to somebody of another team is in that one's mailbox.
            let home = machines.team_of_recipient(&letter.team, &letter.to).ok().flatten();
            self.following.note(home.as_ref().unwrap_or(&letter.team), Instant::now());
        }
        let taken = machines.take_in(&incoming);
        let mut taken = incoming.iter().zip(taken);
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| self.answer_of(taken.next()))).collect()
    }

    fn is_known(&mut self, letter: &Letter) -> Result<bool, LocalError> {
        let Some(share) = self.share_of(&letter.team) else { return Ok(true) };
        let key = MemberKey { team: letter.team.clone(), name: letter.to.clone() };
        if !self.admits(&share.local, &key, letter.home) {
            return Ok(true);
        }
        let asked = [(share.local.clone(), letter.to.clone(), letter.id.clone())];
        let known = self.office.machines().known(&asked).map_err(transient)?;
        Ok(known.first().copied().unwrap_or(false))
    }

    fn confirm(&mut self, from: &Machine, receipts: &[Receipt]) -> Result<Vec<Confirmed>, LocalError> {
        let imported: Vec<_> = receipts.iter().map(|receipt| self.import(from, receipt)).collect();
        let counted = |receipt: &Option<machines::Receipt>| match receipt {
            None => Confirmed::Nothing,
            Some(receipt) if receipt.stage == Stage::Accepted => {
                Confirmed::Accepted { to: receipt.to.clone() }
            }
            Some(receipt) => Confirmed::Written { to: receipt.to.clone() },
        };
        let counts = imported.iter().map(counted).collect();
        let receipts: Vec<_> = imported.into_iter().flatten().collect();
        self.office.machines().confirm(from, &receipts).map_err(transient)?;
        Ok(counts)
    }

    fn fail(&mut self, from: &Machine, failure: &Failure) -> Result<(), LocalError> {
        // Its id is empty where the other machine could not read it.
        let is_meant = |letter: &machines::Outgoing| {
            (failure.id.is_empty() || failure.id == letter.id) && &letter.machine == from
        };
        let Some(letter) = self.waiting(failure.n)?.filter(is_meant) else { return Ok(()) };
        let machines = self.office.machines();
        let receipt = machines.receipt_of_failure(&letter, &failure.why).map_err(transient)?;
        let receipt = machines::Receipt { evidence: shortened(receipt.evidence), ..receipt };
        machines.confirm(from, &[receipt]).map(drop).map_err(transient)
    }

    fn give_up(&mut self, n: u64, why: &str) -> Result<(), LocalError> {
        let Some(letter) = self.waiting(n)? else { return Ok(()) };
        self.office.machines().give_up(&letter, why).map_err(transient)
    }

    fn receipts_since(
        &mut self,
        cursor: Option<&str>,
        most: usize,
    ) -> Result<(Vec<(Machine, Receipt)>, String), LocalError> {
        let (receipts, next) = self.office.machines().receipts_since(cursor, most).map_err(transient)?;
        let receipts =
            receipts.iter().filter_map(|receipt| Some((receipt.for_machine.clone(), self.export(receipt)?)));
        Ok((receipts.collect(), next))
    }
}

impl House {
    /// The letter with this number, if it still waits for another machine.
    fn waiting(&self, n: u64) -> Result<Option<machines::Outgoing>, LocalError> {
        let after = i64::try_from(n.saturating_sub(1)).unwrap_or(i64::MAX);
        let letters = self.office.machines().outgoing(after, 1).map_err(transient)?;
        Ok(letters.into_iter().next().filter(|letter| u64::try_from(letter.n) == Ok(n)))
    }

    /// A receipt of the office for another machine, with the epoch of the recipient's home here.
    fn export(&self, receipt: &machines::Receipt) -> Option<Receipt> {
        let shared = self.share_of_local(&receipt.team)?.shared.clone();
        let key = MemberKey { team: shared, name: receipt.to.clone() };
        let epoch = self.homes.epoch_at(&key, &self.me);
        let receipt = machines::Receipt { epoch, ..receipt.clone() };
        // Strings and numbers: that cannot fail.
        let record = serde_json::to_string(&receipt).unwrap_or_default();
        Some(Receipt { id: receipt.id, team: key.team, record })
    }

    fn export_all(&self, receipts: &[machines::Receipt]) -> Vec<Receipt> {
        receipts.iter().filter_map(|receipt| self.export(receipt)).collect()
    }

    /// A receipt of another machine for the office. What is about a team that is not shared here is passed over, and so is what
    /// stood in a member's file during an earlier stay there: it left with the member.
    fn import(&self, from: &Machine, receipt: &Receipt) -> Option<machines::Receipt> {
        let share = self.share_of(&receipt.team)?;
        let mut own: machines::Receipt = serde_json::from_str(&receipt.record).ok()?;
        own.team = share.local.clone();
        own.evidence = shortened(own.evidence);
        let key = MemberKey { team: receipt.team.clone(), name: own.to.clone() };
        let stay =
            self.homes.home_of(&key).filter(|residence| residence.machine == *from && residence.epoch > 1);
        let is_past = stay.is_some_and(|stay| match own.epoch {
            Some(epoch) => !own.is_end() && epoch < stay.epoch,
            // It had no home there yet, or its bridge is of an earlier version.
            None => own.stage < Stage::Taken,
        });
        (own.id == receipt.id && !is_past).then_some(own)
    }

    /// Whether a letter that was addressed under an epoch is for somebody here. Who leads here has no home: every machine has a lead.
    fn admits(&self, team: &TeamName, key: &MemberKey, addressed: Option<u64>) -> bool {
        let leads = self.leads.get(team).is_some_and(|leads| leads.contains(&key.name));
        leads || self.homes.admits(key, &self.me, addressed)
    }

    /// The receipt of a letter that is refused before the office sees it.
    fn refuse(&self, from: &Machine, letter: &Letter, why: String) -> Result<TakenIn, LocalError> {
        let team = TeamName::parse(&letter.team).map_err(|error| LocalError::Poison(error.to_string()))?;
        let receipt = machines::Receipt {
            id: letter.id.clone(),
            team,
            to: letter.to.clone(),
            for_machine: from.clone(),
            stage: Stage::Failed,
            is_unwritten: true,
            epoch: letter.home,
            at: now(),
            evidence: Evidence::certain(why),
            origin: self.origin.clone(),
        };
        let record = serde_json::to_string(&receipt).unwrap_or_default();
        Ok(TakenIn::Refused(Receipt { id: letter.id.clone(), team: letter.team.clone(), record }))
    }

    fn answer_of(
        &self,
        taken: Option<(&Incoming, Result<machines::TakenIn, OfficeError>)>,
    ) -> Result<TakenIn, LocalError> {
        let Some((letter, taken)) = taken else {
            return Err(LocalError::Transient("no answer".to_owned()));
        };
        match taken {
            Ok(machines::TakenIn::Written(receipts) | machines::TakenIn::Known(receipts)) => {
                Ok(TakenIn::Recorded(self.export_all(&receipts)))
            }
            // Its sender need not bring it again, and hears later that it is written.
            Ok(machines::TakenIn::Accepted) => {
                Ok(TakenIn::Recorded(self.export_all(&[self.accepted(letter)])))
            }
            Ok(machines::TakenIn::Refused(receipt)) => match self.export(&receipt) {
                Some(receipt) => Ok(TakenIn::Refused(receipt)),
                None => Ok(TakenIn::Recorded(Vec::new())),
            },
            Ok(machines::TakenIn::NotHome(_)) => Ok(TakenIn::NotHome),
            Err(error) => Err(transient(error)),
        }
    }

    /// The receipt of a letter that is in the log here, durably, and not in its inbox yet.
    fn accepted(&self, letter: &Incoming) -> machines::Receipt {
        machines::Receipt {
            id: letter.id.clone(),
            team: letter.team.clone(),
            to: letter.to.clone(),
            for_machine: letter.machine.clone(),
            stage: Stage::Accepted,
            is_unwritten: false,
            epoch: None,
            at: now(),
            evidence: Evidence::certain("its inbox cannot be written yet"),
            origin: self.origin.clone(),
        }
    }
}

/// Every error of the office says "bring it again": what is refused for good has a receipt.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn transient(error: OfficeError) -> LocalError {
    LocalError::Transient(error.to_string())
}

/// Evidence from elsewhere, as long as anybody reads: it stays in the log for good.
fn shortened(evidence: Evidence) -> Evidence {
    const LONGEST: usize = 2_000;
    let cut = |text: String| match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    Evidence {
        what: cut(evidence.what),
        file: evidence.file.map(cut),
        by: evidence.by.map(cut),
        before: evidence.before.map(cut),
        after: evidence.after.map(cut),
        ..evidence
    }
}

fn now() -> Stamp {
    use atm_office::clock::{Clock, SystemClock};
    SystemClock.now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_of_another_machine_is_as_long_as_anybody_reads() {
        let long = shortened(Evidence {
            file: Some("é".repeat(1 << 20)),
            ..Evidence::certain("x".repeat(1 << 20))
        });
        assert_eq!((long.what.chars().count(), long.file.unwrap().chars().count()), (2_001, 2_001));
        assert_eq!(shortened(Evidence::certain("read")), Evidence::certain("read"));
    }
}
