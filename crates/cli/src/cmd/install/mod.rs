//! `atm install`: sets `atm` up in an agent's client, in the client's own files.

mod check;
mod claude;
mod client;
mod codex;
mod diff;
mod identity;
mod json;
mod plugin;
mod target;
mod trouble;

use std::env;
use std::path::PathBuf;

use atm_office::{ExitCode, OfficeError};
use atm_store::State;
use atm_store::client_file::{ClientFile, Touched};
use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::settings::Settings;
use client::{Client, Folders, Scope};
use identity::Identity;
pub(crate) use identity::quoted;
use json::NAME;
use target::{Before, Target};
use trouble::Trouble;

#[derive(Debug, Args)]
#[command(after_help = "\
Only what is ours is put in and taken out; the rest of a file keeps its bytes, comments and order.
Trust is yours to give: what the client wants of you is said at the end.
Give --as NAME and --team TEAM to make the client that member.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Install {
    /// Which client
    #[arg(value_enum, required_unless_present = "check")]
    client: Option<Client>,
    /// For you, in all folders; this is the default
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// For everybody who works in this folder
    #[arg(long)]
    project: bool,
    /// Show what would change
    #[arg(long)]
    dry_run: bool,
    /// Take it out again
    #[arg(long, conflicts_with = "check")]
    uninstall: bool,
    /// Ask the client itself whether it works; all clients, if none is named
    #[arg(long, conflicts_with_all = ["dry_run", "plugin"])]
    check: bool,
    /// Claude Code: start a turn when mail comes while it waits; needs --as
    #[arg(long, conflicts_with_all = ["uninstall", "check", "plugin"])]
    wake: bool,
    /// Write a Claude Code plugin to this folder instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["uninstall", "project", "user"])]
    plugin: Option<PathBuf>,
}

/// What became of a file.
#[derive(Debug, Serialize)]
struct Edited {
    path: String,
    /// Where it really is, if that is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    real_path: Option<String>,
    change: &'static str,
    diff: String,
}

#[derive(Debug, Serialize)]
struct Report {
    client: &'static str,
    scope: &'static str,
    dry_run: bool,
    files: Vec<Edited>,
    commands: Vec<String>,
    left_to_do: Vec<&'static str>,
}

/// A file, and what it is to become.
struct Step {
    file: ClientFile,
    real: PathBuf,
    before: Option<String>,
    after: Option<String>,
    remember: Option<Touched>,
}

