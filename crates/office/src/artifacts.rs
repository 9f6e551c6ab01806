//! What members leave for others: a report of themselves, what their process wrote, and files.

use std::fs::File;
use std::io::Read;
use std::time::{Instant, UNIX_EPOCH};

use atm_store::ArtifactFolder;
use atm_store::artifacts::{Added, Artifact, Tail};
use atm_store::watch::FolderWatch;
use atm_wire::status::{News, State, TaskStatus};
use atm_wire::{ArtifactName, MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::office::Office;
use crate::team::Team;

/// All that a member left.
#[derive(Debug, Serialize)]
pub struct MemberArtifacts {
    /// Who.
    pub name: MemberName,
    /// What it reports of itself.
    pub status: Option<TaskStatus>,
    /// The size of its log, if it has one.
    pub log: Option<u64>,
    /// Its files.
    pub files: Vec<ArtifactView>,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A file that a member left.
#[derive(Debug, Serialize)]
pub struct ArtifactView {
    /// Its name.
    pub name: ArtifactName,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written.
    pub modified: Option<Stamp>,
}

/// A member's log as it grows.
#[derive(Debug)]
pub struct LogStream {
    folder: ArtifactFolder,
    tail: Tail,
    watch: FolderWatch,
}

impl Office {
    /// What the members of a team left, or one of them.
    pub fn artifacts(
        &self,
        team: &TeamName,
        of: Option<&MemberName>,
    ) -> Result<Vec<MemberArtifacts>, OfficeError> {
        let handle = self.team(team)?;
        let names = match of {
            Some(name) => {
                handle.known_mailbox(name)?;
                vec![name.clone()]
            }
            None => ArtifactFolder::members(&self.root, team)?,
        };
        Ok(names.into_iter().map(|name| self.left_by(team, name)).collect())
    }

    fn left_by(&self, team: &TeamName, name: MemberName) -> MemberArtifacts {
        let folder = self.artifact_folder(team, &name);
        let mut left =
            MemberArtifacts { name, status: None, log: None, files: Vec::new(), warnings: Vec::new() };
        let mut or_warn = |error: atm_store::StoreError| left.warnings.push(error.to_string());
        left.status = folder.status().map_err(&mut or_warn).unwrap_or_default();
        let log = folder.log().map_err(&mut or_warn).unwrap_or_default();
        left.log = log.and_then(|log| Some(log.metadata().ok()?.len()));
        left.files = folder.list().map_err(&mut or_warn).unwrap_or_default().into_iter().map(view).collect();
        left
    }

    /// Keeps a file of `who` for others, in the place of one of that name; gives its size.
    pub fn put_artifact(
        &self,
        team: &TeamName,
        who: &MemberName,
        name: &ArtifactName,
        content: &mut impl Read,
    ) -> Result<u64, OfficeError> {
        self.team(team)?.known_mailbox(who)?;
        Ok(self.artifact_folder(team, who).put(name, content)?)
    }

    /// A file that a member left.
    pub fn open_artifact(
        &self,
        team: &TeamName,
        of: &MemberName,
        name: &ArtifactName,
    ) -> Result<File, OfficeError> {
        self.team(team)?.known_mailbox(of)?;
        let file = self.artifact_folder(team, of).open(name)?;
        file.ok_or_else(|| OfficeError::NoArtifact {
            team: team.clone(),
            who: of.to_string(),
            name: name.to_string(),
        })
    }

    /// The last lines of what a member's process wrote, and the log itself, to go on reading.
    pub fn output_log(
        &self,
        team: &TeamName,
        of: &MemberName,
        lines: usize,
    ) -> Result<(Option<Vec<u8>>, LogStream), OfficeError> {
        self.team(team)?.known_mailbox(of)?;
        let folder = self.artifact_folder(team, of);
        // Before the look: what comes in between wakes it.
        let watch = self.hub.folders([folder.path().to_owned()]);
        let (text, tail) = match Tail::begin(&folder, lines)? {
            Some((text, tail)) => (Some(text), tail),
            None => (None, Tail::before()),
        };
        Ok((text, LogStream { folder, tail, watch }))
    }

    /// How many seconds a member takes to answer, on average, as far as the ledger knows.
    fn response_time(&self, team: &TeamName, name: &MemberName) -> Option<f64> {
        if !self.books.exist() {
            return None;
        }
        let inbox = self.inbox_key(team, name);
        let millis = self.books.with(|ledger| ledger.response_time(&inbox)).ok().flatten()?;
        // To a tenth of a second: nobody measures better.
        Some((millis / 100.0).round() / 10.0)
    }

    /// Where a member's own files are.
    pub fn artifact_folder(&self, team: &TeamName, name: &MemberName) -> ArtifactFolder {
        ArtifactFolder::new(&self.root, team, name, &self.state, self.times)
    }
}

impl Team<'_> {
    /// Keeps a member's report of itself current: what it does since `now`, and what went wrong, of an error.
    pub fn status_changed(
        &self,
        name: &MemberName,
        state: State,
        detail: Option<&str>,
        now: Stamp,
    ) -> Result<TaskStatus, OfficeError> {
        let agent_id = format!("{name}@{}", self.name());
        let news = News { agent_id: &agent_id, state, at: now, detail, tokens: 0, tasks: 0, response: None };
        self.report(name, &news)
    }

    /// The same, with numbers to add, and how fast it answers if there is something to add.
    pub fn report(&self, name: &MemberName, news: &News) -> Result<TaskStatus, OfficeError> {
        self.known_mailbox(name)?;
        let (office, team) = (self.office(), self.name());
        let asks = news.tasks > 0 || news.tokens > 0;
        let response = news.response.or_else(|| asks.then(|| office.response_time(team, name)).flatten());
        Ok(office.artifact_folder(team, name).report(&News { response, ..news.clone() })?)
    }
}

impl LogStream {
    /// Waits for what is added; `None` when `deadline` is over.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Added>, OfficeError> {
        loop {
            let more = self.tail.more(&self.folder)?;
            if !more.text.is_empty() {
                return Ok(Some(more));
            }
            if !self.watch.wait(deadline) {
                return Ok(None);
            }
        }
    }
}

fn view(artifact: Artifact) -> ArtifactView {
    let since = artifact.modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    ArtifactView { name: artifact.name, size: artifact.size, modified: millis.map(Stamp::from_millis) }
}
