//! How a realm was kept on the server, as it was seen last: what is lost there is made anew with the same bounds.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::jetstream::stream;
use atm_store::files::{read_small, replace_own};
use serde::{Deserialize, Serialize};

use super::bounds::Part;
use super::setup::Limits;
use crate::name::Realm;

/// The largest file that is read.
const LARGEST: u64 = 4096;

/// The limits of a realm, as they were seen last.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    realm: Realm,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    file: Option<PathBuf>,
    limits: Option<Limits>,
}

#[derive(Serialize, Deserialize)]
struct File {
    realm: Realm,
    limits: Limits,
}

impl Kept {
    pub(super) fn new(realm: Realm) -> Self {
        Self { realm, inner: Arc::default() }
    }

    /// Goes on with what a file says of this realm, and keeps it there.
    pub(super) fn remember_in(&self, file: PathBuf) {
        let found = read_small(&file, LARGEST).ok().flatten();
        let found = found.and_then(|found| serde_json::from_slice::<File>(&found.bytes).ok());
        let mut inner = self.inner();
        inner.limits = found.filter(|found| found.realm == self.realm).map(|found| found.limits);
        inner.file = Some(file);
    }

    pub(super) fn limits(&self) -> Option<Limits> {
        self.inner().limits
    }

    /// A part of the realm is there, and kept so.
    pub(super) fn see(&self, part: Part, config: &stream::Config) {
        let mut inner = self.inner();
        let limits = inner.limits.unwrap_or_default().seeing(part, config);
        if inner.limits.replace(limits) == Some(limits) {
            return;
        }
        if let Some(file) = &inner.file {
            let text = serde_json::to_string(&File { realm: self.realm.clone(), limits }).unwrap_or_default();
            // If it cannot be kept, this process knows it all the same.
            let _ = replace_own(file, &(text + "\n"));
        }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        // Nothing panics while it is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_known_again_in_their_own_realm_and_what_has_no_bound_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("limits.json");
        let kept = |realm: &str| {
            let kept = Kept::new(realm.parse().unwrap());
            kept.remember_in(file.clone());
            kept
        };
        let of = |max_bytes| stream::Config { max_bytes, num_replicas: 3, ..stream::Config::default() };
        let home = kept("home");
        assert_eq!(home.limits(), None);
        home.see(Part::Bucket, &of(7 << 20));
        home.see(Part::Stream, &of(9 << 20));
        home.see(Part::Bucket, &of(-1));
        let known = kept("home").limits().unwrap();
        assert_eq!((known.bucket_bytes, known.max_bytes, known.replicas), (7 << 20, 9 << 20, 3));
        assert_eq!(known.max_age, Limits::default().max_age, "one without an end is none");
        assert_eq!(kept("work").limits(), None);
    }
}