impl Install {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let scope = if self.project { Scope::Project } else { Scope::User };
        let folders = Folders::new(home()?, context.cwd.clone());
        // What is for all folders is not for the one that we happen to be in to say.
        let settings = match scope {
            Scope::User => Settings::of_user(&context.global)?,
            Scope::Project => context.settings.clone(),
        };
        let state = State::new(context.cwd.join(&settings.state.value));
        let mut who = Identity::of(&settings, scope, &context.cwd)?;
        if self.wake {
            who.is_woken = self.may_be_woken(&who)?;
        }
        let Some(client) = self.client.filter(|_| !self.check) else {
            let clients = self.client.map_or_else(|| client::ALL.to_vec(), |client| vec![client]);
            return check::run(context, &clients, scope, &folders, &who);
        };
        if let Some(folder) = &self.plugin {
            if client != Client::Claude {
                return Err(Failure::usage("only Claude Code has plugins of this kind")
                    .hint("atm install claude --plugin DIR"));
            }
            return plugin::run(context, &context.cwd.join(folder), self.dry_run);
        }
        let claude = (client == Client::Claude && scope == Scope::User)
            .then(|| client::find_program("claude"))
            .flatten();
        let steps = client
            .targets(scope, &folders, &who, claude.is_some())
            .into_iter()
            .map(|target| {
                let file = ClientFile::new(&target.path, &state);
                // A project's links were made by whoever made the project.
                let file = if self.project { file.within(&context.cwd) } else { file };
                self.plan(file, &target)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut commands = Vec::new();
        if let Some(claude) = claude {
            let file = ClientFile::new(folders.claude_json(), &state);
            commands = claude::plan(&claude, &file, &who, self.uninstall)?;
        }
        let mut left_to_do = client.what_is_left(scope).to_vec();
        if client::find_program(NAME).is_none() {
            left_to_do.insert(0, "`atm` is not on your path, where the client looks for it: put it there");
        }
        let report = Report {
            client: client.program(),
            scope: if self.project { "project" } else { "user" },
            dry_run: self.dry_run,
            files: steps.iter().map(Step::shown).collect(),
            commands: commands.iter().map(claude::Call::shown).collect(),
            left_to_do: if self.uninstall { Vec::new() } else { left_to_do },
        };
        if !self.dry_run {
            for step in &steps {
                step.take()?;
            }
            for command in &commands {
                command.run()?;
            }
        }
        tell(context, client, &report, &who)?;
        Ok(0)
    }

    fn may_be_woken(&self, who: &Identity) -> Result<bool, Failure> {
        if self.client != Some(Client::Claude) {
            return Err(Failure::usage("only Claude Code has a hook that wakes it")
                .hint("`atm wake --help` has the other clients' ways"));
        }
        if !who.is_known() {
            return Err(Failure::usage("whose mail wakes it?").hint("--as NAME and --team TEAM say so"));
        }
        Ok(true)
    }

    fn plan(&self, file: ClientFile, target: &Target) -> Result<Step, Failure> {
        let real = file.target().map_err(OfficeError::from)?;
        if !self.dry_run {
            file.clear_leftovers().map_err(OfficeError::from)?;
        }
        let before = file.read().map_err(OfficeError::from)?;
        let bad = |trouble: Trouble| trouble.with(&target.path);
        let touched = file.touched();
        if self.uninstall {
            let after = match (&before, &touched) {
                (None, _) => None,
                (Some(now), Some(touched)) if *now == touched.after => touched.before.clone(),
                (Some(now), touched) => {
                    let original = match touched.as_ref().map(|touched| touched.before.as_deref()) {
                        None => Before::Unknown,
                        Some(None) => Before::Missing,
                        Some(Some(text)) => Before::Text(text),
                    };
                    target.without(now, original).map_err(bad)?
                }
            };
            return Ok(Step { file, real, before, after, remember: None });
        }
        let after = target.with(before.as_deref()).map_err(bad)?;
        // What the file was without us: as it was, unless somebody changed it since.
        let was = match (&before, touched) {
            (Some(now), Some(touched)) if *now == touched.after => touched.before,
            (Some(now), Some(touched)) => {
                let original = touched.before.as_deref().map_or(Before::Missing, Before::Text);
                target.without(now, original).map_err(bad)?
            }
            (before, _) => before.clone(),
        };
        let remember = Touched { path: target.path.clone(), before: was, after: after.clone() };
        Ok(Step { file, real, before, after: Some(after), remember: Some(remember) })
    }
}

impl Step {
    fn shown(&self) -> Edited {
        let path = self.file.path().display().to_string();
        let change = match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        };
        let real_path = Some(self.real.display().to_string()).filter(|real| *real != path);
        let shown = real_path.as_ref().unwrap_or(&path);
        let diff = diff::unified(shown, self.before.as_deref(), self.after.as_deref());
        Edited { diff: if change == "unchanged" { String::new() } else { diff }, path, real_path, change }
    }

    fn take(&self) -> Result<(), Failure> {
        if self.before != self.after {
            let (before, after) = (self.before.as_deref(), self.after.as_deref());
            self.file.replace(before, after, self.remember.as_ref()).map_err(OfficeError::from)?;
        }
        if self.remember.is_none() {
            self.file.forget().map_err(OfficeError::from)?;
        }
        Ok(())
    }
}

fn tell(context: &mut Context, client: Client, report: &Report, who: &Identity) -> Result<(), Failure> {
    let out = &mut context.out;
    if out.json {
        out.document(report)?;
        return Ok(());
    }
    for file in &report.files {
        let would = if report.dry_run && file.change != "unchanged" { "would be " } else { "" };
        let path = safe::line(&file.path);
        let really = file.real_path.as_ref().map(|real| format!(", really {}", safe::line(real)));
        out.note(format!("{would}{} {path}{}", file.change, really.unwrap_or_default()))?;
        for line in file.diff.lines() {
            out.note(format!("  {}", safe::line(line)))?;
        }
    }
    for command in &report.commands {
        out.note(format!("{} {}", if report.dry_run { "would run" } else { "ran" }, safe::line(command)))?;
    }
    if !report.left_to_do.is_empty() {
        if !who.is_known() {
            let hint = "no name was given: mail comes to the lead of a team by its session; --as NAME makes it a member";
            out.note(hint)?;
        }
        for left in &report.left_to_do {
            out.note(format!("{}: {left}", client.title()))?;
        }
    }
    Ok(())
}

fn home() -> Result<PathBuf, Failure> {
    env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new(ExitCode::Io, "no_home", "there is no home folder").hint("set HOME"))
}
