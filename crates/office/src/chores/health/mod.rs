//! Looking after members that work: who is silent for too long is asked, and if no answer comes, its tasks go to others.
//!
//! The letters of a step have ids that are made of it: one whose runner died is finished by the next, and nothing is
//! sent twice.
//!
//! | a member | and | then |
//! |---|---|---|
//! | has claimed a task | was not heard of for as long as the claim is good for | it is asked: a health check from the lead |
//! | the same | is off | stalled, without being asked |
//! | was asked | said anything since | well again |
//! | was asked | is silent for 30 s | stalled: its tasks are released, everybody is told, it is counted |
//! | stalls for the second time since it was started | | unresponsive |
//! | is stalled or unresponsive | said anything since | well again; what was counted stays |

mod rules;

use std::time::Duration;

use atm_ledger::{HealthRow, InboxKey, StepKey};
use atm_wire::payload::{HealthCheck, Payload, StallAlert};
use atm_wire::{Address, MemberName, Stamp, TeamName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use rules::Step;
use rules::{CHECKED, Seen, current, due, quiet};

use super::{Carried, Chore, Effect, MemberNow, Outcome, Parts, Site, Snapshot, StepReport, soonest};
use crate::error::OfficeError;
use crate::mail::derived::step_id;
use crate::mail::partly::{After, Done};
use crate::mail::send::{Letter, SendOptions};
use crate::office::Office;
use crate::people::presence::CHECK_PATIENCE;
use crate::team::Team;

/// How often a member should give a heartbeat while it works.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(60);

const NAME: &str = "health";

/// A step with the member that it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Swept {
    /// Who.
    pub name: String,
    /// What was done.
    pub step: Step,
    /// The health check that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The tasks that are free now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// How often it stalled since it was started.
    pub stalls: u32,
    /// What went wrong beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Swept {
    fn words(&self) -> String {
        format!("step {:?} was taken with {}", self.step.as_str(), self.name)
    }
}

/// What a step is, with all that it takes to carry it out.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Planned {
    name: MemberName,
    step: Step,
    /// When it was decided.
    at: Stamp,
    /// The tasks that are released.
    tasks: Vec<String>,
    stalls: u32,
}

/// The chore. A step's subject is the member, its number the time of the step before it: of one state, one step leads on.
#[derive(Debug)]
pub struct Health;

impl Health {
    fn plan(member: &MemberNow, now: Stamp) -> Option<super::Step> {
        let seen = Seen::of(member, now);
        let step = due(member.row.as_ref(), &seen, now)?;
        let before = current(member.row.as_ref(), &seen);
        let is_stall = matches!(step, Step::Stall | Step::Unresponsive);
        // Each has a time of its own, by which the step after it is numbered.
        let after = member.row.as_ref().map_or(now, |row| Stamp::from_millis(row.at.saturating_add(1)));
        let planned = Planned {
            name: member.name.clone(),
            step,
            at: now.max(after),
            tasks: if is_stall { member.open_tasks.clone() } else { Vec::new() },
            stalls: before.map_or(0, |row| row.stalls) + u32::from(is_stall),
        };
        let what = format!("take step {:?} with {}", step.as_str(), member.name);
        let number = member.row.as_ref().map_or(0, |row| row.at);
        Some(super::Step::new((NAME, Effect::Files), member.name.as_str(), number, what, &planned))
    }
}

impl Chore for Health {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { people: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<super::Step> {
        if snapshot.lead.is_none() {
            return Vec::new();
        }
        snapshot.members.iter().filter_map(|member| Self::plan(member, now)).collect()
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        let later = |at: Stamp, span: Duration| at.saturating_add(span + Duration::from_millis(1));
        let times = snapshot.members.iter().flat_map(|member| {
            let checked = member.row.as_ref().filter(|row| row.step == CHECKED);
            let checked = checked.map(|row| later(Stamp::from_millis(row.at), CHECK_PATIENCE));
            let claims = member.leases.iter().map(|lease| {
                let (quiet_since, good_for) = quiet(lease, member.said);
                later(quiet_since, good_for)
            });
            claims.chain(checked).collect::<Vec<_>>()
        });
        soonest(times, now)
    }

