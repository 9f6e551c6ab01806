//! What arrives: letters are offered to the ledger in batches, and answered.

use std::collections::BTreeSet;

use atm_wire::Stamp;

use super::{Engine, Post};
use crate::envelope::{Absence, Applied, Body, Envelope, Failure, Header};
use crate::local::{Confirmed, Letter, Local, LocalError, Receipt, TakenIn};
use crate::name::Machine;
use crate::protocol::intake::{Arrival, Decision};
use crate::protocol::outbox::Lane;

/// Receipts in one confirmation.
const MOST_RECEIPTS: usize = 256;

/// Receipts or failures in an envelope of another machine: more than any bridge sends.
const MOST_TOGETHER: usize = 4_096;
/// Bytes in a team's or member's name, or in an id: more than any can have.
const LONGEST_NAME: usize = 1_024;

/// What the sender of a letter is told whose number was passed, and which the ledger does not know.
const REPLAYED: &str = "its number was passed before and the letter is not known there: it was refused, or that machine lost its log";

/// What became of an envelope that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is dealt with: the server may forget that it is ours.
    Done,
    /// The ledger could not be written: offer it again after a while.
    Again(String),
    /// It can never be taken in.
    Dead(String),
    /// It was refused, for this reason.
    Refused(&'static str),
}

/// Letters of one machine that are offered to the ledger together.
#[derive(Default)]
struct Run {
    /// Each with its place in the batch (none: it was held) and the number that was passed before it.
    arrivals: Vec<(Option<usize>, Arrival, u64)>,
}

impl<L: Local> Engine<L> {
    /// Deals with envelopes in the order in which they arrived: a verdict for each, and what to publish in answer.
    pub fn receive(&mut self, envelopes: Vec<Envelope>, now: Stamp) -> (Vec<Verdict>, Vec<Post>) {
        let mut verdicts = vec![Verdict::Done; envelopes.len()];
        let (mut posts, mut run) = (Vec::new(), Run::default());
        for (place, Envelope { header, body }) in envelopes.into_iter().enumerate() {
            let from = header.from.clone();
            if body.count() > MOST_TOGETHER {
                self.tally.refuse("too-many", from.as_str());
                verdicts[place] = Verdict::Refused("too-many");
                continue;
            }
            if body.is_answer() {
                self.outbox.note_answer(&from);
            }
            match body {
                Body::Letter(letter) if letter.longest_name() > LONGEST_NAME => {
                    // What names it is not sent back.
                    self.tally.refuse("endless-name", from.as_str());
                    posts.push(self.failure(
                        &from,
                        &header.epoch,
                        header.n,
                        "",
                        "a name in it has no end",
                        now,
                    ));
                    verdicts[place] = Verdict::Refused("endless-name");
                }
                Body::Letter(letter) => {
                    let Header { epoch, n, attempt, .. } = header;
                    let arrival = Arrival { from, epoch, n, attempt, letter };
                    if run.arrivals.first().is_some_and(|(_, first, _)| first.from != arrival.from) {
                        self.offer(&mut run, &mut verdicts, &mut posts, now);
                    }
                    self.arrive(place, arrival, &mut run, &mut verdicts, &mut posts, now);
                }
                Body::Confirm(receipts) => {
                    verdicts[place] = self.confirm((&from, &header.epoch), &receipts, now);
                }
                Body::Receipts(batch) => {
                    verdicts[place] = self.confirm((&from, &header.epoch), &batch.receipts, now);
                    if verdicts[place] == Verdict::Done {
                        let unshared = self.unshared(&batch.receipts);
                        let body = Body::Applied(Applied { upto: batch.upto, unshared });
                        posts.push(self.answer(&from, body, now));
                    }
                }
                Body::Applied(applied) => {
                    if let Some(feed) = self.feeds.get_mut(&from) {
                        feed.applied(&applied.upto, &applied.unshared);
                        self.has_receipts = true;
                    }
                }
                Body::Failed(failures) => verdicts[place] = self.fail(&from, &failures),
                Body::Absent(absences) => self.note_absent(&from, &absences, now),
                Body::Presence(presence) => self.heard_from(&from, presence.passed, now),
                // These stand in buckets, and are for nobody else.
                Body::Home(_) | Body::Task(_) | Body::Numbers(_) => {
                    verdicts[place] = Verdict::Refused("foreign-place");
                }
            }
        }
        self.offer(&mut run, &mut verdicts, &mut posts, now);
        (verdicts, posts)
    }

