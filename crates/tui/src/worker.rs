//! Carries out effects with the office, as the commands do.

use std::slice;
use std::sync::mpsc::{Receiver, Sender};

use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::protocol::person::Person;
use atm_office::protocol::plan::{PlanAnswer, PlanState};
use atm_office::protocol::shutdown::Dialect;
use atm_office::tasks::TaskFilter;
use atm_office::trail::history::{Search, Trace};
use atm_office::view::mute::{Mute, Muted, USUAL};
use atm_office::{OfficeError, Team, sessions};
use atm_panes::Tmux;
use atm_wire::brief::short_id;
use atm_wire::{Address, MemberName, TeamName};

use crate::event::{Act, Deed, Event, Load, Loaded, MailKey, Opened, Outcome, TeamKnown, Trouble};
use crate::settings::Settings;
use crate::text::count;

/// So many messages are listed.
const MOST: usize = 500;
/// So many lines of a screen are shown.
const LINES: usize = 200;
/// What evidence and records call this front.
const FRONT: &str = "ui";

/// Looks up what is asked for, until nobody asks any more. Of several questions about the same the last is enough.
pub(crate) fn load(settings: &Settings, wanted: &Receiver<Load>, told: &Sender<Event>) {
    while let Ok(first) = wanted.recv() {
        let mut queue = vec![first];
        while !queue.is_empty() {
            queue.extend(wanted.try_iter());
            newest(&mut queue);
            let loaded = look_up(settings, queue.remove(0));
            if told.send(Event::Loaded(Box::new(loaded))).is_err() {
                return;
            }
        }
    }
}

/// Leaves the last of each kind of question. A person waits for a message first, then for the list.
fn newest(queue: &mut Vec<Load>) {
    let is_same = |one: &Load, other: &Load| match (one, other) {
        (Load::Mail(_), Load::Mail(_)) | (Load::Message(..), Load::Message(..)) => true,
        (one, other) => one == other,
    };
    let mut kept: Vec<Load> = Vec::new();
    for load in queue.drain(..).rev() {
        if kept.iter().all(|known| !is_same(known, &load)) {
            kept.push(load);
        }
    }
    kept.reverse();
    kept.sort_by_key(|load| match load {
        Load::Teams => 0,
        Load::Message(..) => 1,
        Load::Mail(_) => 2,
        Load::Team(_) => 3,
    });
    *queue = kept;
}

fn look_up(settings: &Settings, load: Load) -> Loaded {
    let office = &settings.office;
    let trouble = |error: OfficeError| Trouble::of(&error, settings);
    match load {
        Load::Teams => Loaded::Teams(office.team_names().map_err(trouble)),
        Load::Team(name) => {
            let known = known(settings, &name).map_err(trouble);
            Loaded::Team(name, known)
        }
        Load::Mail(of) => {
            let rows = mail(settings, &of).map_err(trouble);
            Loaded::Mail(of, office.now(), rows)
        }
        Load::Message(team, id) => {
            let opened = office.track(Some(&team), &id).and_then(|track| {
                let thread = office.thread(Some(&team), &id)?;
                Ok(Opened { track, thread })
            });
            Loaded::Message(id, office.now(), opened.map_err(trouble))
        }
    }
}

fn known(settings: &Settings, name: &TeamName) -> Result<TeamKnown, OfficeError> {
    let office = &settings.office;
    let mut team = office.team_to_look_at(name)?;
    let mut picture = team.picture(&settings.me)?;
    office.put_sessions_beside(slice::from_mut(&mut picture));
    let tasks = team.tasks().list(&TaskFilter::default())?.tasks;
    let mut plans = team.plans()?;
    plans.retain(|plan| plan.state == PlanState::Open && !picture.mutes_message(&plan.id));
    Ok(TeamKnown { picture, tasks, plans })
}

/// The newest first.
fn mail(
    settings: &Settings,
    of: &MailKey,
) -> Result<Vec<atm_office::trail::history::Remembered>, OfficeError> {
    let office = &settings.office;
    if let Some(words) = &of.words {
        return office.search(&Search { words: words.clone(), limit: MOST, ..Search::default() });
    }
    let teams = of.team.clone().into_iter().collect();
    let mut rows = office.trace(&Trace { teams, with: of.with.clone(), limit: MOST, ..Trace::default() })?;
    rows.reverse();
    Ok(rows)
}

/// Does what is wanted, one after the other, until nobody wants anything.
pub(crate) fn act(settings: &Settings, wanted: &Receiver<Act>, told: &Sender<Event>) {
    while let Ok(act) = wanted.recv() {
        let outcome = perform(settings, &act).map_err(|error| Trouble::of(&error, settings));
        if told.send(Event::Done(act, outcome)).is_err() {
            return;
        }
    }
}

