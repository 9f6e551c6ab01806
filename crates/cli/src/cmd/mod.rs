//! The commands, one file each: parse, call the office, show.

mod broadcast;
mod completions;
mod config;
pub(crate) mod demo;
mod inbox;
mod man;
mod member;
mod members;
mod read;
mod reply;
mod send;
mod team;
mod text;
mod watch;

use std::time::Duration;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

/// What `atm` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play a team's day in a throw-away root, with real files
    Demo(demo::Demo),
    /// Make, list, show and delete teams
    #[command(subcommand)]
    Team(team::Team),
    /// Add, remove and change members
    #[command(subcommand)]
    Member(member::Member),
    /// Who is in the team, who is on, and what waits for whom
    Members(members::Members),
    /// Send a message
    Send(send::Send),
    /// Send a message to everybody else
    Broadcast(broadcast::Broadcast),
    /// Answer a message
    Reply(reply::Reply),
    /// Look into an inbox; changes nothing
    Inbox(inbox::Inbox),
    /// Read your unread mail, and mark it as read once it is shown
    Read(read::Read),
    /// Show mail as it comes; changes nothing
    Watch(watch::Watch),
    /// Show the settings and where each is from
    Config(config::Config),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write all of them to a folder
    Man(man::Man),
}

pub(crate) fn run(command: Command, context: &mut Context) -> Result<i32, Failure> {
    match command {
        Command::Demo(demo) => demo.run(context),
        Command::Team(team) => team.run(context),
        Command::Member(member) => member.run(context),
        Command::Members(members) => members.run(context),
        Command::Send(send) => send.run(context),
        Command::Broadcast(broadcast) => broadcast.run(context),
        Command::Reply(reply) => reply.run(context),
        Command::Inbox(inbox) => inbox.run(context),
        Command::Read(read) => read.run(context),
        Command::Watch(watch) => watch.run(context),
        Command::Config(config) => config.run(context),
        Command::Completions(completions) => completions.run(context),
        Command::Man(man) => man.run(context),
    }
}

/// Longer than anybody waits, and short enough to be added to any time.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How long to wait, on the command line.
fn wait(text: &str) -> Result<Duration, String> {
    let wait = atm_wire::stamp::parse_duration(text).map_err(|error| error.to_string())?;
    Ok(wait.min(LONGEST_WAIT))
}
