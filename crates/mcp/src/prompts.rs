//! Prompts: how to lead a team, and how to be a member of one.

use atm_wire::{MemberName, TeamName, visible};
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::desk::Desk;
use crate::page::LONGEST_TEXT;
use crate::trouble::Trouble;

pub(crate) fn list() -> Vec<Prompt> {
    let argument = |name: &str, about: &str, required: bool| {
        PromptArgument::new(name).with_description(about).with_required(required)
    };
    vec![
        Prompt::new(
            "lead",
            Some("Lead a team of agents to a goal"),
            Some(vec![
                argument("goal", "What is to be reached", true),
                argument("team", "The team's name", false),
            ]),
        ),
        Prompt::new(
            "member",
            Some("Work as a member of a team"),
            Some(vec![
                argument("name", "Your name in the team", false),
                argument("team", "The team's name", false),
            ]),
        ),
    ]
}

pub(crate) fn get(desk: &Desk, name: &str, given: &JsonObject) -> Result<GetPromptResult, Trouble> {
    let text = |key: &str| given.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let team = text("team").map(str::parse::<TeamName>).transpose()?.map(|team| team.to_string());
    let team = team.or_else(|| desk.own_team());
    let in_team = team.map(|team| format!(" of team {}", visible::name(&team))).unwrap_or_default();
    let words = match name {
        "lead" => {
            let goal = text("goal").ok_or_else(|| Trouble::new("goal is missing: what is to be reached"))?;
            if goal.len() > LONGEST_TEXT {
                return Err(Trouble::new(format!("goal is longer than {LONGEST_TEXT} bytes"))
                    .hint("Say in which file it is written"));
            }
            format!(
                "You are the lead{in_team}. The goal: {goal}\n\n\
                 1. If there is no team yet, team_create. Break the goal into tasks with task_create; say what \
                 waits for what with add_blocked_by.\n\
                 2. spawn_teammate for each part that can go on beside the others; give owners with task_update.\n\
                 3. poll_inbox until there is news. Decide about plans with send_message \
                 (type=plan_approval_response). track tells what became of a message: sent is not seen.\n\
                 4. When all tasks are completed, ask each teammate to end (type=shutdown_request), \
                 process_shutdown_approved for each, and then report."
            )
        }
        "member" => {
            let named = text("name").map(str::parse::<MemberName>).transpose()?;
            let who = named.as_ref().or(desk.bound());
            let who = who.map(|name| format!(", {}", visible::name(name.as_str()))).unwrap_or_default();
            format!(
                "You are a member{who}{in_team}.\n\n\
                 1. read_inbox first. ack what you act on.\n\
                 2. claim_task takes a task; task_update(status=completed) when it is done. Tell the lead what \
                 matters with send_message.\n\
                 3. heartbeat while you work on something long.\n\
                 4. With nothing to do, poll_inbox. On a shutdown_request finish what you write, then send_message \
                 (type=shutdown_response, approve=true)."
            )
        }
        other => {
            let other: String = other.chars().take(80).collect();
            return Err(Trouble::new(format!("there is no prompt {other:?}")).hint("There is: lead, member"));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, visible::lines(&words))]))
}
