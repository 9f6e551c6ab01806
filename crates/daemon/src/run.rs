//! The loop.

use std::collections::BTreeSet;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atm_store::{SessionNote, TeamFolder};
use atm_wire::{Stamp, TeamName};

use crate::concerned::Concerned;
use crate::control::Order;
use crate::daemon::{Daemon, Ended, Settings};
use crate::deaths::Deaths;
use crate::error::{DaemonError, Doing};
use crate::panics::Panic;
use crate::peers::Keeper;
use crate::program::Program;
use crate::registry::Registry;
use crate::schedule::{Job, News, Schedule};
use crate::status::Troubles;
use crate::visit::Visited;
use crate::watching::{Heard, Meaning, Watching};
use crate::workers::{Errand, Finished, Workers};

/// Folders are listed anew after this many times the time that it took, so that it costs little.
const LIST_REST: u32 = 8;
/// After a list that failed.
const LIST_AGAIN: Duration = Duration::from_secs(5);
/// Processes that cannot be watched are looked at so often.
const PROCESS_LOOK: Duration = Duration::from_secs(30);
/// What is of no team is done this long after the start, when there is less to do, and so often.
const HOUSE_AFTER: Duration = Duration::from_secs(60);
const HOUSE_EVERY: Duration = Duration::from_secs(6 * 60 * 60);
/// One whose program was replaced begins nothing more, and ends when all that is under way is done, or after this long.
const REPLACED_FOR: Duration = Duration::from_secs(60);
/// While something is due later, the clock is looked at so often: it may have been set, or the machine have slept.
const CLOCK_LOOK: Duration = Duration::from_secs(60);

/// The loop's own state: all of it can be found out again.
pub(crate) struct Loop<'a> {
    daemon: &'a Daemon,
    settings: &'a Settings,
    watching: Watching,
    deaths: Deaths,
    schedule: Schedule,
    workers: Workers,
    registry: Registry,
    concerned: Concerned,
    troubles: Troubles,
    /// Of daemons before this one; none once they were taken into account.
    panics: Vec<Panic>,
    /// Processes that the system does not watch for us.
    unwatched: BTreeSet<u64>,
    keep_house_at: Instant,
    list_at: Option<Instant>,
    /// The next list is not before this time.
    list_rests: Instant,
    teams: BTreeSet<TeamName>,
    /// The folders in which the settings would come.
    settings_folders: BTreeSet<PathBuf>,
    /// Since when another program stands in the place of this one.
    replaced_at: Option<Instant>,
    /// Those who are listed for Claude Code, if they are to be.
    peers: Option<Keeper>,
}

impl<'a> Loop<'a> {
    pub(crate) fn new(daemon: &'a Daemon, settings: &'a Settings) -> Result<Self, DaemonError> {
        let watching = Watching::new(&daemon.office);
        daemon.board.set_waker(watching.waker());
        let deaths =
            Deaths::new(watching.waker()).doing("watch processes for", daemon.office.state().daemon())?;
        let workers = Workers::new(daemon.office.clone(), Arc::clone(&settings.chores), watching.waker());
        Ok(Self {
            daemon,
            settings,
            watching,
            deaths,
            schedule: Schedule::default(),
            workers,
            registry: Registry::default(),
            concerned: Concerned::default(),
            troubles: Troubles::default(),
            panics: daemon.panics().to_vec(),
            unwatched: BTreeSet::new(),
            keep_house_at: Instant::now() + HOUSE_AFTER,
            list_at: Some(Instant::now()),
            list_rests: Instant::now(),
            teams: BTreeSet::new(),
            settings_folders: BTreeSet::new(),
            replaced_at: None,
            peers: None,
        })
    }

    /// Works until it has to end.
    pub(crate) fn run(mut self) -> Result<Ended, DaemonError> {
        if let Some(program) = &self.settings.peers {
            match Keeper::start(&self.daemon.office, program, Arc::clone(&self.daemon.board)) {
                Ok(keeper) => self.peers = Some(keeper),
                // Mail goes on without.
                Err(error) => self.trouble(None, format!("peers cannot be listed: {error}")),
            }
        }
        let ended = self.work();
        // Nobody writes to one who is about to end.
        drop(self.peers.take());
        self.workers.end();
        ended
    }

