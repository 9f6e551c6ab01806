//! What is wrong with a team, and what can be done about it: first said, then done.

use std::collections::HashSet;
use std::path::PathBuf;

use atm_office::{Office, OfficeError};
use atm_store::StoreError;
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use crate::phantoms::{self, Phantom};

/// How often mail that comes in while a phantom is emptied is gone after.
const ROUNDS: usize = 5;

/// A thing that is wrong, and what is done about it.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "trouble", rename_all = "snake_case")]
pub enum Trouble {
    /// An inbox of a name that is nobody's.
    PhantomInbox {
        /// The name.
        name: String,
        /// How many messages nobody has read.
        unread: usize,
        /// The members that were probably meant, best first.
        nearest: Vec<String>,
        /// Who gets the mail; nobody, if that has to be said.
        to: Option<String>,
        /// Under which id `atm doctor --undo` brings it back.
        journal: Option<String>,
    },
    /// A team whose lead has ended.
    Orphaned {
        /// Its lead.
        lead: String,
        /// How we know that it has ended.
        why: String,
    },
    /// Several entries of one name.
    DuplicateName {
        /// The name.
        name: String,
        /// How many entries there are.
        entries: usize,
        /// Which one stays, counted from 0 in the file's list.
        stays: usize,
        /// Where a copy of the file is kept from before.
        kept: Option<PathBuf>,
    },
}

impl Trouble {
    /// Whether repairing changes anything.
    pub fn has_remedy(&self) -> bool {
        match self {
            Self::PhantomInbox { to, unread, .. } => to.is_some() || *unread == 0,
            Self::Orphaned { .. } | Self::DuplicateName { .. } => true,
        }
    }
}

/// What was found in a team, and whether something was done about it.
#[derive(Debug, Clone, Serialize)]
pub struct Repair {
    /// The team.
    pub team: TeamName,
    /// Whether it was done, or only said.
    pub applied: bool,
    /// What was found.
    pub troubles: Vec<Trouble>,
}

/// Finds what is wrong with a team, and with `apply` does something about it. `routes` says whose mail a phantom's
/// really is. No mail is lost: what is taken out of the tree is kept in quarantine.
pub fn repair(
    office: &Office,
    team: &TeamName,
    routes: &[(MemberName, MemberName)],
    apply: bool,
) -> Result<Repair, OfficeError> {
    let folder = office.folder(team)?;
    let config = folder.load()?;
    let phantoms = phantoms::find(office, team)?;
    for (phantom, to) in routes {
        if config.member(to.as_str()).is_none() {
            return Err(office.no_member(team, &config, to.as_str()));
        }
        if phantoms.iter().all(|found| found.name != *phantom) {
            return Err(OfficeError::NoPhantom { team: team.clone(), name: phantom.to_string() });
        }
    }
    let mut troubles = duplicates(office, team, &config, apply)?;
    troubles.extend(orphaned(office, team, &config, apply)?);
    for phantom in phantoms {
        let told = routes.iter().find(|(name, _)| *name == phantom.name).map(|(_, to)| to);
        let to = told.or(match phantom.nearest.as_slice() {
            [only] => Some(only),
            _ => None,
        });
        let journal = if apply { lay_to_rest(office, team, phantom.clone(), to)? } else { None };
        troubles.push(Trouble::PhantomInbox {
            name: phantom.name.to_string(),
            unread: phantom.unread,
            to: to.map(ToString::to_string),
            nearest: phantom.nearest.iter().map(ToString::to_string).collect(),
            journal,
        });
    }
    Ok(Repair { team: team.clone(), applied: apply, troubles })
}

fn duplicates(
    office: &Office,
    team: &TeamName,
    config: &TeamConfig,
    apply: bool,
) -> Result<Vec<Trouble>, OfficeError> {
    let mut seen = HashSet::new();
    let mut troubles = Vec::new();
    for member in &config.members {
        let same: Vec<&Member> = config.members.iter().filter(|other| other.name == member.name).collect();
        if same.len() < 2 || !seen.insert(member.name.clone()) {
            continue;
        }
        // Who runs, else who came last.
        let stays = same.iter().max_by_key(|member| {
            (member.is_active == Some(true), member.spawned_at.or(member.joined_at), member.index)
        });
        let stays = stays.map_or(member.index, |member| member.index);
        let keep =
            || office.folder(team)?.keep_one(&member.name, stays, office.state()).map_err(OfficeError::from);
        let kept = apply.then(keep).transpose()?;
        troubles.push(Trouble::DuplicateName { name: member.name.clone(), entries: same.len(), stays, kept });
    }
    Ok(troubles)
}

/// A lead whose recorded process has ended is recorded as offline, so that its mail waits for the next lead.
fn orphaned(
    office: &Office,
    team: &TeamName,
    config: &TeamConfig,
    apply: bool,
) -> Result<Option<Trouble>, OfficeError> {
    let Some(lead) = config.lead().filter(|lead| !lead.is_offline()) else { return Ok(None) };
    if config.lead_process.as_ref().is_none_or(|process| process.pid.is_none()) {
        return Ok(None);
    }
    let (runs, why) = office.lead_runs(config)?;
    if runs {
        return Ok(None);
    }
    if apply {
        let off = [("isActive", false.into()), ("shutdownAt", office.now().to_string().into())];
        office.folder(team)?.set_member(&lead.name, &off)?;
    }
    Ok(Some(Trouble::Orphaned { lead: lead.name.clone(), why }))
}

/// Brings a phantom's mail to whom it was meant for, and takes its inbox away; says under which id that can be undone.
/// Nothing is done where somebody's mail waits and nobody said whose it is.
fn lay_to_rest(
    office: &Office,
    team: &TeamName,
    mut phantom: Phantom,
    to: Option<&MemberName>,
) -> Result<Option<String>, OfficeError> {
    for _ in 0..ROUNDS {
        let done = match to {
            Some(to) => phantoms::bring_over(office, team, &phantom, to).map(|done| done.journal),
            None if phantom.unread == 0 => phantoms::remove(office, &phantom),
            None => return Ok(None),
        };
        match done {
            // Somebody wrote to it meanwhile: then once more.
            Err(OfficeError::Store(StoreError::Unsettled { .. })) => {}
            done => return done,
        }
        let Some(now) = phantoms::find(office, team)?.into_iter().find(|now| now.name == phantom.name) else {
            return Ok(None);
        };
        phantom = now;
    }
    Ok(None)
}
