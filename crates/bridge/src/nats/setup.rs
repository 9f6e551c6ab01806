//! What a realm needs on the server: made if it is missing, and checked.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::Context;
use async_nats::jetstream::stream::{DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{kv, stream};
use serde::{Deserialize, Serialize};

use super::bounds::{Part, parts};
use super::{Names, NatsError};
use crate::name::{Machine, Realm};
use crate::subject;

/// How the stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long an envelope stays. One that expires before it was confirmed is published again.
    pub max_age: Duration,
    /// How many bytes the stream may have, and the object store.
    pub max_bytes: i64,
    /// How many bytes each bucket may have.
    pub bucket_bytes: i64,
    /// On how many servers.
    pub replicas: usize,
}

impl Limits {
    /// The same with what a part says that is there. What has no bound says nothing about it.
    #[must_use]
    pub fn seeing(self, part: Part, config: &stream::Config) -> Self {
        let bytes = |known: i64| if config.max_bytes > 0 { config.max_bytes } else { known };
        match part {
            Part::Bucket => Self { bucket_bytes: bytes(self.bucket_bytes), ..self },
            Part::Objects => self,
            Part::Stream => Self {
                max_age: if config.max_age.is_zero() { self.max_age } else { config.max_age },
                max_bytes: bytes(self.max_bytes),
                replicas: config.num_replicas,
                ..self
            },
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(14 * 24 * 3600),
            max_bytes: 1 << 30,
            bucket_bytes: 64 << 20,
            replicas: 1,
        }
    }
}

/// How long a heartbeat counts: a machine without a newer one is away.
pub const PRESENCE_AGE: Duration = Duration::from_secs(20);
/// Within this time the server drops an envelope that it has.
const DUPLICATES: Duration = Duration::from_secs(120);
/// After this time without an answer an envelope is delivered again.
const ACK_WAIT: Duration = Duration::from_secs(60);
/// How long the consumer of dead letters stays if its reader died.
const DEAD_LETTERS_STAY: Duration = Duration::from_secs(30);

/// Something that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What it is: `stream`, `bucket`, `object store`, `consumer`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// Whether it was made now.
    pub is_new: bool,
}

/// The stream's configuration: limits retention, so that acknowledging deletes nothing.
pub fn stream_config(realm: &Realm, limits: Limits) -> stream::Config {
    stream::Config {
        name: Names::of(realm).stream,
        subjects: vec![subject::all(realm)],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        discard: DiscardPolicy::Old,
        max_age: limits.max_age,
        max_bytes: limits.max_bytes,
        num_replicas: limits.replicas,
        // No server remembers an id for longer than its message.
        duplicate_window: DUPLICATES.min(limits.max_age),
        description: Some("Envelopes between machines of an atm realm".to_owned()),
        ..stream::Config::default()
    }
}

/// The stream below an object store.
pub(super) fn object_stream(store: &str) -> String {
    format!("OBJ_{store}")
}

/// The stream below a bucket.
pub(super) fn bucket_stream(bucket: &str) -> String {
    format!("KV_{bucket}")
}

/// The object store's configuration: that of the client library, but for what happens when it is full. Then the oldest pieces go, and
/// their sender puts them there again; refusing the new ones would keep everybody from sending what is large.
fn objects_config(store: &str, limits: Limits) -> stream::Config {
    stream::Config {
        name: object_stream(store),
        subjects: vec![format!("$O.{store}.C.>"), format!("$O.{store}.M.>")],
        storage: StorageType::File,
        discard: DiscardPolicy::Old,
        max_age: limits.max_age,
        max_bytes: limits.max_bytes,
        num_replicas: limits.replicas,
        allow_rollup: true,
        allow_direct: true,
        ..stream::Config::default()
    }
}

/// The consumer of a machine: durable, pulled, with one filter.
pub fn consumer_config(realm: &Realm, machine: &Machine) -> pull::Config {
    pull::Config {
        durable_name: Some(Names::consumer(machine)),
        filter_subject: subject::to_machine(realm, machine),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_ack_pending: 4_096,
        ..pull::Config::default()
    }
}

/// The consumer by which a machine reads its dead letters from a number on, and takes none of them away.
pub fn dead_letters_config(realm: &Realm, machine: &Machine, from: u64) -> pull::Config {
    pull::Config {
        name: Some(Names::dead_letters(machine)),
        filter_subject: subject::dead(realm, machine),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: from.max(1) },
        ack_policy: AckPolicy::None,
        inactive_threshold: DEAD_LETTERS_STAY,
        memory_storage: true,
        ..pull::Config::default()
    }
}

/// How a realm is kept on the server, as far as it is there; the rest as it is given.
pub async fn look(context: &Context, realm: &Realm, mut limits: Limits) -> Limits {
    for (part, _, stream) in parts(&Names::of(realm)) {
        if let Ok(found) = context.get_stream(&stream).await {
            limits = limits.seeing(part, &found.cached_info().config);
        }
    }
    limits
}

