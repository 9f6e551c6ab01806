//! The delivery part of `cargo xtask clients`: the real Claude Code as lead, as separate-process and as in-process
//! member against a scripted model, with atm's stages compared to what the model was really sent.

mod accounts;
mod course;
mod findings;
mod model;
mod patience;
mod report;
mod request;
mod session;
mod tally;
mod terminal;

use std::fs;
use std::path::Path;

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
    /// Leave the homes with transcripts, ledger and the model's requests below target/
    #[arg(long)]
    keep: bool,
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
    let mut rows = Vec::new();
    for version in versions {
        for role in &roles {
            eprintln!("clients: Claude Code {version} as {}", role.name());
            let outcome = try_out(&version, *role, choice, atm);
            patience::check_interrupt()?;
            if let Err(error) = &outcome {
                eprintln!("clients:   did not run: {error:#}");
            }
            for line in outcome.iter().flat_map(|outcome| report::summary(&outcome.findings.wrong)) {
                eprintln!("clients:   {line}");
            }
            rows.push(Row { version: version.clone(), role: *role, outcome });
        }
    }
    Ok(Report(rows))
}

fn try_out(version: &str, role: Role, choice: &Choice, atm: &Path) -> Result<Outcome> {
    let programs = npm::install_claude(version)?;
    let mut home = Home::without_team(atm, &programs)?;
    if choice.keep {
        eprintln!("clients:   in {}", home.keep().display());
    }
    let mut course = Course::new(Session::start(version, role, &programs, home)?, choice.each as usize);
    let groups = course.run();
    if choice.keep {
        let session = &course.session;
        let requests =
            session.model.requests().iter().map(|request| format!("{request}\n")).collect::<String>();
        fs::write(session.home.file("requests.jsonl"), requests).context("cannot keep the requests")?;
    }
    Ok(Outcome { groups: groups?, findings: course.findings })
}
