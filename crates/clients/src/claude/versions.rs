//! Versions of Claude Code that its users should know something about. Its transcripts name theirs in every entry.

use std::fmt;

use atm_wire::json::Object;

/// A version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64, pub u64, pub u64);

/// The last version that marks everything as read at once.
const MARKS_ALL: Version = Version(2, 1, 140);
/// Versions that were seen not to look into their inbox.
const DO_NOT_POLL: [Version; 2] = [Version(2, 1, 150), Version(2, 1, 170)];

impl Version {
    /// The version in the last entry of a transcript's end that has one.
    pub fn last_in(tail: &str) -> Option<Self> {
        tail.lines().rev().find_map(|line| {
            let version = Object::parse(line).ok()?.string("version")?;
            let mut parts = version.split('.').map(|part| part.parse().ok());
            Some(Self(parts.next()??, parts.next()??, parts.next()??))
        })
    }

    /// What one should know about it.
    pub fn caution(self) -> Option<&'static str> {
        if DO_NOT_POLL.contains(&self) {
            Some("this version was seen not to look into its inbox: wake it by hand, or update it")
        } else if self <= MARKS_ALL {
            Some(
                "up to 2.1.140 a client marks as read what came after it looked: `atm pending` shows what it never \
                 saw, `atm retry` offers it again",
            )
        } else {
            None
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, patch) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entry_counts_and_junk_does_not() {
        let tail =
            "cut\"}\n{\"version\":\"2.1.77\"}\n{\"version\":\"2.1.197\"}\n{\"x\":1}\n{\"version\":7}\n";
        assert_eq!(Version::last_in(tail), Some(Version(2, 1, 197)));
        assert_eq!(Version::last_in("{\"version\":\"new\"}"), None);
    }

    #[test]
    fn versions_that_need_care() {
        assert!(Version(2, 1, 77).caution().unwrap().contains("marks as read"));
        assert!(Version(2, 1, 150).caution().unwrap().contains("not to look"));
        assert!(Version(2, 1, 160).caution().is_none() && Version(2, 1, 325).caution().is_none());
    }
}
