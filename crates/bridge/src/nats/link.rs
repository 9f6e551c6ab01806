//! One machine's use of the server: publish, take, announce, listen.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::context::{Context, PublishAckFuture};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, AckKind, stream};
use atm_wire::Stamp;
use futures_util::{FutureExt, StreamExt};

use super::bounds::Part;
use super::kept::Kept;
use super::objects::Brought;
use super::{Names, NatsError, doctor, setup};
use crate::name::{Machine, Realm};
use crate::protocol::StreamView;
use crate::protocol::delivery::backoff;
use crate::subject;

/// The header of a message whose envelope is in the object store.
pub(super) const OBJECT: &str = "Atm-Object";
/// The reason and the sender's subject of a dead letter.
const REASON: &str = "Atm-Reason";
const SUBJECT: &str = "Atm-Subject";
/// Room for headers in a message.
pub(super) const HEADERS: usize = 1024;
/// Messages that are taken at a time, and their bytes: the last one may be as large as a message may be.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 8 << 20;

/// The server, for one machine of a realm.
#[derive(Debug, Clone)]
pub struct Link {
    client: Client,
    context: Context,
    names: Names,
    pub(super) realm: Realm,
    pub(super) machine: Machine,
    /// How the realm was kept when it was last seen.
    kept: Kept,
}

/// A publication that the server has not answered yet.
pub type Stored = PublishAckFuture;

/// Messages as they arrive.
pub struct Fetched(pull::Stream);

/// The messages for this machine that are not processed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    undelivered: u64,
    unacknowledged: usize,
    /// All up to this number are processed.
    processed: u64,
}

impl Lag {
    /// How many there are.
    pub fn count(self) -> u64 {
        self.undelivered + self.unacknowledged as u64
    }

    /// Whether none of them is of those up to this number, but for so many that were looked at and come again later.
    pub fn is_past(self, last: u64, postponed: usize) -> bool {
        self.processed >= last || self.undelivered == 0 && self.unacknowledged <= postponed
    }
}

/// A message for this machine.
#[derive(Debug)]
pub struct Arrived {
    message: jetstream::Message,
    /// Its number in the stream.
    pub seq: u64,
    /// How many messages for this machine stand behind it.
    pub pending: u64,
    /// How long ago the server got it, in milliseconds, by this machine's clock.
    pub age: i64,
    delivered: i64,
}

impl Link {
    /// Over this connection.
    pub fn new(client: Client, realm: Realm, machine: Machine) -> Self {
        let context = jetstream::ContextBuilder::new()
            .timeout(Duration::from_secs(5))
            .ack_timeout(Duration::from_secs(5))
            .max_ack_inflight(8_192)
            .build(client.clone());
        let kept = Kept::new(realm.clone());
        Self { client, context, names: Names::of(&realm), realm, machine, kept }
    }

    /// The same with a file that says how the realm was kept when it was last seen.
    #[must_use]
    pub fn remembering(self, limits: PathBuf) -> Self {
        self.kept.remember_in(limits);
        self
    }

    /// The connection.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What the realm has on the server.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// The context of requests.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Whether the server has all that is needed.
    pub fn is_new_enough(&self) -> bool {
        let (major, minor, patch) = doctor::OLDEST;
        self.client.is_server_compatible(major, minor, patch)
    }

    /// Fails for a server that is too old, which would fail later with an error that nobody understands.
    pub fn check_version(&self) -> Result<(), NatsError> {
        if self.is_new_enough() {
            return Ok(());
        }
        Err(NatsError::TooOld { version: self.client.server_info().version })
    }

    /// How the realm is kept, as far as this machine has ever seen it.
    pub fn known_limits(&self) -> Option<setup::Limits> {
        self.kept.limits()
    }

    /// A part of the realm is there, and kept so.
    pub(super) fn see(&self, part: Part, config: &stream::Config) {
        self.kept.see(part, config);
    }

    /// Makes what the realm needs, if it is missing and this machine may.
    ///
    /// What was lost is made as it was, as far as this machine has seen it.
    pub async fn init(&self, limits: setup::Limits) -> Result<Vec<setup::Made>, NatsError> {
        self.check_version()?;
        let limits = self.known_limits().unwrap_or(limits);
        setup::init(&self.context, &self.realm, std::slice::from_ref(&self.machine), limits).await
    }

    /// Publishes an envelope under an id by which the server drops duplicates. One that is larger than a message may be goes
    /// into the object store first, under that name.
    pub async fn publish(
        &self,
        subject: String,
        id: Option<&str>,
        envelope: Vec<u8>,
    ) -> Result<Stored, NatsError> {
        if self.is_large(&envelope) {
            let name = id.map_or_else(|| self.client.new_inbox(), str::to_owned);
            self.put_object(&name, &envelope).await?;
            return self.publish_object(subject, id, &name).await;
        }
        self.send(subject, id, PublishMessage::build().payload(envelope.into())).await
    }

