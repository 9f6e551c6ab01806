//! Whether the server is fit for the realm, and what to change.

use std::time::Duration;

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{RetentionPolicy, StorageType};

use super::bounds::{self, Part};
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

/// The oldest server that has all that is needed.
pub const OLDEST: (i64, i64, i64) = (2, 11, 0);

/// Looks at the server: version, transport, limits, what `init` makes, permissions. `heard` gives what the server said beside
/// its answers so far.
pub async fn examine(
    link: &Link,
    realm: &Realm,
    machine: &Machine,
    mut heard: impl FnMut() -> Vec<String>,
) -> Vec<Check> {
    let mut checks = vec![version(link), transport(link), payload(link)];
    if checks.iter().any(|check| check.outcome == Outcome::Bad) {
        // What is missing on such a server says nothing.
        return checks;
    }
    let is_there = link.context().query_account().await.is_ok();
    let mut denied = denied_in(&heard());
    if denied.iter().any(|(kind, _)| kind == "Subscription") {
        // Without answers, every other question would time out.
        checks.push(not_allowed(realm, machine, &denied));
        return checks;
    }
    let (streams, buckets, consumer, may) = tokio::join!(
        stream(link, realm, machine),
        buckets(link, realm),
        consumer(link, realm, machine),
        may_publish(link, realm, machine)
    );
    let is_bad = |check: &Check| check.outcome == Outcome::Bad;
    let has_nothing = streams.iter().chain(&buckets).chain([&consumer]).all(is_bad);
    checks.push(jetstream(is_there || !streams.iter().any(is_bad)));
    checks.extend(streams);
    if !has_nothing {
        checks.extend(buckets);
        checks.push(consumer);
    }
    denied.extend(denied_in(&heard()));
    // The account as a whole is nothing that a bridge asks for.
    denied.retain(|(_, subject)| subject != "$JS.API.INFO");
    checks.push(if denied.is_empty() { may } else { not_allowed(realm, machine, &denied) });
    checks.push(Check::not(
        Outcome::Fair,
        "sync",
        "how often the server syncs to disk cannot be seen from here; the default is every two minutes",
        "nothing, to be safe: what a server loses is sent again. To lose less: `jetstream { sync_interval: always }`",
    ));
    checks
}

/// What the server did not allow, by its own words: publication or subscription, and the subject.
pub fn denied_in(words: &[String]) -> Vec<(String, String)> {
    let denied = |word: &String| {
        let rest = word.split_once("Permissions Violation for ")?.1;
        let (kind, rest) = rest.split_once(" to \"")?;
        Some((kind.to_owned(), rest.split('"').next()?.to_owned()))
    };
    words.iter().filter_map(denied).collect()
}

fn not_allowed(realm: &Realm, machine: &Machine, denied: &[(String, String)]) -> Check {
    let mut denied: Vec<String> =
        denied.iter().map(|(kind, subject)| format!("{} to {subject}", kind.to_lowercase())).collect();
    denied.dedup();
    let change = format!("allow this user what `atm bridge init --realm {realm} --for {machine}` prints");
    Check::not(Outcome::Bad, "permissions", format!("not allowed: {}", denied.join(", ")), change)
}

fn jetstream(is_there: bool) -> Check {
    if is_there {
        return Check::good("jetstream", "JetStream is there");
    }
    let change = "turn it on in the server's configuration, for this account too: `jetstream: enabled`";
    Check::not(Outcome::Bad, "jetstream", "JetStream does not answer", change)
}

/// Whether others can read along: bodies are sealed, names and times are not.
fn transport(link: &Link) -> Check {
    let info = link.client().server_info();
    let is_here = info.host == "127.0.0.1" || info.host == "localhost" || info.host == "::1";
    if info.tls_required {
        return Check::good("transport", "the server wants TLS");
    }
    if is_here {
        return Check::good("transport", "the server is on this machine, without TLS");
    }
    let found = "without TLS: passwords, names and times can be read on the way";
    Check::not(
        Outcome::Fair,
        "transport",
        found,
        "`tls { … }` in its configuration, and tls:// in the address",
    )
}

