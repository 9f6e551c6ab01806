//! A bucket whose entries are replaced by compare-and-set: of any number of machines that change an entry at once, one does.

use std::error::Error as _;

use async_nats::jetstream;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::kv::{self, Operation, UpdateErrorKind};

use atm_wire::Stamp;

use super::bounds::Part;
use super::places::{self, Places};
use super::{Link, NatsError};

/// A bucket of the realm, as it was opened.
#[derive(Debug, Clone)]
pub struct Bucket {
    store: kv::Store,
}

/// What stands in a place of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What was put there; none if it was deleted.
    pub value: Option<Vec<u8>>,
    /// Which version this is: what [`Bucket::set`] expects to replace.
    pub revision: u64,
    /// When that was, by the server's clock.
    pub created: Stamp,
}

impl Standing {
    /// What the server says of a place.
    pub(crate) fn of(entry: &kv::Entry) -> Self {
        let value = (entry.operation == Operation::Put).then(|| entry.value.to_vec());
        let created = entry.created.unix_timestamp_nanos() / 1_000_000;
        let created = Stamp::from_millis(i64::try_from(created).unwrap_or(i64::MAX));
        Self { value, revision: entry.revision, created }
    }
}

/// What came of replacing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// It is replaced, and got this revision.
    Done(u64),
    /// Another revision was there: nothing is changed.
    Lost,
}

impl Bucket {
    /// Opens a bucket that `init` has made.
    pub async fn open(link: &Link, name: &str) -> Result<Self, NatsError> {
        let store = link.context().get_key_value(name).await;
        let store = store
            .map_err(|why| NatsError::Missing { what: format!("bucket {name}"), why: why.to_string() })?;
        link.see(Part::Bucket, &store.stream.cached_info().config);
        Ok(Self { store })
    }

    /// Tells this bucket from a later one of its name, made after this one was lost.
    pub fn identity(&self) -> String {
        self.store.stream.cached_info().created.unix_timestamp_nanos().to_string()
    }

    /// How many bytes it had when it was opened, and may have; 0: there is no bound.
    pub fn bytes(&self) -> (u64, u64) {
        let info = self.store.stream.cached_info();
        (info.state.bytes, u64::try_from(info.config.max_bytes).unwrap_or(0))
    }

    /// Whether it had no entry when it was opened.
    pub fn is_empty(&self) -> bool {
        self.store.stream.cached_info().state.messages == 0
    }

    /// One entry, if there is one that was not deleted.
    pub async fn get(&self, key: &str) -> Result<Option<Standing>, NatsError> {
        Ok(self.standing(key).await?.filter(|standing| standing.value.is_some()))
    }

    /// What stands in a place. The mark of an entry that was deleted has a revision, too, and no value.
    pub async fn standing(&self, key: &str) -> Result<Option<Standing>, NatsError> {
        let entry = self.store.entry(key).await.map_err(|why| NatsError::request("read a bucket")(&why))?;
        Ok(entry.as_ref().map(Standing::of))
    }

    /// Puts an entry in the place of whatever is there.
    pub async fn put(&self, key: &str, value: Vec<u8>) -> Result<u64, NatsError> {
        let put = self.store.put(key, value.into()).await;
        put.map_err(|why| NatsError::request("put an entry into a bucket")(&why))
    }

    /// Replaces an entry if it still has this revision, and reads it again; 0 makes one that never was there. After an error other
    /// than [`NatsError::Refused`] it is not known whether it was replaced: read it again.
    pub async fn set(&self, key: &str, value: Vec<u8>, revision: u64) -> Result<Set, NatsError> {
        places::set(self, key, value, revision).await
    }

    /// The subject under which an entry is put.
    pub fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.store.name)
    }

    /// The last version of every entry, and each later one as it comes.
    pub async fn watch(&self) -> Result<kv::Watch, NatsError> {
        let watch = self.store.watch_with_history(">").await;
        watch.map_err(|why| NatsError::request("listen to a bucket")(&why))
    }
}

impl Places for Bucket {
    async fn replace(&self, key: &str, value: Vec<u8>, revision: u64) -> Result<Set, NatsError> {
        match self.store.update(key, value.into(), revision).await {
            Ok(revision) => Ok(Set::Done(revision)),
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(Set::Lost),
            Err(error) => {
                let (doing, why) = ("replace an entry of a bucket", error.to_string());
                Err(match refusal(&error) {
                    Some(why) => NatsError::Refused { doing, why },
                    None => NatsError::Request { doing, why },
                })
            }
        }
    }

    async fn standing(&self, key: &str) -> Result<Option<Standing>, NatsError> {
        Self::standing(self, key).await
    }

    fn has_replicas(&self) -> bool {
        self.store.stream.cached_info().config.num_replicas > 1
    }
}

/// Why an entry was certainly not replaced: in the server's words, or because nothing was sent.
fn refusal(error: &kv::UpdateError) -> Option<String> {
    if error.kind() == UpdateErrorKind::InvalidKey {
        return Some(error.to_string());
    }
    let publish = error.source()?.downcast_ref::<PublishError>()?;
    match publish.kind() {
        PublishErrorKind::StreamNotFound | PublishErrorKind::MaxPayloadExceeded => Some(publish.to_string()),
        // Others than the server's own answer are of the way there, or of what cannot be read.
        PublishErrorKind::Other => {
            publish.source()?.downcast_ref::<jetstream::Error>().map(ToString::to_string)
        }
        _ => None,
    }
}
