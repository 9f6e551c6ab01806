//! Looking after members that work: who is silent for too long is asked, and if no answer comes, its tasks go to others.
//!
//! Rules, run by `atm health --sweep`. The clock is the office's, so that a test runs days in milliseconds. A step is
//! put down in the ledger before it is carried out, under ids that are made of it: a sweep that dies is finished by
//! the next one, and nothing is sent twice. Sweeps of one team take turns.
//!
//! | a member | and | then |
//! |---|---|---|
//! | has claimed a task | was not heard of for as long as the claim is good for | it is asked: a health check from the lead |
//! | the same | is off | stalled, without being asked |
//! | was asked | said anything since | well again |
//! | was asked | is silent for 30 s | stalled: its tasks are released, everybody is told, it is counted |
//! | stalls for the second time since it was started | | unresponsive |
//! | is stalled or unresponsive | said anything since | well again; what was counted stays |

use std::time::Duration;

use atm_ledger::{HealthRow, InboxKey};
use atm_wire::payload::{HealthCheck, Payload, StallAlert};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{Address, MemberName, Stamp, TeamName};
use serde::Serialize;
use uuid::Uuid;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::mail::send::{Letter, SendOptions};
use crate::office::Office;
use crate::people::presence::{CHECK_PATIENCE, Presence, Surroundings, judge};
use crate::tasks::{LeaseView, TaskFilter};

/// How often a member should give a heartbeat while it works.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(60);

/// A step that is due, or was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// It is asked whether it is alive.
    Check,
    /// Its tasks are released, and everybody is told.
    Stall,
    /// The same, for the second time.
    Unresponsive,
    /// It was heard of again.
    Recover,
}

impl Step {
    /// What the member is after this step, for the ledger.
    fn leads_to(self) -> &'static str {
        match self {
            Self::Check => CHECKED,
            Self::Stall => STALLED,
            Self::Unresponsive => UNRESPONSIVE,
            Self::Recover => WELL,
        }
    }

    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Stall => "stall",
            Self::Unresponsive => "unresponsive",
            Self::Recover => "recover",
        }
    }
}

const WELL: &str = "well";
const CHECKED: &str = "checked";
const STALLED: &str = "stalled";
const UNRESPONSIVE: &str = "unresponsive";

/// A step with the member that it is about.
#[derive(Debug, Clone, Serialize)]
pub struct Swept {
    /// Who.
    pub name: String,
    /// What was done.
    pub step: Step,
    /// The health check that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The tasks that are free now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// How often it stalled since it was started.
    pub stalls: u32,
    /// What went wrong beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Swept {
    fn words(&self) -> String {
        format!("step {:?} was taken with {}", self.step.as_str(), self.name)
    }
}

/// What the rules look at.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// A claim of it is older than it is good for, and nothing was heard since.
    overdue: bool,
    /// It does not run.
    offline: bool,
    /// When it last said something.
    said: Option<Stamp>,
    /// When it was started.
    started: Option<Stamp>,
}

/// The step that is due for a member.
fn due(row: Option<&HealthRow>, seen: &Seen, now: Stamp) -> Option<Step> {
    let stall = |row: Option<&HealthRow>| {
        if row.is_some_and(|row| row.stalls > 0) { Step::Unresponsive } else { Step::Stall }
    };
    let row = current(row, seen);
    let ask = || if seen.offline { stall(row) } else { Step::Check };
    let Some(row) = row else { return seen.overdue.then(ask) };
    let at = Stamp::from_millis(row.at);
    let heard_since = seen.said.is_some_and(|said| said >= at);
    match row.step.as_str() {
        CHECKED | STALLED | UNRESPONSIVE if heard_since => Some(Step::Recover),
        CHECKED => (now.since(at) > CHECK_PATIENCE).then(|| stall(Some(row))),
        _ => seen.overdue.then(ask),
    }
}

/// What is known of a member since it was started: another start is another member.
fn current<'a>(row: Option<&'a HealthRow>, seen: &Seen) -> Option<&'a HealthRow> {
    row.filter(|row| seen.started.is_none_or(|started| started.as_millis() <= row.at))
}

/// Whether a claim has outlived what was last heard of its owner.
fn is_overdue(lease: &LeaseView, said: Option<Stamp>, now: Stamp) -> bool {
    let good_for = lease.expires_at.since(lease.claimed_at);
    let quiet_since = said.map_or(lease.claimed_at, |said| said.max(lease.claimed_at));
    now.since(quiet_since) > good_for
}

