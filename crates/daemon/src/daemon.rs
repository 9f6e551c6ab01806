//! A daemon's life: it takes the lock, answers, works, and leaves a word at its end.

use std::fmt::Debug;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use atm_office::Office;
use atm_office::chores::Chore;

use crate::control::{Board, bind, serve};
use crate::error::{DaemonError, Doing};
use crate::last::{LastRun, Stopped};
use crate::lock::Lock;
use crate::machine::Machine;
use crate::panics::{Panic, remembered};
use crate::peers::PeerProgram;
use crate::program::Program;
use crate::run::Loop;
use crate::settings::SettingsFiles;
use crate::status::Status;

/// All chores. Each of several threads asks for them when it needs them.
pub trait Chores: Debug + Send + Sync {
    /// Lets something be done with them.
    fn lend(&self, act: &mut dyn FnMut(&[&dyn Chore]));

    /// Does what is of no team; says what went wrong.
    fn keep_house(&self, office: &Office) -> Vec<String>;
}

/// What a daemon works by, and what it is to watch for changes of that.
#[derive(Debug)]
pub struct Settings {
    /// What happens by the clock.
    pub chores: Arc<dyn Chores>,
    /// The files that the settings are from, as they were before they were loaded.
    pub files: SettingsFiles,
    /// How members of other clients are listed for Claude Code, if they are to be.
    pub peers: Option<PeerProgram>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Somebody said so.
    Asked,
    /// Another program stands in the place of this one, or none.
    Replaced,
    /// Its lock is gone: the state folder was removed.
    StateGone,
    /// The settings are others: it has to be run again with them.
    SettingsChanged,
}

impl Ended {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "it was told to stop",
            Self::Replaced => "its program was replaced",
            Self::StateGone => "its state folder is gone",
            Self::SettingsChanged => "its settings changed",
        }
    }
}

/// A daemon that holds the lock and answers.
#[derive(Debug)]
pub struct Daemon {
    pub(crate) office: Office,
    pub(crate) machine: Machine,
    pub(crate) board: Arc<Board>,
    pub(crate) program: Option<Program>,
    last: LastRun,
    pub(crate) lock: Lock,
}

impl Daemon {
    /// Takes the lock and begins to answer; `listener` is the socket of a service manager, if it has one.
    pub fn begin(
        office: Office,
        version: &str,
        build: &str,
        listener: Option<UnixListener>,
    ) -> Result<Self, DaemonError> {
        let lock = Lock::take(office.state())?;
        let machine = Machine::default();
        let office = office.with_probe(machine.clone());
        let before = LastRun::read(office.state());
        let panics = before.as_ref().map(|before| before.panics.clone()).unwrap_or_default();
        let last = LastRun {
            pid: std::process::id(),
            version: version.to_owned(),
            build: build.to_owned(),
            started: office.now(),
            stopped: None,
            panics: remembered(panics, office.now()),
        };
        if let Some(before) = before.filter(|before| before.stopped.is_none()) {
            tracing::warn!(pid = before.pid, "the daemon before this one crashed");
        }
        last.write(office.state())?;
        let board = Arc::<Board>::default();
        board.write(|status| {
            *status = Status {
                pid: last.pid,
                version: version.to_owned(),
                build: build.to_owned(),
                since: Some(last.started),
                root: office.root().path().to_owned(),
                ..Status::default()
            };
        });
        let listener = listener.map_or_else(|| bind(office.state()), Ok)?;
        // Who answers does not wait for those who work: they may be at the ledger for long.
        serve(listener, office.apart(), Arc::clone(&board)).doing("listen at", office.state().daemon())?;
        tracing::info!(version, build, root = %office.root().path().display(), "began");
        Ok(Self { office, machine, board, program: Program::of_process(), last, lock })
    }

    /// Works until it has to end. After [`Ended::SettingsChanged`] it can be run again.
    pub fn run(&mut self, settings: &Settings) -> Result<Ended, DaemonError> {
        let ended = Loop::new(self, settings)?.run()?;
        tracing::info!(why = ended.as_str(), "ends");
        Ok(ended)
    }

    /// Panics of the last hour.
    pub(crate) fn panics(&self) -> &[Panic] {
        &self.last.panics
    }

    /// Whether there is a program in the place of this one that can be started instead.
    pub fn has_successor(&self) -> bool {
        self.program.as_ref().is_some_and(Program::is_there)
    }

    /// Leaves a word that it ended as it should.
    pub fn end(mut self, why: Ended) {
        self.last.stopped = Some(Stopped { at: self.office.now(), why: why.as_str().to_owned() });
        if why != Ended::StateGone {
            // Without the word it looks like a crash, which it then nearly is.
            if let Err(error) = self.last.write(self.office.state()) {
                tracing::error!(%error, "cannot record the end");
            }
        }
    }
}
