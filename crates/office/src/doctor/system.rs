//! The machine: who may read the mail, and how many files may be watched.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use atm_wire::TeamName;

use super::{Ailment, Finding, Remedy};

const LIMITS: &str = "/proc/sys/fs/inotify";
/// Fewer than this are soon used up by editors and language servers.
const FEW_WATCHES: u64 = 4096;
const FEW_INSTANCES: u64 = 32;

/// Whether other users can come at a team's mail. Clients write their files readable for all, so what counts is whether
/// any folder on the way is closed.
pub(super) fn modes(team: &TeamName, folder: &Path, findings: &mut Vec<Finding>) {
    let Ok(folder) = folder.canonicalize() else { return };
    let mode = |path: &Path| fs::metadata(path).map_or(0, |found| found.mode() & 0o7777);
    if folder.ancestors().any(|path| mode(path) & 0o001 == 0) {
        return;
    }
    let inboxes = ["inboxes", "members"].map(|kind| folder.join(kind));
    let open: Vec<&Path> = inboxes.iter().map(AsRef::as_ref).filter(|path| mode(path) & 0o005 != 0).collect();
    if open.is_empty() {
        return;
    }
    let now = mode(&folder);
    findings.push(
        Finding::new(
            Ailment::OpenToOthers,
            team,
            &folder,
            "other users of this machine can read this team's mail",
        )
        .because(format!("the folder's mode is {now:04o}, and every folder above it is open"))
        .mended_by(Remedy::Close(folder.clone(), now & !0o007)),
    );
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