    /// Takes a letter in that was dead here, because its recipient's people asked for it: its number may be passed long
    /// since, and it is no replay. The ledger knows it from then on, so that it is taken in once.
    pub fn receive_again(&mut self, envelope: Envelope, now: Stamp) -> (Verdict, Vec<Post>) {
        let Header { from, epoch, n, .. } = envelope.header;
        let (Body::Letter(letter), mut posts) = (envelope.body, Vec::new()) else {
            return (Verdict::Done, Vec::new());
        };
        let verdict = match self.local.take_in(&from, std::slice::from_ref(&letter)).pop() {
            Some(Ok(TakenIn::Recorded(receipts))) => {
                self.tally.rescued += 1;
                self.confirm_to(&from, receipts, &mut posts, now);
                Verdict::Done
            }
            Some(Ok(TakenIn::Refused(receipt))) => {
                self.tally.refused_letters += 1;
                self.confirm_to(&from, vec![receipt], &mut posts, now);
                Verdict::Done
            }
            // It has failed for its sender, which does not look for its recipient any more.
            Some(Ok(TakenIn::NotHome)) | None => {
                Verdict::Dead("its recipient is not at home here".to_owned())
            }
            Some(Err(LocalError::Poison(why))) => {
                posts.push(self.failure(&from, &epoch, n, &letter.id, &why, now));
                Verdict::Dead(why)
            }
            Some(Err(error)) => verdict_of(error),
        };
        self.has_receipts = true;
        (verdict, posts)
    }

    fn arrive(
        &mut self,
        place: usize,
        arrival: Arrival,
        run: &mut Run,
        verdicts: &mut [Verdict],
        posts: &mut Vec<Post>,
        now: Stamp,
    ) {
        let mut decision = self.intake.decide(&arrival);
        if matches!(decision, Decision::Repeat | Decision::Former) {
            // The ledger may know it from this very batch, or may have refused to take in what it was passed by.
            self.offer(run, verdicts, posts, now);
            decision = self.intake.decide(&arrival);
        }
        match decision {
            Decision::Take => {
                let mut next = Some((Some(place), arrival));
                while let Some((place, arrival)) = next {
                    let before = self.intake.passed(&arrival);
                    next = self.intake.pass(&arrival).map(|held| (None, held));
                    run.arrivals.push((place, arrival, before));
                }
            }
            Decision::Hold => self.tally.held += 1,
            decision @ (Decision::Repeat | Decision::Former) => {
                verdicts[place] = self.repeat(&arrival, decision, posts, now);
            }
        }
    }

    /// A letter whose number was passed: known letters are confirmed again, others are replays.
    fn repeat(
        &mut self,
        arrival: &Arrival,
        decision: Decision,
        posts: &mut Vec<Post>,
        now: Stamp,
    ) -> Verdict {
        match self.local.is_known(&arrival.letter) {
            Ok(true) => {}
            Ok(false) => {
                self.tally.refuse("replayed", arrival.from.as_str());
                // Its sender may still wait: not every refusal is on record here, and a log can be lost. Nobody waits for
                // a letter of a former epoch.
                if decision == Decision::Repeat {
                    posts.push(self.failure_of(arrival, REPLAYED, now));
                }
                return Verdict::Refused("replayed");
            }
            Err(error) => return verdict_of(error),
        }
        let letters = std::slice::from_ref(&arrival.letter);
        match self.local.take_in(&arrival.from, letters).pop() {
            Some(Ok(TakenIn::Recorded(receipts))) => {
                self.tally.repeated += 1;
                self.confirm_to(&arrival.from, receipts, posts, now);
                Verdict::Done
            }
            Some(Ok(TakenIn::Refused(receipt))) => {
                self.confirm_to(&arrival.from, vec![receipt], posts, now);
                Verdict::Done
            }
            Some(Ok(TakenIn::NotHome)) | None => {
                // Nobody waits for a letter of a former epoch.
                if decision == Decision::Repeat {
                    posts.push(self.answer(&arrival.from, Body::Absent(vec![absence_of(arrival)]), now));
                }
                Verdict::Done
            }
            // Its sender has not heard of it yet.
            Some(Err(LocalError::Poison(why))) => {
                posts.push(self.failure_of(arrival, &why, now));
                Verdict::Done
            }
            Some(Err(error)) => verdict_of(error),
        }
    }

