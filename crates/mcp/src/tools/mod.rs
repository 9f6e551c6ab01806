//! The tools: one type each, whose fields are its arguments.

mod history;
mod inbox;
mod mail;
mod members;
mod tasks;
mod teams;
mod work;

use std::sync::Arc;

use atm_store::watch::Stop;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::answer::Answer;
use crate::arguments;
use crate::desk::Desk;
use crate::settings::Profile;
use crate::trouble::Trouble;

/// What a call does to the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Looks,
    /// Something comes to what is there.
    Adds,
    /// Something that was there is gone, or different.
    Changes,
}

/// A tool: its arguments, and what it does with them.
pub(crate) trait Call: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const EFFECT: Effect;
    /// The arguments without which it does nothing.
    const REQUIRED: &'static [&'static str] = &[];
    /// The argument that is the caller itself; a server that is bound to somebody knows it.
    const OWN_NAME: Option<&'static str> = None;
    /// Part of the short list.
    const CORE: bool = false;
    /// Answers with a list.
    const LISTS: bool = false;
    /// May wait for others, for up to half a minute.
    const WAITS: bool = false;
    /// Goes on with pages of mail that an earlier call began. Before any other call they are settled.
    const PAGES: bool = false;

    fn run(self, desk: &Desk, stop: &Stop) -> Result<Answer, Trouble>;
}

/// A tool as this server offers it.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    pub(crate) tool: Tool,
    pub(crate) waits: bool,
    run: fn(&Desk, JsonObject, &JsonObject, &Stop) -> Result<Answer, Trouble>,
}

impl Offered {
    pub(crate) fn run(&self, desk: &Desk, given: JsonObject, stop: &Stop) -> Result<Answer, Trouble> {
        (self.run)(desk, given, &self.tool.input_schema, stop)
    }
}

/// The tools of a server, in the order in which they are listed.
pub(crate) fn offered(desk: &Desk) -> Vec<Arc<Offered>> {
    let short = desk.settings.profile == Profile::Core;
    let all = [
        offer::<teams::TeamCreate>(desk),
        offer::<teams::TeamDelete>(desk),
        offer::<members::SpawnTeammate>(desk),
        offer::<mail::SendMessage>(desk),
        offer::<inbox::ReadInbox>(desk),
        offer::<inbox::PollInbox>(desk),
        offer::<members::CheckTeammate>(desk),
        offer::<teams::ReadConfig>(desk),
        offer::<tasks::TaskCreate>(desk),
        offer::<tasks::TaskUpdate>(desk),
        offer::<tasks::TaskList>(desk),
        offer::<tasks::TaskGet>(desk),
        offer::<members::ForceKill>(desk),
        offer::<members::ProcessShutdown>(desk),
        offer::<work::Ack>(desk),
        offer::<history::Track>(desk),
        offer::<history::Pending>(desk),
        offer::<history::SearchMail>(desk),
        offer::<members::Members>(desk),
        offer::<work::Heartbeat>(desk),
        offer::<tasks::ClaimTask>(desk),
        offer::<work::Request>(desk),
        offer::<work::Respond>(desk),
    ];
    all.into_iter().filter(|(core, _)| *core || !short).map(|(_, offered)| Arc::new(offered)).collect()
}

fn offer<C: Call>(desk: &Desk) -> (bool, Offered) {
    let known = |name: &str| {
        (name == "team_name" && desk.own_team().is_some())
            || (C::OWN_NAME == Some(name) && desk.bound().is_some())
    };
    let required: Vec<&str> = C::REQUIRED.iter().copied().filter(|name| !known(name)).collect();
    let mut tool = Tool::new(C::NAME, C::ABOUT, arguments::schema::<C>(&required)).annotate(
        ToolAnnotations::new()
            .read_only(C::EFFECT == Effect::Looks)
            .destructive(C::EFFECT == Effect::Changes)
            .open_world(false),
    );
    if C::LISTS {
        let schema = json!({
            "type": "object",
            "properties": { "result": { "type": "array", "items": { "type": "object" } } },
            "required": ["result"],
            "x-fastmcp-wrap-result": true,
        });
        tool.output_schema = schema.as_object().cloned().map(Arc::new);
    }
    let run = |desk: &Desk, given: JsonObject, schema: &JsonObject, stop: &Stop| {
        if !C::PAGES {
            desk.pages().settle();
        }
        arguments::read::<C>(given, schema)?.run(desk, stop)
    };
    (C::CORE, Offered { tool, waits: C::WAITS, run })
}
