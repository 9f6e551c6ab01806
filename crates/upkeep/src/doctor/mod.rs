//! Looking after a team's files: what is wrong, how one can tell, and what can be done about it.
//!
//! Looking changes nothing. Each fix goes through the store, with the file's locks, and into the journal first, so that
//! it can be undone to the same bytes.

mod abandoned;
mod ailments;
mod clients;
mod ledger;
mod locks;
mod mail;
mod people;
mod system;
mod treat;

use std::fs;
use std::path::{Path, PathBuf};

use atm_office::{Office, OfficeError};
use atm_store::journal::Entry;
use atm_store::mend::{Mending, Undone};
use atm_store::{Layout, TeamFolder, bounded_log};
use atm_wire::{MemberName, TeamName, counted};
use serde::Serialize;

use crate::Progress;
use crate::phantoms::{self, Phantom, REROUTED};

use abandoned::Abandoned;
pub use ailments::{Ailment, Severity};
pub use ledger::{Checkup, check_ledger};
pub use treat::{Treated, treat};

/// So many of the flaws that were noted are shown, the newest.
const NOTED_AT_MOST: usize = 5;

/// Something that is wrong.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What it is.
    pub ailment: Ailment,
    /// In which team, if in one.
    pub team: Option<TeamName>,
    /// The file or folder it is about.
    pub path: Option<PathBuf>,
    /// What is wrong, with what.
    pub message: String,
    /// How one can tell.
    pub evidence: Vec<String>,
    /// Whether the fix can do no harm. One that may is carried out only with consent.
    pub safe: bool,
    remedy: Option<Remedy>,
    /// The inbox of nobody that it is about, until somebody says whose its mail is.
    phantom: Option<Box<Phantom>>,
}

/// What is to be done.
#[derive(Debug, Clone)]
enum Remedy {
    Reroute(Box<Phantom>, MemberName),
    RemoveInbox(PathBuf, Layout),
    MendInbox(PathBuf),
    DropCopies(PathBuf),
    BlankLines(PathBuf),
    RemoveFolder(PathBuf),
    RemoveFile(PathBuf),
    SwitchOff(MemberName),
    KeepOne(String),
    Close(PathBuf, u32),
    MoveCursor(PathBuf, u64),
    NewCursor(PathBuf),
    ClearAbandoned(Abandoned),
    Ledger,
}

impl Finding {
    fn new(ailment: Ailment, team: &TeamName, path: &Path, message: impl Into<String>) -> Self {
        Self {
            ailment,
            team: Some(team.clone()),
            path: Some(path.to_owned()),
            message: message.into(),
            evidence: Vec::new(),
            safe: true,
            remedy: None,
            phantom: None,
        }
    }

    fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    fn mended_by(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    fn with_consent(mut self) -> Self {
        self.safe = false;
        self
    }

    /// Whether there is a fix that can be carried out.
    pub fn can_be_fixed(&self) -> bool {
        self.remedy.is_some()
    }

    /// Says whose mail a phantom's is, if this finding is that phantom: that is consent, too.
    pub fn route(&mut self, phantom: &MemberName, to: &MemberName) {
        if self.phantom.as_ref().is_some_and(|found| found.name == *phantom)
            && let Some(found) = self.phantom.take()
        {
            self.remedy = Some(Remedy::Reroute(found, to.clone()));
            self.safe = true;
        }
    }

    /// What is done about it, in words.
    pub fn fix(&self) -> String {
        match &self.remedy {
            Some(Remedy::Reroute(phantom, to)) => {
                format!("bring {} of {} to {to}", counted(phantom.messages, "message"), phantom.name)
            }
            _ => self.ailment.fix().to_owned(),
        }
    }
}

/// Looks at a team, or at all of them, and at the machine; `progress` counts inboxes. The ledger has a look of its own:
/// [`check_ledger`].
pub fn examine(
    office: &Office,
    team: Option<&TeamName>,
    progress: Progress,
) -> Result<Vec<Finding>, OfficeError> {
    let teams = match team {
        Some(team) => vec![office.folder(team).map(|_| team.clone())?],
        None => TeamFolder::list(office.root())?,
    };
    let mut findings = Vec::new();
    let inboxes: Vec<u64> = teams.iter().map(|team| mail::count(office, team)).collect();
    let (all, mut before) = (inboxes.iter().sum(), 0);
    for (team, count) in teams.iter().zip(inboxes) {
        office.complete_accepted(team, None);
        examine_team(office, team, &mut findings, &mut |done| progress((before + done).min(all), all));
        before += count;
    }
    if team.is_none() {
        abandoned::examine(office, &mut findings);
    }
    system::inotify(&mut findings);
    findings.sort_by_key(|finding| finding.ailment.severity());
    Ok(findings)
}

/// What looks noted of lines and entries that are no messages: it is on record when they are long gone.
#[derive(Debug, Clone, Serialize)]
pub struct Noted {
    /// The log.
    pub path: PathBuf,
    /// Its last lines, oldest first.
    pub lines: Vec<String>,
}

/// The last of what was noted; nothing if there never was anything.
pub fn noted(office: &Office) -> Option<Noted> {
    let path = office.state().error_log();
    let lines = bounded_log::last(&path, NOTED_AT_MOST);
    (!lines.is_empty()).then_some(Noted { path, lines })
}

/// Fails unless each route is from an inbox of nobody to a member.
pub fn check_routes(
    office: &Office,
    team: &TeamName,
    routes: &[(MemberName, MemberName)],
) -> Result<(), OfficeError> {
    let config = office.folder(team)?.load()?;
    let phantoms = phantoms::find(office, team, &config)?;
    for (phantom, to) in routes {
        if config.member(to.as_str()).is_none() {
            return Err(office.no_member(team, &config, to.as_str()));
        }
        if phantoms.iter().all(|found| found.name != *phantom) {
            return Err(OfficeError::NoPhantom { team: team.clone(), name: phantom.to_string() });
        }
    }
    Ok(())
}

fn examine_team(
    office: &Office,
    team: &TeamName,
    findings: &mut Vec<Finding>,
    progress: &mut dyn FnMut(u64),
) {
    let folder = office.folder_of(team);
    locks::examine(office, team, findings);
    let config = folder.load();
    match &config {
        Ok(config) => people::examine(office, team, config, findings),
        Err(error) => findings.push(
            Finding::new(
                Ailment::BadConfig,
                team,
                folder.config_file(),
                "the team's config.json does not parse",
            )
            .because(error.to_string()),
        ),
    }
    mail::examine(office, team, config.as_ref().ok(), findings, progress);
    system::modes(office, team, findings);
}

/// What was mended, oldest first.
pub fn journal(office: &Office) -> Vec<Entry> {
    office.state().journal().entries()
}

/// Undoes what was mended: the entry of that id, or the last one. With `force`, also where somebody has changed the
/// file since; the journal then keeps what they wrote.
pub fn undo(office: &Office, id: Option<&str>, force: bool) -> Result<Undone, OfficeError> {
    let undone = Mending::undo(office.state(), office.lock_times(), id, force, office.now())?;
    if undone.entry.code == REROUTED && undone.entry.undo_of.is_none() {
        phantoms::take_back(office, &undone.entry)?;
    }
    Ok(undone)
}

/// How long ago something was last written, by this office's clock.
fn age_of(office: &Office, path: &Path) -> Option<std::time::Duration> {
    let found = fs::symlink_metadata(path).ok()?;
    let written = found.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    let written = atm_wire::Stamp::from_millis(i64::try_from(written.as_millis()).ok()?);
    Some(office.now().since(written))
}

/// What is in a folder, sorted; nothing if there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
