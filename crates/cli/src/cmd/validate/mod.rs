//! `atm validate`

mod rules;
mod sarif;

use std::path::{Path, PathBuf};

use atm_office::OfficeError;
use atm_store::TeamFolder;
use atm_upkeep::validate::{FileReport, detect, validate_all, validate_file, validate_folder, validate_team};
use atm_wire::lint::{Counts, Finding, Findings, Format, Level, Place, Rule};
use atm_wire::{TeamName, counted};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::{Out, safe};
use crate::settings;

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// A team, a team's folder, or a file [default: all teams, and the settings]
    #[arg(value_name = "TEAM|FILE")]
    what: Vec<String>,
    /// What the files are, where neither name nor content tells
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<As>,
    /// Show findings of this level and worse [default: warning; with --json or --sarif: dialect]
    #[arg(long, value_enum, value_name = "LEVEL")]
    level: Option<Shown>,
    /// Print SARIF 2.1.0, for editors and code review
    #[arg(long)]
    sarif: bool,
    /// Print the rules instead, as they stand in docs/RULES.md
    #[arg(long, conflicts_with_all = ["what", "format", "level", "sarif"])]
    rules: bool,
}

/// The formats, by names for the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum As {
    /// A team's config.json
    Config,
    /// An inbox that is one array
    Inbox,
    /// An inbox of JSON Lines
    Log,
    /// A log inbox's state.json
    Cursor,
    /// A task of the shared list
    Task,
    /// A member's task-status.json
    Status,
    /// Our own settings
    Settings,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shown {
    /// Only what loses mail or cannot be used
    Error,
    /// Also what hardly anybody meant
    Warning,
    /// Also what real clients write and documents do not say
    Dialect,
}

/// A finding as programs see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    rule_id: &'static str,
    level: Level,
    file: &'a Path,
    line: Option<u64>,
    column: Option<u64>,
    entry: Option<u64>,
    path: Option<&'a str>,
    message: &'a str,
    advice: &'static str,
}

#[derive(Serialize)]
struct Document<'a> {
    files: usize,
    counts: Counts,
    findings: Vec<Shape<'a>>,
    /// Findings that are counted and not listed.
    omitted: u64,
}

impl Validate {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if self.rules {
            return rules::show(&mut context.out);
        }
        context.out.page();
        let reports = self.reports(context)?;
        let mut counts = Counts::default();
        for report in &reports {
            counts += report.counts;
        }
        let programs = context.out.json || self.sarif;
        let level = match self.level {
            Some(Shown::Error) => Level::Error,
            Some(Shown::Dialect) => Level::Dialect,
            None if programs => Level::Dialect,
            Some(Shown::Warning) | None => Level::Warning,
        };
        let shown: Vec<(&FileReport, &Finding)> = reports
            .iter()
            .flat_map(|report| report.findings.iter().map(move |finding| (report, finding)))
            .filter(|(_, finding)| finding.rule.level() <= level)
            .collect();
        if self.sarif {
            context.out.document(&sarif::log(&shown))?;
        } else if context.out.json {
            let findings: Vec<Shape> = shown.iter().map(|(report, finding)| shape(report, finding)).collect();
            let omitted = counts.sum() - findings.len() as u64;
            context.out.document(&Document { files: reports.len(), counts, findings, omitted })?;
        } else {
            tell(&mut context.out, &shown, reports.len(), counts)?;
        }
        Ok(if counts.error > 0 { i32::from(ExitCode::BadData) } else { 0 })
    }

    /// Checks what was named.
    fn reports(&self, context: &Context) -> Result<Vec<FileReport>, Failure> {
        if self.what.is_empty() {
            let teams: Vec<TeamName> = match context.named_team()? {
                Some(team) => vec![team],
                None => context.office.team_names()?,
            };
            let reports = teams.iter().map(|team| validate_team(&context.office, team));
            let mut reports = reports.collect::<Result<Vec<_>, _>>()?.concat();
            let places = settings::Settings::places(&context.cwd)?;
            reports.extend(places.iter().map(|path| settings_report(path)));
            return Ok(reports);
        }
        let mut reports = Vec::new();
        for what in &self.what {
            let path = context.cwd.join(what);
            let is_team = TeamName::parse(what).is_ok()
                && self.format.is_none()
                && (!path.exists() || context.office.choose_team(Some(what), &context.cwd).is_ok());
            if is_team {
                let team = context.office.choose_team(Some(what), &context.cwd);
                let team = team.map_err(|error| no_such(what, error))?;
                reports.extend(validate_team(&context.office, &team)?);
            } else if path.is_dir() && self.format.is_none() {
                reports.extend(folder(context, what, &path)?);
            } else if path.symlink_metadata().is_err() {
                return Err(Failure::new(
                    ExitCode::NotFound,
                    "no_such_file",
                    format!("there is no file {what:?}"),
                )
                .hint("give a team's name, a team's folder, or a file"));
            } else {
                reports.push(self.file(what, &path)?);
            }
        }
        Ok(reports)
    }

    fn file(&self, what: &str, path: &Path) -> Result<FileReport, Failure> {
        let Some(format) = self.format.map(Format::from).or_else(|| detect(path)) else {
            return Err(Failure::usage(format!("what is {what:?}? neither its name nor its content tells"))
                .hint("say it with --format config|inbox|log|cursor|task|status|settings"));
        };
        let report =
            if format == Format::Settings { settings_report(path) } else { validate_file(path, format) };
        Ok(FileReport { file: PathBuf::from(what), ..report })
    }
}

