//! What arrives: checked, opened, offered to the engine, and acknowledged when the ledger has it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use super::Shared;
use super::worker::Input;
use crate::engine::Verdict;
use crate::envelope::{Envelope, Refusal, codec};
use crate::nats::{Arrived, Brought, Link, NatsError};
use crate::{subject, wanted};

/// Envelopes that are in memory at once, in bytes: those from the object store can be large, and many come together.
const MOST_BYTES: usize = 16 << 20;
/// A repetition of a letter whose sender knows that it is here: nothing is refused.
const CONFIRMED: &str = "confirmed";
/// The longest wait before the server is asked again.
const MOST_BETWEEN: Duration = Duration::from_secs(5);

/// Until `stop` says so. What has arrived by then is dealt with: what is not acknowledged comes again a minute later.
pub(super) async fn run(shared: Shared, mut stop: watch::Receiver<bool>) {
    shared.wait_for_stream().await;
    let mut wait = Duration::from_millis(100);
    while !*stop.borrow() {
        if shared.namesakes().is_there(Instant::now()) {
            tokio::time::sleep(MOST_BETWEEN).await;
            continue;
        }
        if let Err(error) = take(&shared, &mut wait, &mut stop).await
            // Its consumer may be gone with a disk, or was never made: that is no trouble for a machine that may make it.
            && shared.link.init(shared.plan.limits).await.is_err()
        {
            shared.report(&error);
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(MOST_BETWEEN);
    }
}

/// Takes messages until the server ends it, or `stop` says so.
async fn take(
    shared: &Shared,
    wait: &mut Duration,
    stop: &mut watch::Receiver<bool>,
) -> Result<(), NatsError> {
    let (mut messages, passed) = shared.link.fetch().await?;
    shared.change_passed(|known| {
        known.last = passed;
        known.postponed.clear();
    });
    loop {
        let batch = tokio::select! {
            batch = messages.next() => Some(batch?),
            _ = stop.wait_for(|stops| *stops) => None,
        };
        let Some(batch) = batch else {
            messages.give_back().await;
            return Ok(());
        };
        let Some(last) = batch.last() else { return Ok(()) };
        if shared.namesakes().is_there(Instant::now()) {
            // It may be the other one's. What is not acknowledged comes again.
            return Ok(());
        }
        *wait = Duration::from_millis(100);
        shared.engine.send(Input::Lag(last.pending));
        shared.engine.send(Input::Age(last.age));
        deal_with(shared, batch).await;
    }
}

async fn deal_with(shared: &Shared, batch: Vec<Arrived>) {
    let (mut envelopes, mut own, mut size) = (Vec::new(), Vec::new(), 0);
    let wanted = wanted::list(&shared.plan.files);
    for arrived in batch {
        match open(shared, &arrived, &wanted).await {
            Ok((envelope, bytes)) if is_wanted(&wanted, &bytes) => {
                let (answer, verdict) = oneshot::channel();
                shared.engine.send(Input::Wanted(Box::new(envelope), answer));
                let Ok(verdict) = verdict.await else { return };
                if !matches!(verdict, Verdict::Again(_)) {
                    // One that stays is answered as known, if its envelope ever comes again.
                    let _ = wanted::remove(&shared.plan.files, &bytes);
                }
                carry_out(shared, &arrived, verdict).await;
            }
            Ok((envelope, bytes)) => {
                size += bytes.len();
                envelopes.push(envelope);
                own.push(arrived);
                if size >= MOST_BYTES {
                    offer(shared, std::mem::take(&mut envelopes), std::mem::take(&mut own)).await;
                    size = 0;
                }
            }
            Err(Some(CONFIRMED)) => settle(shared, &arrived, true).await,
            Err(Some(why)) => {
                let from = subject::sender(arrived.subject()).map(|machine| machine.to_string());
                shared.engine.send(Input::Refused(why, from.unwrap_or_else(|| "unknown".to_owned())));
                settle(shared, &arrived, true).await;
            }
            Err(None) => settle(shared, &arrived, false).await,
        }
    }
    offer(shared, envelopes, own).await;
}

/// Offers envelopes to the engine, and settles the messages that they came in.
async fn offer(shared: &Shared, envelopes: Vec<Envelope>, own: Vec<Arrived>) {
    if envelopes.is_empty() {
        return;
    }
    let (answer, verdicts) = oneshot::channel();
    shared.engine.send(Input::Arrived(envelopes, answer));
    // Without an answer the process ends, and the messages come again.
    let Ok(verdicts) = verdicts.await else { return };
    for (arrived, verdict) in own.iter().zip(verdicts) {
        carry_out(shared, arrived, verdict).await;
    }
}

async fn carry_out(shared: &Shared, arrived: &Arrived, verdict: Verdict) {
    match verdict {
        Verdict::Done | Verdict::Refused(_) => settle(shared, arrived, true).await,
        Verdict::Again(why) => {
            shared.engine.send(Input::Trouble(why));
            // Until it is dealt with, nobody knows that this machine has processed what is behind it, and what is lost
            // there is not sent again. After a while it is left to its own sender.
            settle(shared, arrived, arrived.is_hopeless()).await;
        }
        Verdict::Dead(why) => {
            let is_kept = shared.link.bury(arrived, &why).await.is_ok();
            settle(shared, arrived, is_kept || arrived.is_hopeless()).await;
        }
    }
}

/// Whether it is a dead letter that people here asked for.
fn is_wanted(wanted: &BTreeSet<String>, envelope: &[u8]) -> bool {
    !wanted.is_empty() && wanted.contains(&wanted::digest(envelope))
}

/// Whether this machine published it itself: a dead letter that is to be taken in.
fn is_own(shared: &Shared, arrived: &Arrived) -> bool {
    subject::sender(arrived.subject()).as_ref() == Some(&shared.plan.me.machine)
}

fn is_trusted(shared: &Shared, arrived: &Arrived) -> bool {
    let sender = subject::sender(arrived.subject());
    sender.is_some_and(|sender| shared.trust.borrow().machines().contains_key(&sender))
}

/// Acknowledges a message, or has it come again later.
async fn settle(shared: &Shared, arrived: &Arrived, is_done: bool) {
    shared.change_passed(|passed| {
        passed.last = passed.last.max(arrived.seq);
        if is_done {
            passed.postponed.remove(&arrived.seq);
        } else {
            passed.postponed.insert(arrived.seq);
        }
    });
    if is_done {
        arrived.acknowledge().await;
    } else {
        arrived.postpone().await;
    }
}

/// The envelope in a message, and its bytes; or why it is refused; or nothing, if it cannot be read now.
async fn open(
    shared: &Shared,
    arrived: &Arrived,
    wanted: &BTreeSet<String>,
) -> Result<(Envelope, Vec<u8>), Option<&'static str>> {
    // Nobody who is not trusted makes this machine fetch anything.
    if Link::is_object(arrived) && !is_trusted(shared, arrived) && !is_own(shared, arrived) {
        return Err(Some("untrusted"));
    }
    let bytes = match shared.link.envelope_in(arrived).await {
        Ok(Brought::Envelope(bytes)) => bytes,
        Ok(Brought::Deleted) => return Err(Some(CONFIRMED)),
        // Who signed it cannot be said without all of it, so nobody is answered: its sender's bridge publishes none.
        Ok(Brought::TooLarge) => return Err(Some(Refusal::TooLarge(codec::LARGEST).kind())),
        Err(error) => {
            shared.report(&error);
            // An object that is gone for good: its sender publishes it again, under another name.
            return Err(arrived.is_hopeless().then_some("no-object"));
        }
    };
    let me = &shared.plan.me;
    let checked = codec::check(&bytes, &*shared.trust.borrow(), &me.realm, &me.machine);
    let checked = checked.map_err(|refusal| Some(refusal.kind()))?;
    let header = checked.header.clone();
    // The server lets each machine publish under its own name alone: what comes under another one is not from it, but for
    // what this machine sends itself.
    let is_from_sender = subject::sender(arrived.subject()).as_ref() == Some(&header.from);
    let is_again = || is_own(shared, arrived) && is_wanted(wanted, &bytes);
    if header.to.is_none() || !is_from_sender && !is_again() {
        let (signer, claimed) = (header.from.to_string(), arrived.subject().to_owned());
        return Err(Some(Refusal::ForeignSender { signer, claimed }.kind()));
    }
    let opened = checked.open_by(&mut shared.opener(), &shared.plan.key);
    match opened {
        Ok(envelope) => Ok((envelope, bytes)),
        Err(Refusal::Unreadable { place, why }) => {
            // One that leaves no room for the reason cannot be kept: its sender is told all the same, under a seal if there is one.
            let said = Refusal::Unreadable { place, why: String::new() }.to_string();
            if shared.link.bury(arrived, &said).await.is_err() && !arrived.is_hopeless() {
                return Err(None);
            }
            if header.n > 0 {
                let (from, epoch, n) = (header.from, header.epoch, header.n);
                shared.engine.send(Input::Poison { from, epoch, n, why });
            }
            Err(Some("unreadable"))
        }
        Err(refusal) => Err(Some(refusal.kind())),
    }
}
