//! Bounds of what a realm has on the server: how large each part may become, and what happens when it is full.
//!
//! A stream that is full drops its oldest messages, and their senders publish them again when their recipients are there; the same goes
//! for pieces of large letters. A bucket holds what nobody has twice, so a full one refuses what is new, and its writer is told.

use std::time::Duration;

use async_nats::jetstream::context::Context;
use async_nats::jetstream::stream::{self, DiscardPolicy};

use super::Names;
use super::setup::{Limits, bucket_stream, object_stream};
use crate::envelope::codec::LARGEST;
use crate::name::Realm;

const MIB: i64 = 1 << 20;
/// A stream that is smaller drops mail before a machine that was off for a while has seen it.
const SMALL_STREAM: i64 = 16 * MIB;
/// A bucket that is smaller has no room for the members and tasks of some teams.
const SMALL_BUCKET: i64 = 4 * MIB;

/// Parts of a realm on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The stream of envelopes.
    Stream,
    /// A bucket.
    Bucket,
    /// The object store.
    Objects,
}

impl Part {
    /// What it is.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Bucket => "bucket",
            Self::Objects => "object store",
        }
    }

    fn discard(self) -> DiscardPolicy {
        if self == Self::Bucket { DiscardPolicy::New } else { DiscardPolicy::Old }
    }

    fn when_full(self) -> &'static str {
        if self == Self::Bucket {
            "refuses what is new when it is full"
        } else {
            "drops what is oldest when it is full"
        }
    }

    fn smallest(self) -> i64 {
        match self {
            Self::Stream => SMALL_STREAM,
            Self::Bucket => SMALL_BUCKET,
            // With room for what names the pieces.
            Self::Objects => i64::try_from(LARGEST).unwrap_or(i64::MAX).saturating_add(MIB),
        }
    }
}

/// All parts of a realm: each with its name, and that of the stream below it.
pub fn parts(names: &Names) -> Vec<(Part, String, String)> {
    let bucket = |(name, _): (&str, bool)| (Part::Bucket, name.to_owned(), bucket_stream(name));
    let mut parts = vec![(Part::Stream, names.stream.clone(), names.stream.clone())];
    parts.extend(names.buckets().map(bucket));
    parts.push((Part::Objects, names.objects.clone(), object_stream(&names.objects)));
    parts
}

/// Limits that somebody asked for. What is there already keeps what was not asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// How long an envelope stays.
    pub max_age: Option<Duration>,
    /// How many bytes the stream may have, and the object store.
    pub max_bytes: Option<i64>,
    /// How many bytes each bucket may have.
    pub bucket_bytes: Option<i64>,
    /// On how many servers.
    pub replicas: Option<usize>,
}

impl Asked {
    /// The limits of what is made anew, where others are known.
    pub fn limits(&self, default: Limits) -> Limits {
        Limits {
            max_age: self.max_age.unwrap_or(default.max_age),
            max_bytes: self.max_bytes.unwrap_or(default.max_bytes),
            bucket_bytes: self.bucket_bytes.unwrap_or(default.bucket_bytes),
            replicas: self.replicas.unwrap_or(default.replicas),
        }
    }
}

/// Brings the configuration of a part up to date that has so many bytes; says what that changes.
pub fn amend(part: Part, config: &mut stream::Config, used: u64, asked: &Asked) -> Vec<String> {
    let (limits, used) = (asked.limits(Limits::default()), i64::try_from(used).unwrap_or(i64::MAX));
    let mut changes = Vec::new();
    let (wanted, default) = match part {
        Part::Bucket => (asked.bucket_bytes, limits.bucket_bytes),
        Part::Stream | Part::Objects => (asked.max_bytes, limits.max_bytes),
    };
    let missing = || (config.max_bytes <= 0).then_some(default.max(used.saturating_mul(2)));
    // A server that lowers the bound of a bucket below what it has deletes entries of it.
    let least = if part == Part::Bucket { used.saturating_add(used / 4) } else { 0 };
    let bound = wanted.or_else(missing).map(|bound| bound.max(least));
    if let Some(bound) = bound.filter(|bound| *bound != config.max_bytes) {
        config.max_bytes = bound;
        changes.push(format!("has at most {} MiB", mib(bound)));
    }
    if config.discard != part.discard() {
        config.discard = part.discard();
        changes.push(part.when_full().to_owned());
    }
    if part != Part::Bucket {
        let missing = || config.max_age.is_zero().then_some(limits.max_age);
        let age = asked.max_age.or_else(missing).filter(|age| *age != config.max_age);
        if let Some(age) = age {
            config.max_age = age;
            config.duplicate_window = config.duplicate_window.min(age);
            changes.push(format!("keeps what it has for {} days", age.as_secs() / (24 * 3600)));
        }
    }
    if let Some(replicas) = asked.replicas.filter(|replicas| *replicas != config.num_replicas) {
        config.num_replicas = replicas;
        changes.push(format!("is on {replicas} server(s)"));
    }
    changes
}

