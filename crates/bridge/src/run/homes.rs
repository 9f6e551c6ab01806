//! The bucket of members' homes: what it has goes to the engine's thread, what that one decides goes into the bucket.

use std::time::Duration;

use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;
use tokio::time::MissedTickBehavior;

use super::worker::Input;
use super::{Shared, now};
use crate::nats::{Bucket, Names, NatsError, Set};
use crate::protocol::homes::{Content, MemberKey, Put, Residence};
use crate::residence;

/// The wait before the server is asked again.
const BETWEEN: Duration = Duration::from_secs(2);
/// How often it is asked whether the bucket is another one, if the stream is the same: then it is hardly ever.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// What is new about the bucket.
#[derive(Debug)]
pub enum News {
    /// It was opened, perhaps another one of its name.
    Opened,
    /// An entry: its residence as it was signed, or nothing where it was refused; and its revision.
    Found(MemberKey, Option<(Residence, String)>, u64),
    /// All entries were seen.
    Whole,
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

/// Until the bucket is another one, or other machines are trusted: then all of it is read anew.
async fn follow(shared: &Shared) -> Result<(), NatsError> {
    let mut trust = shared.trust.clone();
    trust.mark_unchanged();
    let mut renewed = shared.renewed.clone();
    renewed.mark_unchanged();
    let bucket = open(shared).await?;
    let mut watch = bucket.watch().await?;
    shared.engine.send(Input::Homes(News::Opened));
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
                if entry.operation == Operation::Put {
                    find(shared, &entry.key, &entry.value, entry.revision);
                }
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

/// Hands an entry over. What is refused is counted.
fn find(shared: &Shared, entry: &str, value: &[u8], revision: u64) {
    let Some(member) = residence::member_of(entry) else { return };
    let plan = &shared.plan;
    let residence = residence::read(value, &member, &plan.me, &plan.key, &shared.trust.borrow());
    let residence = residence.map_err(|refusal| {
        shared.engine.send(Input::Refused(refusal.kind(), format!("home of {}", member.name)));
    });
    shared.engine.send(Input::Homes(News::Found(member, residence.ok(), revision)));
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
            Content::New { epoch, former } => {
                residence::sign(&plan.me, &plan.key, &member, (epoch, &former), now())
            }
        };
        let entry = residence::entry_of(&member);
        let found = match bucket.set(&entry, value.clone(), revision).await? {
            Set::Done(revision) => Some((value, revision)),
            Set::Lost => bucket.get(&entry).await?.map(|found| (found.value, found.revision)),
        };
        if let Some((value, revision)) = found {
            find(shared, &entry, &value, revision);
        }
    }
    Ok(())
}
