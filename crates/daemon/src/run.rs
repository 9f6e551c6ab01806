//! The loop.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atm_office::Office;
use atm_office::chores::Chore;
use atm_store::TeamFolder;
use atm_wire::{Stamp, TeamName};

use crate::control::{Board, Order, bind, serve};
use crate::deaths::Deaths;
use crate::error::{DaemonError, Doing};
use crate::last::{LastRun, Stopped};
use crate::lock::Lock;
use crate::machine::Machine;
use crate::program::Program;
use crate::registry::Registry;
use crate::schedule::{Job, News, Schedule};
use crate::status::{Status, Troubles};
use crate::visit::{Concerned, Visited, visit};
use crate::watching::{Heard, Meaning, Watching, above};

/// Folders are listed anew after this many times the time that it took, so that it costs little.
const LIST_REST: u32 = 8;
/// After a list that failed.
const LIST_AGAIN: Duration = Duration::from_secs(5);
/// Processes that cannot be watched are looked at so often.
const PROCESS_LOOK: Duration = Duration::from_secs(30);
/// While something is due later, the clock is looked at so often: it may have been set, or the machine have slept.
const CLOCK_LOOK: Duration = Duration::from_secs(60);

/// What a daemon works by, and what it is to watch for changes of that.
#[derive(Debug)]
pub struct Settings<'a> {
    /// What happens by the clock.
    pub chores: &'a [&'a dyn Chore],
    /// The files that the settings are from, whether they are there or not.
    pub files: Vec<PathBuf>,
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
    office: Office,
    machine: Machine,
    board: Arc<Board>,
    program: Option<Program>,
    last: LastRun,
    lock: Lock,
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
        let last = LastRun {
            pid: std::process::id(),
            version: version.to_owned(),
            build: build.to_owned(),
            started: office.now(),
            stopped: None,
        };
        if let Some(before) = LastRun::read(office.state()).filter(|before| before.stopped.is_none()) {
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
        serve(listener, office.clone(), Arc::clone(&board)).doing("listen at", office.state().daemon())?;
        tracing::info!(version, build, root = %office.root().path().display(), "began");
        Ok(Self { office, machine, board, program: Program::of_process(), last, lock })
    }

    /// Works until it has to end. After [`Ended::SettingsChanged`] it can be run again.
    pub fn run(&mut self, settings: &Settings) -> Result<Ended, DaemonError> {
        let mut round = Loop::new(self, settings)?;
        let ended = round.run()?;
        tracing::info!(why = ended.as_str(), "ends");
        Ok(ended)
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

/// The loop's own state: all of it can be found out again.
struct Loop<'a> {
    daemon: &'a Daemon,
    settings: &'a Settings<'a>,
    settings_before: Vec<Option<Vec<u8>>>,
    watching: Watching,
    deaths: Deaths,
    schedule: Schedule,
    registry: Registry,
    concerned: Concerned,
    troubles: Troubles,
    /// Processes that the system does not watch for us.
    unwatched: BTreeSet<u64>,
    list_at: Option<Instant>,
    /// The next list is not before this time.
    list_rests: Instant,
    teams: BTreeSet<TeamName>,
    /// The folders in which the settings would come.
    settings_folders: BTreeSet<PathBuf>,
    is_replaced: bool,
}

impl<'a> Loop<'a> {
    fn new(daemon: &'a Daemon, settings: &'a Settings<'a>) -> Result<Self, DaemonError> {
        let watching = Watching::new(&daemon.office);
        daemon.board.set_waker(watching.waker());
        let deaths =
            Deaths::new(watching.waker()).doing("watch processes for", daemon.office.state().daemon())?;
        Ok(Self {
            daemon,
            settings,
            settings_before: read_all(&settings.files),
            watching,
            deaths,
            schedule: Schedule::default(),
            registry: Registry::default(),
            concerned: Concerned::default(),
            troubles: Troubles::default(),
            unwatched: BTreeSet::new(),
            list_at: Some(Instant::now()),
            list_rests: Instant::now(),
            teams: BTreeSet::new(),
            settings_folders: BTreeSet::new(),
            is_replaced: false,
        })
    }