/// A team's folder, or a whole root.
fn folder(context: &Context, what: &str, path: &Path) -> Result<Vec<FileReport>, Failure> {
    if ["config.json", "inboxes", "members"].iter().any(|part| path.join(part).exists()) {
        return Ok(validate_folder(path));
    }
    let root = atm_store::Root::new(path);
    let teams = TeamFolder::list(&root).map_err(OfficeError::from)?;
    if teams.is_empty() {
        return Err(Failure::new(
            ExitCode::NotFound,
            "no_such_team",
            format!("there is no team in {what:?}"),
        )
        .hint("give a team's folder, or a root with `teams` in it"));
    }
    Ok(validate_all(&atm_office::Office::new(root, context.office.state().clone()))?)
}

/// Neither a team nor a file: say so of both.
fn no_such(what: &str, error: OfficeError) -> Failure {
    match error {
        OfficeError::NoTeam { .. } => match Failure::from(error) {
            Failure::Told(mut told) => {
                told.message = format!("there is no team and no file {what:?}");
                Failure::Told(told)
            }
            other => other,
        },
        error => error.into(),
    }
}

fn settings_report(path: &Path) -> FileReport {
    let mut findings = Findings::default();
    let trouble = match settings::text_of(path) {
        Ok(text) => settings::trouble_in(&text).map(|trouble| {
            let place = trouble.at.map(|at| Place::default().after(&text.as_bytes()[..at.min(text.len())]));
            (trouble.short, place)
        }),
        Err(why) => Some((format!("cannot be read: {why}"), None)),
    };
    if let Some((message, place)) = trouble {
        findings.add(Rule::SettingsBad, || Finding { place, ..Finding::of_file(Rule::SettingsBad, message) });
    }
    FileReport::new(path.to_owned(), Format::Settings, findings)
}

fn shape<'a>(report: &'a FileReport, finding: &'a Finding) -> Shape<'a> {
    Shape {
        rule_id: finding.rule.code(),
        level: finding.rule.level(),
        file: &report.file,
        line: finding.place.map(|place| place.line),
        column: finding.place.map(|place| place.column),
        entry: finding.entry,
        path: finding.path.as_deref(),
        message: &finding.message,
        advice: finding.rule.advice(),
    }
}

/// For people: one line a finding, in the form that editors jump to; what to do is said once a rule.
fn tell(
    out: &mut Out,
    shown: &[(&FileReport, &Finding)],
    files: usize,
    counts: Counts,
) -> Result<(), Failure> {
    let paint = out.paint;
    let mut advised = Vec::new();
    for (report, finding) in shown {
        let file = report.file.display().to_string();
        let place =
            finding.place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
        let what = match (finding.entry, report.format) {
            (Some(entry), Format::Log) => format!("line {entry} "),
            (Some(entry), _) if !finding.message.starts_with("entry ") => format!("entry {entry} "),
            _ => String::new(),
        };
        let what = if finding.message.starts_with("line ") { "" } else { &what };
        let level = match finding.rule.level() {
            Level::Error => paint.bad("error"),
            Level::Warning => paint.attention("warning"),
            Level::Dialect => paint.dim("dialect"),
        };
        let (file, message) = (safe::line(&file), safe::line(&finding.message));
        out.line(format!("{file}{place}: {level}: {what}{message} [{}]", finding.rule.code()))?;
        if !advised.contains(&finding.rule) {
            advised.push(finding.rule);
            out.note(format!("  {} {}", finding.rule.why(), finding.rule.advice()))?;
        }
    }
    out.note(format!(
        "{}: {}, {}, {}",
        counted(files, "file"),
        counted(counts.error, "error"),
        counted(counts.warning, "warning"),
        counted(counts.dialect, "dialect")
    ))?;
    Ok(())
}

impl From<As> for Format {
    fn from(named: As) -> Self {
        match named {
            As::Config => Self::Team,
            As::Inbox => Self::Array,
            As::Log => Self::Log,
            As::Cursor => Self::Cursor,
            As::Task => Self::Task,
            As::Status => Self::Status,
            As::Settings => Self::Settings,
        }
    }
}
