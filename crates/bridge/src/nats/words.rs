//! What machines say of themselves: announcements and heartbeats in buckets, and words between machines of one name.

use async_nats::Subscriber;
use async_nats::jetstream::kv;

use super::connect::inbox_prefix;
use super::{Bucket, Link, NatsError};

impl Link {
    /// Says that this machine is there. `presence` expires, `machines` stays.
    pub async fn announce(&self, envelope: Vec<u8>, stays: bool) -> Result<(), NatsError> {
        let failed = NatsError::request("announce this machine");
        let bucket = if stays { &self.names().machines } else { &self.names().presence };
        // The subject of a bucket's key, without asking for the bucket first each time.
        let subject = format!("$KV.{bucket}.{}", self.machine);
        let stored = self.context().publish(subject, envelope.into()).await.map_err(|why| failed(&why))?;
        stored.await.map_err(|why| failed(&why))?;
        Ok(())
    }

    /// What this machine last announced, if the server still has it.
    pub async fn last_word(&self, stays: bool) -> Result<Option<Vec<u8>>, NatsError> {
        let bucket = if stays { &self.names().machines } else { &self.names().presence };
        let found = Bucket::open(self, bucket).await?.get(self.machine.as_str()).await?;
        Ok(found.and_then(|found| found.value))
    }

    /// Says a word to all who are called as this machine. They alone may hear what the server answers below their inbox prefix; and
    /// what it is asked matters not.
    pub async fn say_to_namesakes(&self, word: &str) -> Result<(), NatsError> {
        let question = format!("$JS.API.STREAM.INFO.{}", self.names().stream);
        let answer = format!("{}.{word}", self.namesakes());
        let said = self.client().publish_with_reply(question, answer, "".into()).await;
        said.map_err(|why| NatsError::request("ask other bridges of this name")(&why))
    }

    /// What all say who are called as this machine: the word ends the subject.
    pub async fn hear_namesakes(&self) -> Result<Subscriber, NatsError> {
        let heard = self.client().subscribe(format!("{}.>", self.namesakes())).await;
        heard.map_err(|why| NatsError::request("hear other bridges of this name")(&why))
    }

    fn namesakes(&self) -> String {
        format!("{}.namesakes", inbox_prefix(&self.realm, &self.machine))
    }

    /// What machines announce, from the last word of each on.
    pub async fn listen(&self, stays: bool) -> Result<kv::Watch, NatsError> {
        let failed = NatsError::request("listen to other machines");
        let bucket = if stays { &self.names().machines } else { &self.names().presence };
        let store = self.context().get_key_value(bucket).await.map_err(|why| failed(&why))?;
        store.watch_with_history(">").await.map_err(|why| failed(&why))
    }
}
