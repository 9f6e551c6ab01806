//! `atm doctor`

mod journal;
mod show;

use std::io::{self, BufRead, IsTerminal, Write};

use atm_office::OfficeError;
use atm_upkeep::doctor::{self, Ailment, Checkup, Finding, Severity, Treated};
use atm_wire::{MemberName, TeamName};
use clap::Args;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

/// A fix may bring up what was hidden behind it, but not without end.
const ROUNDS: usize = 3;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags")]
pub(crate) struct Doctor {
    /// The team to look at [default: --team, else all teams]
    #[arg(value_name = "TEAM")]
    of: Option<String>,
    /// Mend what can be mended; what may do harm is asked for, or needs --yes
    #[arg(long)]
    fix: bool,
    /// Say what --fix would do, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Mend also what may do harm, without asking
    #[arg(long, short, requires = "fix")]
    yes: bool,
    /// Whose mail a phantom's really is, where nothing or too much is similar
    #[arg(long = "route", value_name = "PHANTOM=NAME", value_parser = route)]
    routes: Vec<(MemberName, MemberName)>,
    /// Undo what was mended: the last time, or that of this id
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["fix", "dry_run", "of", "routes"])]
    undo: Option<String>,
    /// Undo it also where somebody has changed the file since; the journal keeps what they wrote
    #[arg(long, requires = "undo")]
    force: bool,
    /// List what was mended
    #[arg(long, conflicts_with_all = ["fix", "dry_run", "of", "routes", "undo"])]
    journal: bool,
}

/// A finding, and what was done about it.
struct Case {
    finding: Finding,
    outcome: Outcome,
}

enum Outcome {
    /// Nothing was done.
    Open,
    /// It would have been done.
    WouldFix,
    /// It was not agreed to.
    NeedsConsent,
    /// Done.
    Fixed(Treated),
    /// It could not be done.
    Failed(OfficeError),
}

impl Doctor {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if self.journal {
            return journal::list(context);
        }
        if let Some(id) = &self.undo {
            return journal::undo(context, Some(id.as_str()).filter(|id| !id.is_empty()), self.force);
        }
        let team = match &self.of {
            Some(team) => Some(context.office.choose_team(Some(team), &context.cwd)?),
            None if self.routes.is_empty() => context.named_team()?,
            None => Some(context.team()?),
        };
        if let Some(team) = team.as_ref().filter(|_| !self.routes.is_empty()) {
            doctor::check_routes(&context.office, team, &self.routes)?;
        }
        let waiting = context.out.waiting("checking the ledger");
        let ledger = doctor::check_ledger(&context.office, self.fix && !self.dry_run);
        drop(waiting);
        let mut cases: Vec<Case> = ledger.iter().filter_map(|checkup| self.case_of_ledger(checkup)).collect();
        for _ in 0..ROUNDS {
            if !self.look(context, team.as_ref(), &mut cases)? {
                break;
            }
        }
        let noted = doctor::noted(&context.office);
        show::cases(&mut context.out, &cases, ledger.as_ref().ok(), noted.as_ref())?;
        // Locked, out of reach, or of a newer atm: there is nothing to mend about it.
        ledger?;
        let bad = cases.iter().any(|case| match &case.outcome {
            Outcome::Fixed(_) => false,
            Outcome::Failed(_) => true,
            _ => case.finding.ailment.severity() == Severity::Error,
        });
        Ok(if bad { i32::from(ExitCode::BadData) } else { 0 })
    }

    /// The ledger is mended in the same step as it is looked at.
    fn case_of_ledger(&self, checkup: &Checkup) -> Option<Case> {
        let finding = checkup.finding()?;
        let outcome = match checkup.sound {
            true => Outcome::Fixed(Treated { journal: None }),
            false if self.dry_run => Outcome::WouldFix,
            false => Outcome::Open,
        };
        Some(Case { finding, outcome })
    }

    /// One round; says whether something was mended, so that another look is worth it.
    fn look(
        &self,
        context: &mut Context,
        team: Option<&TeamName>,
        cases: &mut Vec<Case>,
    ) -> Result<bool, Failure> {
        let mut progress = context.out.progress("looking at all inboxes");
        let mut findings = doctor::examine(&context.office, team, &mut |done, of| progress.at(done, of))?;
        drop(progress);
        let is_known = |finding: &Finding| {
            cases
                .iter()
                .any(|case| (case.finding.ailment, &case.finding.path) == (finding.ailment, &finding.path))
        };
        findings.retain(|finding| !is_known(finding));
        // Locks first: the other fixes would have to wait for them. Mail is brought over when its new place is well.
        findings.sort_by_key(|finding| match finding.ailment {
            Ailment::WrongLock | Ailment::StaleLock => 0,
            Ailment::Phantom => 2,
            _ => 1,
        });
        let mut mended = false;
        for mut finding in findings {
            for (phantom, to) in &self.routes {
                finding.route(phantom, to);
            }
            let outcome = self.treat(context, &finding)?;
            mended |= matches!(outcome, Outcome::Fixed(_));
            cases.push(Case { finding, outcome });
        }
        Ok(mended)
    }

    fn treat(&self, context: &mut Context, finding: &Finding) -> Result<Outcome, Failure> {
        Ok(match () {
            () if !finding.can_be_fixed() || !(self.fix || self.dry_run) => Outcome::Open,
            () if self.dry_run => Outcome::WouldFix,
            () if !finding.safe && !self.yes && !ask(context, finding)? => Outcome::NeedsConsent,
            () => match doctor::treat(&context.office, finding) {
                Ok(treated) => Outcome::Fixed(treated),
                Err(error) => Outcome::Failed(error),
            },
        })
    }
}

fn route(text: &str) -> Result<(MemberName, MemberName), String> {
    let (phantom, to) = text.split_once('=').ok_or("it is PHANTOM=NAME")?;
    let name = |name: &str| MemberName::parse(name).map_err(|error| error.to_string());
    Ok((name(phantom)?, name(to)?))
}

/// Asks the person at the keyboard, if there is one.
fn ask(context: &mut Context, finding: &Finding) -> Result<bool, Failure> {
    let (stdin, mut stderr) = (io::stdin(), io::stderr());
    if context.out.json || !stdin.is_terminal() || !stderr.is_terminal() {
        return Ok(false);
    }
    context.out.finish()?;
    let (message, fix) = (finding.message.clone(), finding.fix());
    let _ = write!(stderr, "{}\n  {}? [y/N] ", safe::line(&message), safe::line(&fix));
    let _ = stderr.flush();
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}
