//! What other machines say of themselves.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::kv::{Entry, Operation};
use atm_store::StoreError;
use atm_store::files::{read_small, replace_own};
use atm_wire::Stamp;
use ed25519_dalek::VerifyingKey;
use futures_util::StreamExt;

use super::namesake::Whose;
use super::worker::{Input, Word};
use super::{Shared, ask};
use crate::envelope::{Body, codec};
use crate::files::Files;
use crate::name::Machine;
use crate::nats::NatsError;

/// The wait before the server is asked again.
pub(super) const BETWEEN: Duration = Duration::from_secs(1);

/// Members of one machine: more than a message of the usual size can name.
const MOST_MEMBERS: usize = 20_000;

/// How often the time of the last word is written down.
const WRITE_EVERY: Duration = Duration::from_secs(60);
/// A word so much older than what was heard before is no repetition: its machine's clock was ahead, and others do not hear it.
const OUTDATED: Duration = Duration::from_secs(60);
/// Nobody is believed for so long that its clock was right, and that all that it says until then is old.
const MOST_AHEAD: Duration = Duration::from_secs(24 * 3600);

/// When this machine last spoke. Others believe nothing older than what they have heard, so a machine whose clock was set
/// back goes on from its own last word, which the server has, and this machine's own file if the server has lost its disk.
#[derive(Debug, Default)]
pub(crate) struct LastWord {
    last: AtomicI64,
    /// What stands in the file.
    written: AtomicI64,
}

impl LastWord {
    /// As the file has it. Every word before a restart was less than [`WRITE_EVERY`] later than what it says.
    pub(crate) fn load(files: &Files, now: Stamp) -> Self {
        let file = read_small(&files.last_word(), 100).ok().flatten();
        let text = file.and_then(|file| String::from_utf8(file.bytes).ok()).unwrap_or_default();
        Self::remembering(text.trim().parse().unwrap_or(0), now)
    }

    fn remembering(written: i64, now: Stamp) -> Self {
        let last = Stamp::from_millis(written).saturating_add(WRITE_EVERY);
        // With a clock that is right there is nothing to go on from.
        let last = if written > now.as_millis() { last.as_millis() } else { 0 };
        Self { last: AtomicI64::new(last), written: AtomicI64::new(written) }
    }

    /// Writes down that a word is said at a time, if the file does not cover that.
    pub(crate) fn write(&self, at: Stamp, files: &Files) -> Result<(), StoreError> {
        if self.is_covered(at) {
            return Ok(());
        }
        replace_own(&files.last_word(), &at.as_millis().to_string())?;
        self.written.store(at.as_millis(), Ordering::Relaxed);
        Ok(())
    }

    fn is_covered(&self, at: Stamp) -> bool {
        let written = Stamp::from_millis(self.written.load(Ordering::Relaxed));
        at < written.saturating_add(WRITE_EVERY)
    }

    /// The time of the next word: now, or just after the last one.
    pub(crate) fn next(&self, now: Stamp) -> Stamp {
        let next = |last: i64| now.as_millis().max(last.saturating_add(1));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        Stamp::from_millis(next(last.unwrap_or_else(|last| last)))
    }

    fn note(&self, at: Stamp) {
        self.last.fetch_max(at.as_millis(), Ordering::Relaxed);
    }
}

/// Whether a word that is not believed is so old that its machine is not heard any more, and people should know.
pub(super) fn is_outdated(at: Stamp, said_at: Option<Stamp>) -> bool {
    said_at.is_some_and(|said| said.since(at) > OUTDATED)
}

/// What is remembered, across restarts, of when a machine last spoke: nothing, if its clock was far ahead of this one's.
pub(super) fn said_at_to_remember(said_at: Option<Stamp>, now: Stamp) -> Option<Stamp> {
    said_at.filter(|said| said.since(now) <= MOST_AHEAD)
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
            hear(shared, &entry, stays).await;
        }
        if stays && entry.delta == 0 {
            shared.engine.send(Input::HeardAll);
        }
    }
}

async fn hear(shared: &Shared, entry: &Entry, stays: bool) {
    let me = &shared.plan.me;
    if entry.key == me.machine.as_str() {
        let said_at = || {
            let own = Own(&me.machine, shared.plan.key.verifying_key());
            let checked = codec::check(&entry.value, &own, &me.realm, &me.machine);
            checked.ok().map(|checked| checked.header.at)
        };
        let whose = shared.namesakes().hear(&entry.value, said_at, stays, Instant::now());
        match whose {
            Whose::Ours => {}
            Whose::Copy => shared.engine.send(Input::Namesake),
            Whose::Unknown => ask::ask(shared).await,
        }
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

    /// Its clock was ahead, the server lost its disk, and the bridge was started again: nobody heard it for years.
    #[test]
    fn a_machine_whose_clock_was_ahead_goes_on_from_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let (files, at) = (Files::of(folder.path()), Stamp::from_millis);
        let (ahead, now) = (at(4_000_000_000_000), at(1_800_000_000_000));
        let last = LastWord::load(&files, ahead);
        let first = last.next(ahead);
        last.write(first, &files).unwrap();
        // The clock is right again; many words later the bridge is started anew.
        let later = (0..1_000).map(|_| last.next(now)).last().unwrap();
        last.write(later, &files).unwrap();
        assert!(LastWord::load(&files, now).next(now) > later);
    }

    #[test]
    fn with_a_clock_that_is_right_a_restart_changes_nothing_and_the_file_is_written_once_a_minute() {
        let at = Stamp::from_millis;
        let last = LastWord::remembering(100_000, at(100_001));
        assert_eq!(last.next(at(100_001)), at(100_001));
        assert!(last.is_covered(at(159_999)) && !last.is_covered(at(160_000)));
    }

    #[test]
    fn what_was_said_far_ahead_is_forgotten_with_a_restart_and_what_is_old_then_is_counted() {
        let at = |days: i64| Stamp::from_millis(1_800_000_000_000 + days * 24 * 3600 * 1000);
        assert_eq!(said_at_to_remember(Some(at(9)), at(0)), None);
        assert_eq!(said_at_to_remember(Some(at(1)), at(0)), Some(at(1)));
        assert_eq!(said_at_to_remember(Some(at(-9)), at(0)), Some(at(-9)));
        assert!(is_outdated(at(0), Some(at(9))));
        assert!(!is_outdated(at(9), Some(at(9))), "the same word, heard again");
    }
}
