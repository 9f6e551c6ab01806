//! What needs a person, first on every overview: each with its reason and the one action that resolves it.

use atm_office::protocol::plan::{PlanState, PlanView};
use atm_office::sessions::WaitingSession;
use atm_office::view::mute::Muted;
use atm_office::view::{Attention, Reason, Remedy, TeamPicture};
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

impl<'a> Needs<'a> {
    /// What needs somebody, of a team and its plans.
    pub(super) fn of(picture: &'a TeamPicture, mut plans: Vec<PlanView>) -> Self {
        plans.retain(|plan| plan.state == PlanState::Open && !picture.mutes_message(&plan.id));
        Self { picture, plans }
    }

    fn is_empty(&self) -> bool {
        self.plans.is_empty() && self.picture.attention.is_empty() && self.picture.for_you.is_empty()
    }
}

/// The list over some teams, with an honest word where nothing does.
pub(super) fn section(all: &[Needs<'_>], sessions: &[WaitingSession], now: Stamp) -> Markup {
    html! {
        section #needs aria-labelledby="needs-title" {
            h2 #needs-title { "Needs you" }
            @if sessions.is_empty() && all.iter().all(Needs::is_empty) {
                @if all.is_empty() { (empty("There is no team to look at.")) }
                @for needs in all {
                    p.empty {
                        (needs.picture.team) ": " (needs.picture.looked.nothing())
                        "; looked " (age(needs.picture.as_of, now))
                    }
                }
            } @else {
                ul.needs {
                    @for session in sessions.iter().take(MOST) { (session_item(session, now)) }
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
            }
            (muted(all, now))
            @for warning in all.iter().flat_map(|needs| needs.picture.warnings.iter().chain(&needs.picture.looked.unreadable)) {
                p.warning { (line(warning)) }
            }
        }
    }
}

/// A session that is in no team has no page.
fn session_item(session: &WaitingSession, now: Stamp) -> Markup {
    html! {
        li.row data-row id={ "need-session-" (encoded(&session.session)) } {
            span.reason { (Reason::WaitsForUser.words()) } " "
            span title=(line(&session.folder.to_string_lossy())) { (line(&session.what)) }
            span.meta { (session.client) @if let Some(since) = session.since { " · " (age(since, now)) } }
            span.act hidden { (command(&format!("atm status {} --why", word(&session.name)))) }
        }
    }
}

fn plan_item(team: &TeamName, plan: &PlanView, now: Stamp) -> Markup {
    let href = format!("{}#{}", team_href(team, "/plans"), encoded(&plan.request));
    html! {
        li.row data-row id={ "need-" (plan.id) } {
            span.reason { "plan to decide" } " "
            a href=(href) data-main { (line(&plan.from)) "@" (team) ": " (line(plan.summary.as_deref().unwrap_or("a plan"))) }
            span.meta { (age(plan.timestamp, now)) }
            (action("Approve", &format!("/api/v1/plans/{}", encoded(&plan.request)),
                &json!({"team": team, "approved": true}),
                &format!("atm -t {} --as {} plan approve {}", word(team.as_str()), word(&plan.to), word(&plan.request))))
            (mute(team, Muted::Message, &plan.id))
        }
    }
}

fn mail_item(picture: &TeamPicture, now: Stamp) -> Markup {
    let Some(first) = picture.for_you.first() else { return html! {} };
    let since = Stamp::parse(&first.timestamp).ok();
    html! {
        li.row data-row id={ "need-mail-" (picture.team) } {
            span.reason { "mail for you" } " "
            a href=(inbox_href(picture.team.as_str(), &first.to)) data-main {
                (picture.for_you.len()) " unread in " (picture.team) ", the first from " (line(&first.from))
            }
            span.meta { @if let Some(since) = since { (age(since, now)) } }
            (mark_read(&picture.team, &first.to, &picture.for_you.iter().take(MOST).map(|message| message.id.as_str()).collect::<Vec<_>>()))
        }
    }
}

fn item(team: &TeamName, attention: &Attention, now: Stamp) -> Markup {
    let key = format!(
        "{} {:?} {}",
        team,
        attention.reason,
        attention.subject().map_or(attention.what.as_str(), |(_, what)| what)
    );
    let href = match (&attention.message, &attention.task, &attention.who) {
        (Some(id), ..) => format!("/messages/{}?team={}", encoded(id), encoded(team.as_str())),
        (_, Some(_), _) => team_href(team, "/tasks"),
        (_, _, Some(who)) => inbox_href(team.as_str(), who),
        _ => team_href(team, ""),
    };
    html! {
        li.row data-row id={ "need-" (encoded(&key)) } {
            span.reason { (attention.reason.words()) } " "
            a href=(href) data-main {
                @if let Some(who) = &attention.who { (line(who)) "@" (team) ": " }
                (line(&attention.because()))
            }
            span.meta { @if let Some(since) = attention.since { (age(since, now)) } }
            (resolve(team, &attention.remedy()))
            @if let Some((kind, what)) = attention.subject() { (mute(team, kind, what)) }
        }
    }
}

/// Marks what is shown as read: what comes meanwhile stays unread.
pub(super) fn mark_read(team: &TeamName, who: &str, shown: &[&str]) -> Markup {
    let label =
        if shown.len() == 1 { "Mark as read".to_owned() } else { format!("Mark {} as read", shown.len()) };
    action(
        &label,
        "/api/v1/reads",
        &json!({"team": team, "as": who, "ids": shown}),
        &format!("atm -t {} --as {} read --limit {}", word(team.as_str()), word(who), shown.len()),
    )
}

/// Hears nothing of it for a day.
fn mute(team: &TeamName, kind: Muted, what: &str) -> Markup {
    let label = if kind == Muted::Member {
        format!("Mute {} for a day", line(what))
    } else {
        "Mute for a day".to_owned()
    };
    html! { span.second { (action(&label, "/api/v1/mutes", &json!({"team": team, "what": what}), &mute_command(team, kind, what))) } }
}

/// The command that mutes a member, a task or a message.
fn mute_command(team: &TeamName, kind: Muted, what: &str) -> String {
    let what = if kind == Muted::Message { short(what) } else { what.to_owned() };
    format!("atm -t {} mute {}", word(team.as_str()), word(&what))
}

/// What is left out for a while, with a way to hear of it again.
fn muted(all: &[Needs<'_>], now: Stamp) -> Markup {
    let count: usize = all.iter().map(|needs| needs.picture.muted.len()).sum();
    html! { @if count > 0 {
        details #muted {
            summary { (count) " muted for a while" }
            ul.rows { @for needs in all { @for mute in &needs.picture.muted {
                @let team = &needs.picture.team;
                li.row id={ "muted-" (team) "-" (encoded(&mute.what)) } data-row {
                    @if mute.kind == Muted::Message {
                        a href={ "/messages/" (encoded(&mute.what)) "?team=" (encoded(team.as_str())) } data-main { "message " (short(&mute.what)) }
                    } @else {
                        span { (if mute.kind == Muted::Task { "task " } else { "member " }) (line(&mute.what)) }
                    }
                    span.meta { (team) " · muted " (age(mute.since, now)) " · ends " (age(mute.until, now)) }
                    (action("Hear of it again", "/api/v1/mutes", &json!({"team": team, "what": mute.what, "undo": true}),
                        &format!("{} --undo", mute_command(team, mute.kind, &mute.what))))
                }
            } } }
        }
    } }
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
        Remedy::Why(name) => {
            html! { span.act hidden { (command(&on(format!("status {} --why", word(name))))) } }
        }
        Remedy::Track(id) => {
            html! { span.act hidden { (command(&on(format!("track {}", word(&short(id)))))) } }
        }
        Remedy::ListPending => html! { span.act hidden { (command(&on("pending".to_owned()))) } },
        Remedy::RunDoctor => html! { span.act hidden { (command(&on("doctor".to_owned()))) } },
    }
}
