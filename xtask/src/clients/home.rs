//! An empty home with a team, a client, and `atm` on the path.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::repo;

/// Clients start slowly, and one of them fetches something first.
const PATIENCE: Duration = Duration::from_secs(180);

/// What a client would find in the user's environment, and must not.
const NOT_PASSED_ON: [&str; 4] = ["ATM_", "CLAUDE", "CODEX_", "XDG_"];

pub(super) struct Home {
    folder: TempDir,
    path: OsString,
}

impl Home {
    /// `atm` and `programs` are folders that go onto the path.
    pub(super) fn new(atm: &Path, programs: &Path) -> Result<Self> {
        let home = Self::without_team(atm, programs)?;
        home.atm(&["team", "create", "dev"])?;
        home.atm(&["member", "add", "bob"])?;
        Ok(home)
    }

    pub(super) fn without_team(atm: &Path, programs: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("client-").tempdir_in(repo::target()?)?;
        let home = Self { folder, path: repo::path_with([atm, programs])? };
        fs::create_dir(home.work())?;
        Ok(home)
    }

    /// Leaves the folder where it is, for a look at it afterwards.
    pub(super) fn keep(&mut self) -> &Path {
        self.folder.disable_cleanup(true);
        self.folder.path()
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where its programs run.
    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A file below it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program in it.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if NOT_PASSED_ON.iter().any(|start| name.to_string_lossy().starts_with(start)) {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.folder.path()).env("PATH", &self.path).current_dir(self.work());
        // As a shell says it: one of the clients believes that more than the system.
        command.env("PWD", self.work());
        // Nothing but what is asked for, and in a folder that its user trusts.
        command.env("DISABLE_AUTOUPDATER", "1").env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        command
    }

    /// Our own command with `--json`: its answer.
    pub(super) fn atm(&self, args: &[&str]) -> Result<Value> {
        self.atm_in("dev", args)
    }

    /// The same in another team.
    pub(super) fn atm_in(&self, team: &str, args: &[&str]) -> Result<Value> {
        self.atm_plain(&[args, &["--team", team]].concat())
    }

    /// The same without a team that is named.
    pub(super) fn atm_plain(&self, args: &[&str]) -> Result<Value> {
        let said = run(self.command("atm").args(args).arg("--json"))?;
        serde_json::from_str(&said).with_context(|| format!("no JSON: {said}"))
    }
}

/// Runs it to its end, in which it must succeed; gives its output.
pub(super) fn run(command: &mut Command) -> Result<String> {
    let shown = repo::shown(command);
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.spawn().with_context(|| format!("cannot start: {shown}"))?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("did not end in {} s: {shown}", PATIENCE.as_secs());
        }
        thread::sleep(Duration::from_millis(10));
    };
    let said = text(stdout)?;
    ensure!(status.success(), "{status}: {shown}\n{said}{}", text(stderr)?);
    Ok(said)
}

fn text(mut file: fs::File) -> Result<String> {
    use std::io::{Read as _, Seek as _};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
