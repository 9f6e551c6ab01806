//! The machine: who may read the mail, and how many files may be watched.

use std::fs;
use std::path::Path;

use atm_office::Office;
use atm_wire::TeamName;

use super::{Ailment, Finding, Remedy};
use crate::access::{self, Exposed};

const LIMITS: &str = "/proc/sys/fs/inotify";
/// Fewer than this are soon used up by editors and language servers.
const FEW_WATCHES: u64 = 4096;
const FEW_INSTANCES: u64 = 32;
/// So many files are named in a finding.
const SHOWN: usize = 5;

/// Whether other users can come at a team's mail and tasks, and whether the group can that they are for.
pub(super) fn modes(office: &Office, team: &TeamName, findings: &mut Vec<Finding>) {
    for Exposed { folder, mode } in access::exposed(office, team) {
        let what = if folder.starts_with(office.folder_of(team).path()) { "mail" } else { "tasks" };
        let message = format!("other users of this machine can read this team's {what}");
        findings.push(
            Finding::new(Ailment::OpenToOthers, team, &folder, &message)
                .because(format!("the folder's mode is {mode:04o}, and every folder above it is open"))
                .mended_by(Remedy::Close(folder.clone(), mode & !0o007)),
        );
    }
    let Some(group) = office.group_of(team) else { return };
    let folder = office.folder_of(team).path().to_owned();
    let mut evidence: Vec<String> = access::shuts_out(office, team, &group).into_iter().collect();
    let kept = access::kept_from(office, team, &group);
    let shown = kept.iter().take(SHOWN).map(|path| format!("{} is not for the group", path.display()));
    evidence.extend(shown);
    if kept.len() > SHOWN {
        evidence.push(format!("and {} more", kept.len() - SHOWN));
    }
    if !evidence.is_empty() {
        let message = format!("the group {group} cannot read all of this team");
        let finding = Finding::new(Ailment::ClosedToGroup, team, &folder, &message);
        findings.push(evidence.into_iter().fold(finding, Finding::because));
    }
}

/// How many files may be watched, where the system says so.
pub(super) fn inotify(findings: &mut Vec<Finding>) {
    let limit = |name: &str| fs::read_to_string(Path::new(LIMITS).join(name)).ok()?.trim().parse().ok();
    if let (Some(watches), Some(instances)) = (limit("max_user_watches"), limit("max_user_instances")) {
        findings.extend(few_watches(watches, instances));
    }
}

fn few_watches(watches: u64, instances: u64) -> Option<Finding> {
    if watches >= FEW_WATCHES && instances >= FEW_INSTANCES {
        return None;
    }
    Some(Finding {
        ailment: Ailment::FewWatches,
        team: None,
        path: Some(LIMITS.into()),
        message: "only few files can be watched on this machine".to_owned(),
        evidence: vec![
            format!("max_user_watches is {watches}"),
            format!("max_user_instances is {instances}"),
        ],
        safe: true,
        remedy: None,
        phantom: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_watches_are_told() {
        assert!(few_watches(65_536, 128).is_none());
        let finding = few_watches(100, 128).unwrap();
        assert_eq!(finding.evidence[0], "max_user_watches is 100");
        assert!(few_watches(65_536, 2).is_some() && !finding.can_be_fixed());
    }
}
