//! `atm watch`

use std::time::{Duration, Instant};

use atm_wire::MemberName;
use clap::Args;

use super::duration::duration;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::message::{self, Extent, Flags};

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Whose inboxes [default: yours; without --as, everybody's]
    names: Vec<MemberName>,
    /// Show what is there already, too
    #[arg(long)]
    all: bool,
    /// Stop after N messages
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Stop after this long: 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    r#for: Option<Duration>,
}

impl Watch {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let names = if !self.names.is_empty() {
            self.names
        } else if let Some(identity) = context.identity()? {
            vec![identity.name]
        } else {
            let members = context.office.members(&team)?;
            let named = members.iter().filter_map(|member| MemberName::parse(&member.name).ok());
            let mut everybody: Vec<_> = named.chain(context.office.inbox_names(&team)).collect();
            everybody.sort();
            everybody.dedup();
            everybody
        };
        let deadline = self.r#for.map(|time| Instant::now() + time);
        let mut stream = context.office.watch(&team, &names, self.all)?;
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
                message::show(&mut context.out, &messages, Flags::Shown, Extent::Start)?;
                context.out.finish()?;
            }
        }
        Ok(0)
    }
}
