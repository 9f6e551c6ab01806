//! `/healthz` and `/metrics`.

use std::fmt::Write;

use atm_office::OfficeError;
use atm_office::people::members::Presence;
use atm_wire::{MemberName, TeamName};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::exchange::{Answer, answer, created, json};
use crate::app::{App, Fault};
use crate::metrics::head;
use crate::problem::Problem;
use crate::settings::Settings;

/// That all is well.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`: anything else is a problem.
    status: &'static str,
    /// How many teams were read.
    teams: usize,
    /// How many messages the ledger knows.
    messages: u64,
}

/// Whether the files and the ledger can be used: teams are read, the state folder and the ledger are tried for writing
#[utoipa::path(get, path = "/healthz", tag = "server",
    responses((status = 200, description = "All is well", body = Health),
        (status = 503, description = "Something cannot be used", body = ref("#/components/schemas/problem"),
            content_type = "application/problem+json")))]
pub(super) async fn health(State(app): State<App>) -> Answer {
    let sick = |what: &str, error: &OfficeError| {
        let detail = format!("the {what} cannot be used: {error}");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unhealthy", detail)
    };
    let health = app.run(move |settings| {
        let office = settings.office();
        let names = office.team_names().map_err(|error| sick("shared tree", &error))?;
        for name in &names {
            office
                .folder(name)
                .and_then(|folder| Ok(folder.load()?))
                .map_err(|error| sick("shared tree", &error))?;
        }
        // A server that may only look promises nothing about writing.
        if settings.read_only {
            office.check_ledger().map_err(|error| sick("ledger", &error))?;
        } else {
            office.check_store().map_err(|error| sick("state folder", &error))?;
            office.check_ledger_writable().map_err(|error| sick("ledger", &error))?;
        }
        let messages = if office.has_ledger() { office.count_recorded() } else { Ok(0) };
        let messages = messages.map_err(|error| sick("ledger", &error))?;
        Ok(Health { status: "ok", teams: names.len(), messages })
    });
    json(&health.await?)
}

/// Counters and gauges, in the text format of Prometheus
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, description = "The metrics", content_type = "text/plain", body = String)))]
pub(super) async fn metrics(State(app): State<App>) -> Answer {
    let mut text = app.run(teams).await?;
    app.metrics.write(&mut text);
    answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}

const STATES: [Presence; 5] =
    [Presence::Online, Presence::Idle, Presence::Stalled, Presence::Offline, Presence::Unknown];

fn teams(settings: &Settings) -> Result<String, Fault> {
    let office = settings.office();
    let user = MemberName::parse(atm_office::office::USER)?;
    let [mut members, mut unread, mut waiting, mut attention, mut tasks]: [String; 5] = Default::default();
    head(&mut members, "atm_members", "gauge", "Members by presence");
    head(&mut unread, "atm_unread_messages", "gauge", "Messages that members have not read");
    head(&mut waiting, "atm_pending_messages", "gauge", "Messages that wait for somebody");
    head(&mut attention, "atm_attention", "gauge", "What needs a look");
    head(&mut tasks, "atm_tasks", "gauge", "Tasks by status");
    for name in office.team_names()? {
        // One that cannot be read is a matter of `/healthz`.
        let Ok(picture) = office.picture(&name, &user) else { continue };
        let team = label(&name);
        for state in STATES {
            let count = picture.members.iter().filter(|member| member.state == state).count();
            let _ = writeln!(members, "atm_members{{team=\"{team}\",state=\"{}\"}} {count}", state.as_str());
        }
        let count: usize = picture.members.iter().map(|member| member.unread).sum();
        let _ = writeln!(unread, "atm_unread_messages{{team=\"{team}\"}} {count}");
        let _ = writeln!(waiting, "atm_pending_messages{{team=\"{team}\"}} {}", picture.pending.len());
        let _ = writeln!(attention, "atm_attention{{team=\"{team}\"}} {}", picture.attention.len());
        let counts = picture.tasks;
        for (status, count) in [
            ("pending", counts.pending),
            ("in_progress", counts.in_progress),
            ("completed", counts.completed),
        ] {
            let _ = writeln!(tasks, "atm_tasks{{team=\"{team}\",status=\"{status}\"}} {count}");
        }
    }
    Ok([members, unread, waiting, attention, tasks].concat())
}

fn label(team: &TeamName) -> String {
    team.as_str().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// An address that lets one more browser in.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Entrance {
    /// Good once, for ten minutes.
    url: String,
}

/// Lets one more browser in (`atm web` beside a daemon that serves)
#[utoipa::path(post, path = "/api/v1/entrances", tag = "server",
    responses((status = 201, description = "The address", body = Entrance)))]
pub(super) async fn entrance(State(app): State<App>) -> Answer {
    created(&Entrance {
        url: format!("{}?token={}", app.url, app.keys.make_entrance(app.settings.office.now())),
    })
}
