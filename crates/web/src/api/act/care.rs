//! Care: wake, mute, archive.

use atm_office::view::mute;
use atm_upkeep::archive::{self, Rule};
use atm_wire::MemberName;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::span;
use crate::api::exchange::{Answer, Given, json};
use crate::app::App;
use crate::problem::Problem;

/// Whom to wake.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewWake {
    team: Option<String>,
    name: String,
    /// Only say what would be done
    #[serde(default)]
    dry_run: bool,
}

/// Wakes a member for which mail came, by its client's own way (`atm wake`)
#[utoipa::path(post, path = "/api/v1/wakes", tag = "act", request_body = NewWake,
    responses((status = 200, description = "What was done", body = ref("#/components/schemas/woken"))))]
pub(in crate::api) async fn wake(State(app): State<App>, Given(new): Given<NewWake>) -> Answer {
    let woken = app.run(move |settings| {
        let team = settings.team(new.team.as_deref())?;
        let name = MemberName::parse(&new.name)?;
        Ok(settings.office().wake(&team, &name, &settings.ladder, new.dry_run)?)
    });
    json(&woken.await?)
}

/// What to hear nothing of for a while.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewMute {
    team: Option<String>,
    /// A member's name, a task's number, or a message: its id, or six characters of its start or end
    what: String,
    /// For how long: 30m, 2h; a day unless said
    r#for: Option<String>,
    /// Hear of it again
    #[serde(default)]
    undo: bool,
}

/// Leaves something out of what needs attention, for a while (`atm mute`)
#[utoipa::path(post, path = "/api/v1/mutes", tag = "act", request_body = NewMute,
    responses((status = 200, description = "What is muted in the team", body = ref("#/components/schemas/mutes"))))]
pub(in crate::api) async fn mute(State(app): State<App>, Given(new): Given<NewMute>) -> Answer {
    let lasts = span("for", new.r#for.as_deref())?.unwrap_or(mute::USUAL);
    let muted = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        if !new.undo {
            team.mute(&new.what, lasts)?;
        } else if team.unmute(&new.what)?.is_none() {
            let detail = format!("{} is not muted", new.what);
            return Err(Problem::new(StatusCode::NOT_FOUND, "not_muted", detail).into());
        }
        Ok(team.mutes()?)
    });
    json(&muted.await?)
}

/// Whose mail to archive.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewArchive {
    team: Option<String>,
    name: String,
    /// How many messages stay, the newest; none unless said
    #[serde(default)]
    keep: u32,
}

/// Moves mail that was read out of an inbox into the archive (`atm archive`)
#[utoipa::path(post, path = "/api/v1/archives", tag = "act", request_body = NewArchive,
    responses((status = 200, description = "What was done", body = ref("#/components/schemas/tended"))))]
pub(in crate::api) async fn archive(State(app): State<App>, Given(new): Given<NewArchive>) -> Answer {
    let tended = app.run(move |settings| {
        let office = settings.office();
        let name = MemberName::parse(&new.name)?;
        let team = office.team(&settings.team(new.team.as_deref())?)?;
        team.known_mailbox(&name)?;
        let rule = Rule { keep: new.keep as usize, older_than: None, force: false };
        Ok(archive::archive(office, team.name(), &name, &rule, &settings.upkeep, &mut |_, _| ())?)
    });
    json(&tended.await?)
}
