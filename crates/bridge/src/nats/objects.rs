//! Envelopes that are larger than a message may be: objects, one for each letter, which go when the letter is confirmed.

use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::{ObjectInfo, ObjectMetadata, ObjectStore, PutErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use futures_util::{StreamExt, TryStreamExt};
use tokio::io::AsyncReadExt;

use super::link::{HEADERS, Link, OBJECT, Stored};
use super::{NatsError, setup};
use crate::envelope::codec::LARGEST;

/// Objects are stored in pieces, each of which is a message.
const LARGEST_CHUNK: usize = 128 * 1024;
/// How long to wait for the next piece of an object.
const NEXT_PIECE: std::time::Duration = std::time::Duration::from_secs(5);

/// What a message brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    /// An envelope.
    Envelope(Vec<u8>),
    /// The name of an object that whoever put it has deleted: it is confirmed.
    Deleted,
    /// The name of an object that is larger than an envelope may be.
    TooLarge,
}

impl Link {
    /// Whether an envelope is larger than a message may be.
    pub fn is_large(&self, envelope: &[u8]) -> bool {
        envelope.len() + HEADERS > self.client().max_payload()
    }

    async fn objects(&self) -> Result<ObjectStore, NatsError> {
        let found = self.context().get_object_store(&self.names().objects).await;
        found.map_err(|why| NatsError::request("use the object store")(&why))
    }

    /// Puts an envelope into the object store. What had the name before is left to its age where its pieces may not be deleted.
    pub async fn put_object(&self, name: &str, envelope: &[u8]) -> Result<(), NatsError> {
        let most = self.client().max_payload();
        let chunk_size = (most - HEADERS.min(most / 2)).min(LARGEST_CHUNK);
        let about = ObjectMetadata {
            name: name.to_owned(),
            chunk_size: Some(chunk_size),
            ..ObjectMetadata::default()
        };
        let put = self.objects().await?.put(about, &mut &*envelope).await;
        match put {
            Err(why) if why.kind() != PutErrorKind::PurgeOldChunks => {
                Err(NatsError::request("publish")(&why))
            }
            _ => Ok(()),
        }
    }

    /// Publishes the name of an object, under an id by which the server drops duplicates.
    pub async fn publish_object(
        &self,
        subject: String,
        id: Option<&str>,
        name: &str,
    ) -> Result<Stored, NatsError> {
        self.send(subject, id, PublishMessage::build().header(OBJECT, name)).await
    }

    /// Whether the object store has all of an object. A store that is full drops the oldest pieces first.
    pub async fn has_object(&self, name: &str) -> bool {
        let Ok(store) = self.objects().await else { return false };
        let Ok(info) = store.info(name).await else { return false };
        let Ok(stream) = self.context().get_stream_no_info(self.object_stream()).await else { return false };
        let pieces = self.pieces(&info);
        let counted = match stream.info_with_subjects(&pieces).await {
            Ok(counts) => counts.try_collect::<Vec<(String, usize)>>().await,
            Err(_) => return false,
        };
        let count = counted.ok().and_then(|counts| counts.first().map(|(_, count)| *count));
        !info.deleted && count == Some(info.chunks)
    }

    /// Deletes an object: all that is left of it is the word that it was deleted. Without the right to purge a stream, which
    /// would be one to delete everybody's.
    pub async fn delete_object(&self, name: &str) -> Result<(), NatsError> {
        let failed = NatsError::request("delete an object");
        let info = match self.objects().await?.info(name).await {
            Ok(info) if !info.deleted => info,
            _ => return Ok(()),
        };
        let pieces = self.pieces(&info);
        let gone = ObjectInfo { deleted: true, chunks: 0, size: 0, ..info };
        // Strings and numbers: that cannot fail.
        let word = serde_json::to_vec(&gone).unwrap_or_default();
        let about = format!("$O.{}.M.{}", self.names().objects, URL_SAFE.encode(name));
        for (subject, payload) in [(about, word), (pieces, Vec::new())] {
            // It takes the place of all that the subject has.
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Rollup", "sub");
            let sent = self.context().publish_with_headers(subject, headers, payload.into()).await;
            sent.map_err(|why| failed(&why))?.await.map_err(|why| failed(&why))?;
        }
        Ok(())
    }

    /// The names of all objects that begin so.
    pub async fn object_names(&self, prefix: &str) -> Result<Vec<String>, NatsError> {
        let failed = NatsError::request("list objects");
        let mut found = self.objects().await?.list().await.map_err(|why| failed(&why))?;
        let mut names = Vec::new();
        while let Some(info) = found.next().await {
            let name = info.map_err(|why| failed(&why))?.name;
            if name.starts_with(prefix) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// What an object has, which is not fetched if it says that it is too large.
    pub(super) async fn object(&self, name: &str) -> Result<Brought, NatsError> {
        let failed = NatsError::request("read an object");
        let store = self.objects().await?;
        match store.info(name).await {
            Ok(info) if info.deleted => return Ok(Brought::Deleted),
            Ok(info) if info.size > LARGEST => return Ok(Brought::TooLarge),
            _ => {}
        }
        let object = store.get(name).await.map_err(|why| failed(&why))?;
        let (mut object, mut bytes) = (object.take(LARGEST as u64 + 1), Vec::new());
        loop {
            // The client library waits for ever for a piece that the server has not.
            let read = tokio::time::timeout(NEXT_PIECE, object.read_buf(&mut bytes)).await;
            let count = read.map_err(|_| failed(&"its pieces are missing"))?.map_err(|why| failed(&why))?;
            if count == 0 {
                // What it says of its size is nobody's signed word.
                let is_too_large = bytes.len() > LARGEST;
                return Ok(if is_too_large { Brought::TooLarge } else { Brought::Envelope(bytes) });
            }
        }
    }

    fn object_stream(&self) -> String {
        setup::object_stream(&self.names().objects)
    }

    fn pieces(&self, info: &ObjectInfo) -> String {
        format!("$O.{}.C.{}", self.names().objects, info.nuid)
    }
}
