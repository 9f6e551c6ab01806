//! What is news in a team, as a chore. A step's subject is what it is about, its number when that began: so each is told
//! once, by one of any number of runners, and never again if that one dies over it.
//!
//! In quiet hours nothing is due. What still holds when they end is told then; escalations of that time in one summary,
//! whose number is that end, and which lists what it covers. What a person has muted is due when the mute ends.

use std::collections::BTreeMap;
use std::time::Duration;

use atm_ledger::Stage;
use atm_office::OfficeError;
use atm_office::chores::{Carried, Chore, Effect, Parts, Site, Snapshot, Standing, Step, Waited};
use atm_office::view::mute::{self, About, Mute};
use atm_wire::{Message, Stamp, TeamName, visible};
use serde::Serialize;
use serde_json::Value;

use crate::Notifier;
use crate::event::{Event, Kind};
use crate::post::PostError;

const NAME: &str = "notify";
/// The subject of a summary of escalations.
const SUMMARY: &str = "escalation summary";
/// A summary names at most this many messages.
const NAMED: usize = 5;
/// Who sits before the screen answers sooner.
const PERMISSION_AFTER: Duration = Duration::from_secs(15);
/// What began longer ago, or was muted until then, is no news. Steps are remembered for longer, so nothing is told twice.
const NEWS_FOR: Duration = mute::REMEMBERED;
/// What began longer ago is not told even after a long mute: that it was told before may be forgotten.
const OLDEST: Duration = Duration::from_secs(28 * 24 * 60 * 60);
/// What could not be told now, since too much waits, is looked at again after this long.
const AGAIN: Duration = Duration::from_secs(60);
/// In how clients call it that an agent waits for somebody's leave. Claude Code (2.1.197 and 2.1.325) says `permission
/// prompt`, `worker request`, `sandbox request` and `goal proposal`; other waits are `input needed` and `dialog open`.
const LEAVE: [&str; 4] = ["permission", "approv", "request", "proposal"];

/// A step's details: the event, and the steps that are not due any more because of it.
#[derive(Debug, Serialize)]
struct Details<'a> {
    #[serde(flatten)]
    event: &'a Event,
    covers: Vec<(&'a str, i64)>,
}

/// Something to tell.
#[derive(Debug)]
struct News {
    subject: String,
    event: Event,
    /// The message that it is about.
    message: Option<String>,
    /// When it is to be told.
    at: Stamp,
}

impl News {
    /// When the last of the mutes ends that hide it.
    fn muted_until(&self, mutes: &[Mute]) -> Option<Stamp> {
        let about =
            About { member: self.event.member.as_deref(), message: self.message.as_deref(), task: None };
        mutes.iter().filter(|mute| mute.is_about(about)).map(|mute| mute.until).max()
    }
}

impl Notifier {
    /// All that people were not told yet, whenever it is to be told.
    fn news(&self, snapshot: &Snapshot, now: Stamp) -> Vec<News> {
        let team = snapshot.team.as_ref().map(TeamName::as_str);
        let escalations = snapshot.waiting.iter().flat_map(|waited| escalations(team, waited));
        let permissions = snapshot.standings.iter().filter_map(|standing| permission(team, standing));
        let lead = snapshot.lead.as_ref().and_then(|lead| snapshot.inboxes.get(lead));
        let requests = lead.into_iter().flatten().filter_map(|message| request(team, message));
        let deaths = snapshot.standings.iter().filter_map(|standing| death(team, standing));
        let all = escalations.chain(permissions).chain(requests).chain(deaths);
        all.filter_map(|mut news| {
            let since = news.event.since;
            let muted_until = news.muted_until(&snapshot.mutes).unwrap_or(since);
            news.at = news.at.max(muted_until);
            let is_news = self.rules.on.contains(&news.event.kind)
                && now.since(since.max(muted_until)) <= NEWS_FOR
                && now.since(since) <= OLDEST
                && !snapshot.told.contains(&(news.subject.clone(), since.as_millis()));
            is_news.then_some(news)
        })
        .collect()
    }

    /// What is to be told in which summary, by the end of the quiet hours in which it happened.
    fn held<'a>(&self, snapshot: &Snapshot, due: &'a [News]) -> BTreeMap<i64, Vec<&'a News>> {
        let mut held: BTreeMap<i64, Vec<&News>> = BTreeMap::new();
        for news in due.iter().filter(|news| news.event.kind == Kind::Escalation) {
            let end = self.quiet_until(news.at).map(Stamp::as_millis);
            // What is found after the summary is told on its own.
            let end = end.filter(|end| !snapshot.told.contains(&(SUMMARY.to_owned(), *end)));
            if let Some(end) = end {
                held.entry(end).or_default().push(news);
            }
        }
        held
    }
}

impl News {
    fn step(&self) -> Step {
        step(&self.subject, self.event.since.as_millis(), &self.event, Vec::new())
    }
}

fn step(subject: &str, number: i64, event: &Event, covers: Vec<(&str, i64)>) -> Step {
    let what = format!("tell people: {}", event.text);
    Step::new((NAME, Effect::Outside), subject, number, what, &Details { event, covers })
}

