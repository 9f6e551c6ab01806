//! Calls of a client's own command, for files that it rewrites while it runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atm_clients::CommandLine;
use atm_clients::settings::{Identity, Installing, OwnCommand, SettingsError};
use atm_office::OfficeError;
use atm_store::client_file::ClientFile;

use super::refused;
use crate::exit::ExitCode;
use crate::failure::Failure;

/// A call, and where its program is.
#[derive(Debug)]
pub(super) struct Call {
    program: PathBuf,
    line: CommandLine,
}

/// What has to be called, so that our server is in the file, or is not.
pub(super) fn plan(
    own_command: OwnCommand,
    program: &Path,
    file: &ClientFile,
    identity: &Identity,
    installing: Installing,
) -> Result<Vec<Call>, Failure> {
    let text = file.read().map_err(OfficeError::from)?;
    let lines = own_command(text.as_deref(), identity, installing).map_err(|error| match error {
        SettingsError::NoJson(error) => {
            let text = format!("{}: {error}", file.path().display());
            Failure::new(ExitCode::BadData, "bad_client_file", text)
                .hint("nothing was changed; Claude Code mends it at its next start, or asks you")
        }
        error => refused(&error, file.path()),
    })?;
    Ok(lines.into_iter().map(|line| Call { program: program.to_owned(), line }).collect())
}

impl Call {
    pub(super) fn shown(&self) -> String {
        self.line.to_string()
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        let failed = |why: String| {
            Failure::new(ExitCode::Io, "client_failed", format!("`{}`: {why}", self.line))
                .hint("run it by hand; what else was to be done is done")
        };
        let output = Command::new(&self.program)
            .args(&self.line.args)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stderr, output.stdout].concat();
        Err(failed(String::from_utf8_lossy(&said).trim().to_owned()))
    }
}
