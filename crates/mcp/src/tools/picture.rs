//! The picture of the team, the one that `atm status` shows: who is there and why, what waits, what needs a look.

use std::collections::HashSet;
use std::slice;

use atm_office::OfficeError;
use atm_office::people::members::MemberView;
use atm_office::protocol::signed;
use atm_office::view::{Attention, Remedy, TeamPicture};
use atm_store::watch::Stop;
use atm_wire::{TeamName, visible};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Effect};
use crate::answer::{Answer, to_value};
use crate::desk::Desk;
use crate::page::page;
use crate::settings::Profile;
use crate::trouble::Trouble;

/// What an agent is of which nothing else was said.
const USUAL_TYPE: &str = "general-purpose";
/// So many are named in a sentence.
const MOST: usize = 5;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Members {
    team_name: Option<String>,
    #[serde(default)]
    offset: usize,
}

impl Call for Members {
    const NAME: &'static str = "members";
    const ABOUT: &'static str =
        "Who is in the team, who is on and why, unread mail of each, what needs a look.";
    const EFFECT: Effect = Effect::Looks;
    const EXAMPLE: &'static str = "{}";
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let mut team = desk.open(self.team_name.as_deref())?;
        let who = desk.viewer(&team)?;
        let mut picture = match team.picture(&who) {
            // Who is there can be told without the ledger.
            Err(OfficeError::Ledger(error)) => {
                let members = team.look_at_members();
                let members = members.iter().map(brief).collect::<Result<_, _>>()?;
                let note = format!("What needs a look is not known: {error}.");
                return Ok(listed(members, self.offset, vec![note]));
            }
            picture => picture?,
        };
        // Sessions without a team are no business of a member that does not lead.
        if desk.leads(&team) {
            desk.office().put_sessions_beside(slice::from_mut(&mut picture));
        }
        keep_what_may_be_seen(desk, team.name(), &mut picture);
        let front = Front { is_whole: desk.settings.profile == Profile::All, leads: desk.leads(&team) };
        let members = picture.members.iter().map(|member| front.member(member, &picture));
        let members = members.collect::<Result<_, _>>()?;
        Ok(listed(members, self.offset, about(desk, &picture)))
    }
}

/// A page of the members; what is about the whole team is said once, with the first.
fn listed(members: Vec<Value>, offset: usize, about: Vec<String>) -> Answer {
    let (members, next) = page(members, offset);
    let about = if offset == 0 { about } else { Vec::new() };
    let more = next.map(|next| format!("There are more members: offset={next} goes on."));
    Answer::list(members).noting(about.into_iter().chain(more))
}

/// A bound server shows what its member sent or received: what others wait for, or what died over their mail, is left out.
fn keep_what_may_be_seen(desk: &Desk, team: &TeamName, picture: &mut TeamPicture) {
    if desk.bound().is_none() {
        return;
    }
    picture.pending.retain(|waiting| desk.may_see(team, &waiting.message));
    let seen: HashSet<&str> = picture.pending.iter().map(|waiting| waiting.message.id.as_str()).collect();
    picture.attention.retain(|attention| match &attention.message {
        Some(id) => seen.contains(id.as_str()),
        None => attention.who.is_some(),
    });
}

/// What is said of each member; what is so of most, or follows from its name, is left out: an agent pays for each word.
fn brief(member: &MemberView) -> Result<Value, Trouble> {
    let mut shown = to_value(member)?;
    if let Some(fields) = shown.as_object_mut() {
        fields.retain(|key, value| match key.as_str() {
            "agentId" | "color" | "model" | "since" => false,
            "lead" => *value == json!(true),
            "pending" => *value != json!(0),
            "agentType" => *value != json!(USUAL_TYPE),
            _ => true,
        });
        // What decides stands first.
        if let Some(Value::Array(evidence)) = fields.get_mut("evidence") {
            evidence.truncate(1);
        }
    }
    Ok(shown)
}

