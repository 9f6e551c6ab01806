//! Starting a member again.

use atm_clients::launch::Role;
use atm_office::people::pane::PaneRef;
use atm_office::people::presence::Presence;
use atm_office::people::spawn_error::SpawnError;
use atm_office::{OfficeError, Team};
use atm_store::points;
use atm_wire::Color;
use atm_wire::team::{BackendType, Spawned};
use serde_json::Value;

use super::candidate::{Candidate, remembered};
use super::{SpawnPlan, Started, close, go, headless, taken};

/// Starts a member again that is off. Its name, its inbox and whatever is not said anew are those of before.
pub fn respawn(team: &mut Team, plan: &SpawnPlan) -> Result<Started, OfficeError> {
    let office = team.office();
    let _turn = team.folder().turn(office.state(), office.lock_times())?;
    team.record_exits()?;
    let (candidate, pane) = enter(team, plan)?;
    points::reached("registered");
    go(team, plan, &candidate, &pane)
}

/// Opens the pane, and enters the member as on.
fn enter(team: &Team, plan: &SpawnPlan) -> Result<(Candidate, PaneRef), OfficeError> {
    let (office, config) = (team.office(), team.config());
    let wanted = &plan.member.name;
    let member = config.member(wanted).ok_or_else(|| office.no_member(team.name(), config, wanted))?;
    team.check_here(&member.checked_name()?, "it is started there")?;
    // One that said it is off may still be at it: two of one name would read each other's mail.
    let pane = PaneRef::of(member).filter(|_| member.spawned.as_ref().is_some_and(|s| s.exit.is_none()));
    // A client that is killed in a turn leaves `isActive: true` behind.
    let is_off = member.is_offline() || team.judge(member).state == Presence::Offline;
    if !is_off || pane.is_some() {
        return Err(taken(team.name(), member).into());
    }
    if let Some(why) = team.life_of(member) {
        return Err(SpawnError::Runs { who: format!("{}@{}", member.name, team.name()), why }.into());
    }
    let name = member.checked_name()?;
    let color = member.color.clone().unwrap_or(Color::Blue);
    let remembered = remembered(plan, member);
    let role = Role {
        team: team.name(),
        lead_session: team.config().lead_session_id.as_deref(),
        name: &name,
        agent_type: member.agent_type.as_deref().unwrap_or("general-purpose"),
        color: &color,
        model: plan.member.model.as_deref().or(remembered.and_then(|spawned| spawned.model.as_deref())),
        plan_mode: plan.member.plan_mode.or(member.plan_mode_required) == Some(true),
        permission_mode: plan
            .member
            .permission_mode
            .as_deref()
            .or(remembered.and_then(|spawned| spawned.permission_mode.as_deref())),
        headless: headless(plan, remembered),
    };
    let candidate = Candidate::check(team, plan, &role, Some(member))?;
    let pane = candidate.open(team)?;
    points::reached("opened");
    let spawned = serde_json::to_value(candidate.spawned(&pane)).unwrap_or_default();
    let mut fields: Vec<(Vec<&str>, Value)> = vec![
        (vec!["tmuxPaneId"], pane.id.clone().into()),
        (vec!["backendType"], BackendType::Tmux.as_str().into()),
        (vec!["isActive"], true.into()),
        (vec!["spawnedAt"], office.now().to_string().into()),
        (Spawned::PATH.to_vec(), spawned),
    ];
    let text = |key, value: &Option<String>| value.as_ref().map(|value| (vec![key], value.clone().into()));
    fields.extend(text("model", &plan.member.model));
    fields.extend(text("prompt", &plan.member.prompt));
    fields.extend(plan.member.cwd.as_ref().map(|cwd| (vec!["cwd"], cwd.display().to_string().into())));
    if let Err(error) = team.folder().set_member_below(name.as_str(), &fields) {
        close(team, &pane);
        return Err(error.into());
    }
    Ok((candidate, pane))
}
