//! Workers of the demo: real processes that live by `atm`, in panes of tmux where there is one.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use atm_office::people::members::{MemberChange, MemberPlan};
use atm_office::people::pane::PaneError;
use atm_office::people::spawn_error::SpawnError;
use atm_office::{Office, OfficeError, Team};
use atm_panes::{Server, SpawnPlan};
use atm_wire::{MemberName, TeamName};

const WORKER: &str = include_str!("worker.sh");

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
        Self { office: office.clone(), team: team.clone(), socket: folder.join("tmux"), hands: Hands::Panes }
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
            Hands::Panes if self.socket.exists() => {
                let mut tmux = Command::new("tmux");
                tmux.arg("-S").arg(&self.socket).arg("kill-server").env_remove("TMUX");
                let _ = tmux.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
            }
            Hands::Panes => {}
            Hands::Processes(processes) => processes.iter_mut().for_each(|(_, child)| end(child)),
        }
    }
}

/// Ends a worker, with all that it started.
fn end(child: &mut Child) {
    let group = format!("kill -9 -{}", child.id());
    let _ = Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
    let _ = child.wait();
}

fn program() -> OsString {
    env::current_exe().map_or_else(|_| OsString::from("atm"), OsString::from)
}
