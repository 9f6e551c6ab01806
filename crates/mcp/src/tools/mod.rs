//! The tools: one type each, whose fields are its arguments.

mod history;
mod inbox;
mod mail;
mod members;
mod picture;
mod reservations;
mod tasks;
mod teams;
mod work;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use atm_store::watch::Stop;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::answer::Answer;
use crate::arguments;
use crate::desk::Desk;
use crate::settings::Profile;
use crate::trouble::Trouble;

/// The argument that says in which team a call is made.
const TEAM: &str = "team_name";

/// Arguments that several tools have in common: which are needed, and a correct call with them.
struct Common {
    required: &'static [&'static str],
    example: &'static str,
}

/// About a team.
const OF_TEAM: Common = Common { required: &[TEAM], example: r#"{"team_name": "shop"}"# };
/// About a member of it.
const OF_MEMBER: Common = Common { required: &[TEAM, "agent_name"], example: r#"{"agent_name": "bob"}"# };
/// About a message.
const OF_MESSAGE: Common = Common { required: &["message_id"], example: r#"{"message_id": "0c8f1d8e"}"# };
/// About a task.
const OF_TASK: Common = Common { required: &[TEAM, "task_id"], example: r#"{"task_id": "3"}"# };

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

impl Effect {
    /// Only what differs from what clients take for granted: that a tool may change and destroy.
    fn annotations(self) -> Option<ToolAnnotations> {
        match self {
            Self::Looks => Some(ToolAnnotations::new().read_only(true)),
            Self::Adds => Some(ToolAnnotations::new().destructive(false)),
            Self::Changes => None,
        }
    }
}

/// A tool: its arguments, and what it does with them.
pub(crate) trait Call: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const EFFECT: Effect;
    /// Arguments of a correct call, for who made a wrong one.
    const EXAMPLE: &'static str;
    /// The arguments without which it does nothing.
    const REQUIRED: &'static [&'static str] = &[];
    /// Arguments that the Python server knows: they are taken, and do nothing.
    const IGNORED: &'static [&'static str] = &[];
    /// The argument that is the caller itself; a server that is bound to somebody knows it.
    const OWN_NAME: Option<&'static str> = None;
    /// Part of the short list.
    const CORE: bool = false;
    /// For the lead alone: the servers of others do not list it.
    const LEADS: bool = false;
    /// May wait for others, for up to half a minute.
    const WAITS: bool = false;
    /// Goes on with pages of mail that an earlier call began. Before any other call they are settled.
    const PAGES: bool = false;

    /// What the servers of those who do not lead say and offer instead.
    fn for_members(_about: &mut &'static str, _schema: &mut JsonObject) {}

    fn run(self, desk: &Desk, stop: &Stop) -> Result<Answer, Trouble>;
}

/// A tool that can be called.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of the tool")]
pub(crate) struct Offered {
    pub(crate) name: &'static str,
    pub(crate) waits: bool,
    core: bool,
    leads: bool,
    pages: bool,
    /// What may be given, whatever the list shows of it.
    accepted: JsonObject,
    ignored: &'static [&'static str],
    example: &'static str,
    describe: fn(&Desk, Audience) -> Tool,
    run: fn(&Desk, JsonObject, &Stop) -> Result<Answer, Trouble>,
}

impl Offered {
    fn of<C: Call>(desk: &Desk) -> Arc<Self> {
        let is_bound = desk.bound().is_some();
        // Which team is meant is settled when it is called.
        let required = |name: &&str| !(is_team::<C>(name) || is_bound && C::OWN_NAME == Some(name));
        let required: Vec<&str> = C::REQUIRED.iter().copied().filter(required).collect();
        Arc::new(Self {
            name: C::NAME,
            waits: C::WAITS,
            core: C::CORE,
            leads: C::LEADS,
            accepted: arguments::schema::<C>(&required),
            ignored: C::IGNORED,
            example: C::EXAMPLE,
            describe: describe::<C>,
            pages: C::PAGES,
            run: |desk, given, stop| arguments::parse::<C>(given)?.run(desk, stop),
        })
    }

    pub(crate) fn run(&self, desk: &Desk, mut given: JsonObject, stop: &Stop) -> Result<Answer, Trouble> {
        if !self.pages {
            desk.pages().settle();
        }
        given.retain(|name, value| !value.is_null() && !self.ignored.contains(&name.as_str()));
        let names = arguments::names(&given);
        let checked = arguments::check(&given, &self.accepted);
        let answer = checked.and_then(|()| (self.run)(desk, given, stop));
        answer.map_err(|trouble| trouble.in_call(self.name, self.example, &names))
    }
}

/// Whether an argument says in which team a call is made; `team_create` says what a new one is called.
fn is_team<C: Call>(name: &str) -> bool {
    name == TEAM && C::NAME != teams::TeamCreate::NAME
}

/// Whom the list of tools is for.
#[derive(Debug, Clone, Copy)]
struct Audience {
    /// There is no doubt about the team.
    knows_team: bool,
    /// There are several, so that one may have to be named.
    has_teams: bool,
    leads: bool,
}

/// The tools that can be called. Those that are not listed are refused in the words of the rule that forbids them.
pub(crate) fn callable(desk: &Desk) -> Vec<Arc<Offered>> {
    let all = [
        Offered::of::<teams::TeamCreate>(desk),
        Offered::of::<teams::TeamDelete>(desk),
        Offered::of::<members::SpawnTeammate>(desk),
        Offered::of::<mail::SendMessage>(desk),
        Offered::of::<inbox::ReadInbox>(desk),
        Offered::of::<inbox::PollInbox>(desk),
        Offered::of::<members::CheckTeammate>(desk),
        Offered::of::<teams::ReadConfig>(desk),
        Offered::of::<tasks::TaskCreate>(desk),
        Offered::of::<tasks::TaskUpdate>(desk),
        Offered::of::<tasks::TaskList>(desk),
        Offered::of::<tasks::TaskGet>(desk),
        Offered::of::<members::ForceKill>(desk),
        Offered::of::<members::ProcessShutdown>(desk),
        Offered::of::<teams::AddMember>(desk),
        Offered::of::<work::Ack>(desk),
        Offered::of::<work::Recall>(desk),
        Offered::of::<history::Track>(desk),
        Offered::of::<history::Pending>(desk),
        Offered::of::<history::SearchMail>(desk),
        Offered::of::<picture::Members>(desk),
        Offered::of::<work::Heartbeat>(desk),
        Offered::of::<tasks::ClaimTask>(desk),
        Offered::of::<reservations::Reservations>(desk),
        Offered::of::<work::Request>(desk),
        Offered::of::<work::Respond>(desk),
    ];
    let is_whole = desk.settings.profile == Profile::All;
    all.into_iter().filter(|offered| offered.core || is_whole).collect()
}

/// The tools as a server lists them: each costs every conversation its description, so nobody is shown what is not for
/// them.
pub(crate) fn listed(desk: &Desk, callable: &[Arc<Offered>]) -> Vec<Tool> {
    let knows_team = desk.team_is_clear();
    let has_teams = !knows_team && desk.office().team_names().is_ok_and(|teams| !teams.is_empty());
    let audience = Audience { knows_team, has_teams, leads: desk.may_lead() };
    let for_them = callable.iter().filter(|offered| audience.leads || !offered.leads);
    for_them.map(|offered| (offered.describe)(desk, audience)).collect()
}

fn describe<C: Call>(desk: &Desk, audience: Audience) -> Tool {
    let is_bound = desk.bound().is_some();
    let is_needed = |name: &&str| !(is_team::<C>(name) && audience.knows_team);
    let required: Vec<&str> = C::REQUIRED.iter().copied().filter(is_needed).collect();
    let mut schema = arguments::schema::<C>(&required);
    let mut about = C::ABOUT;
    // A bound server has one name, and one team once that is settled: there is nothing to choose.
    let own_name = C::OWN_NAME.filter(|_| is_bound);
    // Of our own tools no client expects the argument: it is shown where one has to choose.
    let is_expected = audience.has_teams || C::REQUIRED.contains(&TEAM);
    let hides_team = desk.bound_team().is_some() || !is_expected;
    let own_team = Some(TEAM).filter(|name| is_team::<C>(name) && hides_team);
    own_name.into_iter().chain(own_team).for_each(|name| arguments::hide(&mut schema, name));
    if !audience.leads {
        C::for_members(&mut about, &mut schema);
    }
    let tool = Tool::new(C::NAME, about, schema);
    match C::EFFECT.annotations() {
        Some(annotations) => tool.annotate(annotations),
        None => tool,
    }
}