fn perform(settings: &Settings, act: &Act) -> Result<Outcome, OfficeError> {
    let (office, me) = (&settings.office, &settings.me);
    let mut team = office.team(&act.team)?;
    let person = Person::via(FRONT);
    let sent = |sent: Sent| Ok(Outcome::Said(said(settings, &sent)));
    match &act.deed {
        Deed::Send { to, text } => {
            let team = Ok(act.team.clone());
            let from = sessions::Sender { team, names_team: true, is_named: true, session: None };
            let route = office.route(from, to.parse()?, false)?;
            sent(route.team.send(me, &route.letter(text.as_str()), SendOptions::default())?)
        }
        Deed::Reply { id, text } => {
            let letter = |to: Address| Letter::new(to, text.clone());
            sent(team.reply(me, id, letter, SendOptions::default())?)
        }
        Deed::Acknowledge { id } => sent(office.ack(&act.team, me, id, None, SendOptions::default())?),
        Deed::MarkRead { id } => mark_read(&team, me, id),
        Deed::Recall { id } => {
            let recalled = office.recall(Some(&act.team), me, id)?;
            let warnings = notes(&recalled.warnings);
            Ok(Outcome::Said(format!("recalled from {}{warnings}", recalled.message.to)))
        }
        Deed::Mute { what, .. } => {
            let mute = team.mute(what, USUAL)?;
            Ok(Outcome::Said(format!("{} is muted for a day; mail still comes and waits", named(&mute))))
        }
        Deed::Unmute { what, .. } => Ok(Outcome::Said(match team.unmute(what)? {
            Some(mute) => format!("{} is not muted any more", named(&mute)),
            None => "it is not muted any more".to_owned(),
        })),
        Deed::Wake { name } => {
            let woken = office.wake(&act.team, &MemberName::parse(name)?, &settings.ladder, false)?;
            Ok(Outcome::Said(match (woken.why, woken.evidence) {
                (Some(why), _) => format!("{name} was not woken: {why}"),
                (None, Some(evidence)) => format!("{name}: {evidence}"),
                (None, None) => format!("{name} was woken"),
            }))
        }
        Deed::Peek { name } => {
            atm_panes::screen(&mut team, &MemberName::parse(name)?, LINES).map(Outcome::Screen)
        }
        Deed::Attach { name } => {
            let pane = atm_panes::pane_to_show(&mut team, Some(&MemberName::parse(name)?))?;
            let inside = settings.inside.as_deref();
            let is_inside = inside == Some(pane.socket.as_path());
            Ok(Outcome::Pane(Tmux::to_show(&pane, inside), is_inside))
        }
        Deed::Approve { request } => {
            let answer = PlanAnswer { approved: true, ..PlanAnswer::default() };
            sent(team.decide_plan_for_lead(person, request, &answer)?)
        }
        Deed::Reject { request, feedback } => {
            let answer = PlanAnswer { feedback: Some(feedback.clone()), ..PlanAnswer::default() };
            sent(team.decide_plan_for_lead(person, request, &answer)?)
        }
        Deed::Shutdown { name, reason } => {
            let reason = Some(reason.clone()).filter(|reason| !reason.is_empty());
            sent(team.request_shutdown_for_lead(person, &MemberName::parse(name)?, reason)?.sent)
        }
        Deed::ApproveShutdown { request } => {
            sent(team.approve_shutdown(me, Some(request), Dialect::default())?)
        }
        Deed::RejectShutdown { request, reason } => {
            sent(team.reject_shutdown(me, Some(request), reason.clone(), Dialect::default())?)
        }
        Deed::Assign { task, to } => {
            let outcome = team.tasks().assign(me, *task, &MemberName::parse(to)?)?;
            Ok(Outcome::Said(format!("task {task} is {to}'s now{}", notes(&outcome.warnings))))
        }
        Deed::Release { task } => {
            let outcome = team.tasks().release(me, *task)?;
            let requested = if outcome.requested { "requested: " } else { "" };
            Ok(Outcome::Said(format!("{requested}task {task} is nobody's now{}", notes(&outcome.warnings))))
        }
    }
}

/// Marks one message as read, which is on the screen.
fn mark_read(team: &Team<'_>, me: &MemberName, id: &str) -> Result<Outcome, OfficeError> {
    let confirmed = team.mark_shown(me, &[id], FRONT)?;
    let words = match confirmed.marked {
        0 => "it is not unread in your inbox".to_owned(),
        marked => format!("{} marked as read", count(marked, "message", "messages")),
    };
    Ok(Outcome::Said(format!("{words}{}", notes(&confirmed.warnings))))
}

/// What is muted, in words.
fn named(mute: &Mute) -> String {
    match mute.kind {
        Muted::Message => format!("message {}", short_id(&mute.what)),
        Muted::Task => format!("task {}", mute.what),
        Muted::Member => mute.what.clone(),
    }
}

/// What became of a letter.
fn said(settings: &Settings, sent: &Sent) -> String {
    let hint = sent.hint.as_ref().map(|hint| format!("; {}", (settings.advice)(hint))).unwrap_or_default();
    format!("{} to {}{}{hint}", sent.stage_words(), sent.to, notes(&sent.warnings))
}

fn notes(warnings: &[String]) -> String {
    warnings.iter().fold(String::new(), |all, warning| all + "; " + warning)
}

impl Trouble {
    /// An error of the office, in words.
    pub(crate) fn of(error: &OfficeError, settings: &Settings) -> Self {
        Self { what: error.to_string(), hint: error.hint().map(|hint| (settings.advice)(&hint)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_questions_the_last_is_answered_and_the_nearest_first() {
        let team = |name: &str| -> TeamName { name.parse().unwrap() };
        let mail = |with: &str| Load::Mail(MailKey { with: Some(with.into()), ..MailKey::default() });
        let message = |id: &str| Load::Message(team("dev"), id.into());
        let mut queue = vec![
            Load::Team(team("dev")),
            mail("bob"),
            message("1"),
            Load::Team(team("ops")),
            mail("alice"),
            message("2"),
            Load::Team(team("dev")),
        ];
        newest(&mut queue);
        assert_eq!(queue, [message("2"), mail("alice"), Load::Team(team("ops")), Load::Team(team("dev"))]);
    }
}
