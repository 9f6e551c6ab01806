//! What a daemon says of itself.

use std::path::PathBuf;
use std::time::Instant;

use atm_office::Office;
use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

/// How a daemon does. Fields are added, never changed: a client of another version reads it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Which build it is.
    pub build: String,
    /// When it began.
    pub since: Option<Stamp>,
    /// The shared tree that it watches.
    pub root: PathBuf,
    /// How many teams it knows.
    pub teams: usize,
    /// How many folders the system watches for it.
    pub watches: usize,
    /// How many folders it looks at every two seconds instead, since the system has no events for them.
    pub polled: usize,
    /// How many processes it watches.
    pub processes: usize,
    /// For how long the oldest change is there that it has not looked at, in milliseconds.
    pub lag_ms: u64,
    /// Since when.
    #[serde(skip)]
    pub(crate) behind_since: Option<Stamp>,
    /// What it does now, and since when, if it does something.
    pub busy: Option<String>,
    /// When something is due next.
    pub next: Option<Stamp>,
    /// In which team that is.
    pub next_team: Option<String>,
    /// How often it looked at a team, and how many steps of chores it took.
    pub looks: u64,
    /// Steps of chores that it took.
    pub steps: u64,
    /// Its program was replaced: it ends as soon as it has nothing to do.
    pub replaced: bool,
    /// The last things that went wrong, newest first.
    pub troubles: Vec<Trouble>,
    /// Who is listed for Claude Code as a peer, by title.
    pub peers: Vec<String>,
    /// The last things that went wrong with peers, newest first.
    #[serde(skip)]
    pub(crate) peer_troubles: Vec<Trouble>,
    /// Whether a file can be written and read in the state folder.
    pub store: Check,
    /// Whether the ledger can be asked.
    pub ledger: Check,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// When it was last seen.
    pub at: Stamp,
    /// Where, if it is of one team.
    pub team: Option<String>,
    /// What.
    pub what: String,
    /// How often in a row.
    pub times: u64,
}

/// Whether something works, by trying it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    /// Whether it does.
    pub ok: bool,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// What went wrong.
    pub error: Option<String>,
}

impl Check {
    fn of<E: ToString>(work: impl FnOnce() -> Result<(), E>) -> Self {
        let begun = Instant::now();
        let done = work();
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        Self { ok: done.is_ok(), micros, error: done.err().map(|error| error.to_string()) }
    }

    /// Writes a file, and reads it again.
    pub(crate) fn store(office: &Office) -> Self {
        Self::of(|| office.check_store())
    }

    /// Asks the ledger for its end.
    pub(crate) fn ledger(office: &Office) -> Self {
        Self::of(|| office.check_ledger())
    }
}

/// The last things that went wrong: a few, each once.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Vec<Trouble>);

/// So many are kept.
const KEPT: usize = 20;

impl Troubles {
    pub(crate) fn add(&mut self, at: Stamp, team: Option<String>, what: String) {
        let known = self.0.iter().position(|known| known.team == team && known.what == what);
        let times = known.map_or(0, |known| self.0.remove(known).times) + 1;
        self.0.insert(0, Trouble { at, team, what, times });
        self.0.truncate(KEPT);
    }

    /// A team works again.
    pub(crate) fn clear(&mut self, team: &str) {
        self.0.retain(|trouble| trouble.team.as_deref() != Some(team));
    }

    pub(crate) fn list(&self) -> Vec<Trouble> {
        self.0.clone()
    }
}
