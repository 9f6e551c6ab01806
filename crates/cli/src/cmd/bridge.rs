//! `atm bridge`: runs `atm-bridge`, a program of its own, so that a machine without others neither builds nor loads what
//! talks to a network.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use atm_clients::program;
use clap::Args;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;

/// The program.
pub(crate) const PROGRAM: &str = "atm-bridge";

#[derive(Debug, Args)]
#[command(after_help = "\
Agents on several machines are one team: members of the others appear in this machine's teams, with the machine in `atm
members`, and every command works with them as with those here. A message for one of them is accepted at once; a send waits
up to 2 seconds for the word that it is written there, and ends with 9 if it does not come: `atm track ID` follows it.

A server of NATS with JetStream carries the mail. The program atm-bridge does it, on every machine: its commands are run,
status, doctor, init, key, trust, machines, take, dead and unshare, and `atm bridge COMMAND --help` explains each. It is found
beside atm, then in PATH, and gets --root, --state and --json from here. Settings are in [bridge]; with bridge.nats set, the daemon keeps
one running.

Exit codes: 3 atm-bridge is not installed; else those of the command.")]
pub(crate) struct Bridge {
    /// What the bridge is to do, with its options
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Bridge {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let program = find().ok_or_else(|| {
            Failure::new(
                ExitCode::NotFound,
                "no_bridge",
                format!("{PROGRAM} is not installed: it is neither beside atm nor in PATH"),
            )
            .hint("put it there from the same release, or build it: cargo install --path crates/bridge")
        })?;
        let mut command = command(&program, context);
        command.args(&self.words);
        // It takes this process's place, so that signals and exit codes are its own.
        let error = command.exec();
        let text = format!("{} cannot be run: {error}", program.display());
        Err(Failure::new(ExitCode::Io, "io", text).hint("install it again, from the same release as atm"))
    }
}

/// The program with this command's root, state and manner.
fn command(program: &Path, context: &Context) -> Command {
    let mut command = Command::new(program);
    let office = &context.office;
    command.arg("--root").arg(office.root().path()).arg("--state").arg(office.state().path());
    if context.out.json {
        command.arg("--json");
    }
    command
}

/// Where the program is: beside this one, else in the search path.
pub(crate) fn find() -> Option<PathBuf> {
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    let in_path = || program::find(PROGRAM, &env::current_dir().ok()?, Some(&env::var_os("PATH")?));
    beside.filter(|path| path.is_file()).or_else(in_path)
}
