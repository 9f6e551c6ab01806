//! What the doctor says.

use std::path::Path;

use atm_upkeep::doctor::{Checkup, Noted, Severity};
use atm_wire::counted;
use serde::Serialize;

use super::{Case, Outcome};
use crate::failure::Failure;
use crate::output::{Out, safe};

/// A finding as programs see it.
#[derive(Serialize)]
struct Shape<'a> {
    code: &'static str,
    level: Severity,
    team: Option<&'a str>,
    file: Option<&'a Path>,
    message: &'a str,
    evidence: &'a [String],
    fix: String,
    automatic: bool,
    safe: bool,
    state: &'static str,
    journal: Option<&'a str>,
    error: Option<String>,
}

#[derive(Serialize, Default)]
struct Counts {
    error: usize,
    warning: usize,
    note: usize,
    fixed: usize,
}

#[derive(Serialize)]
struct Document<'a> {
    findings: Vec<Shape<'a>>,
    counts: Counts,
    ledger: Option<&'a Checkup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    noted: Option<&'a Noted>,
}

impl Outcome {
    fn state(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::WouldFix => "would_fix",
            Self::NeedsConsent => "needs_consent",
            Self::Fixed(_) => "fixed",
            Self::Failed(_) => "failed",
        }
    }

    fn journal(&self) -> Option<&str> {
        match self {
            Self::Fixed(treated) => treated.journal.as_deref(),
            _ => None,
        }
    }
}

fn count(cases: &[Case]) -> Counts {
    let mut counts = Counts::default();
    for case in cases {
        match (&case.outcome, case.finding.ailment.severity()) {
            (Outcome::Fixed(_), _) => counts.fixed += 1,
            (_, Severity::Error) => counts.error += 1,
            (_, Severity::Warning) => counts.warning += 1,
            (_, Severity::Note) => counts.note += 1,
        }
    }
    counts
}

pub(super) fn cases(
    out: &mut Out,
    cases: &[Case],
    ledger: Option<&Checkup>,
    noted: Option<&Noted>,
) -> Result<(), Failure> {
    for warning in ledger.iter().flat_map(|ledger| &ledger.warnings) {
        out.warn(warning)?;
    }
    if out.json {
        let findings = cases.iter().map(shape).collect();
        out.document(&Document { findings, counts: count(cases), ledger, noted })?;
        return Ok(());
    }
    for case in cases {
        tell(out, case)?;
    }
    if let Some(ledger) = ledger.filter(|ledger| ledger.sound) {
        let messages = counted(ledger.messages, "message");
        out.hanging_note("", &format!("the ledger is sound: {messages}"))?;
        path(out, &ledger.ledger)?;
    }
    if let Some(Noted { path: log, lines }) = noted {
        out.hanging_note("", "what was no message, newest last, is in")?;
        path(out, log)?;
        for line in lines {
            out.hanging_note("  ", line)?;
        }
    }
    let counts = count(cases);
    let open =
        [counted(counts.error, "error"), counted(counts.warning, "warning"), counted(counts.note, "note")]
            .join(", ");
    out.hanging_note("", &format!("{open}; {} fixed", counts.fixed))?;
    Ok(())
}

/// A path is for copying: it has a line of its own, and is not broken.
fn path(out: &mut Out, path: &Path) -> Result<(), Failure> {
    Ok(out.note(format!("  {}", safe::line(&path.display().to_string())))?)
}

fn shape(case: &Case) -> Shape<'_> {
    let finding = &case.finding;
    Shape {
        code: finding.ailment.code(),
        level: finding.ailment.severity(),
        team: finding.team.as_ref().map(AsRef::as_ref),
        file: finding.path.as_deref(),
        message: &finding.message,
        evidence: &finding.evidence,
        fix: finding.fix(),
        automatic: finding.can_be_fixed(),
        safe: finding.safe,
        state: case.outcome.state(),
        journal: case.outcome.journal(),
        error: match &case.outcome {
            Outcome::Failed(error) => Some(error.to_string()),
            _ => None,
        },
    }
}

fn tell(out: &mut Out, case: &Case) -> Result<(), Failure> {
    let finding = &case.finding;
    let paint = out.paint;
    let level = match finding.ailment.severity() {
        Severity::Error => paint.bad("error"),
        Severity::Warning => paint.attention("warning"),
        Severity::Note => paint.dim("note"),
    };
    let team = finding.team.as_ref().map(|team| format!("{team}: ")).unwrap_or_default();
    out.hanging(&format!("{level}: "), &format!("{team}{} [{}]", finding.message, finding.ailment.code()))?;
    if let Some(path) = &finding.path {
        // A path is for copying: it is not broken.
        out.line(format!("  {}", safe::line(&path.display().to_string())))?;
    }
    for evidence in &finding.evidence {
        out.hanging("  because ", evidence)?;
    }
    let fix = finding.fix();
    match &case.outcome {
        Outcome::Open | Outcome::WouldFix if !finding.safe && finding.can_be_fixed() => {
            out.hanging("  fix, with your consent: ", &fix)?;
        }
        Outcome::Open => out.hanging("  fix: ", &fix)?,
        Outcome::WouldFix => out.hanging("  would be fixed: ", &fix)?,
        Outcome::NeedsConsent => {
            out.hanging(&format!("  {}: ", paint.attention("not fixed, it needs --yes")), &fix)?;
        }
        Outcome::Fixed(treated) => match &treated.journal {
            Some(id) => {
                out.hanging(
                    &format!("  {}; ", paint.good("fixed")),
                    &format!("`atm doctor --undo {id}` undoes it"),
                )?;
            }
            None => out.line(format!("  {}", paint.good("fixed")))?,
        },
        Outcome::Failed(error) => {
            out.hanging(&format!("  {}: ", paint.bad("not fixed")), &error.to_string())?;
        }
    }
    Ok(())
}
