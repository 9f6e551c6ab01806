//! `atm tend`

mod units;

use std::env;
use std::time::Duration;

use atm_office::chores::{Outcome, StepReport, TeamPass};
use atm_office::watch::Wake;
use atm_wire::{Stamp, TeamName};
use clap::Args;

use super::duration::duration;
use crate::chores::{Chores, notifier_of_pass};
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::settings::Origin;
use units::Scheduler;

/// Mail that no file event told of, and new teams, are found after this long.
const SLOW_LOOK: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = "\
Once: takes every step that is due. Members whose program ended are entered as off; silent ones are asked, and their
tasks released; tasks of people who left are free again; mail that nobody acts on is offered again, escalated, expired;
members that wait and have new mail are woken; mail that was read is archived; people are told what needs them (`atm help
notify`). `retry`, `health --sweep` and `wake --all`
are parts of it by name, and share their settings: [delivery], [wake], [archive], [notify].

Any number may run at once, also beside those: each step is taken once. If one dies over a step, the next goes on with it;
a step that may have had an effect outside of our files (a wake, a notification) is not repeated, and `atm status` lists it.

Exit codes: 0 all that was due is done; otherwise that of the first step that failed, after all others.")]
pub(crate) struct Tend {
    /// All teams
    #[arg(long, conflicts_with = "team")]
    all_teams: bool,
    /// Go on: whenever something changes or a step is due, until you stop it (with --json, JSON Lines)
    #[arg(long)]
    watch: bool,
    /// With --watch: stop after this long: 30s, 10m
    #[arg(long = "for", value_name = "TIME", value_parser = duration, requires = "watch")]
    patience: Option<Duration>,
    /// Only say what is due
    #[arg(long, conflicts_with = "watch")]
    dry_run: bool,
    /// Do nothing: print what makes a scheduler run it every minute, for all teams
    #[arg(long, value_enum, value_name = "SCHEDULER", conflicts_with_all = ["watch", "dry_run", "all_teams"])]
    print: Option<Scheduler>,
}

/// What one pass over all teams came to.
#[derive(Default)]
struct Passes {
    teams: Vec<TeamPass>,
    next: Option<Stamp>,
    /// Whether people were told something that is no team's, or would be.
    has_told: bool,
    /// Of the first that failed.
    exit: i32,
}

/// For how long words are indexed after a pass, if there are many.
const INDEX_WITHIN: Duration = Duration::from_secs(2);