    /// Offers a run of letters to the ledger.
    fn offer(&mut self, run: &mut Run, verdicts: &mut [Verdict], posts: &mut Vec<Post>, now: Stamp) {
        let arrivals = std::mem::take(&mut run.arrivals);
        let Some(from) = arrivals.first().map(|(_, first, _)| first.from.clone()) else { return };
        let letters: Vec<Letter> = arrivals.iter().map(|(_, arrival, _)| arrival.letter.clone()).collect();
        let answers = self.local.take_in(&from, &letters);
        let (mut receipts, mut absent) = (Vec::new(), Vec::new());
        for ((place, arrival, before), answer) in arrivals.iter().zip(answers) {
            let verdict = match answer {
                Ok(TakenIn::Recorded(own)) => {
                    self.tally.taken_in += 1;
                    receipts.extend(own);
                    Verdict::Done
                }
                Ok(TakenIn::Refused(receipt)) => {
                    self.tally.refused_letters += 1;
                    receipts.push(receipt);
                    Verdict::Done
                }
                Ok(TakenIn::NotHome) => {
                    self.tally.not_home += 1;
                    self.intake.undo_pass(arrival, *before);
                    absent.push(absence_of(arrival));
                    Verdict::Done
                }
                Err(LocalError::Transient(why)) => {
                    self.intake.undo_pass(arrival, *before);
                    Verdict::Again(why)
                }
                // It counts as passed, so that the next letter may come.
                Err(LocalError::Poison(why)) => {
                    posts.push(self.failure_of(arrival, &why, now));
                    Verdict::Dead(why)
                }
            };
            if let Some(place) = place {
                verdicts[*place] = verdict;
            }
        }
        self.has_receipts = true;
        self.confirm_to(&from, receipts, posts, now);
        let parts = absent.chunks(MOST_RECEIPTS);
        posts.extend(parts.map(|part| self.answer(&from, Body::Absent(part.to_vec()), now)));
    }

    /// The recipients of letters are not where these were sent: they wait until something else is known of them.
    fn note_absent(&mut self, from: &Machine, absences: &[Absence], now: Stamp) {
        for absence in absences.iter().filter(|absence| absence.epoch == self.me.epoch) {
            let Absence { id, n, attempt, .. } = absence;
            self.outbox.hold(from, (*n, id, *attempt), now);
        }
    }

    fn confirm_to(&self, from: &Machine, receipts: Vec<Receipt>, posts: &mut Vec<Post>, now: Stamp) {
        let mut receipts = receipts.into_iter().peekable();
        while receipts.peek().is_some() {
            let part: Vec<Receipt> = receipts.by_ref().take(MOST_RECEIPTS).collect();
            posts.push(self.answer(from, Body::Confirm(part), now));
        }
    }

    fn confirm(&mut self, (from, epoch): (&Machine, &str), receipts: &[Receipt], now: Stamp) -> Verdict {
        let confirmed = match self.local.confirm(from, receipts) {
            Ok(confirmed) => confirmed,
            Err(error) => return verdict_of(error),
        };
        self.tally.receipts += receipts.len() as u64;
        for (Receipt { id, team, .. }, confirmed) in receipts.iter().zip(confirmed) {
            let lane = |to| Lane { machine: from.clone(), team: team.clone(), to };
            match confirmed {
                Confirmed::Nothing => {}
                Confirmed::Accepted { to } => self.outbox.accepted(lane(to), id.clone(), epoch, now),
                Confirmed::Written { to } => {
                    if let Some(n) = self.outbox.confirmed(lane(to), id.clone()) {
                        self.tally.confirmed += 1;
                        self.confirmed.push((from.clone(), n));
                    }
                }
            }
        }
        Verdict::Done
    }

    /// The teams of receipts that were passed over, because they are not shared here.
    fn unshared(&mut self, receipts: &[Receipt]) -> BTreeSet<String> {
        let shared = self.local.teams();
        let teams = receipts.iter().map(|receipt| &receipt.team);
        teams.filter(|team| team.len() <= LONGEST_NAME && !shared.contains(*team)).cloned().collect()
    }

    fn failure_of(&mut self, arrival: &Arrival, why: &str, now: Stamp) -> Post {
        let Arrival { from, epoch, n, letter, .. } = arrival;
        self.failure(from, epoch, *n, &letter.id, why, now)
    }

    /// Tells the sender of a letter that it can never be taken in: which one, by its number in an epoch of the sender's log.
    /// Its id is empty where it could not be read.
    pub fn failure(&mut self, to: &Machine, epoch: &str, n: u64, id: &str, why: &str, now: Stamp) -> Post {
        self.tally.dead += 1;
        let failure = Failure { id: id.to_owned(), epoch: epoch.to_owned(), n, why: why.to_owned() };
        self.answer(to, Body::Failed(vec![failure]), now)
    }

    fn fail(&mut self, from: &Machine, failures: &[Failure]) -> Verdict {
        // In another epoch another letter has that number.
        for failure in failures.iter().filter(|failure| failure.epoch == self.me.epoch) {
            // A bridge that has just started may not have read its outbox yet: the ledger knows.
            if let Err(error) = self.local.fail(from, failure) {
                return verdict_of(error);
            }
            self.outbox.failed(from, failure.n);
        }
        Verdict::Done
    }
}

fn absence_of(arrival: &Arrival) -> Absence {
    let Arrival { epoch, n, attempt, letter, .. } = arrival;
    Absence { id: letter.id.clone(), epoch: epoch.clone(), n: *n, attempt: *attempt }
}

fn verdict_of(error: LocalError) -> Verdict {
    match error {
        LocalError::Transient(why) => Verdict::Again(why),
        LocalError::Poison(why) => Verdict::Dead(why),
    }
}