    /// Publishes a message, under an id by which the server drops duplicates.
    pub(super) async fn send(
        &self,
        subject: String,
        id: Option<&str>,
        message: PublishMessage,
    ) -> Result<Stored, NatsError> {
        let message = match id {
            Some(id) => message.message_id(id),
            None => message,
        };
        let sent = self.context.send_publish(subject, message).await;
        sent.map_err(|why| NatsError::request("publish")(&why))
    }

    /// The stream, as it is now.
    pub async fn stream_view(&self, now: Stamp) -> Result<StreamView, NatsError> {
        let missing = |why: &dyn std::fmt::Display| NatsError::Missing {
            what: format!("stream {}", self.names.stream),
            why: why.to_string(),
        };
        let stream = self.context.get_stream(&self.names.stream).await.map_err(|why| missing(&why))?;
        let info = stream.cached_info();
        self.see(Part::Stream, &info.config);
        Ok(StreamView {
            stream: info.created.unix_timestamp_nanos().to_string(),
            first: info.state.first_sequence,
            last: info.state.last_sequence,
            most_bytes: u64::try_from(info.config.max_bytes).ok().filter(|most| *most > 0),
            most_age: Some(info.config.max_age).filter(|most| !most.is_zero()),
            at: now,
        })
    }

    /// This machine's consumer, which was made before.
    async fn consumer(&self) -> Result<PullConsumer, NatsError> {
        let name = Names::consumer(&self.machine);
        let consumer = self.context.get_consumer_from_stream(&name, &self.names.stream).await;
        consumer.map_err(|why| NatsError::Missing { what: format!("consumer {name}"), why: why.to_string() })
    }

    /// What is addressed to this machine, as it arrives; and the number of the last message that it has processed.
    pub async fn fetch(&self) -> Result<(Fetched, u64), NatsError> {
        let failed = NatsError::request("take messages");
        let mut consumer = self.consumer().await?;
        let passed = consumer.info().await.map_err(|why| failed(&why))?.ack_floor.stream_sequence;
        let messages = consumer
            .stream()
            .max_messages_per_batch(BATCH)
            // A message that is larger than what is asked for would never be sent.
            .max_bytes_per_batch(BATCH_BYTES.max(2 * self.client.max_payload()))
            .heartbeat(Duration::from_secs(10))
            .expires(Duration::from_secs(30))
            .messages()
            .await
            .map_err(|why| failed(&why))?;
        Ok((Fetched(messages), passed))
    }

    /// Which messages for this machine are not processed yet.
    pub async fn lag(&self) -> Result<Lag, NatsError> {
        let mut consumer = self.consumer().await?;
        let info = consumer.info().await.map_err(|why| NatsError::request("look at the consumer")(&why))?;
        Ok(Lag {
            undelivered: info.num_pending,
            unacknowledged: info.num_ack_pending,
            processed: info.ack_floor.stream_sequence,
        })
    }

    /// Whether the envelope of a message is in the object store.
    pub fn is_object(arrived: &Arrived) -> bool {
        arrived.message.headers.as_ref().is_some_and(|headers| headers.get(OBJECT).is_some())
    }

    /// The envelope in a message, wherever it is.
    pub async fn envelope_in(&self, arrived: &Arrived) -> Result<Brought, NatsError> {
        let Some(name) = arrived.message.headers.as_ref().and_then(|headers| headers.get(OBJECT)) else {
            return Ok(Brought::Envelope(arrived.message.payload.to_vec()));
        };
        self.object(name.as_str()).await
    }

    /// Puts an envelope that cannot be taken in among the dead letters.
    pub async fn bury(&self, arrived: &Arrived, why: &str) -> Result<(), NatsError> {
        let failed = NatsError::request("keep a dead letter");
        let reason: String = why.chars().filter(|c| !c.is_control()).take(200).collect();
        let mut message = PublishMessage::build()
            .payload(arrived.message.payload.clone())
            .header(REASON, reason.as_str())
            .header(SUBJECT, arrived.message.subject.as_str());
        if let Some(object) = arrived.message.headers.as_ref().and_then(|headers| headers.get(OBJECT)) {
            message = message.header(OBJECT, object.as_str());
        }
        let stored = self.context.send_publish(subject::dead(&self.realm, &self.machine), message).await;
        stored.map_err(|why| failed(&why))?.await.map_err(|why| failed(&why))?;
        Ok(())
    }