/// What is wrong with the bounds of a part that has so many bytes, and what to change.
pub fn flaws(part: Part, name: &str, config: &stream::Config, used: u64) -> Vec<(String, String)> {
    let used = i64::try_from(used).unwrap_or(i64::MAX);
    let again = "run `atm bridge init` again, with an account that may: it sets what is missing";
    let mut flaws = Vec::new();
    let option = if part == Part::Bucket { "--bucket-mib" } else { "--max-mib" };
    let larger = |least: i64| format!("`atm bridge init {option} {}`", mib(least));
    if config.max_bytes <= 0 {
        flaws.push((format!("{name} may fill the disk"), again.to_owned()));
    } else if config.max_bytes < part.smallest() {
        let found = format!("{name} has room for {} MiB only", mib(config.max_bytes));
        flaws.push((found, larger(part.smallest())));
    } else if part == Part::Bucket && used / 4 >= config.max_bytes / 5 {
        let found = format!(
            "{name} has {} of {} MiB: a full one refuses what is new",
            mib(used),
            mib(config.max_bytes)
        );
        flaws.push((found, larger(config.max_bytes.saturating_mul(2))));
    }
    if config.discard != part.discard() {
        let found = match config.discard {
            DiscardPolicy::New => {
                format!("{name} refuses what is new when it is full, so that one sender can stop all others")
            }
            DiscardPolicy::Old => {
                format!("{name} drops what is oldest when it is full, and nobody has that twice")
            }
        };
        flaws.push((found, again.to_owned()));
    }
    flaws
}

fn mib(bytes: i64) -> i64 {
    bytes.saturating_add(MIB - 1) / MIB
}

/// Something on the server that was brought up to date, or could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// What is different now.
    pub changes: Vec<String>,
    /// Why the server did not do it.
    pub error: Option<String>,
}

/// Brings what is there up to date. What the server does not permit stays as it is, with the reason. To be done before the rest is
/// made: what is made smaller leaves room for it.
pub async fn update(context: &Context, realm: &Realm, asked: &Asked) -> Vec<Change> {
    let mut all = Vec::new();
    for (part, name, stream) in parts(&Names::of(realm)) {
        let Ok(found) = context.get_stream(&stream).await else { continue };
        let info = found.cached_info();
        let mut config = info.config.clone();
        let changes = amend(part, &mut config, info.state.bytes, asked);
        if !changes.is_empty() {
            let error = context.update_stream(config).await.err().map(|why| why.to_string());
            all.push(Change { name, changes, error });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use Part::{Bucket, Objects, Stream};

    const GIB: i64 = 1 << 30;
    const DAYS: Duration = Duration::from_secs(14 * 24 * 3600);

    fn config(max_bytes: i64, discard: DiscardPolicy) -> stream::Config {
        stream::Config { max_bytes, discard, max_age: DAYS, num_replicas: 1, ..stream::Config::default() }
    }

    #[rstest]
    #[case::as_it_is_made(Stream, config(GIB, DiscardPolicy::Old), 0, Asked::default(), &[])]
    #[case::what_was_not_asked_for_stays(Stream, config(5 * MIB, DiscardPolicy::Old), 0, Asked::default(), &[])]
    #[case::unbounded(Stream, config(-1, DiscardPolicy::Old), 0, Asked::default(), &["has at most 1024 MiB"])]
    #[case::room_for_what_is_there(Objects, config(-1, DiscardPolicy::Old), 3 << 30, Asked::default(), &["has at most 6144 MiB"])]
    #[case::refuses(Objects, config(GIB, DiscardPolicy::New), 0, Asked::default(), &["drops what is oldest when it is full"])]
    #[case::an_old_bucket(Bucket, config(-1, DiscardPolicy::New), 9, Asked::default(), &["has at most 64 MiB"])]
    #[case::a_bucket_that_drops(Bucket, config(64 * MIB, DiscardPolicy::Old), 9, Asked::default(), &["refuses what is new when it is full"])]
    #[case::asked_for(Bucket, config(64 * MIB, DiscardPolicy::New), 9, Asked { bucket_bytes: Some(128 * MIB), max_bytes: Some(GIB), ..Asked::default() }, &["has at most 128 MiB"])]
    #[case::no_entry_is_deleted(Bucket, config(64 * MIB, DiscardPolicy::New), 40 << 20, Asked { bucket_bytes: Some(4 * MIB), ..Asked::default() }, &["has at most 50 MiB"])]
    #[case::age_and_servers(Stream, config(GIB, DiscardPolicy::Old), 0, Asked { max_age: Some(DAYS / 2), replicas: Some(3), ..Asked::default() }, &["keeps what it has for 7 days", "is on 3 server(s)"])]
    fn what_is_there_is_brought_up_to_date_once(
        #[case] part: Part,
        #[case] mut config: stream::Config,
        #[case] used: u64,
        #[case] asked: Asked,
        #[case] expected: &[&str],
    ) {
        assert_eq!(amend(part, &mut config, used, &asked), expected);
        assert!(amend(part, &mut config, used, &asked).is_empty(), "twice is once");
    }

    #[rstest]
    #[case(Stream, config(GIB, DiscardPolicy::Old), 0, None)]
    #[case(Stream, config(-1, DiscardPolicy::Old), 0, Some("x may fill the disk"))]
    #[case(Stream, config(MIB, DiscardPolicy::Old), 0, Some("x has room for 1 MiB only"))]
    #[case(Bucket, config(64 * MIB, DiscardPolicy::New), 51 << 20, None)]
    #[case(Bucket, config(64 * MIB, DiscardPolicy::New), 52 << 20, Some("x has 52 of 64 MiB: a full one refuses what is new"))]
    #[case(Bucket, config(64 * MIB, DiscardPolicy::Old), 0, Some("x drops what is oldest when it is full, and nobody has that twice"))]
    #[case(Objects, config(64 * MIB, DiscardPolicy::Old), 0, Some("x has room for 64 MiB only"))]
    #[case(
        Objects,
        config(GIB, DiscardPolicy::New),
        0,
        Some("x refuses what is new when it is full, so that one sender can stop all others")
    )]
    fn what_is_wrong_is_told(
        #[case] part: Part,
        #[case] config: stream::Config,
        #[case] used: u64,
        #[case] expected: Option<&str>,
    ) {
        let found: Vec<String> =
            flaws(part, "x", &config, used).into_iter().map(|(found, _)| found).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}
