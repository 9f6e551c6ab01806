//! A throw-away team, as other programs would have left it.

use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::repo;

pub(crate) const TEAM: &str = "dev";
pub(crate) const LEAD: &str = "team-lead";
/// How long a command may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(60);

/// A root and a state below one folder.
#[derive(Clone)]
pub(crate) struct World {
    atm: PathBuf,
    folder: PathBuf,
}

/// What a command answered.
pub(crate) struct Answer {
    /// `None`: a signal ended it.
    pub(crate) code: Option<i32>,
    /// It did not end by itself.
    pub(crate) hangs: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    /// A new team with nobody but its lead, in a new folder.
    pub(crate) fn with_lead(atm: &Path, folder: &Path) -> Result<Self> {
        let world = Self { atm: atm.to_owned(), folder: folder.to_owned() };
        fs::create_dir_all(world.folder.join("home"))?;
        world.must(LEAD, &["team", "create", TEAM, "--description", "Tried", "--lead", LEAD])?;
        Ok(world)
    }

    /// The same with bob and carol, and some mail.
    pub(crate) fn create(atm: &Path, folder: &Path) -> Result<Self> {
        let world = Self::with_lead(atm, folder)?;
        for name in ["bob", "carol"] {
            world.must(LEAD, &["-t", TEAM, "member", "add", name])?;
            world.must(LEAD, &["-t", TEAM, "send", name, "welcome"])?;
        }
        world.must("bob", &["-t", TEAM, "send", LEAD, "hello"])?;
        world.must("bob", &["-t", TEAM, "read"])?;
        Ok(world)
    }

    /// Makes the world what `template` holds; at the same place, since the ledger knows its root by its path.
    pub(crate) fn reset(&self, template: &Path) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        copy_tree(template, &self.folder)
    }

    /// Copies all of it to a folder that does not exist yet.
    pub(crate) fn save(&self, template: &Path) -> Result<()> {
        fs::create_dir(template)?;
        copy_tree(&self.folder, template)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub(crate) fn inboxes(&self) -> PathBuf {
        self.root().join("teams").join(TEAM).join("inboxes")
    }

    pub(crate) fn inbox(&self, name: &str) -> PathBuf {
        self.inboxes().join(format!("{name}.json"))
    }

    /// `atm` in this world and with nothing of the user's; `before` is a program that runs it.
    pub(crate) fn command(&self, before: &[String], who: &str, args: &[&str]) -> Command {
        let mut command = match before.split_first() {
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest).arg(&self.atm);
                command
            }
            None => Command::new(&self.atm),
        };
        command.env_clear();
        for name in ["PATH", "LANG", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", self.folder.join("home")).current_dir(self.folder.join("home"));
        command
            .arg("--root")
            .arg(self.root())
            .arg("--state")
            .arg(self.state())
            .args(["--as", who])
            .args(args);
        command
    }

    /// Runs `atm` to its end.
    pub(crate) fn atm(&self, who: &str, args: &[&str]) -> Result<Answer> {
        finish(self.command(&[], who, args), None, |_| ())
    }

    /// The same, and it has to succeed.
    pub(crate) fn must(&self, who: &str, args: &[&str]) -> Result<Answer> {
        let answer = self.atm(who, args)?;
        if answer.code != Some(0) {
            bail!("atm {} ended with {:?}: {}", args.join(" "), answer.code, answer.stderr);
        }
        Ok(answer)
    }

    /// The entries of an inbox; none if there is no file.
    pub(crate) fn entries(&self, name: &str) -> Result<Vec<Value>> {
        let path = self.inbox(name);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let bytes = fs::read(&path)?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} does not parse", path.display()))
    }

    /// How often a text is in an inbox; also in one that was tagged as queued.
    pub(crate) fn count(&self, name: &str, text: &str) -> Result<usize> {
        let has = |entry: &Value| entry["text"].as_str().is_some_and(|found| found.contains(text));
        Ok(self.entries(name)?.iter().filter(|entry| has(entry)).count())
    }
}

/// Runs a command to its end, with this on its standard input; `meanwhile` gets its process id.
pub(crate) fn finish(
    mut command: Command,
    input: Option<&str>,
    meanwhile: impl FnOnce(u32),
) -> Result<Answer> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("cannot start: {}", repo::shown(&command)))?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A command that ended early has read less.
        let _ = pipe.write_all(input.as_bytes());
    }
    meanwhile(child.id());
    let start = Instant::now();
    let mut hangs = false;
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if !hangs && start.elapsed() > LIMIT {
            hangs = true;
            child.kill()?;
        }
        thread::sleep(Duration::from_micros(500));
    };
    let text = |reader: JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    // A tracer ends as what it traced did.
    let code = status.code().filter(|_| status.signal().is_none());
    Ok(Answer { code, hangs, stdout: text(stdout), stderr: text(stderr) })
}

/// Reads a pipe to its end, beside whatever else is done.
fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy_tree(&entry.path(), &target)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
