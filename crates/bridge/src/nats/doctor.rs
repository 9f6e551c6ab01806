//! Whether the server is fit for the realm, and what to change.

mod judge;
mod rights;
mod sync;

use super::bounds::{self, Part};
use super::{Link, Names};
use crate::name::{Machine, Realm};

pub use rights::denied_in;

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

/// The oldest server that has all that is needed.
pub const OLDEST: (i64, i64, i64) = (2, 11, 0);

/// Looks at the server: version, transport, limits, what `init` makes, permissions, and how often it syncs to disk, if the address of
/// its monitor is given. `heard` gives what the server said beside its answers so far.
pub async fn examine(
    link: &Link,
    realm: &Realm,
    machine: &Machine,
    monitor: Option<&str>,
    mut heard: impl FnMut() -> Vec<String>,
) -> Vec<Check> {
    let info = link.client().server_info();
    let mut checks = vec![
        judge::version(&info.version, link.is_new_enough()),
        judge::transport(&info.host, info.tls_required),
        judge::payload(link.client().max_payload()),
    ];
    if checks.iter().any(|check| check.outcome == Outcome::Bad) {
        // What is missing on such a server says nothing.
        return checks;
    }
    let (account, tried) =
        tokio::join!(link.context().query_account(), rights::try_all(link.client(), realm, machine));
    let mut denied = denied_in(&heard());
    if denied.iter().any(|(kind, _)| kind == "Subscription") {
        // Without answers, every other question would time out.
        checks.push(tried.judge(realm, machine, &denied));
        return checks;
    }
    let (streams, buckets, consumer) =
        tokio::join!(stream(link, realm, machine), buckets(link, realm), consumer(link, realm, machine));
    let is_bad = |check: &Check| check.outcome == Outcome::Bad;
    let has_nothing = streams.iter().chain(&buckets).chain([&consumer]).all(is_bad);
    checks.push(judge::jetstream(account.is_ok() || !streams.iter().any(is_bad)));
    checks.extend(streams);
    if !has_nothing {
        checks.extend(buckets);
        checks.push(consumer);
    }
    denied.extend(denied_in(&heard()));
    // The account as a whole is nothing that a bridge asks for.
    denied.retain(|(_, subject)| subject != "$JS.API.INFO");
    checks.push(tried.judge(realm, machine, &denied));
    checks.push(sync::check(monitor).await);
    checks
}

async fn stream(link: &Link, realm: &Realm, machine: &Machine) -> Vec<Check> {
    let name = Names::of(realm).stream;
    match link.context().get_stream(&name).await {
        Ok(stream) => {
            let info = stream.cached_info();
            judge::stream(realm, &info.config, &info.state)
        }
        Err(error) => {
            let found = format!("stream {name}: {error}");
            vec![Check::not(
                Outcome::Bad,
                "stream",
                found,
                format!("run `atm bridge init --realm {realm} --for {machine}` with an account that may"),
            )]
        }
    }
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
