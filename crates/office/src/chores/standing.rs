//! What people may have to know of a member: what it waits for, and whether it died over work.

use std::collections::BTreeSet;

use atm_wire::status::State;
use atm_wire::task::Status;
use atm_wire::team::Member;
use atm_wire::{MemberName, Stamp};

use super::{Snapshot, Step};
use crate::error::OfficeError;
use crate::people::exits::has_announced_end;
use crate::people::presence::{Judgement, Presence, Signs, ended};
use crate::tasks::TaskView;
use crate::team::Team;

/// The chore by which people are told.
pub(super) const TELLING: &str = "notify";

/// What people may have to know of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Who.
    pub name: MemberName,
    /// What it does, where its client says so: `working`, `waiting for permission`.
    pub activity: Option<String>,
    /// Since when.
    pub activity_since: Option<Stamp>,
    /// That it died, if it was seen to live before.
    pub died: Option<Died>,
    /// How much mail it has not read.
    pub unread: usize,
    /// How many tasks it has not done.
    pub open_tasks: usize,
}

/// A member's death: an end that it did not announce, and that nobody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Died {
    /// When, or when that was found.
    pub at: Stamp,
    /// How we know.
    pub how: String,
}

/// Subjects and numbers of what people of a team were told, also of what a summary covered.
pub(super) fn told(team: &Team<'_>) -> Result<BTreeSet<(String, i64)>, OfficeError> {
    let office = team.office();
    if !office.books.exist() {
        return Ok(BTreeSet::new());
    }
    let root = office.root_key();
    let taken = office.books.with(|ledger| ledger.steps_taken(&root, team.name().as_str(), TELLING))?;
    let mut told = BTreeSet::new();
    for (subject, number, step) in taken {
        let step: Option<Step> = serde_json::from_str(&step).ok();
        let covers = step.and_then(|mut step| step.details.get_mut("covers").map(serde_json::Value::take));
        let covers: Vec<(String, i64)> =
            covers.and_then(|covers| serde_json::from_value(covers).ok()).unwrap_or_default();
        told.extend(covers);
        told.insert((subject, number));
    }
    Ok(told)
}

/// How all members stand.
pub(super) fn gather(team: &mut Team<'_>, snapshot: &Snapshot) -> Vec<Standing> {
    let judged = team.judge_all().members;
    let standing = |(member, (signs, judgement)): (&Member, (Signs, Judgement))| {
        let name = member.checked_name().ok().filter(|_| member.machine.is_none())?;
        let is_open = |task: &&TaskView| {
            task.owner.as_deref() == Some(name.as_str()) && task.status != Status::Completed
        };
        let is_dead = judgement.state == Presence::Offline && died(team, member, &name, signs.is_settled());
        Some(Standing {
            died: if is_dead { last_death(team, &name) } else { None },
            activity_since: signs.session_since.filter(|_| judgement.activity.is_some()),
            activity: judgement.activity,
            unread: snapshot.inboxes.get(&name).map_or(0, |mail| mail.iter().filter(|one| !one.read).count()),
            open_tasks: snapshot.tasks.iter().filter(is_open).count(),
            name,
        })
    };
    team.config().members.iter().zip(judged).filter_map(standing).collect()
}

/// Whether one that is offline died. That its client calls it inactive is no death.
fn died(team: &Team<'_>, member: &Member, name: &MemberName, has_proof: bool) -> bool {
    if ended(member).is_some() {
        // We started it, and the process that noticed its end judged that.
        let folder = team.office().artifact_folder(team.name(), name);
        let state = folder.status().ok().flatten().and_then(|report| report.status);
        return state == Some(State::Error);
    }
    has_proof && !has_announced_end(member)
}

/// The last change of a member that is offline, if it was seen to be there before.
fn last_death(team: &Team<'_>, name: &MemberName) -> Option<Died> {
    let past = team.office().past_presence(team.name(), name, 2).ok()?;
    let [last, before] = past.as_slice() else { return None };
    let was_there = [Presence::Online, Presence::Idle, Presence::Stalled]
        .map(Presence::as_str)
        .contains(&before.state.as_str());
    let is_off = last.state == Presence::Offline.as_str();
    let how = last.evidence.as_ref().map(|evidence| evidence.what.clone()).unwrap_or_default();
    (is_off && was_there).then_some(Died { at: last.at, how })
}
