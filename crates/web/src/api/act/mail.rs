//! Mail: send, answer, acknowledge, mark as read, take back.

use atm_office::mail::read::Confirmed;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::sessions::{Recipient, Sender};
use atm_wire::message::Priority;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::{PERSON, actor, given, span};
use crate::api::exchange::{Answer, Given, created, json};
use crate::app::App;

/// How urgent a message is, for the description of the API.
fn priorities() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(Priority::ALL.map(|one| json!(one))))
        .build()
}

/// A message to be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewMessage {
    /// The sender's team
    team: Option<String>,
    /// The sender; `user` unless said
    r#as: Option<String>,
    /// NAME or NAME@TEAM; or a session, by its name, its folder or an alias
    to: String,
    text: String,
    summary: Option<String>,
    #[schema(schema_with = priorities, required = false)]
    priority: Option<Priority>,
    /// How long it may take to be acknowledged: 10m, 1h
    ack_by: Option<String>,
}

/// Sends a message (`atm send`)
#[utoipa::path(post, path = "/api/v1/messages", tag = "act", request_body = NewMessage,
    responses((status = 201, description = "What became of it", body = ref("#/components/schemas/sent"))))]
pub(in crate::api) async fn send(State(app): State<App>, Given(new): Given<NewMessage>) -> Answer {
    let ack_by = span("ack_by", new.ack_by.as_deref())?;
    let sent = app.run(move |settings| {
        let named = |name: &Option<String>| name.as_ref().is_some_and(|name| !name.is_empty());
        let sender = Sender {
            team: settings.team(new.team.as_deref()),
            names_team: named(&new.team),
            is_named: named(&new.r#as),
            session: None,
        };
        let to = new.to.parse::<Recipient>()?.within(&settings.cwd, None);
        let route = settings.office().route(sender, to, false)?;
        let letter = Letter {
            summary: given(new.summary),
            priority: new.priority.unwrap_or_default(),
            ack_by,
            ..route.letter(new.text)
        };
        let options = SendOptions { known_sender: true, ..SendOptions::default() };
        Ok(route.team.send(&actor(new.r#as.as_deref())?, &letter, options)?)
    });
    created(&sent.await?)
}

/// An answer to a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewReply {
    team: Option<String>,
    /// Whose inbox the message is in; `user` unless said
    r#as: Option<String>,
    /// The message: its id, or six characters of its start or end
    id: String,
    text: String,
    summary: Option<String>,
    #[schema(schema_with = priorities, required = false)]
    priority: Option<Priority>,
}

/// Answers a message (`atm reply`)
#[utoipa::path(post, path = "/api/v1/replies", tag = "act", request_body = NewReply,
    responses((status = 201, description = "What became of it", body = ref("#/components/schemas/sent"))))]
pub(in crate::api) async fn reply(State(app): State<App>, Given(new): Given<NewReply>) -> Answer {
    let sent = app.run(move |settings| {
        let team = settings.team(new.team.as_deref())?;
        let from = actor(new.r#as.as_deref())?;
        let letter = |to| Letter {
            summary: given(new.summary),
            priority: new.priority.unwrap_or_default(),
            ..Letter::new(to, new.text)
        };
        Ok(settings.office().team(&team)?.reply(&from, &new.id, letter, SendOptions::default())?)
    });
    created(&sent.await?)
}

/// An acknowledgment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewAck {
    team: Option<String>,
    /// Its recipient; `user` unless said
    r#as: Option<String>,
    /// The message: its id, or six characters of its start or end
    id: String,
    /// What to add
    text: Option<String>,
}

/// Tells a message's sender that it arrived, once (`atm ack`)
#[utoipa::path(post, path = "/api/v1/acks", tag = "act", request_body = NewAck,
    responses((status = 201, description = "What became of it", body = ref("#/components/schemas/sent"))))]
pub(in crate::api) async fn ack(State(app): State<App>, Given(new): Given<NewAck>) -> Answer {
    let sent = app.run(move |settings| {
        let team = settings.team(new.team.as_deref())?;
        let who = actor(new.r#as.as_deref())?;
        Ok(settings.office().ack(&team, &who, &new.id, given(new.text), SendOptions::default())?)
    });
    created(&sent.await?)
}

/// What was read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewRead {
    team: Option<String>,
    /// Whose inbox the messages are in; `user` unless said
    r#as: Option<String>,
    /// The messages that were shown, by their whole ids: what came meanwhile stays unread
    ids: Vec<String>,
}

/// What was marked.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::api) struct MarkedRead {
    /// How many messages were unread, and are read now.
    marked: usize,
    warnings: Vec<String>,
}

/// Marks mail as read that was shown to its recipient (`atm read`)
#[utoipa::path(post, path = "/api/v1/reads", tag = "act", request_body = NewRead,
    responses((status = 200, description = "What was marked", body = MarkedRead)))]
pub(in crate::api) async fn read(State(app): State<App>, Given(new): Given<NewRead>) -> Answer {
    let confirmed = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        Ok(team.mark_shown(&actor(new.r#as.as_deref())?, &new.ids, PERSON)?)
    });
    let Confirmed { marked, warnings } = confirmed.await?;
    json(&MarkedRead { marked, warnings })
}

/// What to take back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewRecall {
    team: Option<String>,
    /// Its sender; `user` unless said
    r#as: Option<String>,
    /// The message: its id, or six characters of its start or end
    id: String,
}

/// Takes a message back that nobody has read (`atm recall`)
#[utoipa::path(post, path = "/api/v1/recalls", tag = "act", request_body = NewRecall,
    responses((status = 201, description = "What was taken back", body = ref("#/components/schemas/recalled"))))]
pub(in crate::api) async fn recall(State(app): State<App>, Given(new): Given<NewRecall>) -> Answer {
    let recalled = app.run(move |settings| {
        let team = new.team.as_deref().filter(|team| !team.is_empty());
        let team = team.map(|team| settings.team(Some(team))).transpose()?;
        Ok(settings.office().recall(team.as_ref(), &actor(new.r#as.as_deref())?, &new.id)?)
    });
    created(&recalled.await?)
}
