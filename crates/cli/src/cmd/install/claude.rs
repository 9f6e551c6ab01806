//! Claude Code's own command, for the file that it rewrites while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atm_office::ExitCode;
use serde_json::Value;

use super::client::{Scope, stdio_server};
use super::identity::Identity;
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
    file: &Path,
    who: &Identity,
    uninstall: bool,
) -> Result<Vec<Call>, Failure> {
    let there = server_in(file)?;
    let env = who.env(Scope::User);
    let wanted = (!uninstall).then(|| stdio_server(&env));
    if there == wanted {
        return Ok(Vec::new());
    }
    let call = |args: Vec<&str>| Call {
        program: program.to_owned(),
        args: args.into_iter().map(ToOwned::to_owned).collect(),
    };
    let mut calls = Vec::new();
    if there.is_some() {
        calls.push(call(vec!["mcp", "remove", "atm", "-s", "user"]));
    }
    if wanted.is_some() {
        let pairs: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut args = vec!["mcp", "add", "atm", "-s", "user"];
        for pair in &pairs {
            args.extend(["-e", pair]);
        }
        args.extend(["--", "atm", "mcp"]);
        calls.push(call(args));
    }
    Ok(calls)
}

/// Our server as the file has it.
fn server_in(file: &Path) -> Result<Option<Value>, Failure> {
    let Ok(text) = fs::read_to_string(file) else { return Ok(None) };
    let document: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(ExitCode::BadData, "bad_client_file", format!("{}: {error}", file.display()))
            .hint("nothing was changed; Claude Code mends it at its next start, or asks you")
    })?;
    Ok(document.pointer("/mcpServers/atm").cloned())
}

impl Call {
    pub(crate) fn shown(&self) -> String {
        format!("claude {}", self.args.join(" "))
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
