//! For how long a claim holds.

use std::time::Duration;

use super::Task;
use crate::json::Object;
use crate::payload::field::read;
use crate::stamp::Stamp;

/// When the task was claimed; below `metadata`.
pub const CLAIMED_AT: &str = "claimed_at";
/// For how many seconds that holds; below `metadata`.
pub const CLAIM_EXPIRY: &str = "claim_expiry_seconds";
/// How long a claim holds where nothing says.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(300);

/// An owner's hold on a task. An owner that a client set has none, and holds the task until it is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When it was claimed, or renewed.
    pub claimed_at: Stamp,
    /// For how long that holds.
    pub length: Duration,
}

impl Lease {
    /// When it ends.
    pub fn expires_at(&self) -> Stamp {
        self.claimed_at.saturating_add(self.length)
    }

    /// Whether it still holds.
    pub fn is_live(&self, now: Stamp) -> bool {
        now < self.expires_at()
    }
}

impl Task {
    /// The lease that `metadata` tells of.
    pub fn lease(&self) -> Option<Lease> {
        let metadata = Object::parse(self.metadata.as_ref()?.get()).ok()?;
        let claimed_at: Option<Stamp> = read(&metadata, &[CLAIMED_AT, "claimedAt"]);
        let seconds: Option<f64> = read(&metadata, &[CLAIM_EXPIRY, "claimExpirySeconds"]);
        let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Some(Lease { claimed_at: claimed_at?, length: length.unwrap_or(DEFAULT_LEASE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(metadata: &str) -> Option<Lease> {
        Task::parse(&format!(r#"{{"id":"1","metadata":{metadata}}}"#)).unwrap().lease()
    }

    #[test]
    fn a_lease_holds_for_five_minutes_unless_it_says_otherwise() {
        let found = lease(r#"{"claimed_at":"2026-05-04T08:00:00Z"}"#).unwrap();
        assert_eq!(found.expires_at().to_string(), "2026-05-04T08:05:00.000Z");
        let found = lease(r#"{"claimed_at":1777881600000,"claim_expiry_seconds":"90"}"#).unwrap();
        assert_eq!(found.length, Duration::from_secs(90));
        assert!(found.is_live(found.claimed_at) && !found.is_live(found.expires_at()));
    }

    #[test]
    fn what_is_no_lease() {
        for metadata in ["{}", "[]", "7", r#"{"claimed_at":true}"#, r#"{"claim_expiry_seconds":3}"#] {
            assert_eq!(lease(metadata), None, "{metadata}");
        }
        let odd = lease(r#"{"claimed_at":"2026-05-04T08:00:00Z","claim_expiry_seconds":-5}"#).unwrap();
        assert_eq!(odd.length, DEFAULT_LEASE);
    }
}
