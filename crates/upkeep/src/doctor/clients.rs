//! Which versions of clients a team runs, and what is known of them. Their transcripts say it in every entry.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use atm_clients::claude::versions::Version;
use atm_office::Office;
use atm_wire::TeamName;
use atm_wire::team::TeamConfig;

use super::{Ailment, Finding};

/// How much of a transcript's end is looked at.
const TAIL: u64 = 1 << 16;

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
            Version::last_in(&String::from_utf8_lossy(&tail))
        });
        if let Some(version) = version {
            members.entry(version).or_default().push(&member.name);
        }
    }
    let file = office.folder_of(team).config_file().to_owned();
    for (version, names) in members {
        let Some(caution) = version.caution() else { continue };
        let message = format!("{} run version {version} of their client", names.join(", "));
        let finding = Finding::new(Ailment::CareClient, team, &file, message);
        findings.push(finding.because("their transcripts say so").because(caution));
    }
}