    fn run(&mut self) -> Result<Ended, DaemonError> {
        self.registry.changes(&self.daemon.office);
        loop {
            if self.list_at.is_some_and(|at| Instant::now() >= at) {
                self.list();
                // A file may have come with its folder, before that was watched.
                if self.has_other_settings() {
                    return Ok(Ended::SettingsChanged);
                }
            }
            if let Some(ended) = self.obey() {
                return Ok(ended);
            }
            let now = self.daemon.office.now();
            if let Some(job) = self.schedule.due(now) {
                self.carry_out(&job);
            } else if self.is_replaced {
                return Ok(Ended::Replaced);
            }
            self.report();
            match self.watching.wait(self.deadline()) {
                Heard::Changes(changes) => {
                    if let Some(ended) = self.hear(&changes) {
                        return Ok(ended);
                    }
                }
                Heard::Everything => {
                    tracing::warn!("events were lost: everything is looked at");
                    if let Some(ended) = self.look_at_everything() {
                        return Ok(ended);
                    }
                }
                Heard::Due => {}
                Heard::Over => return Ok(Ended::Asked),
            }
            self.mourn();
        }
    }

    /// Until when there is nothing to do.
    fn deadline(&self) -> Option<Instant> {
        let now = self.daemon.office.now();
        let due = self.schedule.next().map(|(at, _)| Instant::now() + at.since(now).min(CLOCK_LOOK));
        [due, self.list_at].into_iter().flatten().min()
    }

    /// Lists teams and folders anew.
    fn list(&mut self) {
        let begun = Instant::now();
        self.list_at = None;
        let office = &self.daemon.office;
        match TeamFolder::list(office.root()) {
            Ok(teams) => self.teams = teams.into_iter().collect(),
            // Those that were known are watched on.
            Err(error) => {
                self.list_at = Some(begun + LIST_AGAIN);
                self.trouble(None, error.to_string());
            }
        }
        let mut others: Vec<(PathBuf, Meaning)> = vec![(office.state().daemon(), Meaning::State)];
        let program = self.daemon.program.as_ref().and_then(Program::folder);
        others.extend(program.map(|folder| (folder.to_owned(), Meaning::Program)));
        // Where the folder is not there yet, the one above it sees it come.
        self.settings_folders = self.settings.files.iter().map(|file| above(file)).collect();
        others.extend(self.settings_folders.iter().map(|folder| (folder.clone(), Meaning::Settings)));
        if self.daemon.board.has_subscribers() {
            // What other processes record is news, too.
            others.push((office.state().path().to_owned(), Meaning::Log));
        }
        let (others, is_settled) = self.watching.set(office, &self.teams, &others);
        self.schedule.set_teams(&self.teams, office.now());
        for team in &others {
            self.schedule.happened(team, News::Files, office.now());
        }
        self.is_replaced |= self.daemon.program.as_ref().is_some_and(Program::is_replaced);
        self.list_rests = Instant::now() + begun.elapsed() * LIST_REST;
        // One that came before its folder was watched gave no event.
        let has_others = TeamFolder::list(office.root())
            .is_ok_and(|teams| teams.into_iter().collect::<BTreeSet<_>>() != self.teams);
        if has_others || !is_settled {
            self.list_soon();
        }
    }

    /// What changes mean.
    fn hear(&mut self, changes: &BTreeSet<Meaning>) -> Option<Ended> {
        let now = self.daemon.office.now();
        for change in changes {
            match change {
                Meaning::Team { name, is_its_folder } => {
                    if *is_its_folder && self.watching.has_other_folders(&self.daemon.office, name) {
                        self.list_soon();
                    }
                    self.schedule.happened(name, News::Files, now);
                }
                Meaning::Sessions => {
                    let sessions = self.registry.changes(&self.daemon.office);
                    for team in self.concerned.by_session(&sessions) {
                        self.schedule.happened(&team, News::People, now);
                    }
                }
                Meaning::Conversations => self.schedule.conversation_went_on(now),
                Meaning::Projects => {
                    self.list_soon();
                    self.schedule.conversation_went_on(now);
                }
                Meaning::Program => {
                    self.is_replaced |= self.daemon.program.as_ref().is_some_and(Program::is_replaced);
                }
                Meaning::Settings if self.has_other_settings() => {
                    return Some(Ended::SettingsChanged);
                }
                Meaning::State if !self.daemon.lock.is_there(self.daemon.office.state()) => {
                    return Some(Ended::StateGone);
                }
                Meaning::Log => self.daemon.board.publish(),
                Meaning::Teams => self.list_soon(),
                // Others write into these folders, too.
                Meaning::Root if self.watching.has_other_holders(&self.daemon.office) => self.list_soon(),
                Meaning::Settings if self.has_other_settings_folders() => self.list_soon(),
                Meaning::Root | Meaning::Settings | Meaning::State => {}
            }
        }
        None
    }