impl Office {
    /// Takes every step that is due in a team, in the lead's name; with `dry_run` only says which.
    pub fn sweep(&self, team: &TeamName, dry_run: bool) -> Result<Vec<Swept>, OfficeError> {
        let folder = self.folder(team)?;
        let turn = if dry_run { None } else { Some(folder.sweeping(&self.state, self.times)?) };
        self.reconcile(team)?;
        // If tmux cannot be asked, or nothing written, the file's word stands.
        let _ = self.notice_exits(team);
        let config = folder.load()?;
        let lead = self.lead_of(team, &config)?;
        let around = Surroundings::of(&config);
        let mut swept = Vec::new();
        for member in config.members.iter().filter(|member| member.name != lead.as_str()) {
            let Ok(name) = member.checked_name() else { continue };
            let sweep = Sweep { office: self, team, config: &config, lead: &lead, name, dry_run };
            let taken = sweep.member(member, &around);
            let steps = |swept: &[Swept]| swept.iter().map(Swept::words).collect();
            let taken = if swept.is_empty() { taken } else { taken.after(|| Done::Steps(steps(&swept))) };
            swept.extend(taken?);
        }
        drop(turn);
        Ok(swept)
    }
}

/// A look at one member.
struct Sweep<'a> {
    office: &'a Office,
    team: &'a TeamName,
    config: &'a TeamConfig,
    lead: &'a MemberName,
    name: MemberName,
    dry_run: bool,
}

impl Sweep<'_> {
    fn member(&self, member: &Member, around: &Surroundings) -> Result<Option<Swept>, OfficeError> {
        let (office, inbox) = (self.office, self.office.inbox_key(self.team, &self.name));
        let row = office.books.with(|ledger| ledger.health(&inbox))?;
        if let Some(left) = row.as_ref().filter(|row| !row.finished && !self.dry_run) {
            // Somebody died over it.
            return self.carry_out(&inbox, left.clone()).map(Some);
        }
        let now = office.now();
        let signs = office.signs(self.team, self.config, member, around);
        let said = signs.word.as_ref().map(|word| word.at);
        let seen = Seen {
            overdue: self.leases()?.iter().any(|lease| is_overdue(lease, said, now)),
            offline: judge(&signs, now).state == Presence::Offline,
            said,
            started: member.spawned_at.or(member.joined_at),
        };
        let Some(step) = due(row.as_ref(), &seen, now) else { return Ok(None) };
        let stalls = current(row.as_ref(), &seen).map_or(0, |row| row.stalls);
        let is_stall = matches!(step, Step::Stall | Step::Unresponsive);
        let row = HealthRow {
            step: step.leads_to().to_owned(),
            at: now.as_millis(),
            request: (step == Step::Check).then(|| format!("hc-{}", self.id(step, now, "request").simple())),
            tasks: serde_json::to_string(&if is_stall { self.tasks()? } else { Vec::new() })
                .unwrap_or_default(),
            finished: false,
            stalls: stalls + u32::from(is_stall),
        };
        if self.dry_run {
            return Ok(Some(swept(&self.name, step, &row)));
        }
        office.books.with(|ledger| ledger.set_health(&inbox, &row))?;
        self.carry_out(&inbox, row).map(Some)
    }

    /// Does what belongs to a step that is put down, and notes that it is done. Doing it twice changes nothing.
    fn carry_out(&self, inbox: &InboxKey, row: HealthRow) -> Result<Swept, OfficeError> {
        let (office, at) = (self.office, Stamp::from_millis(row.at));
        let step = match row.step.as_str() {
            CHECKED => Step::Check,
            STALLED => Step::Stall,
            UNRESPONSIVE => Step::Unresponsive,
            _ => Step::Recover,
        };
        let mut swept = swept(&self.name, step, &row);
        match step {
            Step::Check => {
                let asked = HealthCheck { request_id: row.request.clone() };
                let letter = self.letter(self.name.clone(), asked, step, at);
                let sent = office.send(self.team, self.lead, &letter, SendOptions::default())?;
                swept.warnings.extend(sent.warnings);
            }
            Step::Stall | Step::Unresponsive => {
                office.tasks(self.team)?.release_all(&self.name, office.now())?;
                let stalled = Some(self.name.to_string());
                let alert = StallAlert { stalled_agent: stalled, released_tasks: swept.tasks.clone() };
                let others = self.config.members.iter().filter(|member| member.name != self.lead.as_str());
                let letters: Vec<Letter> = others
                    .filter_map(|member| member.checked_name().ok())
                    .map(|to| self.letter(to, alert.clone(), step, at))
                    .collect();
                let told = office.send_all(self.team, self.lead, &letters, SendOptions::default());
                let told = told.map_err(|(_, error)| error)?;
                swept.warnings.extend(told.into_iter().filter_map(|told| Some(told.err()?.to_string())));
            }
            Step::Recover => {}
        }
        let done = HealthRow { finished: true, ..row };
        office.books.with(|ledger| ledger.set_health(inbox, &done))?;
        Ok(swept)
    }

    fn letter(&self, to: MemberName, payload: impl Into<Payload>, step: Step, at: Stamp) -> Letter {
        let id = self.id(step, at, to.as_str()).to_string();
        Letter { id: Some(id), ..Letter::new(Address { name: to, team: None }, payload.into().to_text()) }
    }

    /// An id that is the same for whoever carries out this step.
    fn id(&self, step: Step, at: Stamp, what: &str) -> Uuid {
        let root = self.office.root_key();
        let (team, name, at) = (self.team, &self.name, at.as_millis());
        let text = format!("{root}\n{team}\n{name}\n{}\n{at}\n{what}", step.as_str());
        Uuid::new_v5(&Uuid::NAMESPACE_URL, text.as_bytes())
    }

    fn open_tasks(&self) -> Result<Vec<crate::tasks::TaskView>, OfficeError> {
        let filter = TaskFilter { owner: Some(self.name.to_string()), ..TaskFilter::default() };
        let mut tasks = self.office.tasks(self.team)?.list(&filter)?.tasks;
        tasks.retain(|task| task.status != atm_wire::task::Status::Completed);
        Ok(tasks)
    }

    fn leases(&self) -> Result<Vec<LeaseView>, OfficeError> {
        Ok(self.open_tasks()?.into_iter().filter_map(|task| task.lease).collect())
    }

    fn tasks(&self) -> Result<Vec<String>, OfficeError> {
        Ok(self.open_tasks()?.iter().map(|task| task.id.to_string()).collect())
    }
}

