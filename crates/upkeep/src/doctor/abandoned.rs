//! What processes left that died in the middle of something that is no team's: a restore, a client's file, or a peer.

use std::path::{Path, PathBuf};

use atm_office::sessions::peers::LeftPeer;
use atm_office::{Office, OfficeError};
use atm_store::{backup, leftovers};

use super::{Ailment, Finding, Remedy};

/// What was left.
#[derive(Debug, Clone)]
pub(super) enum Abandoned {
    /// The folders of restores.
    Restores,
    /// A temp file, by the queue whose note names it.
    Temp(PathBuf),
    /// A peer's entry in Claude Code's registry, or its socket.
    Peer(LeftPeer),
}

pub(super) fn examine(office: &Office, findings: &mut Vec<Finding>) {
    let finding = |path: &Path, message: &str, what: Abandoned| Finding {
        ailment: Ailment::Abandoned,
        team: None,
        path: Some(path.to_owned()),
        message: message.to_owned(),
        evidence: vec!["nobody who runs holds it".to_owned()],
        safe: true,
        remedy: Some(Remedy::ClearAbandoned(what)),
        phantom: None,
    };
    // What cannot be inspected is found by the next restore or install.
    let restores =
        backup::abandoned_restores(office.root(), office.state(), office.lock_times()).unwrap_or_default();
    for path in &restores {
        findings.push(finding(path, "a restore died before it was done", Abandoned::Restores));
    }
    // Those of a team's files are found in the team.
    let is_teams = |temp: &PathBuf| {
        temp.starts_with(office.root().teams()) || temp.starts_with(office.root().path().join("tasks"))
    };
    for left in leftovers::find(office.state()).into_iter().filter(|left| !is_teams(&left.temp)) {
        let message = "a copy of a file was left behind by a process that died";
        findings.push(finding(&left.temp, message, Abandoned::Temp(left.queue)));
    }
    for left in office.left_peers() {
        findings.push(finding(&left.path.clone(), &left.what.clone(), Abandoned::Peer(left)));
    }
}

pub(super) fn clear(office: &Office, what: &Abandoned) -> Result<(), OfficeError> {
    match what {
        Abandoned::Restores => {
            backup::remove_abandoned_restores(office.root(), office.state(), office.lock_times())?;
        }
        Abandoned::Temp(queue) => leftovers::clear(queue, office.lock_times())?,
        Abandoned::Peer(left) => {
            office.remove_left_peer(left)?;
        }
    }
    Ok(())
}
