//! The demo's second half: a crew builds a house, with tasks, a plan, a worker that hangs, and a shutdown.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use atm_office::OfficeError;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::teams::TeamPlan;
use atm_office::protocol::plan::PlanAnswer;
use atm_office::tasks::{TaskFilter, TaskPlan};
use atm_wire::task::{Status, TaskId};
use atm_wire::{Address, MemberName, TeamName};

use super::crew::Crew;
use super::{STOP, Stage, name};
use crate::cmd::members;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

const TEAM: &str = "demo-crew";
/// Nothing here takes long; on a busy machine it may.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a worker that hangs is waited for.
const HEALTH: Duration = Duration::from_millis(400);

/// The crew and its lead.
struct Site {
    team: TeamName,
    lead: MemberName,
    crew: Crew,
}

impl Stage<'_> {
    pub(super) fn build_a_house(&mut self, folder: &Path) -> Result<(), Failure> {
        let team = TeamName::parse(TEAM)?;
        let crew = Crew::new(&self.office, &team, folder);
        let mut site = Site { lead: name("team-lead")?, crew, team };
        self.begin_to_work(&mut site)?;
        self.ask_before_building(&site)?;
        self.bring_back_one_that_hangs(&mut site)?;
        self.finish_the_house(&site)?;
        self.end_the_day(&mut site)
    }

    fn begin_to_work(&mut self, site: &mut Site) -> Result<(), Failure> {
        self.say(
            "A crew builds a house. The lead makes tasks, and starts workers: atm task create, atm spawn",
        )?;
        self.office.create_team(&TeamPlan::new(TEAM, "Builds a house"))?;
        let design = self.task(site, "design the house", &[])?;
        for subject in ["build the doors", "build the windows"] {
            self.task(site, subject, &[design])?;
        }
        site.crew.start(&name("dora")?, "work")?;
        wait("a worker has a plan", || Ok(!self.office.plans(&site.team)?.is_empty()))?;
        self.task(site, "plant the garden", &[])?;
        site.crew.start(&name("emil")?, "hang")?;
        wait("the second worker has a task", || self.is_claimed(site, "plant the garden"))?;
        site.crew.start(&name("fritz")?, "work")?;
        let place = if site.crew.in_panes() {
            "each worker runs in a tmux pane of its own, and reads and writes its mail with atm"
        } else {
            "there is no tmux here, so each worker is a plain process that reads and writes its mail with atm"
        };
        self.out.line(format!("  {place}"))?;
        let people = self.office.members(&site.team)?;
        members::show(self.out, &people, true)?;
        self.show_tasks(site)
    }

    fn ask_before_building(&mut self, site: &Site) -> Result<(), Failure> {
        self.say(
            "Dora asks before she begins, and the lead decides: atm plan submit --wait, atm plan approve",
        )?;
        let plans = self.office.plans(&site.team)?;
        let plan = plans.first().ok_or_else(|| failed("there is no plan"))?;
        let (request, from) = (plan.request.clone(), plan.from.clone());
        let feedback = Some("and a chimney, please".to_owned());
        let answer = PlanAnswer { approved: true, feedback, permission_mode: None };
        self.office.team(&site.team)?.decide_plan(&site.lead, &request, &answer)?;
        self.out.line(format!("  {} may go on: {}", safe::line(&from), safe::line(&request)))?;
        wait("the design is done", || self.is_done(site, "design the house"))
    }

    fn bring_back_one_that_hangs(&mut self, site: &mut Site) -> Result<(), Failure> {
        self.say("Emil has a task and does not answer: atm health emil, task release, kill, respawn")?;
        let emil = name("emil")?;
        let mut team = self.office.team(&site.team)?;
        let (request, sent) = team.ask_health(&site.lead, &emil)?;
        let beat = team.wait_for_heartbeat(&emil, &request, sent.timestamp, HEALTH);
        let Err(OfficeError::NoAnswer { .. }) = beat else {
            return Err(failed("one that hangs has answered"));
        };
        self.out.line(format!("  no heartbeat within {} ms", HEALTH.as_millis()))?;
        let released = self.office.tasks(&site.team)?.release_all(&emil, self.office.now())?;
        let released: Vec<String> = released.iter().map(ToString::to_string).collect();
        team.stall_alert(&site.lead, &emil, &released)?;
        self.out.line(format!("  task {} is free again, and everybody knows", released.join(", ")))?;
        site.crew.kill(&emil)?;
        let letter = Letter::new(Address { name: emil.clone(), team: None }, "mind the roses");
        let sent = self.office.send(&site.team, &site.lead, &letter, SendOptions::default())?;
        self.out.line(format!("  emil is off, so a message for him is {}", sent.status.as_str()))?;
        site.crew.restart(&emil, "work")?;
        let acked = || {
            let track = self.office.track(Some(&site.team), &sent.id)?;
            Ok(track.stage >= atm_ledger::Stage::Acked)
        };
        wait("emil has read what waited", acked)?;
        Ok(self.out.line("  emil is back, has found it in his inbox, and has acknowledged it")?)
    }

    fn finish_the_house(&mut self, site: &Site) -> Result<(), Failure> {
        self.say("Idle workers claim what is left: atm task claim --next, atm task complete")?;
        wait("the house is built", || {
            let tasks = self.office.tasks(&site.team)?.list(&TaskFilter::default())?.tasks;
            Ok(tasks.iter().all(|task| task.status == Status::Completed))
        })?;
        self.show_tasks(site)
    }

    fn end_the_day(&mut self, site: &mut Site) -> Result<(), Failure> {
        self.say("The lead asks everybody to end, and they agree: atm shutdown request --wait")?;
        for who in ["dora", "emil", "fritz"] {
            let reason = Some("the house is built".to_owned());
            let mut team = self.office.team(&site.team)?;
            let asked = team.request_shutdown(&site.lead, &name(who)?, reason, Some(PATIENCE))?;
            let agreed = asked.answer.is_some_and(|answer| answer.approved);
            self.out.line(format!("  {who} {}", if agreed { "agrees" } else { "stays" }))?;
        }
        wait("the crew has ended", || site.crew.is_over())?;
        let reading = self.office.begin_read(&site.team, &site.lead, usize::MAX)?;
        let told = reading.messages().len();
        reading.confirm()?;
        let waiting = self.office.pending(&site.team)?.len();
        self.out.line(format!("  the lead was told {told} things; messages that still wait: {waiting}"))?;
        if waiting > 0 {
            return Err(failed("messages were lost"));
        }
        let people = self.office.members(&site.team)?;
        members::show(self.out, &people, true)
    }

    fn task(&self, site: &Site, subject: &str, blocked_by: &[TaskId]) -> Result<TaskId, Failure> {
        let plan =
            TaskPlan { subject: subject.to_owned(), blocked_by: blocked_by.to_vec(), ..TaskPlan::default() };
        Ok(self.office.tasks(&site.team)?.create(&site.lead, &plan)?.task.id)
    }

    fn show_tasks(&mut self, site: &Site) -> Result<(), Failure> {
        for task in self.office.tasks(&site.team)?.list(&TaskFilter::default())?.tasks {
            let owner = task.owner.as_deref().unwrap_or("-");
            self.out.line(format!(
                "  task {}  {:<11}  {owner:<6}  {}",
                task.id,
                task.status,
                safe::line(&task.subject)
            ))?;
        }
        Ok(())
    }

    fn is_claimed(&self, site: &Site, subject: &str) -> Result<bool, OfficeError> {
        let tasks = self.office.tasks(&site.team)?.list(&TaskFilter::default())?.tasks;
        Ok(tasks.iter().any(|task| task.subject == subject && task.owner.is_some()))
    }

    fn is_done(&self, site: &Site, subject: &str) -> Result<bool, OfficeError> {
        let tasks = self.office.tasks(&site.team)?.list(&TaskFilter::default())?.tasks;
        Ok(tasks.iter().any(|task| task.subject == subject && task.status == Status::Completed))
    }
}

/// Waits until something holds that a worker does.
fn wait(what: &str, mut holds: impl FnMut() -> Result<bool, OfficeError>) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !holds()? {
        pause(deadline, what)?;
    }
    Ok(())
}

fn pause(deadline: Instant, what: &str) -> Result<(), Failure> {
    if STOP.load(Ordering::SeqCst) {
        return Err(Failure::Stopped);
    }
    if Instant::now() > deadline {
        return Err(Failure::new(ExitCode::TimedOut, "demo", format!("waited in vain until {what}")));
    }
    thread::sleep(Duration::from_millis(20));
    Ok(())
}

fn failed(why: &str) -> Failure {
    Failure::new(ExitCode::BadData, "demo", why)
}
