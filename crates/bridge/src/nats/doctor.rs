//! Whether the server is fit for the realm, and what to change.

use std::time::Duration;

use async_nats::jetstream::stream::{RetentionPolicy, StorageType};

use super::{Link, Names};
use crate::name::{Machine, Realm};
use crate::subject;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Good,
    /// It works, and could be better.
    Fair,
    /// It does not work so.
    Bad,
}

impl Outcome {
    /// One word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Fair => "warning",
            Self::Bad => "error",
        }
    }
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at, in one word.
    pub about: &'static str,
    /// How it is.
    pub outcome: Outcome,
    /// What was found.
    pub found: String,
    /// What to change.
    pub change: Option<String>,
}

impl Check {
    fn good(about: &'static str, found: impl Into<String>) -> Self {
        Self { about, outcome: Outcome::Good, found: found.into(), change: None }
    }

    fn not(
        outcome: Outcome,
        about: &'static str,
        found: impl Into<String>,
        change: impl Into<String>,
    ) -> Self {
        Self { about, outcome, found: found.into(), change: Some(change.into()) }
    }
}

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Smaller messages make many letters go through the object store.
const SMALL_PAYLOAD: usize = 256 * 1024;

/// Looks at the server: version, limits, what `init` makes, permissions.
pub async fn examine(link: &Link, realm: &Realm, machine: &Machine) -> Vec<Check> {
    let mut checks = vec![version(link), payload(link)];
    match link.context().query_account().await {
        Ok(_) => checks.push(Check::good("jetstream", "JetStream is there")),
        // A machine with the least permissions may not ask.
        Err(_) => checks.push(Check::not(
            Outcome::Fair,
            "jetstream",
            "the account could not be asked for",
            "nothing, if the checks below are fine; else turn `jetstream` on in the server's configuration",
        )),
    }
    checks.extend(stream(link, realm).await);
    checks.extend(buckets(link, realm).await);
    checks.push(consumer(link, realm, machine).await);
    checks.push(permissions(link, realm, machine).await);
    checks.push(Check::not(
        Outcome::Fair,
        "sync",
        "how often the server syncs to disk cannot be seen from here; the default is every two minutes",
        "nothing, to be safe: what a server loses is sent again. To lose less: `jetstream { sync_interval: always }`",
    ));
    checks
}

fn version(link: &Link) -> Check {
    let version = link.client().server_info().version;
    if link.client().is_server_compatible(2, 11, 0) {
        return Check::good("version", format!("nats-server {version}"));
    }
    Check::not(Outcome::Bad, "version", format!("nats-server {version}"), "install nats-server 2.11 or newer")
}

fn payload(link: &Link) -> Check {
    let most = link.client().max_payload();
    if most >= SMALL_PAYLOAD {
        return Check::good("payload", format!("messages may have {} KiB", most / 1024));
    }
    let found = format!("messages may have {} KiB: larger letters go through the object store", most / 1024);
    Check::not(Outcome::Fair, "payload", found, "raise max_payload to 1MB")
}

async fn stream(link: &Link, realm: &Realm) -> Vec<Check> {
    let name = Names::of(realm).stream;
    let stream = match link.context().get_stream(&name).await {
        Ok(stream) => stream,
        Err(error) => {
            let found = format!("stream {name}: {error}");
            return vec![Check::not(
                Outcome::Bad,
                "stream",
                found,
                "run `atm bridge init` with an account that may",
            )];
        }
    };
    let (config, state) = (&stream.cached_info().config, &stream.cached_info().state);
    let mut checks = Vec::new();
    let mut bad =
        |found: String, change: &str| checks.push(Check::not(Outcome::Bad, "stream", found, change));
    if config.retention != RetentionPolicy::Limits {
        bad(
            format!("{name} has retention {:?}: acknowledging deletes", config.retention),
            "make it anew with limits retention",
        );
    }
    if config.storage != StorageType::File {
        bad(format!("{name} is kept in memory"), "make it anew with file storage");
    }
    if !config.subjects.contains(&subject::all(realm)) {
        bad(format!("{name} does not take {}", subject::all(realm)), "add that subject to the stream");
    }
    let mut fair =
        |found: String, change: &str| checks.push(Check::not(Outcome::Fair, "stream", found, change));
    if config.max_bytes <= 0 {
        fair(format!("{name} may fill the disk"), "set max_bytes");
    }
    if !(7 * DAY..=30 * DAY).contains(&config.max_age) {
        fair(
            format!("{name} keeps messages for {} days", config.max_age.as_secs() / DAY.as_secs()),
            "set max_age to 7 to 30 days",
        );
    }
    if checks.is_empty() {
        let found = format!(
            "{name}: {} messages, {} KiB, {} replica(s)",
            state.messages,
            state.bytes / 1024,
            config.num_replicas
        );
        checks.push(Check::good("stream", found));
    }
    checks
}

async fn buckets(link: &Link, realm: &Realm) -> Vec<Check> {
    let names = Names::of(realm);
    let mut checks = Vec::new();
    for (bucket, _) in names.buckets() {
        checks.push(match link.context().get_key_value(bucket).await {
            Ok(_) => Check::good("bucket", bucket),
            Err(error) => {
                Check::not(Outcome::Bad, "bucket", format!("{bucket}: {error}"), "run `atm bridge init`")
            }
        });
    }
    checks.push(match link.context().get_object_store(&names.objects).await {
        Ok(_) => Check::good("objects", names.objects),
        Err(error) => Check::not(
            Outcome::Bad,
            "objects",
            format!("{}: {error}", names.objects),
            "run `atm bridge init`",
        ),
    });
    checks
}

async fn consumer(link: &Link, realm: &Realm, machine: &Machine) -> Check {
    match link.lag().await {
        Ok(lag) => Check::good("consumer", format!("{}: {lag} messages wait", Names::consumer(machine))),
        Err(error) => {
            let change =
                format!("run `atm bridge init --realm {realm} --for {machine}` with an account that may");
            Check::not(Outcome::Bad, "consumer", error.to_string(), change)
        }
    }
}

/// Whether this machine may publish under its own name: to itself, where an envelope that is none is refused and counted.
async fn permissions(link: &Link, realm: &Realm, machine: &Machine) -> Check {
    let own = subject::other(realm, machine, machine, "check");
    let stored = async {
        link.publish(own.clone(), None, b"doctor".to_vec())
            .await?
            .await
            .map_err(|why| super::NatsError::request("publish")(&why))
    };
    match stored.await {
        Ok(_) => Check::good("permissions", format!("may publish {own}")),
        Err(error) => {
            let change =
                format!("allow this user what `atm bridge init --realm {realm} --for {machine}` prints");
            Check::not(Outcome::Bad, "permissions", format!("{own}: {error}"), change)
        }
    }
}