/// For whom it is rendered.
struct Front {
    /// All tools are offered.
    is_whole: bool,
    /// So are those of the lead.
    leads: bool,
}

impl Front {
    /// A member, with what needs a look about it.
    fn member(&self, member: &MemberView, picture: &TeamPicture) -> Result<Value, Trouble> {
        let mut shown = brief(member)?;
        let about: Vec<&Attention> =
            picture.attention.iter().filter(|one| one.who.as_deref() == Some(&member.name)).collect();
        if !about.is_empty() {
            let entries = about.iter().take(MOST).map(|one| self.entry(one));
            shown["attention"] = entries.collect::<Result<Vec<_>, _>>()?.into();
        }
        if about.len() > MOST {
            shown["moreAttention"] = (about.len() - MOST).into();
        }
        Ok(shown)
    }

    fn entry(&self, attention: &Attention) -> Result<Value, Trouble> {
        let mut shown = to_value(attention)?;
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("who");
            if let Some(call) = self.remedy(&attention.remedy()) {
                fields.insert("try".to_owned(), call.into());
            }
        }
        Ok(shown)
    }

    /// The call that may help; nothing where an agent can do nothing about it.
    fn remedy(&self, remedy: &Remedy) -> Option<String> {
        let call = |tool: &str, arguments: Value| self.is_whole.then(|| format!("{tool} {arguments}"));
        match remedy {
            Remedy::Peek(name) if self.leads => {
                call("check_teammate", json!({ "agent_name": name, "include_output": true }))
            }
            Remedy::Wake(name) | Remedy::Peek(name) | Remedy::Why(name) => {
                call("check_teammate", json!({ "agent_name": name }))
            }
            Remedy::Track(id) => call("track", json!({ "message_id": id })),
            Remedy::ReleaseTask(id) => Some(format!("task_update {}", json!({ "task_id": id, "owner": "" }))),
            Remedy::ListPending => call("pending", json!({})),
            Remedy::RunDoctor => None,
        }
    }
}

/// What is to be said of the team as a whole.
fn about(desk: &Desk, picture: &TeamPicture) -> Vec<String> {
    let mut said = vec![headline(desk, picture)];
    let is_member = |who: &str| picture.members.iter().any(|member| member.name == who);
    let others = picture.attention.iter().filter(|one| !one.who.as_deref().is_some_and(is_member));
    said.extend(others.take(MOST).map(|attention| attention.what.clone()));
    let sessions = picture.sessions_waiting.iter().take(MOST);
    said.extend(sessions.map(|session| visible::line(&session.what).into_owned()));
    if let Some(first) = picture.for_you.first() {
        said.push(format!("{} unread for {}: read_inbox.", picture.for_you.len(), visible::name(&first.to)));
    }
    if picture.lead_signs {
        said.push(signed::WARNING.to_owned());
    }
    said.extend(picture.warnings.iter().take(MOST).cloned());
    said
}

/// What needs a look, in one sentence.
fn headline(desk: &Desk, picture: &TeamPicture) -> String {
    let found = picture.needs_a_look();
    let name = |attention: &&Attention| match &attention.who {
        Some(who) => format!("{} ({})", visible::name(who), attention.reason.words()),
        None => attention.reason.words().to_owned(),
    };
    let names: Vec<String> = found.iter().take(MOST).map(name).collect();
    let more = if found.len() > MOST { format!(" and {} more", found.len() - MOST) } else { String::new() };
    match (found.len(), picture.pending.len()) {
        // Of what others wait for a bound server knows nothing to say.
        (0, 0) if desk.bound().is_some() => "nothing needs a look".to_owned(),
        (0, 0) => picture.looked.nothing(),
        (0, count) => format!("nothing needs a look; {count} waiting as they should"),
        (1, _) => format!("1 needs a look: {}", names.join(", ")),
        (count, _) => format!("{count} need a look: {}{more}", names.join(", ")),
    }
}
