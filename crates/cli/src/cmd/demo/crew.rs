//! Workers of the demo: real processes that live by `atm`, in panes of tmux where there is one.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atm_office::people::members::{MemberChange, MemberPlan};
use atm_office::people::pane::PaneError;
use atm_office::people::spawn_error::SpawnError;
use atm_office::{Office, OfficeError, Team};
use atm_panes::{Server, SpawnPlan};
use atm_wire::{MemberName, TeamName};
use rustix::process::{Pid, Signal, kill_process_group};

const WORKER: &str = include_str!("worker.sh");
/// Killed processes are gone within milliseconds; more is for a machine without `ps`, where nobody may reap them.
const AT_MOST: Duration = Duration::from_secs(2);

/// The workers. Those that still run are ended on drop.
pub(super) struct Crew {
    office: Office,
    team: TeamName,
    socket: PathBuf,
    hands: Hands,
}

/// What they run in.
enum Hands {
    Panes,
    /// There is no tmux.
    Processes(Vec<(MemberName, Child)>),
}

impl Crew {
    /// Nobody yet. The workers' tmux server, if there is one, is theirs alone, below `folder`.
    pub(super) fn new(office: &Office, team: &TeamName, folder: &Path) -> Self {
        Self { office: office.clone(), team: team.clone(), socket: socket(folder), hands: Hands::Panes }
    }

    /// Whether they run in panes.
    pub(super) fn in_panes(&self) -> bool {
        matches!(self.hands, Hands::Panes)
    }

    /// Starts a new worker, and tells it what for.
    pub(super) fn start(&mut self, name: &MemberName, how: &str) -> Result<(), OfficeError> {
        if self.in_panes() {
            match atm_panes::spawn(&mut self.team()?, &self.plan(name, how)) {
                Err(OfficeError::Spawn(SpawnError::Pane(PaneError::NoTmux(_)))) => {
                    self.hands = Hands::Processes(Vec::new());
                }
                started => return started.map(drop),
            }
        }
        self.office.add_member(&self.team, &MemberPlan::new(name.as_str()))?;
        self.run(name, how)
    }

    /// Starts one again that was ended.
    pub(super) fn restart(&mut self, name: &MemberName, how: &str) -> Result<(), OfficeError> {
        if self.in_panes() {
            return atm_panes::respawn(&mut self.team()?, &self.plan(name, how)).map(drop);
        }
        let on = MemberChange { active: Some(true), ..MemberChange::default() };
        self.office.set_member(&self.team, name, &on)?;
        self.run(name, how)
    }

    /// Ends one.
    pub(super) fn kill(&mut self, name: &MemberName) -> Result<(), OfficeError> {
        match &mut self.hands {
            Hands::Panes => atm_panes::kill(&mut self.office.team(&self.team)?, name).map(drop),
            Hands::Processes(processes) => {
                processes.iter_mut().filter(|(who, _)| who == name).for_each(|(_, child)| end(child));
                let off = MemberChange { active: Some(false), ..MemberChange::default() };
                self.office.set_member(&self.team, name, &off)
            }
        }
    }

    /// Whether nobody works any more.
    pub(super) fn is_over(&mut self) -> Result<bool, OfficeError> {
        match &mut self.hands {
            Hands::Panes => {
                let mut team = self.office.team(&self.team)?;
                // If tmux cannot be asked, that is an error, not the end.
                team.notice_exits()?;
                Ok(atm_panes::pane_to_show(&mut team, None).is_err())
            }
            Hands::Processes(processes) => {
                Ok(processes.iter_mut().all(|(_, child)| matches!(child.try_wait(), Ok(Some(_)))))
            }
        }
    }

    fn team(&self) -> Result<Team<'_>, OfficeError> {
        self.office.team(&self.team)
    }

    fn run(&mut self, name: &MemberName, how: &str) -> Result<(), OfficeError> {
        let Hands::Processes(processes) = &mut self.hands else { return Ok(()) };
        let variables = [
            ("ATM_AS", OsString::from(name.as_str())),
            ("ATM_TEAM", self.team.as_str().into()),
            ("ATM_ROOT", self.office.root().path().into()),
            ("ATM_STATE", self.office.state().path().into()),
        ];
        let child = Command::new("sh")
            .args(["-c", WORKER, "worker", how])
            .envs(variables)
            .env("ATM", program())
            .current_dir(self.office.root().path())
            // A group of its own, so that it can be ended with all that it started.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|_| SpawnError::NoProgram { program: "sh".to_owned() })?;
        processes.push((name.clone(), child));
        Ok(())
    }

    fn plan(&self, name: &MemberName, how: &str) -> SpawnPlan {
        let path = env::var_os("PATH").map(|path| ("PATH".to_owned(), path));
        let member = MemberPlan {
            prompt: Some("Build the house.".to_owned()),
            cwd: Some(self.office.root().path().to_owned()),
            ..MemberPlan::new(name.as_str())
        };
        SpawnPlan {
            headless: None,
            member,
            server: Some(Server::Socket(self.socket.clone())),
            env: path.into_iter().chain([("ATM".to_owned(), program())]).collect(),
            ..SpawnPlan::new(name.as_str(), &["sh", "-c", WORKER, "worker", how])
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        match &mut self.hands {
            Hands::Panes => end_panes(&self.socket),
            Hands::Processes(processes) => processes.iter_mut().for_each(|(_, child)| end(child)),
        }
    }
}

/// Where the workers' tmux server listens.
pub(super) fn socket(folder: &Path) -> PathBuf {
    folder.join("tmux")
}

/// Ends the workers in panes of the tmux server at `socket`, and the server. Afterwards nobody writes any more.
pub(super) fn end_panes(socket: &Path) {
    if !socket.exists() {
        return;
    }
    let tmux = |args: &[&str]| {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(socket).args(args).env_remove("TMUX");
        tmux.stdin(Stdio::null()).stderr(Stdio::null()).output()
    };
    let listed = tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]).map(|listed| listed.stdout);
    let listed = listed.unwrap_or_default();
    // A pane's process leads a group, in which all are that it starts.
    let groups =
        String::from_utf8_lossy(&listed).lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>();
    let _ = tmux(&["kill-server"]);
    let deadline = Instant::now() + AT_MOST;
    while has_living(&groups) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ends a worker, with all that it started.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Kills the groups, and tells whether one of their processes still runs: it may be writing.
fn has_living(groups: &[i32]) -> bool {
    let groups_there = groups.iter().filter_map(|group| Pid::from_raw(*group));
    if groups_there.filter(|group| kill_process_group(*group, Signal::KILL).is_ok()).count() == 0 {
        return false;
    }
    // Those that ended and that nobody has reaped yet still count as there; they write nothing.
    let Ok(all) = Command::new("ps").args(["-A", "-o", "pgid=,stat="]).output() else { return true };
    String::from_utf8_lossy(&all.stdout).lines().any(|line| {
        let mut fields = line.split_whitespace();
        let group = fields.next().and_then(|group| group.parse::<i32>().ok());
        group.is_some_and(|group| groups.contains(&group))
            && fields.next().is_some_and(|state| !state.starts_with('Z'))
    })
}

fn program() -> OsString {
    env::current_exe().map_or_else(|_| OsString::from("atm"), OsString::from)
}
