//! The API for programs: the same calls and shapes as the command line's.

mod act;
mod event;
mod exchange;
mod health;
mod look;
mod openapi;
mod paging;
#[cfg(test)]
mod tests;

use act::{care, decide, mail, tasks};
use axum::Router;
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(crate) use exchange::Asked;
pub(crate) use look::{History, MessageDetails, Window, message_details};

/// The routes, and their description.
pub(crate) fn router(schemas: &Map<String, Value>) -> (Router<App>, String) {
    let (router, described) = OpenApiRouter::with_openapi(openapi::begin())
        .routes(routes!(look::teams))
        .routes(routes!(look::team))
        .routes(routes!(look::members))
        .routes(routes!(look::inbox))
        .routes(routes!(look::message))
        .routes(routes!(look::search))
        .routes(routes!(look::log))
        .routes(routes!(look::stats))
        .routes(routes!(look::tasks, tasks::create_task))
        .routes(routes!(look::task, tasks::change_task))
        .routes(routes!(look::pending))
        .routes(routes!(look::plans))
        .routes(routes!(mail::send))
        .routes(routes!(mail::reply))
        .routes(routes!(mail::ack))
        .routes(routes!(mail::read))
        .routes(routes!(mail::recall))
        .routes(routes!(tasks::claim))
        .routes(routes!(decide::decide_plan))
        .routes(routes!(decide::request_shutdown))
        .routes(routes!(decide::decide_shutdown))
        .routes(routes!(care::wake))
        .routes(routes!(care::archive))
        .routes(routes!(care::mute))
        .routes(routes!(event::events))
        .routes(routes!(health::health))
        .routes(routes!(health::metrics))
        .routes(routes!(health::entrance))
        .routes(routes!(openapi::document))
        .split_for_parts();
    (router, openapi::complete(&described, schemas))
}
