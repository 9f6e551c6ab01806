//! `atm daemon install` and `uninstall`

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use serde_json::json;

use super::units;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Only show the files, and where they would go
    #[arg(long)]
    dry_run: bool,
    /// For which service manager [default: that of this system]
    #[arg(long, value_enum, value_name = "MANAGER")]
    manager: Option<Manager>,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// Only say which files would go
    #[arg(long)]
    dry_run: bool,
    /// For which service manager [default: that of this system]
    #[arg(long, value_enum, value_name = "MANAGER")]
    manager: Option<Manager>,
}

/// Who runs services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Manager {
    /// The user's systemd
    Systemd,
    /// macOS
    Launchd,
}

impl Manager {
    fn of_system() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
        }
    }

    /// The files, each with what is in it.
    fn files(self, context: &Context) -> Result<Vec<(PathBuf, String)>, Failure> {
        let base = Xdg::new()
            .map_err(|_| Failure::new(ExitCode::Io, "no_home", "there is no home folder").hint("set HOME"))?;
        let program = env::current_exe().map_err(|error| {
            Failure::new(ExitCode::Io, "io", format!("cannot tell where this program is: {error}"))
        })?;
        let (root, state) = (context.office.root().path(), context.office.state().path());
        let words = [program.as_path(), Path::new("--root"), root, Path::new("--state"), state];
        let mut command: Vec<String> = words.iter().map(|word| word.display().to_string()).collect();
        command.extend(["daemon".to_owned(), "run".to_owned()]);
        command.extend(["--detached".to_owned(), "--service".to_owned()]);
        Ok(match self {
            Self::Systemd => {
                let folder = base.config_dir().join("systemd/user");
                let socket = context.office.state().daemon().join("socket");
                vec![
                    (folder.join(units::SERVICE), units::service(&command)),
                    (folder.join(units::SOCKET), units::socket(&socket)),
                ]
            }
            Self::Launchd => {
                let folder = base.home_dir().join("Library/LaunchAgents");
                vec![(folder.join(format!("{}.plist", units::LABEL)), units::plist(&command))]
            }
        })
    }

    /// What tells the manager of new files, and of those that are to go.
    fn commands(self, files: &[(PathBuf, String)], is_install: bool) -> Vec<Vec<String>> {
        let words = |line: &str| line.split(' ').map(ToOwned::to_owned).collect::<Vec<String>>();
        match (self, is_install) {
            (Self::Systemd, true) => vec![
                words("systemctl --user daemon-reload"),
                words("systemctl --user enable --now atm-daemon.socket atm-daemon.service"),
            ],
            (Self::Systemd, false) => {
                vec![words("systemctl --user disable --now atm-daemon.service atm-daemon.socket")]
            }
            (Self::Launchd, is_install) => {
                let verb = if is_install { "load" } else { "unload" };
                let file = files.first().map(|(path, _)| path.display().to_string()).unwrap_or_default();
                vec![vec!["launchctl".to_owned(), verb.to_owned(), "-w".to_owned(), file]]
            }
        }
    }
}

impl Install {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let manager = self.manager.unwrap_or_else(Manager::of_system);
        let files = manager.files(context)?;
        if self.dry_run {
            if context.out.json {
                let shown: Vec<_> =
                    files.iter().map(|(path, text)| json!({ "path": path, "text": text })).collect();
                context
                    .out
                    .document(&json!({ "manager": manager.name(), "written": false, "files": shown }))?;
                return Ok(0);
            }
            for (path, text) in &files {
                context.out.line(format!("# {}", path.display()))?;
                context.out.raw(format!("{text}\n").as_bytes())?;
            }
            return Ok(0);
        }
        for (path, text) in &files {
            let write = || {
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                let temp = path.with_extension("atm-new");
                fs::write(&temp, text)?;
                fs::rename(&temp, path)
            };
            write().map_err(|error| {
                Failure::new(ExitCode::Io, "io", format!("cannot write {}: {error}", path.display()))
            })?;
        }
        let left = run_all(&manager.commands(&files, true));
        if context.out.json {
            let paths: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
            let document =
                json!({ "manager": manager.name(), "written": true, "files": paths, "left": left });
            context.out.document(&document)?;
            return Ok(0);
        }
        for (path, _) in &files {
            context.out.line(format!("wrote {}", path.display()))?;
        }
        tell_left(context, &left)
    }
}

impl Uninstall {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let manager = self.manager.unwrap_or_else(Manager::of_system);
        let files = manager.files(context)?;
        let there: Vec<(PathBuf, String)> = files.into_iter().filter(|(path, _)| path.exists()).collect();
        let mut left = Vec::new();
        if !self.dry_run && !there.is_empty() {
            left = run_all(&manager.commands(&there, false));
            for (path, _) in &there {
                fs::remove_file(path).map_err(|error| {
                    Failure::new(ExitCode::Io, "io", format!("cannot remove {}: {error}", path.display()))
                })?;
            }
        }
        if context.out.json {
            let paths: Vec<&PathBuf> = there.iter().map(|(path, _)| path).collect();
            let document =
                json!({ "manager": manager.name(), "removed": !self.dry_run, "files": paths, "left": left });
            context.out.document(&document)?;
            return Ok(0);
        }
        if there.is_empty() {
            context.out.note("it is not installed")?;
        }
        let verb = if self.dry_run { "would remove" } else { "removed" };
        for (path, _) in &there {
            context.out.line(format!("{verb} {}", path.display()))?;
        }
        tell_left(context, &left)
    }
}

/// Runs them; those that could not be run, or failed, are for a person.
fn run_all(commands: &[Vec<String>]) -> Vec<String> {
    let is_done = |command: &&Vec<String>| {
        let Some((program, arguments)) = command.split_first() else { return true };
        let mut run = Command::new(program);
        run.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        run.status().is_ok_and(|status| status.success())
    };
    commands.iter().filter(|command| !is_done(command)).map(|command| command.join(" ")).collect()
}

fn tell_left(context: &mut Context, left: &[String]) -> Result<i32, Failure> {
    if !left.is_empty() {
        context.out.warn("the service manager could not be told from here; run:")?;
        for command in left {
            context.out.hint(command)?;
        }
    }
    Ok(0)
}
