//! What other machines say of themselves.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_nats::jetstream::kv::{Entry, Operation};
use atm_wire::Stamp;
use ed25519_dalek::VerifyingKey;
use futures_util::StreamExt;

use super::Shared;
use super::worker::{Input, Word};
use crate::envelope::{Body, codec};
use crate::name::Machine;
use crate::nats::NatsError;

/// The wait before the server is asked again.
const BETWEEN: Duration = Duration::from_secs(1);

/// Members of one machine: more than a message of the usual size can name.
const MOST_MEMBERS: usize = 20_000;

/// When this machine last spoke. Others believe nothing older than what they have heard, so a machine whose clock was set
/// back goes on from its own last word, which the server has.
#[derive(Debug, Default)]
pub(crate) struct LastWord(AtomicI64);

impl LastWord {
    /// The time of the next word: now, or just after the last one.
    pub(crate) fn next(&self, now: Stamp) -> Stamp {
        let next = |last: i64| now.as_millis().max(last.saturating_add(1));
        let last = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        Stamp::from_millis(next(last.unwrap_or_else(|last| last)))
    }

    fn note(&self, at: Stamp) {
        self.0.fetch_max(at.as_millis(), Ordering::Relaxed);
    }
}

/// This machine's own key, for its own words.
struct Own<'a>(&'a Machine, VerifyingKey);

impl codec::Keys for Own<'_> {
    fn key_of(&self, machine: &Machine) -> Option<VerifyingKey> {
        (machine == self.0).then_some(self.1)
    }
}

/// Finds out when this machine last spoke, before it speaks.
pub(super) async fn recall_last_word(shared: &Shared) -> Result<(), NatsError> {
    let me = &shared.plan.me;
    let own = Own(&me.machine, shared.plan.key.verifying_key());
    for stays in [true, false] {
        let word = shared.link.last_word(stays).await?;
        let checked = word.and_then(|word| codec::check(&word, &own, &me.realm, &me.machine).ok());
        if let Some(checked) = checked {
            shared.last_word.note(checked.header.at);
        }
    }
    Ok(())
}

/// Listens to announcements that stay, or to heartbeats, which expire. From the start, whenever the server may have lost
/// them (the numbers of a bucket that was made anew are lower, and nothing would be heard until they have caught up), and
/// whenever trust has changed: the last word of a machine may have been refused.
pub(super) async fn listen(shared: Shared, stays: bool) {
    shared.wait_for_stream().await;
    loop {
        if let Err(error) = follow(&shared, stays).await {
            shared.report(&error);
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

async fn follow(shared: &Shared, stays: bool) -> Result<(), NatsError> {
    let (mut trust, mut renewed) = (shared.trust.clone(), shared.renewed.clone());
    trust.mark_unchanged();
    renewed.mark_unchanged();
    let mut watch = shared.link.listen(stays).await?;
    loop {
        let entry = tokio::select! {
            entry = watch.next() => entry,
            Ok(()) = trust.changed() => None,
            Ok(()) = renewed.changed() => None,
        };
        let Some(entry) = entry else { return Ok(()) };
        let entry = entry.map_err(|why| NatsError::request("listen to other machines")(&why))?;
        if entry.operation == Operation::Put {
            hear(shared, &entry, stays);
        }
        if stays && entry.delta == 0 {
            shared.engine.send(Input::HeardAll);
        }
    }
}

fn hear(shared: &Shared, entry: &Entry, stays: bool) {
    let me = &shared.plan.me;
    if entry.key == me.machine.as_str() {
        return;
    }
    let checked = codec::check(&entry.value, &*shared.trust.borrow(), &me.realm, &me.machine);
    let envelope = checked.and_then(|checked| checked.open(&shared.plan.key));
    let envelope = match envelope {
        Ok(envelope) if envelope.header.from.as_str() == entry.key => envelope,
        Ok(_) => return shared.engine.send(Input::Refused("foreign-sender", entry.key.clone())),
        Err(refusal) => return shared.engine.send(Input::Refused(refusal.kind(), entry.key.clone())),
    };
    let Body::Presence(presence) = envelope.body else { return };
    // Each has an entry, an inbox and a look every few seconds on every machine.
    if presence.teams.iter().map(|team| team.members.len()).sum::<usize>() > MOST_MEMBERS {
        return shared.engine.send(Input::Refused("too-many", entry.key.clone()));
    }
    let header = envelope.header;
    let word = Word { from: header.from, epoch: header.epoch, at: header.at, presence, is_live: !stays };
    shared.engine.send(Input::Heard(Box::new(word)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_never_older_than_the_last_one() {
        let (last, at) = (LastWord::default(), Stamp::from_millis);
        assert_eq!(last.next(at(100)), at(100));
        assert_eq!(last.next(at(100)), at(101));
        assert_eq!(last.next(at(50)), at(102));
        last.note(at(1_000));
        last.note(at(10));
        assert_eq!(last.next(at(103)), at(1_001));
        assert_eq!(last.next(at(2_000)), at(2_000));
    }
}
