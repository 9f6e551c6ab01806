//! A team in one file, and back.

use std::path::{Path, PathBuf};

use atm_office::{Office, OfficeError};
use atm_store::Layout;
use atm_store::backup::{self, Limits, Order, Packing, Repacked, Site};
use atm_wire::backup::{FolderEntry, Manifest};
use atm_wire::{Stamp, TeamName};
use serde::Serialize;

use crate::Progress;
use crate::merge::{Merge, Merged};

/// What backup is wanted.
#[derive(Debug, Clone, Default)]
pub struct BackupPlan {
    /// The file to be made.
    pub out: PathBuf,
    /// Even if there is one already.
    pub force: bool,
    /// How it is packed.
    pub packing: Packing,
    /// Only the team's configuration.
    pub config_only: bool,
}

/// What is to become of a backup.
#[derive(Debug, Clone, Default)]
pub struct RestorePlan {
    /// The file.
    pub file: PathBuf,
    /// Under another name than it had.
    pub name: Option<String>,
    /// Add it to a team that is there.
    pub merge: bool,
    /// Only check it.
    pub dry_run: bool,
    /// How much it may hold.
    pub limits: Limits,
}

/// A backup that was made. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Serialize)]
pub struct BackedUp {
    /// The team.
    pub team: String,
    /// The file.
    pub file: PathBuf,
    /// How many files are in it.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many bytes the backup has.
    pub size: u64,
    /// When it was made.
    pub created_at: Stamp,
    /// What is not in it.
    pub warnings: Vec<String>,
}

/// A backup that was restored, or would be. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Serialize)]
pub struct Restored {
    /// The team, as it is called now.
    pub team: String,
    /// The team, as it was called when the backup was made.
    pub from: String,
    /// Its folder.
    pub path: PathBuf,
    /// How many files there are.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// When the backup was made.
    pub created_at: Stamp,
    /// Nothing was done.
    pub dry_run: bool,
    /// How many archived messages were there already.
    pub archived_before: usize,
    /// What is not as it was.
    pub warnings: Vec<String>,
}