fn swept(name: &MemberName, step: Step, row: &HealthRow) -> Swept {
    Swept {
        name: name.to_string(),
        step,
        request: row.request.clone(),
        tasks: serde_json::from_str(&row.tasks).unwrap_or_default(),
        stalls: row.stalls,
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_794_768_000_000;

    fn minute(minute: i64) -> Stamp {
        Stamp::from_millis(START + minute * 60_000)
    }

    /// Sweeps every ten seconds, day after day, over somebody who has a claim of five minutes and speaks when told.
    fn story(days: i64, speaks: impl Fn(i64) -> bool, offline: bool) -> Vec<(i64, Step)> {
        let (mut row, mut told): (Option<HealthRow>, Vec<(i64, Step)>) = (None, Vec::new());
        let (mut said, mut claimed) = (None, Some(minute(0)));
        for tick in 0..days * 24 * 60 * 6 {
            let now = Stamp::from_millis(START + tick * 10_000);
            if speaks(tick * 10) {
                said = Some(now);
                claimed.get_or_insert(now);
            }
            let lease = claimed.map(|claimed_at: Stamp| LeaseView {
                claimed_at,
                expires_at: claimed_at.saturating_add(Duration::from_secs(300)),
                expired: false,
            });
            let overdue = lease.is_some_and(|lease| is_overdue(&lease, said, now));
            let seen = Seen { overdue, offline, said, started: Some(minute(0)) };
            if let Some(step) = due(row.as_ref(), &seen, now) {
                let is_stall = matches!(step, Step::Stall | Step::Unresponsive);
                let stalls = row.as_ref().map_or(0, |row| row.stalls) + u32::from(is_stall);
                if is_stall {
                    claimed = None;
                }
                row = Some(HealthRow {
                    step: step.leads_to().to_owned(),
                    at: now.as_millis(),
                    request: None,
                    tasks: "[]".to_owned(),
                    finished: true,
                    stalls,
                });
                told.push((tick * 10, step));
            }
        }
        told
    }

    #[test]
    fn who_gives_heartbeats_is_left_alone_for_days() {
        assert_eq!(story(7, |second| second % 60 == 0, false), []);
        assert_eq!(story(7, |second| second % 300 == 0, false), [], "as long as the claim is good for");
    }

    #[test]
    fn who_falls_silent_is_asked_and_then_stalled_once() {
        assert_eq!(story(7, |_| false, false), [(310, Step::Check), (350, Step::Stall)]);
        assert_eq!(story(7, |_| false, true), [(310, Step::Stall)], "who is off is not asked");
    }

    #[test]
    fn who_answers_is_well_and_the_second_stall_is_worse() {
        // Says something after six minutes, and after an hour; has a task again each time.
        assert_eq!(
            story(2, |second| second == 360 || second == 3600, false),
            [
                (310, Step::Check),
                (350, Step::Stall),
                (360, Step::Recover),
                (670, Step::Check),
                (710, Step::Unresponsive),
                (3600, Step::Recover),
                (3910, Step::Check),
                (3950, Step::Unresponsive),
            ]
        );
        // Answers the check itself, at the last moment.
        let told = story(1, |second| second == 340, false);
        assert_eq!(told[..2], [(310, Step::Check), (340, Step::Recover)]);
        assert_eq!(told[2..], [(650, Step::Check), (690, Step::Stall)], "and falls silent for good");
    }

    #[test]
    fn another_start_is_another_member() {
        let row = HealthRow {
            step: UNRESPONSIVE.to_owned(),
            at: minute(0).as_millis(),
            request: None,
            tasks: "[]".to_owned(),
            finished: true,
            stalls: 2,
        };
        let seen = Seen { overdue: true, offline: true, said: None, started: Some(minute(1)) };
        assert_eq!(due(Some(&row), &seen, minute(9)), Some(Step::Stall));
        let seen = Seen { started: Some(minute(0)), ..seen };
        assert_eq!(due(Some(&row), &seen, minute(9)), Some(Step::Unresponsive));
    }
}