    /// Anything may have changed; also what is of no team.
    fn look_at_everything(&mut self) -> Option<Ended> {
        self.list_soon();
        self.daemon.machine.forget();
        self.schedule.everything_changed(self.daemon.office.now());
        self.hear(&BTreeSet::from([Meaning::State, Meaning::Settings, Meaning::Program, Meaning::Sessions]))
    }

    fn has_other_settings(&self) -> bool {
        read_all(&self.settings.files) != self.settings_before
    }

    fn has_other_settings_folders(&self) -> bool {
        self.settings.files.iter().map(|file| above(file)).collect::<BTreeSet<_>>() != self.settings_folders
    }

    /// At once, or if that was done just now, after a rest.
    fn list_soon(&mut self) {
        let soon = self.list_rests.max(Instant::now());
        self.list_at = Some(self.list_at.map_or(soon, |at| at.min(soon)));
    }

    /// Processes that ended.
    fn mourn(&mut self) {
        let died = self.deaths.take();
        if !died.is_empty() {
            self.daemon.machine.forget();
            let now = self.daemon.office.now();
            for team in self.concerned.by_process(&died) {
                self.schedule.happened(&team, News::People, now);
            }
        }
    }

    /// What was ordered.
    fn obey(&mut self) -> Option<Ended> {
        for order in self.daemon.board.take_orders() {
            match order {
                Order::Stop => return Some(Ended::Asked),
                Order::Listen => self.list_at = Some(Instant::now()),
                Order::Tend(team) => self.schedule.tend_now(team.as_ref(), self.daemon.office.now()),
            }
        }
        None
    }

    fn carry_out(&mut self, job: &Job) {
        let office = &self.daemon.office;
        self.daemon.board.write(|status| {
            let parts = [(job.look, "looks at"), (job.presence, "judges"), (job.tend, "tends")];
            let what: Vec<&str> =
                parts.into_iter().filter_map(|(is_due, what)| is_due.then_some(what)).collect();
            status.busy = Some(format!("{} team {} since {}", what.join(", "), job.team, office.now()));
            // What it looks at now is not known yet.
            status.behind_since = self.schedule.behind_since();
        });
        self.schedule.begin(job);
        let visited = visit(office, self.settings.chores, job);
        let now = office.now();
        match visited {
            Ok(visited) => self.learn(job, visited, now),
            Err(error) => {
                tracing::warn!(team = %job.team, error, "failed");
                self.schedule.fail(job, now);
                self.trouble(Some(&job.team), error);
            }
        }
        self.daemon.board.publish();
        self.daemon.board.write(|status| {
            status.busy = None;
            status.looks += u64::from(job.look);
        });
    }

    fn learn(&mut self, job: &Job, mut visited: Visited, now: Stamp) {
        if visited.is_gone {
            tracing::info!(team = %job.team, "is gone");
            self.schedule.forget(&job.team);
            self.concerned.forget(&job.team);
            self.troubles.clear(job.team.as_str());
            self.list_soon();
            return;
        }
        self.troubles.clear(job.team.as_str());
        for what in std::mem::take(&mut visited.troubles) {
            self.trouble(Some(&job.team), what);
        }
        if let Some(round) = visited.round.take() {
            let processes = round.processes.clone();
            self.concerned.set(&job.team, round);
            self.unwatched = self.deaths.watch(&self.concerned.processes());
            if !processes.is_disjoint(&self.unwatched) {
                let look = now.saturating_add(PROCESS_LOOK);
                visited.done.presence_next = visited.done.presence_next.map(|at| at.min(look)).or(Some(look));
            }
            self.mourn();
        }
        self.daemon.board.write(|status| status.steps += visited.steps as u64);
        self.schedule.end(job, &visited.done, now);
    }

    fn trouble(&mut self, team: Option<&TeamName>, what: String) {
        self.troubles.add(self.daemon.office.now(), team.map(ToString::to_string), what);
    }

    /// Writes down how it does.
    fn report(&self) {
        let (watches, polled) = self.watching.counts();
        let next = self.schedule.next().map(|(at, team)| (at, team.to_string()));
        self.daemon.board.write(|status| {
            status.teams = self.schedule.teams();
            (status.watches, status.polled) = (watches, polled);
            status.processes = self.deaths.count();
            status.behind_since = self.schedule.behind_since();
            (status.next, status.next_team) = next.unzip();
            status.replaced = self.is_replaced;
            status.troubles = self.troubles.list();
        });
    }
}

fn read_all(files: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    files.iter().map(|file| fs::read(file).ok()).collect()
}