    fn carry_out(&self, site: &Site, step: &super::Step) -> Result<Carried<Value>, OfficeError> {
        let Ok(planned) = serde_json::from_value::<Planned>(step.details.clone()) else {
            return Ok(Carried::Moot);
        };
        let inbox = site.office.inbox_key(site.team, &planned.name);
        let row = site.office.books.with(|ledger| ledger.health(&inbox))?;
        if row.as_ref().map_or(0, |row| row.at) != step.number {
            // It was done, to the last record of it.
            return Ok(Carried::Moot);
        }
        let team = site.office.team(site.team)?;
        let lead = team.lead()?.clone();
        let sweep = Sweep { team: &team, lead, key: step.key(site.office, site.team), planned };
        // Tasks may be released and letters written by then; their ids are made of the step.
        Ok(match sweep.carry_out(&inbox) {
            Ok(swept) => Carried::Done(serde_json::to_value(swept).unwrap_or_default()),
            Err(error) => Carried::Half(error),
        })
    }
}

impl Office {
    /// Takes every step that is due in a team, in the lead's name; with `dry_run` only says which.
    pub fn sweep(&self, team: &TeamName, dry_run: bool) -> Result<Vec<Swept>, OfficeError> {
        self.team(team)?.sweep(dry_run)
    }
}

impl Team<'_> {
    /// Takes every step that is due, in the lead's name; with `dry_run` only says which.
    pub fn sweep(&mut self, dry_run: bool) -> Result<Vec<Swept>, OfficeError> {
        self.lead()?;
        // If tmux cannot be asked, or nothing written, the file's word stands.
        let _ = self.notice_exits();
        let mut swept: Vec<Swept> = Vec::new();
        for StepReport { step, outcome, error, .. } in self.tend_to(&[&Health], dry_run)?.steps {
            let before = || Done::Steps(swept.iter().map(Swept::words).collect());
            match error {
                Some(error) if swept.is_empty() => return Err(error),
                Some(error) => return Err(error).after(before),
                None => swept.extend(match outcome {
                    Outcome::Due => serde_json::from_value::<Planned>(step.details)
                        .ok()
                        .map(|planned| planned.swept(None)),
                    Outcome::Done => serde_json::from_value(step.details).ok(),
                    Outcome::Failed | Outcome::Unknown => None,
                }),
            }
        }
        Ok(swept)
    }
}

/// A step with one member.
struct Sweep<'a> {
    team: &'a Team<'a>,
    lead: MemberName,
    key: StepKey,
    planned: Planned,
}

impl Sweep<'_> {
    /// Does what belongs to the step, and records it. Doing it twice changes nothing.
    fn carry_out(&self, inbox: &InboxKey) -> Result<Swept, OfficeError> {
        let (office, team, planned) = (self.team.office(), self.team, &self.planned);
        let request =
            (planned.step == Step::Check).then(|| format!("hc-{}", step_id(&self.key, "request").simple()));
        let mut swept = planned.swept(request.clone());
        match planned.step {
            Step::Check => {
                let asked = HealthCheck { request_id: request.clone() };
                let letter = self.letter(planned.name.clone(), asked);
                let sent = team.send(&self.lead, &letter, SendOptions::default())?;
                swept.warnings.extend(sent.warnings);
            }
            Step::Stall | Step::Unresponsive => {
                team.tasks().release_all(&planned.name, office.now())?;
                let stalled = Some(planned.name.to_string());
                let alert = StallAlert { stalled_agent: stalled, released_tasks: planned.tasks.clone() };
                let others = team.config().members.iter().filter(|member| member.machine.is_none());
                let others = others.filter(|member| member.name != self.lead.as_str());
                let letters: Vec<Letter> = others
                    .filter_map(|member| member.checked_name().ok())
                    .map(|to| self.letter(to, alert.clone()))
                    .collect();
                let sent = team.send_all(&self.lead, &letters, SendOptions::default());
                let sent = sent.map_err(|(_, error)| error)?;
                swept.warnings.extend(sent.into_iter().filter_map(|sent| Some(sent.err()?.to_string())));
            }
            Step::Recover => {}
        }
        let row = HealthRow {
            step: planned.step.leads_to().to_owned(),
            at: planned.at.as_millis(),
            request,
            tasks: serde_json::to_string(&planned.tasks).unwrap_or_default(),
            finished: true,
            stalls: planned.stalls,
        };
        office.books.with(|ledger| ledger.set_health(inbox, &row))?;
        Ok(swept)
    }

    fn letter(&self, to: MemberName, payload: impl Into<Payload>) -> Letter {
        let id = step_id(&self.key, &format!("{} {to}", self.planned.step.as_str())).to_string();
        Letter { id: Some(id), ..Letter::new(Address { name: to, team: None }, payload.into().to_text()) }
    }
}

impl Planned {
    fn swept(&self, request: Option<String>) -> Swept {
        Swept {
            name: self.name.to_string(),
            step: self.step,
            request,
            tasks: self.tasks.clone(),
            stalls: self.stalls,
            warnings: Vec::new(),
        }
    }
}
