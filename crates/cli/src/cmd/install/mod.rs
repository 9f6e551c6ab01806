//! `atm install`: sets `atm` up in an agent's client, in the client's own files.

mod check;
mod diff;
mod identity;
mod own_command;
mod plugin;

use std::env;
use std::path::{Path, PathBuf};

use atm_clients::settings::{Before, Identity, Installing, SERVER, SettingsError, SettingsFile};
use atm_clients::{AgentClient, Folders, Profile, Scope, program, shell};
use atm_office::OfficeError;
use atm_store::State;
use atm_store::client_file::{ClientFile, Touched, remove_made_folders};
use atm_wire::counted;
use clap::Args;
use serde::Serialize;

use crate::args::Global;
use crate::client_arg;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;
use crate::settings::Settings;
use identity::identity;

#[derive(Debug, Args)]
#[command(after_help = "\
Only what is ours is put in and taken out; the rest of a file keeps its bytes, comments and order.
Trust is yours to give: what the client wants of you is said at the end.
Without a name, each session is found out by itself: a team's lead by its session, a member by its own process. Every
other session gets the mail for the folder that it works in: see `atm sessions`. `--project --as NAME` makes the clients of
this folder that member.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Install {
    /// Which client
    #[arg(value_parser = client_arg::any(), required_unless_present = "check")]
    client: Option<AgentClient>,
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
    #[arg(long, help = "Claude Code, OpenCode: start a turn when mail comes while it waits",
        conflicts_with_all = ["uninstall", "check", "plugin"])]
    wake: bool,
    /// Refuse edits of paths that others have reserved (`atm help reserve`)
    #[arg(long, conflicts_with_all = ["uninstall", "check", "plugin"])]
    reservations: bool,
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
    /// The folders that were made for it, where it is taken out.
    folders: Vec<PathBuf>,
}

