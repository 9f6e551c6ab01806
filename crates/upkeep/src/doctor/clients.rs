//! Which versions of clients a team runs, and what is known of them. Their transcripts say it in every entry.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use atm_office::Office;
use atm_wire::TeamName;
use atm_wire::json::Object;
use atm_wire::team::TeamConfig;

use super::{Ailment, Finding};

/// How much of a transcript's end is looked at.
const TAIL: u64 = 1 << 16;

type Version = (u64, u64, u64);

/// The last version that marks everything as read at once.
const MARKS_ALL: Version = (2, 1, 140);
/// Versions that were seen not to look into their inbox.
const DO_NOT_POLL: [Version; 2] = [(2, 1, 150), (2, 1, 170)];

pub(super) fn examine(office: &Office, team: &TeamName, config: &TeamConfig, findings: &mut Vec<Finding>) {
    let mut members: BTreeMap<Version, Vec<&str>> = BTreeMap::new();
    for member in &config.members {
        let conversations = office.conversations_of(team, config, &member.name);
        let version = conversations.iter().rev().find_map(|path| {
            let mut file = File::open(path).ok()?;
            let length = file.metadata().ok()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
            let mut tail = Vec::new();
            file.take(TAIL).read_to_end(&mut tail).ok()?;
            last_version(&String::from_utf8_lossy(&tail))
        });
        if let Some(version) = version {
            members.entry(version).or_default().push(&member.name);
        }
    }
    let file = office.folder_of(team).config_file().to_owned();
    for (version, names) in members {
        let Some(care) = care(version) else { continue };
        let (major, minor, patch) = version;
        let message = format!("{} run version {major}.{minor}.{patch} of their client", names.join(", "));
        let finding = Finding::new(Ailment::CareClient, team, &file, message);
        findings.push(finding.because("their transcripts say so").because(care));
    }
}

/// What is known of a version that one should mind.
fn care(version: Version) -> Option<&'static str> {
    if DO_NOT_POLL.contains(&version) {
        Some("this version was seen not to look into its inbox: wake it by hand, or update it")
    } else if version <= MARKS_ALL {
        Some(
            "up to 2.1.140 a client marks as read what came after it looked: `atm pending` shows what it never \
             saw, `atm retry` offers it again",
        )
    } else {
        None
    }
}

/// The version in the last entry that has one.
fn last_version(tail: &str) -> Option<Version> {
    tail.lines().rev().find_map(|line| {
        let version = Object::parse(line).ok()?.string("version")?;
        let mut parts = version.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??, parts.next()??))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entry_counts_and_junk_does_not() {
        let tail =
            "cut\"}\n{\"version\":\"2.1.77\"}\n{\"version\":\"2.1.197\"}\n{\"x\":1}\n{\"version\":7}\n";
        assert_eq!(last_version(tail), Some((2, 1, 197)));
        assert_eq!(last_version("{\"version\":\"new\"}"), None);
    }

    #[test]
    fn versions_that_need_care() {
        assert!(care((2, 1, 77)).unwrap().contains("marks as read"));
        assert!(care((2, 1, 150)).unwrap().contains("not to look"));
        assert!(care((2, 1, 160)).is_none() && care((2, 1, 325)).is_none());
    }
}
