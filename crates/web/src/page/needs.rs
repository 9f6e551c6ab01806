//! What needs a person, first on every overview: each with its reason and the one action that resolves it.

use atm_office::protocol::plan::{PlanState, PlanView};
use atm_office::view::{Attention, Remedy, TeamPicture};
use atm_wire::{Stamp, TeamName};
use maud::{Markup, html};
use serde_json::json;

use super::parts::{action, age, command, empty, encoded, inbox_href, line, short, team_href, word};

/// So many are shown at once.
const MOST: usize = 30;

/// What needs somebody in one team.
pub(super) struct Needs<'a> {
    pub(super) picture: &'a TeamPicture,
    /// Plans that wait for a decision.
    pub(super) plans: Vec<PlanView>,
}

impl Needs<'_> {
    pub(super) fn open_plans(mut plans: Vec<PlanView>) -> Vec<PlanView> {
        plans.retain(|plan| plan.state == PlanState::Open);
        plans
    }

    fn is_empty(&self) -> bool {
        self.plans.is_empty() && self.picture.attention.is_empty() && self.picture.for_you.is_empty()
    }
}

/// The list over some teams, with an honest word where nothing does.
pub(super) fn section(all: &[Needs<'_>], now: Stamp) -> Markup {
    html! {
        section #needs aria-labelledby="needs-title" {
            h2 #needs-title { "Needs you" }
            @if all.iter().all(Needs::is_empty) {
                @if all.is_empty() { (empty("There is no team to look at.")) }
                @for needs in all {
                    p.empty {
                        (needs.picture.team) ": " (needs.picture.looked.nothing())
                        "; looked " (age(needs.picture.as_of, now))
                    }
                }
            } @else {
                ul.needs {
                    @for needs in all {
                        @for plan in &needs.plans { (plan_item(&needs.picture.team, plan, now)) }
                        (mail_item(needs.picture, now))
                        @for attention in needs.picture.attention.iter().take(MOST) {
                            (item(&needs.picture.team, attention, now))
                        }
                        @if needs.picture.attention.len() > MOST {
                            li { a href=(team_href(&needs.picture.team, "")) {
                                (needs.picture.attention.len() - MOST) " more in " (needs.picture.team)
                            } }
                        }
                    }
                }
                p #muted hidden { button type="button" { "Show what is muted in this browser" } }
            }
            @for warning in all.iter().flat_map(|needs| needs.picture.warnings.iter().chain(&needs.picture.looked.unreadable)) {
                p.warning { (line(warning)) }
            }
        }
    }
}

fn plan_item(team: &TeamName, plan: &PlanView, now: Stamp) -> Markup {
    let href = format!("{}#{}", team_href(team, "/plans"), encoded(&plan.request));
    html! {
        li.row data-row id={ "need-" (plan.id) } data-key={ "plan " (plan.request) } {
            span.reason { "plan to decide" } " "
            a href=(href) data-main { (line(&plan.from)) "@" (team) ": " (line(plan.summary.as_deref().unwrap_or("a plan"))) }
            span.meta { (age(plan.timestamp, now)) }
            (action("Approve", &format!("/api/v1/plans/{}", encoded(&plan.request)),
                &json!({"team": team, "approved": true}),
                &format!("atm -t {} --as {} plan approve {}", word(team.as_str()), word(&plan.to), word(&plan.request))))
        }
    }
}

fn mail_item(picture: &TeamPicture, now: Stamp) -> Markup {
    let Some(first) = picture.for_you.first() else { return html! {} };
    let since = Stamp::parse(&first.timestamp).ok();
    html! {
        li.row data-row id={ "need-mail-" (picture.team) } data-key={ "mail " (picture.team) " " (picture.for_you.len()) } {
            span.reason { "mail for you" } " "
            a href=(inbox_href(picture.team.as_str(), &first.to)) data-main {
                (picture.for_you.len()) " unread in " (picture.team) ", the first from " (line(&first.from))
            }
            span.meta { @if let Some(since) = since { (age(since, now)) } }
            span.act hidden { (command(&format!("atm -t {} read --as user", word(picture.team.as_str())))) }
        }
    }
}

fn item(team: &TeamName, attention: &Attention, now: Stamp) -> Markup {
    let subject = attention.message.as_deref().or(attention.task.as_deref()).or(attention.who.as_deref());
    let key = format!("{} {:?} {}", team, attention.reason, subject.unwrap_or(&attention.what));
    let href = match (&attention.message, &attention.task, &attention.who) {
        (Some(id), ..) => format!("/messages/{}?team={}", encoded(id), encoded(team.as_str())),
        (_, Some(_), _) => team_href(team, "/tasks"),
        (_, _, Some(who)) => inbox_href(team.as_str(), who),
        _ => team_href(team, ""),
    };
    html! {
        li.row data-row id={ "need-" (encoded(&key)) } data-key=(key) {
            span.reason { (attention.reason.words()) } " "
            a href=(href) data-main {
                @if let Some(who) = &attention.who { (line(who)) "@" (team) ": " }
                (line(&attention.what))
            }
            span.meta { @if let Some(since) = attention.since { (age(since, now)) } }
            (resolve(team, &attention.remedy()))
        }
    }
}

/// The one action that resolves it; where only the command line can, its command.
fn resolve(team: &TeamName, remedy: &Remedy) -> Markup {
    let on = |rest: String| format!("atm -t {} {rest}", word(team.as_str()));
    match remedy {
        Remedy::Wake(name) => action(
            "Wake",
            "/api/v1/wakes",
            &json!({"team": team, "name": name}),
            &on(format!("wake {}", word(name))),
        ),
        Remedy::ReleaseTask(id) => action(
            "Give back",
            &format!("/api/v1/tasks/{}", encoded(id)),
            &json!({"team": team, "owner": ""}),
            &on(format!("task release {}", word(id))),
        ),
        Remedy::Peek(name) => html! { span.act hidden { (command(&on(format!("peek {}", word(name))))) } },
        Remedy::Track(id) => {
            html! { span.act hidden { (command(&on(format!("track {}", word(&short(id)))))) } }
        }
        Remedy::ListPending => html! { span.act hidden { (command(&on("pending".to_owned()))) } },
        Remedy::RunDoctor => html! { span.act hidden { (command(&on("doctor".to_owned()))) } },
    }
}