    fn work(&mut self) -> Result<Ended, DaemonError> {
        self.registry.changes(&self.daemon.office);
        loop {
            if self.list_at.is_some_and(|at| Instant::now() >= at) {
                self.list();
                self.remember_panics();
                // A file may have come with its folder, before that was watched.
                if self.settings.files.have_changed() {
                    return Ok(Ended::SettingsChanged);
                }
            }
            if let Some(ended) = self.obey() {
                return Ok(ended);
            }
            if self.replaced_at.is_none() {
                self.begin_all_due()?;
            }
            if self.replaced_at.is_some_and(|at| self.workers.is_idle() || at.elapsed() >= REPLACED_FOR) {
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
            for ended in self.workers.take() {
                match ended {
                    Finished::Visited(job, visited) => self.finish(&job, visited),
                    Finished::HouseKept(troubles) => {
                        for what in troubles {
                            self.trouble(None, what);
                        }
                    }
                }
            }
            self.mourn();
        }
    }

    /// Teams in which a daemon before this one panicked rest, so that others are served.
    fn remember_panics(&mut self) {
        let now = self.daemon.office.now();
        for panic in mem::take(&mut self.panics) {
            let what = format!("the daemon panicked, which is a defect of atm: {}", panic.what);
            self.troubles.add(panic.at, panic.team.as_ref().map(ToString::to_string), what);
            if let Some(team) = panic.team {
                self.schedule.fail(&Job { team, look: false, presence: false, tend: false }, now);
            }
        }
    }

    /// Until when there is nothing to do.
    fn deadline(&self) -> Option<Instant> {
        if let Some(at) = self.replaced_at {
            return Some(at + REPLACED_FOR);
        }
        let now = self.daemon.office.now();
        let next = self.schedule.next().filter(|_| self.workers.has_free());
        let due = next.map(|(at, _)| Instant::now() + at.since(now).min(CLOCK_LOOK));
        let house = self.may_keep_house().then_some(self.keep_house_at);
        [due, house, self.list_at].into_iter().flatten().min()
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
        self.settings_folders = self.settings.files.folders();
        others.extend(self.settings_folders.iter().map(|folder| (folder.clone(), Meaning::Settings)));
        // Sessions of other clients are known from their hooks.
        let register =
            self.peers.as_ref().map(|_| SessionNote::register_folder(office.root(), office.state()));
        others.extend(register.into_iter().flatten().map(|folder| (folder, Meaning::Sessions)));
        if self.daemon.board.has_subscribers() {
            // What other processes record is news, too.
            others.push((office.state().path().to_owned(), Meaning::Log));
        }
        let (others, is_settled) = self.watching.set(office, &self.teams, &others);
        self.schedule.set_teams(&self.teams, office.now());
        for team in &others {
            self.schedule.happened(team, News::Files, office.now());
        }
        self.notice_replacement();
        self.list_rests = Instant::now() + begun.elapsed() * LIST_REST;
        // One that came before its folder was watched gave no event.
        let has_others = TeamFolder::list(office.root())
            .is_ok_and(|teams| teams.into_iter().collect::<BTreeSet<_>>() != self.teams);
        let has_other_settings = self.settings.files.folders() != self.settings_folders;
        if has_others || has_other_settings || !is_settled {
            self.list_soon();
        }
    }

    /// What changes mean.
    fn hear(&mut self, changes: &BTreeSet<Meaning>) -> Option<Ended> {
        let now = self.daemon.office.now();
        for change in changes {
            match change {
                Meaning::Team { name, holds_others } => {
                    if *holds_others && self.watching.has_other_folders(&self.daemon.office, name) {
                        self.list_soon();
                    }
                    self.schedule.happened(name, News::Files, now);
                }
                Meaning::Sessions => {
                    self.look_for_peers();
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
                Meaning::Program => self.notice_replacement(),
                Meaning::Settings if self.settings.files.have_changed() => {
                    return Some(Ended::SettingsChanged);
                }
                Meaning::State if !self.daemon.lock.is_there(self.daemon.office.state()) => {
                    return Some(Ended::StateGone);
                }
                Meaning::Log => self.daemon.board.publish(),
                Meaning::Teams => self.list_soon(),
                Meaning::NoTeam(name) if self.daemon.office.has_team(name) => self.list_soon(),
                // Others write into these folders, too.
                Meaning::Root if self.watching.has_other_holders(&self.daemon.office) => self.list_soon(),
                Meaning::Settings if self.settings.files.folders() != self.settings_folders => {
                    self.list_soon();
                }
                Meaning::Root | Meaning::Settings | Meaning::State | Meaning::NoTeam(_) => {}
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

    /// At once, or if that was done just now, after a rest.
    fn list_soon(&mut self) {
        let soon = self.list_rests.max(Instant::now());
        self.list_at = Some(self.list_at.map_or(soon, |at| at.min(soon)));
    }

    fn notice_replacement(&mut self) {
        if self.replaced_at.is_none() && self.daemon.program.as_ref().is_some_and(Program::is_replaced) {
            self.replaced_at = Some(Instant::now());
        }
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
                Order::Tend(team) => {
                    // Who asks may know of a process that nobody has seen yet.
                    self.daemon.machine.forget();
                    self.schedule.tend_now(team.as_ref(), self.daemon.office.now());
                    if team.is_none() {
                        self.keep_house_at = Instant::now();
                    }
                }
            }
        }
        None
    }

    fn begin_all_due(&mut self) -> Result<(), DaemonError> {
        while self.workers.has_free()
            && let Some(job) = self.schedule.due(self.daemon.office.now())
        {
            self.schedule.begin(&job);
            self.begin(Errand::Visit(job))?;
        }
        if self.may_keep_house() && Instant::now() >= self.keep_house_at {
            self.keep_house_at = Instant::now() + HOUSE_EVERY;
            self.begin(Errand::KeepHouse)?;
        }
        Ok(())
    }

    fn may_keep_house(&self) -> bool {
        self.workers.has_free() && !self.workers.keeps_house()
    }

    fn begin(&mut self, errand: Errand) -> Result<(), DaemonError> {
        self.workers.begin(errand).doing("begin a thread for", self.daemon.office.state().daemon())
    }

    fn finish(&mut self, job: &Job, visited: Result<Visited, String>) {
        let now = self.daemon.office.now();
        match visited {
            Ok(visited) => self.learn(job, visited, now),
            Err(error) => {
                tracing::warn!(team = %job.team, error, "failed");
                self.schedule.fail(job, now);
                self.trouble(Some(&job.team), error);
            }
        }
        self.daemon.board.publish();
        self.daemon.board.write(|status| status.looks += u64::from(job.look));
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
        for what in mem::take(&mut visited.troubles) {
            self.trouble(Some(&job.team), what);
        }
        if let Some(round) = visited.round.take() {
            self.look_for_peers();
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

    /// Somebody may have come or gone.
    fn look_for_peers(&self) {
        if let Some(peers) = &self.peers {
            peers.look();
        }
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
            status.busy = self.workers.words();
            status.behind_since = self.schedule.behind_since();
            (status.next, status.next_team) = next.unzip();
            status.replaced = self.replaced_at.is_some();
            status.troubles = self.troubles.list();
        });
    }
}