fn version(link: &Link) -> Check {
    let version = link.client().server_info().version;
    if link.is_new_enough() {
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

async fn stream(link: &Link, realm: &Realm, machine: &Machine) -> Vec<Check> {
    let name = Names::of(realm).stream;
    let stream = match link.context().get_stream(&name).await {
        Ok(stream) => stream,
        Err(error) => {
            let found = format!("stream {name}: {error}");
            return vec![Check::not(
                Outcome::Bad,
                "stream",
                found,
                format!("run `atm bridge init --realm {realm} --for {machine}` with an account that may"),
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
    for (found, change) in bounds::flaws(Part::Stream, &name, config, state.bytes) {
        fair(found, &change);
    }
    if !(7 * DAY..=30 * DAY).contains(&config.max_age) {
        fair(
            format!("{name} keeps messages for {} days", config.max_age.as_secs() / DAY.as_secs()),
            "`atm bridge init --max-age-days 14`",
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
    let mut checks = Vec::new();
    for (part, name, stream) in bounds::parts(&Names::of(realm)) {
        let about = match part {
            Part::Stream => continue,
            Part::Bucket => "bucket",
            Part::Objects => "objects",
        };
        match link.context().get_stream(stream).await {
            Ok(stream) => {
                let info = stream.cached_info();
                let flaws = bounds::flaws(part, &name, &info.config, info.state.bytes);
                if flaws.is_empty() {
                    let found = format!("{name}: {} KiB", info.state.bytes / 1024);
                    checks.push(Check::good(about, found));
                }
                checks.extend(
                    flaws.into_iter().map(|(found, change)| Check::not(Outcome::Fair, about, found, change)),
                );
            }
            Err(error) => {
                checks.push(Check::not(
                    Outcome::Bad,
                    about,
                    format!("{name}: {error}"),
                    "run `atm bridge init`",
                ));
            }
        }
    }
    checks
}

async fn consumer(link: &Link, realm: &Realm, machine: &Machine) -> Check {
    match link.lag().await {
        Ok(lag) => {
            let found = format!("{}: {} messages wait", Names::consumer(machine), lag.count());
            Check::good("consumer", found)
        }
        Err(error) => {
            let change =
                format!("run `atm bridge init --realm {realm} --for {machine}` with an account that may");
            Check::not(Outcome::Bad, "consumer", error.to_string(), change)
        }
    }
}

/// Whether this machine may publish under its own name. It expects a message before it that never was, so that nothing is
/// stored.
async fn may_publish(link: &Link, realm: &Realm, machine: &Machine) -> Check {
    let own = subject::other(realm, machine, machine, "check");
    let message = PublishMessage::build().expected_last_message_id("there is no such message");
    let answer = async { link.context().send_publish(own.clone(), message).await?.await };
    match answer.await {
        Err(error) if error.kind() == PublishErrorKind::WrongLastMessageId => {
            Check::good("permissions", format!("may publish {own}"))
        }
        Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {
            let found = "could not be tried: there is no stream yet";
            Check::not(Outcome::Fair, "permissions", found, "run `atm bridge init`, then this again")
        }
        answer => {
            let why = answer.err().map_or_else(|| "stored".to_owned(), |error| error.to_string());
            let change =
                format!("allow this user what `atm bridge init --realm {realm} --for {machine}` prints");
            Check::not(Outcome::Bad, "permissions", format!("{own}: {why}"), change)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_is_read_from_the_servers_words() {
        let words = [
            "the server says: nats: Permissions Violation for Publish to \"$JS.API.INFO\"".to_owned(),
            "the server says: nats: Permissions Violation for Subscription to \"_INBOX_atm_home_hub.x.*\""
                .to_owned(),
            "the server says: nats: slow".to_owned(),
        ];
        let of = |kind: &str, subject: &str| (kind.to_owned(), subject.to_owned());
        let denied = [of("Publish", "$JS.API.INFO"), of("Subscription", "_INBOX_atm_home_hub.x.*")];
        assert_eq!(denied_in(&words), denied);
    }
}
