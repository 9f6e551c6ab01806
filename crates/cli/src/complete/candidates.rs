//! What can stand in the place of a value, as the files say.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs;

use atm_office::office::USER;
use atm_store::lock::LockTimes;
use atm_store::tasks::TaskFolder;
use atm_store::{Mailbox, TeamFolder};
use atm_wire::message::Message;
use atm_wire::{MemberName, Stamp, TeamName};
use clap_complete::engine::CompletionCandidate;

use super::words;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

/// How many messages are offered.
const MESSAGES: usize = 30;
/// A larger inbox is not read for a completion.
const LARGEST: u64 = 8 << 20;
/// How many characters of an id are offered.
const SHORT_ID: usize = 8;

/// A value with what it is.
fn candidate(value: &str, about: &str) -> CompletionCandidate {
    let about = safe::line(about).chars().take(60).collect::<String>();
    CompletionCandidate::new(value).help((!about.is_empty()).then(|| about.into()))
}

/// Whether a shell takes it as one plain word.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@".contains(c))
}

fn context() -> Option<Context> {
    Context::new(&words::global()).ok()
}

fn begins(value: &str, current: &OsStr) -> bool {
    current.to_str().is_some_and(|current| value.starts_with(current))
}

/// The teams.
pub(super) fn teams(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(context) = context() else { return Vec::new() };
    let teams = TeamFolder::list(context.office.root()).unwrap_or_default();
    let fits = |team: &&TeamName| is_plain(team.as_str()) && begins(team.as_str(), current);
    let about = |team: &TeamName| {
        let config = context.office.folder_of(team).load().ok();
        config.and_then(|config| config.description).unwrap_or_default()
    };
    teams.iter().filter(fits).map(|team| candidate(team.as_str(), &about(team))).collect()
}

/// The teams that the line is about: those that it names, or the one that is meant; all where nothing says which.
fn teams_meant(context: &Context) -> Vec<TeamName> {
    match context.teams(false) {
        Err(Failure::Told(told)) if told.code == "which_team" => context.teams(true).unwrap_or_default(),
        teams => teams.unwrap_or_default(),
    }
}

/// The members of the team, and others that have an inbox. Of several teams, and for who began to name one, each with
/// its team.
pub(super) fn members(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(context) = context() else { return Vec::new() };
    let names_team = current.to_str().is_some_and(|current| current.contains('@'));
    let teams = if names_team { context.teams(true).unwrap_or_default() } else { teams_meant(&context) };
    if let ([team], false) = (teams.as_slice(), names_team) {
        return of_team(&context, team, "", current);
    }
    teams.iter().flat_map(|team| of_team(&context, team, &format!("@{team}"), current)).collect()
}

fn of_team(context: &Context, team: &TeamName, suffix: &str, current: &OsStr) -> Vec<CompletionCandidate> {
    let folder = context.office.folder_of(team);
    let config = folder.load().unwrap_or_default();
    let mut all: Vec<(String, String)> = config
        .members
        .iter()
        .map(|member| (member.name.clone(), member.agent_type.clone().unwrap_or_default()))
        .collect();
    for name in folder.inbox_names() {
        if !all.iter().any(|(known, _)| known == name.as_str()) {
            all.push((name.to_string(), "not a member".to_owned()));
        }
    }
    all.iter()
        .map(|(name, about)| (format!("{name}{suffix}"), about))
        .filter(|(name, _)| is_plain(name) && begins(name, current))
        .map(|(name, about)| candidate(&name, about))
        .collect()
}

/// The tasks of the team that are not done, then the others.
pub(super) fn tasks(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(context) = context() else { return Vec::new() };
    let Ok(team) = context.team() else { return Vec::new() };
    let office = &context.office;
    let folder = TaskFolder::new(office.root(), &team, office.state(), LockTimes::default());
    let mut tasks = folder.list().unwrap_or_default().tasks;
    tasks.sort_by_key(|(id, task)| (task.status == atm_wire::task::Status::Completed, *id));
    let shown = tasks.iter().map(|(id, task)| (id.to_string(), task));
    let shown = shown.filter(|(id, _)| begins(id, current));
    shown.map(|(id, task)| candidate(&id, &format!("{}: {}", task.status.as_str(), task.subject))).collect()
}

/// The newest messages of the team; of all, where nothing says which: an id says that itself.
pub(super) fn messages(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(context) = context() else { return Vec::new() };
    let inboxes: Vec<Inbox> = teams_meant(&context)
        .into_iter()
        .flat_map(|team| {
            let names = context.office.folder_of(&team).inbox_names();
            names.into_iter().map(move |name| (team.clone(), name))
        })
        .collect();
    newest(&context, &inboxes, current)
}

/// The newest messages in the inbox of the one who asks.
pub(super) fn own_messages(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(context) = context() else { return Vec::new() };
    let who = context.identity().ok().flatten().map(|address| address.name);
    let Some(who) = who.or_else(|| MemberName::parse(USER).ok()) else { return Vec::new() };
    let inboxes: Vec<Inbox> = teams_meant(&context).into_iter().map(|team| (team, who.clone())).collect();
    newest(&context, &inboxes, current)
}

/// Whose mail, in which team.
type Inbox = (TeamName, MemberName);

fn newest(context: &Context, inboxes: &[Inbox], current: &OsStr) -> Vec<CompletionCandidate> {
    let office = &context.office;
    let mut all: Vec<(Option<Stamp>, String, String)> = Vec::new();
    for (team, name) in inboxes {
        let mailbox = Mailbox::open(&office.root().team(team), name, office.state(), LockTimes::default());
        if fs::metadata(mailbox.file()).is_ok_and(|file| file.len() > LARGEST) {
            continue;
        }
        let messages = mailbox.list().map(|listing| listing.messages).unwrap_or_default();
        let brief = |message: &Message| {
            let text = message.summary.as_deref().unwrap_or(&message.text);
            format!("{} to {name}: {text}", message.from)
        };
        let last = messages.iter().rev().take(MESSAGES);
        all.extend(last.map(|message| (message.sent_at, message.id.clone(), brief(message))));
    }
    all.sort_by_key(|(at, ..)| Reverse(*at));
    let offered = all.iter().filter_map(|(_, id, about)| {
        let short = id.get(id.len().checked_sub(SHORT_ID)?..).filter(|short| begins(short, current));
        // Somebody who types an id from its start gets all of it.
        let value = short.or_else(|| begins(id, current).then_some(id.as_str()))?;
        is_plain(value).then(|| candidate(value, about))
    });
    offered.take(MESSAGES).collect()
}
