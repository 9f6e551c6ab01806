//! `atm watch`

mod events;

use std::time::{Duration, Instant};

use atm_ledger::Cursor;
use atm_office::watch::Since;
use atm_wire::{Address, MemberName, TeamName};
use clap::Args;

use super::duration::duration;
use super::several::Several;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::closing;
use crate::output::message::{self, Extent, Flags};

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Whose inboxes [default: yours; without --as, everybody's]
    names: Vec<Address>,
    /// Show what is there already, too
    #[arg(long)]
    all: bool,
    /// Show every event since a cursor: mail, stages, presence, tasks. Each has the cursor to go on from; `now` and `start`
    /// are cursors, too
    #[arg(long, value_name = "CURSOR", value_parser = since, conflicts_with = "all")]
    since: Option<Since>,
    /// Stop after N messages or events
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Stop after this long: 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    r#for: Option<Duration>,
    #[command(flatten)]
    several: Several,
}

fn since(text: &str) -> Result<Since, String> {
    match text {
        "now" => Ok(Since::Now),
        "start" => Ok(Since::Start),
        text => text.parse::<Cursor>().map(Since::Cursor).map_err(|error| {
            format!("{error}: `now`, `start`, or the `cursor` of an event or of `atm status --json`")
        }),
    }
}

impl Watch {
    pub(crate) fn run(mut self, context: &mut Context) -> Result<i32, Failure> {
        let teams = self.teams(context)?;
        if let Some(since) = self.since.take() {
            return self.follow(context, &teams, &since);
        }
        let inboxes = self.inboxes(context, &teams)?;
        let deadline = self.r#for.map(|time| Instant::now() + time);
        let mut stream = context.office.watch_until(&inboxes, self.all, &closing::stop_with_reader())?;
        let mut left = self.count.unwrap_or(usize::MAX);
        while left > 0 {
            let waiting = context.out.waiting("watching; Ctrl-C ends it");
            let Some(mut messages) = stream.next(deadline)? else { break };
            drop(waiting);
            messages.truncate(left);
            left -= messages.len();
            if context.out.json {
                for message in &messages {
                    context.out.json_line(message)?;
                }
            } else {
                if teams.len() > 1 {
                    for message in &mut messages {
                        message.to = format!("{}@{}", message.to, message.team);
                    }
                }
                message::show(&mut context.out, &messages, Flags::Shown, Extent::Start)?;
                context.out.finish()?;
            }
        }
        Ok(0)
    }

    /// The inboxes that are meant. In several teams, somebody who was named has to be in one of them.
    fn inboxes(&self, context: &Context, teams: &[TeamName]) -> Result<Vec<(TeamName, MemberName)>, Failure> {
        let named = match context.identity()? {
            Some(identity) if self.names.is_empty() => vec![(identity.name, teams.to_vec())],
            _ => self.named(context, teams)?,
        };
        let mut inboxes = Vec::new();
        if named.is_empty() {
            for team in teams {
                inboxes.extend(everybody(context, team)?.into_iter().map(|name| (team.clone(), name)));
            }
        }
        for (name, teams) in named {
            let known = context.office.teams_that_know(&teams, &name)?;
            inboxes.extend(known.into_iter().map(|team| (team, name.clone())));
        }
        Ok(inboxes)
    }

    /// The teams that are meant: those of the names, where each says which.
    fn teams(&self, context: &Context) -> Result<Vec<TeamName>, Failure> {
        let named: Option<Vec<TeamName>> = self.names.iter().map(|name| name.team.clone()).collect();
        match named.filter(|named| !named.is_empty()) {
            Some(named) => context.each_team(named.iter().map(TeamName::as_str)),
            None => self.several.teams(context),
        }
    }

    /// Who was named, each with the teams that it may be in.
    fn named(
        &self,
        context: &Context,
        teams: &[TeamName],
    ) -> Result<Vec<(MemberName, Vec<TeamName>)>, Failure> {
        let of = |address: &Address| {
            let Address { name, team } = context.resolve(address.clone())?;
            Ok((name, team.map_or_else(|| teams.to_vec(), |team| vec![team])))
        };
        self.names.iter().map(of).collect()
    }
}

fn everybody(context: &Context, team: &TeamName) -> Result<Vec<MemberName>, Failure> {
    let members = context.office.members(team)?;
    let named = members.iter().filter_map(|member| MemberName::parse(&member.name).ok());
    let mut everybody: Vec<_> = named.chain(context.office.inbox_names(team)).collect();
    everybody.sort();
    everybody.dedup();
    Ok(everybody)
}