/// One step for all escalations of quiet hours that ended then.
fn summary(team: Option<&str>, end: i64, held: &[&News]) -> Step {
    let covers = held.iter().map(|news| (news.subject.as_str(), news.event.since.as_millis())).collect();
    if let [one] = held {
        return step(SUMMARY, end, &one.event, covers);
    }
    let mut members: Vec<&str> = held.iter().filter_map(|news| news.event.member.as_deref()).collect();
    members.sort_unstable();
    members.dedup();
    let named = members.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if members.len() > NAMED { " and others" } else { "" };
    let text = format!(
        "{} escalations during quiet hours: messages to {named}{more} are not acted on. `atm pending` lists them.",
        held.len()
    );
    let since = held.iter().map(|news| news.event.since).min().unwrap_or(Stamp::from_millis(end));
    let event = Event::new(Kind::Escalation, team, &format!("{SUMMARY} {end}"), since, &text);
    step(SUMMARY, end, &event, covers)
}

fn news(kind: Kind, team: Option<&str>, (member, about): (&str, &str), since: Stamp, text: &str) -> News {
    let subject = format!("{} {member} {about}", kind.as_str()).trim_end().to_owned();
    let event = Event::new(kind, team, &subject, since, text).about(member);
    let message = Some(about.to_owned()).filter(|id| !id.is_empty());
    News { subject, event, message, at: since }
}

fn escalations<'a>(team: Option<&'a str>, waited: &'a Waited) -> impl Iterator<Item = News> + 'a {
    let message = &waited.message;
    let told = waited.stages.iter().filter(|record| record.stage == Stage::Escalated);
    told.map(move |record| {
        let (id, to) = (&message.id, &message.inbox.name);
        let text = format!(
            "Message {id} from {} to {to} is not acted on: {}.",
            visible::name(&message.sender),
            record.evidence.what
        );
        news(Kind::Escalation, team, (to, id), Stamp::from_millis(record.at), &text)
    })
}

fn permission(team: Option<&str>, standing: &Standing) -> Option<News> {
    let activity = standing.activity.as_deref()?;
    let waits = activity
        .strip_prefix("waiting for ")
        .is_some_and(|what| LEAVE.iter().any(|word| what.contains(word)));
    let since = standing.activity_since.filter(|_| waits)?;
    let name = standing.name.as_str();
    let event = news(Kind::Permission, team, (name, ""), since, &format!("{name} is {activity}."));
    Some(News { at: since.saturating_add(PERMISSION_AFTER), ..event })
}

/// A member in a process of its own asks its lead, whose client shows the question when it reads it.
fn request(team: Option<&str>, message: &Message) -> Option<News> {
    let since = message.sent_at.filter(|_| !message.read && message.kind() == "permission_request")?;
    let text = format!(
        "{} asks its lead for a permission, and the lead has not read it.",
        visible::name(&message.from)
    );
    let event = news(Kind::Permission, team, (&message.from, &message.id), since, &text);
    Some(News { at: since.saturating_add(PERMISSION_AFTER), ..event })
}

fn death(team: Option<&str>, standing: &Standing) -> Option<News> {
    let died = standing.died.as_ref()?;
    let count = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        more => Some(format!("{more} {what}s")),
    };
    let left = [count(standing.open_tasks, "open task"), count(standing.unread, "unread message")];
    let left: Vec<String> = left.into_iter().flatten().collect();
    if left.is_empty() {
        return None;
    }
    let name = standing.name.as_str();
    let text = format!("{name} died with {} ({}).", left.join(" and "), died.how);
    Some(news(Kind::Death, team, (name, ""), died.at, &text))
}

impl Chore for Notifier {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { waiting: true, inboxes: true, tasks: true, standings: true, ..Parts::default() }
    }

    fn is_last(&self) -> bool {
        true
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<Step> {
        if self.quiet_until(now).is_some() {
            return Vec::new();
        }
        let due: Vec<News> = self.news(snapshot, now).into_iter().filter(|news| news.at <= now).collect();
        let team = snapshot.team.as_ref().map(TeamName::as_str);
        let held = self.held(snapshot, &due);
        let is_held = |news: &&News| {
            held.values().flatten().any(|one| one.subject == news.subject && one.at == news.at)
        };
        let mut steps: Vec<Step> = due.iter().filter(|news| !is_held(news)).map(News::step).collect();
        steps.extend(held.iter().map(|(end, held)| summary(team, *end, held)));
        steps
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        let all = self.news(snapshot, now);
        match self.quiet_until(now) {
            // When they end, what holds then is told.
            Some(ends) => all.iter().map(|news| news.at.max(ends)).min(),
            None => {
                all.iter().map(|news| if news.at > now { news.at } else { now.saturating_add(AGAIN) }).min()
            }
        }
    }

    fn carry_out(&self, _: &Site, step: &Step) -> Result<Carried<Value>, OfficeError> {
        let Ok(event) = serde_json::from_value::<Event>(step.details.clone()) else {
            return Ok(Carried::Moot);
        };
        match self.post.post(&event) {
            Ok(()) => Ok(Carried::Done(step.details.clone())),
            // Nothing was done: it is told later.
            Err(error @ PostError::Full) => Err(OfficeError::NotTold { why: error.to_string() }),
            // Some may have heard it: it counts.
            Err(error @ PostError::Failed(_)) => {
                Ok(Carried::Failed(OfficeError::NotTold { why: error.to_string() }))
            }
        }
    }
}

#[cfg(test)]
mod tests;
