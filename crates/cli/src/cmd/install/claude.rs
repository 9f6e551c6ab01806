//! Claude Code's own command, for the file that it rewrites while it runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atm_office::{ExitCode, OfficeError};
use atm_store::client_file::ClientFile;
use serde_json::Value;

use super::client::stdio_server;
use super::identity::{Identity, quoted};
use super::json::{NAME, is_our_server, renewed};
use super::trouble::Trouble;
use crate::failure::Failure;

/// A call of it.
#[derive(Debug)]
pub(crate) struct Call {
    program: PathBuf,
    args: Vec<String>,
}

/// What has to be called, so that our server is there, or is not.
pub(crate) fn plan(
    program: &Path,
    file: &ClientFile,
    who: &Identity,
    uninstall: bool,
) -> Result<Vec<Call>, Failure> {
    let there = server_in(file)?;
    let wanted = stdio_server(&who.env());
    let wanted = match &there {
        Some(there) if is_our_server(there) => Value::Object(renewed(there, &wanted)),
        Some(_) if uninstall => return Ok(Vec::new()),
        Some(_) => return Err(Trouble::NotOurs("the server `atm`").with(file.path())),
        None => wanted,
    };
    let wanted = Some(wanted).filter(|_| !uninstall);
    if there == wanted {
        return Ok(Vec::new());
    }
    let call = |args: &[&str]| Call {
        program: program.to_owned(),
        args: args.iter().copied().map(ToOwned::to_owned).collect(),
    };
    let mut calls = Vec::new();
    if there.is_some() {
        calls.push(call(&["mcp", "remove", NAME, "-s", "user"]));
    }
    if let Some(server) = wanted {
        calls.push(call(&["mcp", "add-json", "-s", "user", NAME, &server.to_string()]));
    }
    Ok(calls)
}

/// Our server as the file has it.
fn server_in(file: &ClientFile) -> Result<Option<Value>, Failure> {
    let Some(text) = file.read().map_err(OfficeError::from)? else { return Ok(None) };
    let document: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(ExitCode::BadData, "bad_client_file", format!("{}: {error}", file.path().display()))
            .hint("nothing was changed; Claude Code mends it at its next start, or asks you")
    })?;
    Ok(document.pointer("/mcpServers/atm").cloned())
}

impl Call {
    pub(crate) fn shown(&self) -> String {
        let words: Vec<String> = self.args.iter().map(|word| quoted(word)).collect();
        format!("claude {}", words.join(" "))
    }

    pub(crate) fn run(&self) -> Result<(), Failure> {
        let failed = |why: String| {
            Failure::new(ExitCode::Io, "client_failed", format!("`{}`: {why}", self.shown()))
                .hint("run it by hand; what else was to be done is done")
        };
        let output = Command::new(&self.program)
            .args(&self.args)
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