/// Makes a backup of a team: its folder, its tasks and its archive. Nobody has to stop for it.
pub fn backup(
    office: &Office,
    team: &TeamName,
    plan: &BackupPlan,
    progress: Progress,
) -> Result<BackedUp, OfficeError> {
    let folder = office.folder(team)?;
    if plan.config_only && !folder.config_file().exists() {
        return Err(OfficeError::NoConfig { team: team.clone() });
    }
    office.complete_accepted(team, None);
    let order = Order {
        out: plan.out.clone(),
        force: plan.force,
        packing: plan.packing,
        config_only: plan.config_only,
        now: office.now(),
        atm: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let root_key = office.root_key();
    // In the middle of a conversion, mail could be copied from where it is not yet, and from where it is no more.
    let _turn = folder.converting(office.state(), office.lock_times())?;
    let made = backup::backup(site(office, team, &root_key), &order, progress)?;
    Ok(BackedUp {
        team: made.manifest.team.clone(),
        file: plan.out.clone(),
        files: made.manifest.files.len(),
        bytes: made.manifest.total(),
        size: made.size,
        created_at: made.manifest.created_at,
        warnings: made.left_out,
    })
}

/// Adds what is in a backup to a team that is there: mail that is not there, members of other names, tasks of other
/// numbers, files of other names. Where there is no such team, it is made.
pub fn restore_into(office: &Office, plan: &RestorePlan, progress: Progress) -> Result<Merged, OfficeError> {
    let ours = Ours::of(office, plan)?;
    let plan = ours.plan();
    let manifest = backup::manifest(&plan.file)?;
    let team = match &plan.name {
        Some(name) => TeamName::parse(name)?,
        None => TeamName::parse(&manifest.team)?,
    };
    let root_key = office.root_key();
    let opened = backup::open(site(office, &team, &root_key), &plan.file, plan.limits, progress)?;
    let mut merge = Merge::new(office, &team, &manifest.team, plan.dry_run);
    let is_log = |entry: &FolderEntry| entry.path.as_bytes() == b"team/members";
    let layout = if manifest.folders.iter().any(is_log) { Layout::Log } else { Layout::Array };
    merge.config(opened.config()?.as_deref(), layout)?;
    for name in opened.inbox_names() {
        let load = opened.mail(&name)?;
        load.warnings.iter().for_each(|warning| merge.warn(warning.to_string()));
        merge.mail(&name, load.messages)?;
    }
    if !plan.dry_run {
        merge.done.archived.add(opened.merge_archive()?.into());
        merge.done.tasks = opened.merge_tasks()?.into();
        merge.done.files = opened.merge_files()?.into();
    }
    Ok(merge.done)
}

/// Makes a team of a backup, byte for byte; there must be none of that name. Everything is checked before anything is
/// put in place.
pub fn restore(office: &Office, plan: &RestorePlan, progress: Progress) -> Result<Restored, OfficeError> {
    let ours = Ours::of(office, plan)?;
    let plan = ours.plan();
    // The manifest says which team it is.
    let manifest = backup::manifest(&plan.file)?;
    let team = restored_name(&manifest, plan)?;
    let path = office.root().teams().join(team.as_str());
    if path.exists() {
        return Err(OfficeError::Exists { what: format!("team {team}") });
    }
    let root_key = office.root_key();
    let (manifest, archived_before, lost_group) = if plan.dry_run {
        (backup::check(&plan.file, plan.limits, progress)?, 0, None)
    } else {
        let done = backup::restore(site(office, &team, &root_key), &plan.file, plan.limits, progress)?;
        (done.manifest, done.archived_before, done.lost_group)
    };
    let lost =
        |group| format!("the group {group} is not here, or you are not in it: the team is yours alone");
    Ok(Restored {
        team: team.to_string(),
        path,
        files: manifest.files.len(),
        bytes: manifest.total(),
        created_at: manifest.created_at,
        dry_run: plan.dry_run,
        archived_before,
        warnings: lost_group.map(lost).into_iter().collect(),
        from: manifest.team,
    })
}

pub(crate) fn site<'a>(office: &'a Office, team: &'a TeamName, root_key: &'a str) -> Site<'a> {
    Site { root: office.root(), root_key, team, state: office.state(), times: office.lock_times() }
}

fn restored_name(manifest: &Manifest, plan: &RestorePlan) -> Result<TeamName, OfficeError> {
    Ok(match &plan.name {
        Some(name) => TeamName::create(name)?,
        None => TeamName::parse(&manifest.team)?,
    })
}

/// The name of a backup that is made now, where none is given.
pub fn default_name(team: &TeamName, now: Stamp, packing: Packing) -> PathBuf {
    let ending = match packing {
        Packing::Zstd => "zst",
        Packing::Gzip => "gz",
    };
    Path::new(&format!("{}-{}.tar.{ending}", team.file_stem(), &now.file_name()[..15])).to_owned()
}

/// A backup to be restored, which is one of ours: a tar of somebody else's is packed anew, into a file that is gone with
/// this.
#[derive(Debug)]
pub(crate) struct Ours {
    plan: RestorePlan,
    #[expect(dead_code, reason = "held for its drop")]
    repacked: Option<Repacked>,
}

impl Ours {
    pub(crate) fn of(office: &Office, plan: &RestorePlan) -> Result<Self, OfficeError> {
        let order = Order {
            out: PathBuf::new(),
            force: false,
            packing: Packing::default(),
            config_only: false,
            now: office.now(),
            atm: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let place = (office.state(), office.lock_times());
        let repacked = backup::repack(&plan.file, order, plan.limits, place)?;
        let file = repacked.as_ref().map_or_else(|| plan.file.clone(), Repacked::file);
        Ok(Self { plan: RestorePlan { file, ..plan.clone() }, repacked })
    }

    pub(crate) fn plan(&self) -> &RestorePlan {
        &self.plan
    }
}