/// Makes what is missing; what is there stays as it is.
pub async fn init(
    context: &Context,
    realm: &Realm,
    machines: &[Machine],
    limits: Limits,
) -> Result<Vec<Made>, NatsError> {
    let names = Names::of(realm);
    let mut made = Vec::new();
    let is_new = context.get_stream(&names.stream).await.is_err();
    let stream = context.get_or_create_stream(stream_config(realm, limits)).await.map_err(|why| {
        NatsError::Missing { what: format!("stream {}", names.stream), why: why.to_string() }
    })?;
    made.push(Made { what: "stream", name: names.stream.clone(), is_new });
    for (bucket, expires) in names.buckets() {
        let is_new = context.get_key_value(bucket).await.is_err();
        if is_new {
            make_bucket(context, bucket, if expires { PRESENCE_AGE } else { Duration::ZERO }, limits).await?;
        }
        made.push(Made { what: "bucket", name: bucket.to_owned(), is_new });
    }
    let is_new = context.get_object_store(&names.objects).await.is_err();
    if is_new {
        let made = context.create_stream(objects_config(&names.objects, limits)).await;
        made.map_err(|why| NatsError::Missing { what: names.objects.clone(), why: why.to_string() })?;
    }
    made.push(Made { what: "object store", name: names.objects.clone(), is_new });
    for machine in machines {
        let name = Names::consumer(machine);
        let is_new = stream.consumer_info(&name).await.is_err();
        if is_new {
            let config = consumer_config(realm, machine);
            let made = stream.create_consumer(config).await;
            made.map_err(|why| NatsError::Missing { what: name.clone(), why: why.to_string() })?;
        }
        made.push(Made { what: "consumer", name, is_new });
    }
    Ok(made)
}

async fn make_bucket(
    context: &Context,
    bucket: &str,
    max_age: Duration,
    limits: Limits,
) -> Result<(), NatsError> {
    let config = kv::Config {
        bucket: bucket.to_owned(),
        history: 1,
        max_age,
        max_bytes: limits.bucket_bytes,
        num_replicas: limits.replicas,
        storage: StorageType::File,
        ..kv::Config::default()
    };
    let made = context.create_key_value(config).await;
    made.map(drop)
        .map_err(|why| NatsError::Missing { what: format!("bucket {bucket}"), why: why.to_string() })
}

/// The least that a machine has to be allowed. All else can be denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Subjects that it publishes to.
    pub publish: Vec<String>,
    /// Subjects that it subscribes to.
    pub subscribe: Vec<String>,
}

/// The least that a machine has to be allowed.
pub fn rights(realm: &Realm, machine: &Machine) -> Rights {
    let names = Names::of(realm);
    let (stream, presence, machines) = (&names.stream, &names.presence, &names.machines);
    let (objects, consumer) = (&names.objects, Names::consumer(machine));
    let dead = Names::dead_letters(machine);
    let mut publish = vec![
        subject::from_machine(realm, machine),
        subject::dead(realm, machine),
        format!("$KV.{presence}.{machine}"),
        format!("$KV.{machines}.{machine}"),
        format!("$KV.{}.>", names.homes),
        format!("$KV.{}.>", names.tasks),
        format!("$O.{objects}.>"),
        format!("$JS.API.STREAM.INFO.{stream}"),
        format!("$JS.API.CONSUMER.INFO.{stream}.{consumer}"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"),
        format!("$JS.ACK.{stream}.{consumer}.>"),
        format!("$JS.API.CONSUMER.CREATE.{stream}.{dead}.{}", subject::dead(realm, machine)),
        format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{dead}"),
        format!("$JS.API.CONSUMER.DELETE.{stream}.{dead}"),
        format!("$JS.API.STREAM.INFO.OBJ_{objects}"),
        format!("$JS.API.DIRECT.GET.OBJ_{objects}.>"),
        format!("$JS.API.CONSUMER.CREATE.OBJ_{objects}"),
        format!("$JS.API.CONSUMER.CREATE.OBJ_{objects}.>"),
        format!("$JS.API.CONSUMER.DELETE.OBJ_{objects}.>"),
        "$JS.FC.>".to_owned(),
    ];
    for (bucket, _) in names.buckets() {
        publish.extend([
            format!("$JS.API.STREAM.INFO.KV_{bucket}"),
            format!("$JS.API.DIRECT.GET.KV_{bucket}.>"),
            format!("$JS.API.CONSUMER.CREATE.KV_{bucket}"),
            format!("$JS.API.CONSUMER.CREATE.KV_{bucket}.>"),
            format!("$JS.API.CONSUMER.DELETE.KV_{bucket}.>"),
        ]);
    }
    let subscribe = vec![format!("{}.>", super::connect::inbox_prefix(realm, machine))];
    Rights { publish, subscribe }
}

/// The same as a part of a server's configuration.
pub fn permissions(realm: &Realm, machine: &Machine) -> String {
    let Rights { publish, subscribe } = rights(realm, machine);
    let list = |subjects: &[String]| {
        subjects.join(
            "\"
      \"",
        )
    };
    format!(
        "permissions {{\n  publish {{\n    allow [\n      \"{}\"\n    ]\n  }}\n  subscribe {{\n    allow [\n      \"{}\"\n    ]\n  }}\n}}\n",
        list(&publish),
        list(&subscribe)
    )
}
