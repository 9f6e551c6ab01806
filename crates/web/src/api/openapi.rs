//! The description of the API: paths and bodies from the handlers, answers from the schemas of the command line.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};

use super::exchange::{Answer, answer};
use crate::app::App;

/// The schemas that answers are made of, each with all that it refers to.
const ANSWERS: [&str; 17] = [
    "sent",
    "asked",
    "recalled",
    "picture",
    "stats",
    "task-view",
    "task-outcome",
    "woken",
    "mutes",
    "tended",
    "team-view",
    "member-view",
    "message",
    "remembered",
    "waiting",
    "plan",
    "event",
];
/// Of these there are lists in pages.
const PAGES: [&str; 7] =
    ["team-view", "member-view", "message", "remembered", "task-view", "waiting", "plan"];

pub(super) fn begin() -> OpenApi {
    let info = InfoBuilder::new()
        .title("atm")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Durable mail for teams of coding agents. Every request needs the token of `atm web`.",
        ))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// This document
#[utoipa::path(get, path = "/openapi.json", tag = "server",
    responses((status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json")))]
pub(super) async fn document(State(app): State<App>) -> Answer {
    answer(StatusCode::OK, "application/json", app.openapi.clone())
}

/// Adds what handlers do not say of themselves: the schemas of answers, the token, and the problems that any of them may have.
pub(super) fn complete(described: &OpenApi, schemas: &Map<String, Value>) -> String {
    let mut document = serde_json::to_value(described).unwrap_or_default();
    let mut components = Map::new();
    let mut left: Vec<String> = ANSWERS.iter().map(ToString::to_string).collect();
    while let Some(name) = left.pop() {
        if components.contains_key(&name) {
            continue;
        }
        let mut schema = schemas.get(&name).cloned().unwrap_or_else(|| json!({}));
        refer(&mut schema, &mut left);
        components.insert(name, schema);
    }
    for name in PAGES {
        components.insert(format!("page-of-{name}"), page_of(name));
    }
    components.insert("message-details".to_owned(), json!({
        "description": "A message with its stages and its conversation.",
        "type": "object",
        "required": ["message", "track", "thread"],
        "properties": {
            "message": reference("remembered"),
            "track": schemas.get("track").cloned().map(|mut track| { refer(&mut track, &mut Vec::new()); track }),
            "thread": {"type": "array", "items": reference("remembered")},
        },
    }));
    components.insert("problem".to_owned(), problem());
    if let Some(own) = document["components"]["schemas"].as_object_mut() {
        components.append(own);
    }
    document["components"]["schemas"] = components.into();
    document["components"]["securitySchemes"] = json!({"token": {"type": "http", "scheme": "bearer"}});
    document["security"] = json!([{"token": []}]);
    for operations in document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
        for operation in operations.as_object_mut().into_iter().flat_map(|operations| operations.values_mut())
        {
            operation["responses"]["default"] = json!({
                "description": "A problem; `code` tells which",
                "content": {crate::problem::MEDIA_TYPE: {"schema": reference("problem")}},
            });
        }
    }
    document.to_string()
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Lets a schema refer to the components of this document, and says to which.
fn refer(schema: &mut Value, needed: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            let name =
                object.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
            if let Some(name) = name.map(ToOwned::to_owned) {
                object.insert("$ref".to_owned(), format!("#/components/schemas/{name}").into());
                needed.push(name);
            }
            object.values_mut().for_each(|value| refer(value, needed));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| refer(value, needed)),
        _ => {}
    }
}

fn page_of(name: &str) -> Value {
    json!({
        "type": "object",
        "required": ["items", "next", "warnings"],
        "properties": {
            "items": {"type": "array", "items": reference(name)},
            "next": {"type": ["string", "null"], "description": "`cursor` of the next page, if there is one"},
            "warnings": {"type": "array", "items": {"type": "string"}, "description": "what could not be read"},
        },
    })
}

fn problem() -> Value {
    json!({
        "description": "Problem details (RFC 9457).",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "description": "stable, for programs: the codes of the command line"},
            "hint": {"type": "string", "description": "what may help"},
        },
    })
}
