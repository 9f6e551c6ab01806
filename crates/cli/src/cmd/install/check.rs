//! `atm install --check`: asking clients themselves whether it works.

use atm_clients::check::Report;
use atm_clients::settings::{Identity, SettingsFile};
use atm_clients::{AgentClient, Folders, Scope};
use atm_store::client_file::ClientFile;
use serde::Serialize;

use super::find_program;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

/// What we know of one client.
#[derive(Debug, Serialize)]
struct Checked {
    client: &'static str,
    /// Whether what is ours is in all of its files.
    set_up: bool,
    /// `works`, `fails`, `not_asked` or `not_there`.
    state: &'static str,
    /// What it said of the server.
    said: String,
    /// What it said of the hooks, where it can be asked.
    hooks: String,
}

pub(super) fn run(
    context: &mut Context,
    clients: &[AgentClient],
    scope: Scope,
    folders: &Folders,
    who: &Identity,
) -> Result<i32, Failure> {
    let checked: Vec<Checked> =
        clients.iter().map(|client| check(context, *client, scope, folders, who)).collect();
    let out = &mut context.out;
    if out.json {
        out.document(&checked)?;
    } else {
        for one in &checked {
            let set_up = if one.set_up { "set up" } else { "not set up" };
            let state = match one.state {
                "works" => "works",
                "fails" => "does not work",
                "not_there" => "the client is not on your path",
                _ if one.set_up => "cannot be asked",
                _ => "so it was not asked",
            };
            let said = |lead: &str, said: &str| {
                if said.is_empty() { String::new() } else { format!("{lead}{}", safe::line(said)) }
            };
            let (server, hooks) = (said(": ", &one.said), said("; ", &one.hooks));
            out.line(format!("{:<9} {set_up}; {state}{server}{hooks}", one.client))?;
        }
    }
    let fails = checked.iter().any(|one| one.state == "fails" && (one.set_up || clients.len() == 1));
    let missing = clients.len() == 1 && checked.iter().any(|one| !one.set_up || one.state == "not_there");
    let code = match (fails, missing) {
        (_, true) => ExitCode::NotFound,
        (true, _) => ExitCode::Io,
        _ => return Ok(0),
    };
    Ok(i32::from(u8::from(code)))
}

fn check(context: &Context, client: AgentClient, scope: Scope, folders: &Folders, who: &Identity) -> Checked {
    let profile = client.profile();
    let is_in = |target: &SettingsFile| {
        let file = ClientFile::new(&target.path, context.office.state());
        file.read().ok().flatten().is_some_and(|text| target.is_in(&text))
    };
    let set_up = (profile.settings)(scope, folders, who).iter().all(is_in);
    let (state, report) = match find_program(client.as_str()) {
        None => ("not_there", Report::default()),
        Some(_) if !set_up => ("not_asked", Report::default()),
        Some(program) => {
            let report = profile.check.ask(&program, &context.cwd);
            let state = match report.works {
                None => "not_asked",
                Some(true) => "works",
                Some(false) => "fails",
            };
            (state, report)
        }
    };
    Checked { client: client.as_str(), set_up, state, said: report.server, hooks: report.hooks }
}
