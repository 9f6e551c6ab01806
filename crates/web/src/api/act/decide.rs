//! Decisions that the protocol waits for: plans, and requests to end.

use atm_office::protocol::person::Person;
use atm_office::protocol::plan::PlanAnswer;
use atm_office::protocol::shutdown::Dialect;
use atm_wire::MemberName;
use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{PERSON, given};
use crate::api::exchange::{Answer, Given, Part, created};
use crate::app::App;
use crate::problem::Problem;

/// A decision about a plan.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct PlanDecision {
    team: Option<String>,
    approved: bool,
    /// What to change or to mind
    feedback: Option<String>,
    /// The mode that the member goes on in
    permission_mode: Option<String>,
}

/// Decides about a plan, for the lead; recorded as `user via web` (`atm plan approve`, `atm plan reject`)
#[utoipa::path(post, path = "/api/v1/plans/{request}", tag = "act",
    params(("request" = String, Path, description = "The request's id")), request_body = PlanDecision,
    responses((status = 201, description = "What became of the answer", body = ref("#/components/schemas/sent"))))]
pub(in crate::api) async fn decide_plan(
    State(app): State<App>,
    Part(request): Part,
    Given(new): Given<PlanDecision>,
) -> Answer {
    let feedback = given(new.feedback);
    if !new.approved && feedback.is_none() {
        return Err(Problem::bad_request("feedback is missing: what has to change"));
    }
    let answer = PlanAnswer { approved: new.approved, feedback, permission_mode: given(new.permission_mode) };
    let sent = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        Ok(team.decide_plan_for_lead(Person::via(PERSON), &request, &answer)?)
    });
    created(&sent.await?)
}

/// Whom to ask to end.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ShutdownRequest {
    team: Option<String>,
    name: String,
    reason: Option<String>,
}

/// Asks a member to end, for the lead; recorded as `user via web` (`atm shutdown request`)
#[utoipa::path(post, path = "/api/v1/shutdowns", tag = "act", request_body = ShutdownRequest,
    responses((status = 201, description = "The request", body = ref("#/components/schemas/asked"))))]
pub(in crate::api) async fn request_shutdown(
    State(app): State<App>,
    Given(new): Given<ShutdownRequest>,
) -> Answer {
    let asked = app.run(move |settings| {
        let mut team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        let name = MemberName::parse(&new.name)?;
        Ok(team.request_shutdown_for_lead(Person::via(PERSON), &name, given(new.reason))?)
    });
    created(&asked.await?)
}

/// A member's decision about a request to end.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ShutdownDecision {
    team: Option<String>,
    /// The member that was asked
    r#as: String,
    approved: bool,
    /// Why it stays
    reason: Option<String>,
}

/// Answers a request to end, as the member that was asked (`atm --as NAME shutdown approve`, `reject`)
#[utoipa::path(post, path = "/api/v1/shutdowns/{request}", tag = "act",
    params(("request" = String, Path, description = "The request's id")), request_body = ShutdownDecision,
    responses((status = 201, description = "What became of the answer", body = ref("#/components/schemas/sent"))))]
pub(in crate::api) async fn decide_shutdown(
    State(app): State<App>,
    Part(request): Part,
    Given(new): Given<ShutdownDecision>,
) -> Answer {
    let reason = given(new.reason);
    if !new.approved && reason.is_none() {
        return Err(Problem::bad_request("reason is missing: why it stays"));
    }
    let sent = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        let (who, request) = (MemberName::parse(&new.r#as)?, Some(request.as_str()));
        team.check_sender(&who)?;
        Ok(match reason.filter(|_| !new.approved) {
            Some(reason) => team.reject_shutdown(&who, request, reason, Dialect::Client)?,
            None => team.approve_shutdown(&who, request, Dialect::Client)?,
        })
    });
    created(&sent.await?)
}