impl Install {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let scope = if self.project { Scope::Project } else { Scope::User };
        let folders = Folders::new(home()?, context.cwd.clone(), |name| env::var_os(name));
        // What is for all folders is not for the one that we happen to be in to say.
        let settings = match scope {
            Scope::User => Settings::of_user(&context.global)?,
            Scope::Project => context.settings.clone(),
        };
        let state = State::new(context.cwd.join(&settings.state.value));
        let mut who = identity(&settings, scope, &context.cwd)?;
        // Taking out needs no name, and what an older version put in is to go.
        if scope == Scope::User && self.plugin.is_none() && !self.uninstall && !self.check {
            self.check_scope(&context.global)?;
        }
        if self.wake {
            who.is_woken = self.may_be_woken()?;
        }
        who.heeds_reservations = self.reservations;
        let Some(client) = self.client.filter(|_| !self.check) else {
            let clients = self.client.map_or_else(|| AgentClient::ALL.to_vec(), |client| vec![client]);
            return check::run(context, &clients, scope, &folders, &who);
        };
        let profile = client.profile();
        if let Some(folder) = &self.plugin {
            let Some(plugin) = &profile.plugin else {
                let (names, titles) = those_with(|profile| profile.plugin.is_some());
                return Err(Failure::usage(format!("only {titles} has plugins of this kind"))
                    .hint(format!("atm install {names} --plugin DIR")));
            };
            return plugin::run(context, plugin, &context.cwd.join(folder), self.dry_run);
        }
        let installing = if self.uninstall { Installing::Out } else { Installing::In };
        let own_program = find_program(client.as_str());
        let (mut steps, mut commands) = (Vec::new(), Vec::new());
        for target in (profile.settings)(scope, &folders, &who) {
            let file = ClientFile::new(&target.path, &state);
            if let (Some(own_command), Some(program)) = (target.own_command, &own_program) {
                commands.extend(own_command::plan(own_command, program, &file, &who, installing)?);
                continue;
            }
            // A project's links were made by the project's author.
            let file = if self.project { file.within(&context.cwd) } else { file };
            steps.push(self.plan(file, &target)?);
        }
        let mut left_to_do = (profile.left_to_do)(scope).to_vec();
        if find_program(SERVER).is_none() {
            left_to_do.insert(0, "`atm` is not on your path, where the client looks for it: put it there");
        }
        let report = Report {
            client: client.as_str(),
            scope: if self.project { "project" } else { "user" },
            dry_run: self.dry_run,
            files: steps.iter().map(Step::shown).collect(),
            commands: commands.iter().map(own_command::Call::shown).collect(),
            left_to_do: if self.uninstall { Vec::new() } else { left_to_do },
        };
        if !self.dry_run {
            for step in &steps {
                step.take()?;
            }
            remove_made_folders(steps.iter().flat_map(|step| step.folders.clone()).collect());
            for command in &commands {
                command.run()?;
            }
        }
        tell(context, client, &report, &who)?;
        Ok(0)
    }

    /// Settings for all folders are for all sessions: with a name in them, every session would take that member's mail.
    fn check_scope(&self, global: &Global) -> Result<(), Failure> {
        let (Some(name), Some(client)) = (&global.who, self.client) else { return Ok(()) };
        let text =
            format!("your own settings are for all your sessions, and each would take the mail of {name}");
        Err(Failure::new(ExitCode::Refused, "name_for_all_sessions", text).hint(format!(
            "`atm install {client}` finds out who each session is; `atm install {client} --project --as {}` makes the \
             clients of this folder that member",
            shell::quote(name)
        )))
    }

    fn may_be_woken(&self) -> Result<bool, Failure> {
        if !self.client.is_some_and(|client| client.profile().has_rewake_hook) {
            let (_, titles) = those_with(|profile| profile.has_rewake_hook);
            return Err(Failure::usage(format!("only {titles} can be woken by a hook of ours"))
                .hint("`atm wake --help` has the other clients' ways"));
        }
        Ok(true)
    }

    fn plan(&self, file: ClientFile, target: &SettingsFile) -> Result<Step, Failure> {
        let real = file.target().map_err(OfficeError::from)?;
        if !self.dry_run {
            file.clear_leftovers().map_err(OfficeError::from)?;
        }
        let before = file.read().map_err(OfficeError::from)?;
        let bad = |error: SettingsError| refused(&error, &target.path);
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
            let folders = touched.map(|touched| touched.folders).unwrap_or_default();
            return Ok(Step { file, real, before, after, remember: None, folders });
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
        let remember =
            Touched { path: target.path.clone(), before: was, after: after.clone(), folders: Vec::new() };
        Ok(Step { file, real, before, after: Some(after), remember: Some(remember), folders: Vec::new() })
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

fn tell(context: &mut Context, client: AgentClient, report: &Report, who: &Identity) -> Result<(), Failure> {
    let out = &mut context.out;
    if out.json {
        out.document(report)?;
        return Ok(());
    }
    for file in &report.files {
        let would = if report.dry_run && file.change != "unchanged" { "would be " } else { "" };
        let path = safe::line(&file.path);
        let really = file.real_path.as_ref().map(|real| format!(", really {}", safe::line(real)));
        // What changes is shown where it is asked for; who has it done wants to know that it is.
        let (shown, counted) =
            if report.dry_run { (file.diff.as_str(), String::new()) } else { ("", size(&file.diff)) };
        out.note(format!("{would}{} {path}{}{counted}", file.change, really.unwrap_or_default()))?;
        for line in shown.lines() {
            out.note(format!("  {}", safe::line(line)))?;
        }
    }
    for command in &report.commands {
        out.note(format!("{} {}", if report.dry_run { "would run" } else { "ran" }, safe::line(command)))?;
    }
    if !report.left_to_do.is_empty() {
        if !who.is_known() {
            out.note("each session gets the mail of who it is in a team, and else the mail for its folder: `atm sessions`")?;
        }
        for left in &report.left_to_do {
            out.note(format!("{}: {left}", client.title()))?;
        }
    }
    Ok(())
}

/// How much a difference is, in words.
fn size(diff: &str) -> String {
    let count = |sign: &str| {
        let of_file = sign.repeat(3);
        diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(&of_file)).count()
    };
    match (count("+"), count("-")) {
        (0, 0) => String::new(),
        (more, 0) => format!(": {} more", counted(more, "line")),
        (0, less) => format!(": {} less", counted(less, "line")),
        (more, less) => format!(": {} more, {less} less", counted(more, "line")),
    }
}

/// Names and titles of the clients that can do something.
fn those_with(can: impl Fn(&Profile) -> bool) -> (String, String) {
    let able = || AgentClient::ALL.iter().map(|client| client.profile()).filter(|profile| can(profile));
    let list = |words: Vec<&str>| words.join(" or ");
    (list(able().map(|profile| profile.name).collect()), list(able().map(|profile| profile.title).collect()))
}

/// A client's file that cannot be edited, as a failure of the command.
fn refused(error: &SettingsError, path: &Path) -> Failure {
    let (exit, code, hint) = match error {
        SettingsError::NotOurs(_) => {
            (ExitCode::Refused, "not_ours", "nothing was changed; rename or remove it first")
        }
        _ => (ExitCode::BadData, "bad_client_file", "nothing was changed; mend the file first"),
    };
    Failure::new(exit, code, format!("{}: {error}", path.display())).hint(hint)
}

/// Where a program is, if it is on the path.
fn find_program(name: &str) -> Option<PathBuf> {
    program::find(name, Path::new(""), Some(&env::var_os("PATH")?))
}

fn home() -> Result<PathBuf, Failure> {
    env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new(ExitCode::Io, "no_home", "there is no home folder").hint("set HOME"))
}
