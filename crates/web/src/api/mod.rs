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
        .routes(routes!(look::tasks, act::create_task))
        .routes(routes!(look::task, act::change_task))
        .routes(routes!(look::pending))
        .routes(routes!(look::plans))
        .routes(routes!(act::send))
        .routes(routes!(act::reply))
        .routes(routes!(act::ack))
        .routes(routes!(act::read))
        .routes(routes!(act::recall))
        .routes(routes!(act::claim))
        .routes(routes!(act::decide_plan))
        .routes(routes!(act::request_shutdown))
        .routes(routes!(act::decide_shutdown))
        .routes(routes!(act::wake))
        .routes(routes!(act::archive))
        .routes(routes!(act::mute))
        .routes(routes!(event::events))
        .routes(routes!(health::health))
        .routes(routes!(health::metrics))
        .routes(routes!(health::entrance))
        .routes(routes!(openapi::document))
        .split_for_parts();
    (router, openapi::complete(&described, schemas))
}
