//! The bucket of members' homes: what it has goes to the engine's thread, what that one decides goes into the bucket.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;
use tokio::time::MissedTickBehavior;

use super::worker::Input;
use super::{Shared, now, steady_now};
use crate::nats::{Bucket, Names, NatsError, Set};
use crate::protocol::StreamView;
use crate::protocol::homes::{Content, MemberKey, Put, Slot};
use crate::residence;

/// The wait before the server is asked again.
const BETWEEN: Duration = Duration::from_secs(2);
/// How often it is asked whether the bucket is another one, if the stream is the same: then it is hardly ever.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The first waits before it is asked again whether anything is left in the stream.
const WAITS: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
];

/// What is new about the bucket.
#[derive(Debug)]
pub enum News {
    /// It was opened, perhaps another one of its name, or because other machines are trusted now.
    Opened(Check),
    /// An entry and its revision.
    Found(MemberKey, Slot, u64),
    /// All entries were seen.
    Whole,
}

type IsValid = dyn Fn(&MemberKey, &str) -> bool + Send;

/// Whether what a machine signed about a member is verified by the keys that are trusted now.
pub struct Check(Box<IsValid>);

impl Check {
    fn new(shared: &Shared) -> Self {
        let (plan, trust) = (Arc::clone(&shared.plan), shared.trust.borrow().clone());
        Self(Box::new(move |member, signed| {
            residence::read(signed.as_bytes(), member, &plan.me, &plan.key, &trust).is_ok()
        }))
    }

    /// Whether it is.
    pub fn is_valid(&self, member: &MemberKey, signed: &str) -> bool {
        (self.0)(member, signed)
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Check")
    }
}

async fn open(shared: &Shared) -> Result<Bucket, NatsError> {
    Bucket::open(&shared.link, &Names::of(&shared.plan.me.realm).homes).await
}

/// Listens to residences.
pub(super) async fn listen(shared: Shared) {
    shared.wait_for_stream().await;
    loop {
        if let Err(error) = follow(&shared).await {
            shared.report(&error);
            // A realm of an earlier version has no such bucket. If this machine may not make it, that is said above.
            let _ = shared.link.init(shared.plan.limits).await;
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// Tells the engine, whenever it asks, when this machine has processed what the stream held for it by then: the bucket and the
/// stream are two, and what was read at a former home may be told by the stream alone.
pub(super) async fn catch_up(shared: Shared) {
    let mut asked = shared.plan.catch_up.clone();
    while asked.changed().await.is_ok() {
        let question = *asked.borrow_and_update();
        let mut waits = WAITS.into_iter().chain(std::iter::repeat(BETWEEN));
        let mut first = None;
        // The server is asked again until it answers: without it, nobody knows.
        while !is_past(&shared, &mut first).await.unwrap_or(false) {
            tokio::time::sleep(waits.next().unwrap_or(BETWEEN)).await;
        }
        shared.engine.send(Input::CaughtUp(question));
    }
}

/// Whether this machine has processed what the stream held for it when that was asked first. What was on its way to a process
/// that died comes again when the server has waited long enough for that one.
async fn is_past(shared: &Shared, first: &mut Option<StreamView>) -> Result<bool, NatsError> {
    let end = end_of(first, shared.link.stream_view(steady_now()).await?);
    Ok(shared.link.lag().await?.is_past(end, shared.passed().postponed.len()))
}

/// The last message of the stream when it was looked at first. One that was made anew or set back since has other messages by
/// these numbers, and perhaps never so many.
fn end_of(first: &mut Option<StreamView>, now: StreamView) -> u64 {
    match first {
        Some(first) if first.stream == now.stream && first.last <= now.last => first.last,
        first => first.insert(now).last,
    }
}

/// Until the bucket is another one, or other machines are trusted: then all of it is read anew.
async fn follow(shared: &Shared) -> Result<(), NatsError> {
    let mut trust = shared.trust.clone();
    trust.mark_unchanged();
    let mut renewed = shared.renewed.clone();
    renewed.mark_unchanged();
    let bucket = open(shared).await?;
    let mut watch = bucket.watch().await?;
    shared.engine.send(Input::Homes(News::Opened(Check::new(shared))));
    if bucket.is_empty() {
        shared.engine.send(Input::Homes(News::Whole));
    }
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            entry = watch.next() => {
                let Some(entry) = entry else { return Ok(()) };
                let entry = entry.map_err(|why| NatsError::request("listen to homes")(&why))?;
                let value = (entry.operation == Operation::Put).then_some(&entry.value[..]);
                find(shared, &entry.key, value, entry.revision);
                if entry.delta == 0 {
                    shared.engine.send(Input::Homes(News::Whole));
                }
            }
            changed = trust.changed() => if changed.is_ok() { return Ok(()) },
            _ = renewed.changed() => return Ok(()),
            _ = look.tick() => if open(shared).await?.identity() != bucket.identity() { return Ok(()) },
        }
    }
}

/// Hands an entry over, or that it was deleted. What is refused is counted.
fn find(shared: &Shared, entry: &str, value: Option<&[u8]>, revision: u64) {
    let Some(member) = residence::member_of(entry) else { return };
    let plan = &shared.plan;
    let (slot, refusal) = match value {
        Some(value) => residence::look_at(value, &member, &plan.me, &plan.key, &shared.trust.borrow()),
        None => (Slot::Deleted, None),
    };
    if let Some(refusal) = refusal {
        shared.engine.send(Input::Refused(refusal.kind(), format!("home of {}", member.name)));
    }
    shared.engine.send(Input::Homes(News::Found(member, slot, revision)));
}

/// Puts residences into the bucket, each if nobody was faster. Who was is heard of at once.
pub(super) async fn put(shared: Shared, puts: Vec<Put>) {
    if let Err(error) = put_all(&shared, puts).await {
        shared.engine.send(Input::Trouble(error.to_string()));
    }
}

async fn put_all(shared: &Shared, puts: Vec<Put>) -> Result<(), NatsError> {
    let (bucket, plan) = (open(shared).await?, &shared.plan);
    for Put { key: member, what, revision } in puts {
        let value = match what {
            Content::Again(signed) => signed.into_bytes(),
            Content::New { epoch, resident, former, after } => {
                let at =
                    after.map_or_else(now, |after| now().max(after.saturating_add(Duration::from_millis(1))));
                residence::sign(&plan.me, &plan.key, &member, (epoch, resident, &former), at)
            }
        };
        let entry = residence::entry_of(&member);
        let found = match bucket.set(&entry, value.clone(), revision).await? {
            Set::Done(revision) => Some((Some(value), revision)),
            Set::Lost => bucket.standing(&entry).await?.map(|found| (found.value, found.revision)),
        };
        if let Some((value, revision)) = found {
            find(shared, &entry, value.as_deref(), revision);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its mail waited until the new stream had as many messages as the lost one, while others came all the time.
    #[test]
    fn nobody_waits_for_messages_of_a_stream_that_is_gone() {
        let view = |stream: &str, last| StreamView { stream: stream.into(), first: 1, last, at: now() };
        let mut first = None;
        assert_eq!(end_of(&mut first, view("s", 900)), 900);
        assert_eq!(end_of(&mut first, view("s", 950)), 900, "what came later is not waited for");
        assert_eq!(end_of(&mut first, view("s", 700)), 700, "it was set back");
        assert_eq!(end_of(&mut first, view("t", 4)), 4, "it was made anew");
        assert_eq!(end_of(&mut first, view("t", 2_000)), 4);
    }
}