    /// Dead letters of this machine from a number on, at most so many.
    ///
    /// They are read through a consumer of their own, whose filter a server can check: asking the stream for a message by its
    /// number would take the right to read what is addressed to others.
    pub async fn dead_letters(&self, from: u64, most: usize) -> Result<Vec<DeadLetter>, NatsError> {
        let failed = NatsError::request("read dead letters");
        let stream = self.context.get_stream_no_info(&self.names.stream).await.map_err(|why| failed(&why))?;
        let config = setup::dead_letters_config(&self.realm, &self.machine, from);
        let name = Names::dead_letters(&self.machine);
        // One that somebody left has another place.
        let _ = stream.delete_consumer(&name).await;
        let consumer = stream.create_consumer(config).await.map_err(|why| failed(&why))?;
        let found = consumer.fetch().max_messages(most).messages().await.map_err(|why| failed(&why))?;
        let found: Vec<Result<jetstream::Message, _>> = found.collect().await;
        let _ = stream.delete_consumer(&name).await;
        let mut letters = Vec::new();
        for message in found {
            letters.extend(self.dead_letter(message.map_err(|why| failed(&why))?).await);
        }
        Ok(letters)
    }

    async fn dead_letter(&self, message: jetstream::Message) -> Option<DeadLetter> {
        let arrived = Arrived::of(message)?;
        let headers = arrived.message.headers.as_ref();
        let header = |name: &str| {
            headers.and_then(|headers| headers.get(name)).map(ToString::to_string).unwrap_or_default()
        };
        let (reason, subject) = (header(REASON), header(SUBJECT));
        // One whose object was dropped, or has lost pieces, keeps no other one from being listed.
        let envelope = match self.envelope_in(&arrived).await {
            Ok(Brought::Envelope(envelope)) => Some(envelope),
            Ok(Brought::Deleted | Brought::TooLarge) | Err(_) => None,
        };
        Some(DeadLetter { seq: arrived.seq, reason, subject, envelope })
    }
}

/// An envelope that could not be taken in.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// Its number in the stream.
    pub seq: u64,
    /// Why it could not be taken in.
    pub reason: String,
    /// The subject under which it came.
    pub subject: String,
    /// The envelope, if it is there and can be read.
    pub envelope: Option<Vec<u8>>,
}

impl Fetched {
    /// What has arrived: at least one message, and those that came with it. Nothing at the end.
    pub async fn next(&mut self) -> Result<Vec<Arrived>, NatsError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut next = self.0.next().await;
        loop {
            match next {
                Some(Ok(message)) => {
                    bytes += message.payload.len();
                    batch.extend(Arrived::of(message));
                }
                // What came before it is dealt with first; the error comes again.
                Some(Err(_)) if !batch.is_empty() => return Ok(batch),
                Some(Err(error)) => return Err(NatsError::request("take messages")(&error)),
                None => return Ok(batch),
            }
            if batch.len() >= BATCH || bytes >= BATCH_BYTES {
                return Ok(batch);
            }
            match self.0.next().now_or_never() {
                Some(more) => next = more,
                None => return Ok(batch),
            }
        }
    }

    /// Gives back what has arrived and was not looked at: it comes to the next bridge at once, and not when the server has waited long
    /// enough for this one.
    pub async fn give_back(&mut self) {
        while let Some(Some(Ok(message))) = self.0.next().now_or_never() {
            let _ = message.ack_with(AckKind::Nak(None)).await;
        }
    }
}

impl Arrived {
    fn of(message: jetstream::Message) -> Option<Self> {
        let info = message.info().ok()?;
        let (seq, pending, published) = (info.stream_sequence, info.pending, info.published);
        let published = i64::try_from(published.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX);
        let delivered = info.delivered;
        Some(Self { seq, pending, age: now_millis() - published, delivered, message })
    }

    /// The subject under which it was published.
    pub fn subject(&self) -> &str {
        self.message.subject.as_str()
    }

    /// It is dealt with.
    pub async fn acknowledge(&self) {
        // If that does not reach the server, the message comes again, and is known then.
        let _ = self.message.ack().await;
    }

    /// It could not be dealt with: it comes again after a while, which grows with every time it came.
    pub async fn postpone(&self) {
        let delay = backoff(u32::try_from(self.delivered).unwrap_or(u32::MAX));
        let _ = self.message.ack_with(AckKind::Nak(Some(delay))).await;
    }
}

fn now_millis() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

impl Arrived {
    /// Whether it came so often that waiting for it to become readable has no end.
    pub fn is_hopeless(&self) -> bool {
        const OFTEN: i64 = 8;
        self.delivered >= OFTEN
    }
}
