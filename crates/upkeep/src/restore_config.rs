//! A team's configuration, put back out of a backup.

use std::path::PathBuf;

use atm_office::{Office, OfficeError};
use atm_store::StoreError;
use atm_store::backup;
use atm_store::journal::Locks;
use atm_store::mend::{Cure, Mending};
use atm_wire::migrate;
use atm_wire::team::{TeamConfig, renamed};
use atm_wire::{Stamp, TeamName};
use serde::Serialize;

use crate::Progress;
use crate::backup::{Ours, RestorePlan, site};

/// What the journal calls it.
const RESTORED: &str = "config-restored";

/// A configuration that was put back, or would be. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Serialize)]
pub struct ConfigRestored {
    /// The team.
    pub team: String,
    /// The team that it was of when the backup was made.
    pub from: String,
    /// Its `config.json`.
    pub file: PathBuf,
    /// When the backup was made.
    pub created_at: Stamp,
    /// Nothing was done.
    pub dry_run: bool,
    /// The members that are in it and were not there.
    pub added: Vec<String>,
    /// The members that were there and are not in it. Their mail stays.
    pub removed: Vec<String>,
    /// Under which id it can be undone; nothing, if nothing was changed.
    pub journal: Option<String>,
}

/// Puts the configuration in a backup in the place of a team's own, whatever that is. The journal keeps the old one.
pub fn restore_config(
    office: &Office,
    plan: &RestorePlan,
    progress: Progress,
) -> Result<ConfigRestored, OfficeError> {
    let ours = Ours::of(office, plan)?;
    let plan = ours.plan();
    let manifest = backup::manifest(&plan.file)?;
    let team = TeamName::parse(plan.name.as_deref().unwrap_or(&manifest.team))?;
    let folder = office.folder(&team)?;
    let root_key = office.root_key();
    let opened = backup::open(site(office, &team, &root_key), &plan.file, plan.limits, progress)?;
    let bad = |why: String| StoreError::BadBackup { path: plan.file.clone(), why };
    let text = opened.config()?.ok_or_else(|| bad("there is no config.json in it".to_owned()))?;
    drop(opened);
    let text = if team.as_str() == manifest.team {
        text
    } else if let Some(version) = migrate::newer(&text) {
        let path = folder.config_file().to_owned();
        return Err(StoreError::Newer { path, version }.into());
    } else {
        renamed(&text, &manifest.team, team.as_str()).map_err(|error| bad(error.to_string()))?
    };
    let config = TeamConfig::parse(&text).map_err(|error| bad(error.to_string()))?;
    let there = folder.load().unwrap_or_default();
    let lacking = |of: &TeamConfig, other: &TeamConfig| {
        let names = of.members.iter().map(|member| member.name.clone());
        names.filter(|name| other.member(name).is_none()).collect()
    };
    Ok(ConfigRestored {
        team: team.to_string(),
        file: folder.config_file().to_owned(),
        added: lacking(&config, &there),
        removed: lacking(&there, &config),
        journal: if plan.dry_run { None } else { replace_config(office, &team, &text, manifest.created_at)? },
        from: manifest.team,
        created_at: manifest.created_at,
        dry_run: plan.dry_run,
    })
}

fn replace_config(
    office: &Office,
    team: &TeamName,
    text: &str,
    made: Stamp,
) -> Result<Option<String>, OfficeError> {
    let what = format!("put the configuration of {team} of {made} back");
    let mut mending = Mending::begin(office.state(), office.lock_times(), RESTORED, &what, office.now())?;
    mending.rewrite(office.folder_of(team).config_file(), Locks::Directory, |bytes, _| {
        let is_same = bytes == Some(text.as_bytes());
        Ok(if is_same { Cure::Leave } else { Cure::Write(text.as_bytes().to_vec()) })
    })?;
    Ok(mending.finish()?)
}