impl Tend {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if let Some(scheduler) = self.print {
            return print(context, scheduler);
        }
        if self.watch {
            return self.watch(context);
        }
        let exit = self.once(context)?;
        context.out.finish()?;
        if !self.dry_run {
            context.office.index_words(INDEX_WITHIN);
        }
        Ok(exit)
    }

    fn once(&self, context: &mut Context) -> Result<i32, Failure> {
        let passes = self.pass(context)?;
        if context.out.json {
            context.out.document(&passes.teams)?;
            return Ok(passes.exit);
        }
        show(context, &passes.teams, self.all_teams)?;
        let is_idle = passes.teams.iter().all(|pass| pass.steps.is_empty()) && !passes.has_told;
        if is_idle && passes.exit == 0 {
            context.out.note("nothing is due")?;
        }
        Ok(passes.exit)
    }

    fn watch(&self, context: &mut Context) -> Result<i32, Failure> {
        let until = self.patience.map(|patience| context.office.now().saturating_add(patience));
        loop {
            // The watch begins before the look, so that nothing falls between them.
            let mut watch = context.office.watch_teams(&self.teams(context)?);
            let passes = self.pass(context)?;
            if context.out.json {
                for pass in passes.teams.iter().filter(|pass| !pass.steps.is_empty()) {
                    context.out.json_line(pass)?;
                }
            } else {
                show(context, &passes.teams, self.all_teams)?;
                context.out.finish()?;
            }
            let look = context.office.now().saturating_add(SLOW_LOOK);
            let soonest = [Some(look), passes.next, until].into_iter().flatten().min();
            let wake = watch.sleep_until(soonest);
            if wake == Wake::Over || until.is_some_and(|until| context.office.now() >= until) {
                return Ok(0);
            }
        }
    }

    fn teams(&self, context: &Context) -> Result<Vec<TeamName>, Failure> {
        if self.all_teams {
            // One whose configuration cannot be read is for `atm doctor`.
            let teams = context.office.teams()?.into_iter().filter(|team| team.trouble.is_none());
            return Ok(teams.map(|team| team.name).collect());
        }
        Ok(vec![context.team()?])
    }

    /// Tends all teams. One that fails does not keep the others from being tended.
    fn pass(&self, context: &mut Context) -> Result<Passes, Failure> {
        let notifier = notifier_of_pass(&context.settings.notifications.value);
        let all = Chores::of(&context.settings, notifier.as_ref());
        let chores = all.list();
        let mut passes = Passes::default();
        let mut warnings = Vec::new();
        // First: a damaged ledger fails all teams.
        if let Some(notifier) = &notifier {
            for told in notifier.look_at_machine(&context.office, self.dry_run) {
                passes.has_told = true;
                let what = format!("tell people: {}", told.event.text);
                match told.error {
                    // The answer is about teams.
                    None if context.out.json => {}
                    None if self.dry_run => context.out.note(format!("due: {what}"))?,
                    None => context.out.note(format!("done: {what}"))?,
                    Some(why) => {
                        passes.note_exit(i32::from(ExitCode::Io));
                        context.out.warn(&format!("failed: {what}: {why}"))?;
                    }
                }
            }
        }
        let identity = context.identity()?;
        for team in self.teams(context)? {
            let tended = context.office.team_to_look_at(&team).and_then(|mut handle| {
                if let Some(identity) = &identity {
                    handle.check_lead(&identity.name, "a team is tended by its lead")?;
                }
                handle.tend(&chores, self.dry_run)
            });
            // As clients' teams do: that is no trouble, and what became of its mail is recorded.
            let is_gone = self.all_teams && !context.office.has_team(&team);
            let pass = match tended {
                Err(_) if is_gone => {
                    let _ = context.office.look(&team);
                    continue;
                }
                // A watch goes on: what is wrong now may be right at the next look.
                Err(error) if self.all_teams || self.watch => {
                    passes.note_exit(i32::from(ExitCode::from(&error)));
                    warnings.push(format!("team {team}: {error}"));
                    continue;
                }
                pass => pass?,
            };
            let errors = pass.steps.iter().filter_map(|report| report.error.as_ref());
            for error in errors.filter(|_| !is_gone) {
                passes.note_exit(i32::from(ExitCode::from(error)));
            }
            passes.next = [passes.next, pass.next].into_iter().flatten().min();
            passes.teams.push(pass);
        }
        warnings.iter().try_for_each(|warning| context.out.warn(warning))?;
        Ok(passes)
    }
}

fn print(context: &mut Context, scheduler: Scheduler) -> Result<i32, Failure> {
    let program = env::current_exe().map_or_else(|_| "atm".to_owned(), |path| path.display().to_string());
    let mut command = vec![program, "tend".to_owned(), "--all-teams".to_owned(), "--quiet".to_owned()];
    // A scheduler knows the settings files, not the variables and flags of this call.
    let settings = &context.settings;
    for (flag, folder) in [("--root", &settings.root), ("--state", &settings.state)] {
        if matches!(folder.origin, Origin::Environment(_) | Origin::Flag(_)) {
            command.extend([flag.to_owned(), context.cwd.join(&folder.value).display().to_string()]);
        }
    }
    let text = scheduler.text(&command);
    if context.out.json {
        let answer = serde_json::json!({ "scheduler": scheduler.name(), "command": command, "text": text });
        context.out.document(&answer)?;
    } else {
        context.out.raw(text.as_bytes())?;
    }
    Ok(0)
}

impl Passes {
    fn note_exit(&mut self, exit: i32) {
        if self.exit == 0 {
            self.exit = exit;
        }
    }
}

fn show(context: &mut Context, passes: &[TeamPass], names_teams: bool) -> Result<(), Failure> {
    for pass in passes {
        let team = if names_teams { format!("{}: ", pass.team) } else { String::new() };
        for report in &pass.steps {
            context.out.hanging("", &format!("{team}{}", words(report)))?;
        }
    }
    Ok(())
}

fn words(report: &StepReport) -> String {
    let what = &report.step.what;
    match (report.outcome, &report.error) {
        (Outcome::Due, _) => format!("due: {what}"),
        (Outcome::Done, _) => format!("done: {what}"),
        (Outcome::Failed, Some(error)) => format!("failed: {what}: {error}"),
        (Outcome::Failed, None) => format!("failed: {what}"),
        (Outcome::Unknown, _) => {
            format!("outcome unknown: {what}; its process died, and it is not repeated")
        }
    }
}
