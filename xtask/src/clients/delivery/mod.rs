//! The delivery part of `cargo xtask clients`: the real Claude Code as lead, as separate-process and as in-process
//! member against a scripted model, with atm's stages compared to what the model was really sent.

mod accounts;
pub(super) mod bridge;
mod course;
mod findings;
mod model;
pub(super) mod patience;
mod report;
mod request;
mod session;
pub(super) mod sessions;
mod tally;
pub(super) mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use self::course::Course;
use self::report::{Outcome, Row};
use self::session::{Role, Session};
use super::home::Home;
use super::npm;

/// The versions that users run: each consumes mail in another way.
const VERSIONS: [&str; 3] = ["2.1.325", "2.1.197", "2.1.77"];

#[derive(clap::Args)]
pub(super) struct Choice {
    /// This version of Claude Code only (repeatable)
    #[arg(long, value_name = "VERSION", requires = "delivery")]
    version: Vec<String>,
    /// This role only (repeatable)
    #[arg(long, value_enum, requires = "delivery")]
    role: Vec<Role>,
    /// How many messages each phase sends
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    each: u32,
    /// How many rows run at the same time
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=15))]
    jobs: u8,
    /// Print the delivery part as JSON, with every message
    #[arg(long, requires = "delivery")]
    pub(super) json: bool,
    /// Leave the homes with transcripts, ledger and the model's requests below target/
    #[arg(long)]
    pub(super) keep: bool,
}

/// What all rows say.
pub(super) struct Report(Vec<Row>);

impl Report {
    pub(super) fn table(&self) -> String {
        report::table(&self.0)
    }

    pub(super) fn json(&self) -> Value {
        json!({ "rows": self.0.iter().map(Row::json).collect::<Vec<_>>() })
    }

    /// Whether everything ran and all of atm's answers were true.
    pub(super) fn is_true(&self) -> bool {
        self.0.iter().all(Row::is_true)
    }
}

/// `atm` is the folder of the binary.
pub(super) fn run(choice: &Choice, atm: &Path) -> Result<Report> {
    patience::heed_signals()?;
    let versions = if choice.version.is_empty() {
        VERSIONS.map(ToOwned::to_owned).to_vec()
    } else {
        choice.version.clone()
    };
    let roles = if choice.role.is_empty() { Role::ALL.to_vec() } else { choice.role.clone() };
    for version in &versions {
        npm::install_claude(version)?;
    }
    let pairs = versions.iter().flat_map(|version| roles.iter().map(move |role| (version.as_str(), *role)));
    let queue = Mutex::new(pairs.enumerate());
    let rows = Mutex::new(BTreeMap::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..choice.jobs {
            scope.spawn(|| {
                while let Some((number, (version, role))) =
                    next().filter(|_| patience::check_interrupt().is_ok())
                {
                    let row = run_row(version, role, choice, atm);
                    rows.lock().unwrap_or_else(PoisonError::into_inner).insert(number, row);
                }
            });
        }
    });
    patience::check_interrupt()?;
    Ok(Report(rows.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()))
}

fn run_row(version: &str, role: Role, choice: &Choice, atm: &Path) -> Row {
    let say = |line: &str| eprintln!("clients: {version} {}: {line}", role.word());
    say("begins");
    let outcome = try_out(version, role, choice, atm);
    match &outcome {
        Err(error) => say(&format!("did not run: {error:#}")),
        Ok(outcome) => report::summary(&outcome.findings.wrong).iter().for_each(|line| say(line)),
    }
    Row { version: version.to_owned(), role, outcome }
}

fn try_out(version: &str, role: Role, choice: &Choice, atm: &Path) -> Result<Outcome> {
    let programs = npm::install_claude(version)?;
    let mut home = Home::without_team(atm, &programs)?;
    let kept = choice.keep.then(|| home.keep().to_owned());
    if let Some(folder) = &kept {
        eprintln!("clients: {version} {}: in {}", role.word(), folder.display());
    }
    let mut course = Course::new(Session::start(version, role, &programs, home)?, choice.each as usize);
    let groups = course.run();
    if choice.keep {
        let session = &course.session;
        let requests: Vec<String> = session.model.requests().iter().map(Value::to_string).collect();
        fs::write(session.home.file("requests.jsonl"), requests.join("\n"))
            .context("cannot keep the requests")?;
    }
    Ok(Outcome { groups: groups?, findings: course.findings, kept })
}
