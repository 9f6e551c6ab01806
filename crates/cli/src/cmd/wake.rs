//! `atm wake`

use std::env;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use atm_clients::claude::socket::{SESSION_VARIABLE, SOCKET_VARIABLE};
use atm_office::chores::wake::Woken;
use atm_office::mail::hook::Whose;
use atm_office::sessions::team_name;
use atm_wire::team::Manner;
use atm_wire::{Address, MemberName, TeamName};
use clap::{Args, Subcommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use super::duration::duration;
use super::hook;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::{outlet, safe};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Each member by its client's own way: a Claude Code member of a team looks by itself; a hook waits with `atm wake wait`;
Codex is told by `codex queue` if its conversation is open (or with `--queue`), OpenCode by its server, others by a line in their tmux pane. `atm member set NAME --wake`
says which. `--type` types the line into its pane instead, or a line of yours. Only one that waits, and once for each new message and step of [wake] after in the settings; never for mail
that is read. The line says that mail waits and from whom. Whether it helped is told by `atm track`. `atm wake --all
--watch` does it for as long as it runs."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Wake {
    #[command(subcommand)]
    command: Option<Sub>,
    /// Who
    #[arg(required_unless_present = "all")]
    name: Option<Address>,
    /// Everybody who has new mail and waits
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Type a line into its tmux pane, whatever its client's way is [default: that mail waits, and from whom]
    #[arg(long = "type", value_name = "LINE", num_args = 0..=1, default_missing_value = "",
        conflicts_with_all = ["all", "dry_run", "watch"])]
    line: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Codex: also if no process has its conversation open; it is told when one does
    #[arg(long, conflicts_with_all = ["all", "line", "watch"])]
    queue: bool,
    /// Go on: wake whenever mail comes or a step of the ladder is due, until you stop it
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// With --watch: stop after this long: 30s, 10m
    #[arg(long = "for", value_name = "TIME", value_parser = duration, requires = "watch")]
    patience: Option<Duration>,
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Wait for new mail of yours, then say so on stderr and exit 2: for a hook with `asyncRewake`
    Wait {
        /// Give up after this long, with exit 0: 30s, 10m
        #[arg(long = "for", value_name = "TIME", value_parser = duration)]
        patience: Option<Duration>,
    },
}

/// With this, a hook hands its stderr to the model.
const REWAKE: i32 = 2;

impl Wake {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if let Some(Sub::Wait { patience }) = self.command {
            let Some(waiter) = waiter(context)? else { return Ok(0) };
            let deadline = patience.map(|patience| Instant::now() + patience);
            let (office, ladder) = (&context.office, &context.settings.ladder.value);
            let told = match waiter {
                Waiter::Member(team, name) => {
                    let waiting = context.out.waiting(&format!("waiting for mail for {name}"));
                    let line = office.wait_to_wake(&team, &name, ladder, deadline, somebody_hears)?;
                    drop(waiting);
                    line.map(|line| (team, name, line))
                }
                Waiter::Session(session, has_socket) => {
                    let way = (session.as_str(), has_socket);
                    let told = office.wait_in_session(way, ladder, deadline, somebody_hears)?;
                    told.map(|(name, line)| (team_name(), name, line))
                }
            };
            let Some((team, name, line)) = told else { return Ok(0) };
            if context.out.json {
                context.out.document(&json!({ "team": team, "name": name, "line": line }))?;
                context.out.finish()?;
            }
            // If nobody listens there, the exit code still tells.
            let _ = writeln!(io::stderr(), "{}", safe::line(&line));
            return Ok(REWAKE);
        }
        let (team, name) = context.anyone(self.name)?;
        let ladder = &context.settings.ladder.value;
        if self.watch {
            let deadline = self.patience.map(|patience| Instant::now() + patience);
            let mut news = context.office.watch_to_wake(&team, name.as_ref(), ladder)?;
            while let Some(woken) = news.next(deadline)? {
                for one in &woken {
                    if context.out.json {
                        context.out.json_line(one)?;
                    } else {
                        context.out.note(safe::line(&words(one, false)))?;
                    }
                }
                context.out.finish()?;
            }
            return Ok(0);
        }
        let woken = match &name {
            Some(name) if let Some(line) = &self.line => vec![typed(context, &team, name, line)?],
            Some(name) if self.queue => {
                vec![context.office.wake_or_queue(&team, name, ladder, self.dry_run)?]
            }
            Some(name) => vec![context.office.wake(&team, name, ladder, self.dry_run)?],
            None => context.office.wake_all(&team, ladder, self.dry_run)?,
        };
        let out = &mut context.out;
        if out.json {
            match (woken.as_slice(), self.all) {
                ([one], false) => out.document(one)?,
                (all, _) => out.document(all)?,
            }
            return Ok(0);
        }
        for one in &woken {
            out.note(safe::line(&words(one, self.dry_run)))?;
        }
        Ok(0)
    }
}

/// Types a line into a member's pane, once for each new mail; an empty one stands for the usual line.
fn typed(context: &Context, team: &TeamName, name: &MemberName, line: &str) -> Result<Woken, Failure> {
    let line = Some(line).filter(|line| !line.is_empty());
    let nudged = context.office.nudge(team, name, line)?;
    Ok(Woken {
        team: nudged.team,
        name: nudged.name,
        way: Some(Manner::Pane),
        woken: nudged.nudged,
        why: nudged.why,
        evidence: nudged.nudged.then(|| "a line was typed into its pane".to_owned()),
        unread: nudged.unread,
    })
}

/// Who waits.
enum Waiter {
    Member(TeamName, MemberName),
    /// A session that is no member's, and whether its client handed over a socket.
    Session(String, bool),
}

/// Who waits: as the settings have it, else whose session it is by what the client says on stdin. A session that is no member's
/// waits for the mail of its folder, as long as nobody pushes that into it.
fn waiter(context: &mut Context) -> Result<Option<Waiter>, Failure> {
    if context.settings.taker()?.is_some() {
        return Ok(Some(Waiter::Member(context.team()?, context.named_reader()?)));
    }
    let failed =
        |why| Failure::new(ExitCode::Io, "hook", why).hint("--as NAME and --team TEAM say who waits");
    let input = hook::input().map_err(failed)?;
    if input.session().is_empty() {
        return Ok(Some(Waiter::Member(context.team()?, context.named_reader()?)));
    }
    let office = context.office.clone();
    let named = |found: Whose<'_>| Waiter::Member(found.team.name().clone(), found.who);
    let member = hook::whose(context, &office, &input, named).map_err(failed)?;
    let has_socket = || {
        let handed = |name| env::var(name).ok().filter(|value| !value.is_empty());
        handed(SESSION_VARIABLE).as_deref() == Some(input.session()) && handed(SOCKET_VARIABLE).is_some()
    };
    Ok(member.or_else(|| {
        let is_own = !input.is_inside();
        is_own.then(|| Waiter::Session(input.session().to_owned(), has_socket()))
    }))
}

/// Whether stderr goes anywhere: a client that has ended without ending its hooks has closed its end of the pipe.
fn somebody_hears() -> bool {
    let stderr = io::stderr();
    if outlet::check(&stderr, "stderr").is_err() {
        return false;
    }
    let mut pipe = [PollFd::new(&stderr, PollFlags::OUT)];
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    poll(&mut pipe, Some(&Timespec::default())).is_err() || !pipe[0].revents().intersects(gone)
}

fn words(woken: &Woken, dry_run: bool) -> String {
    let who = format!("{}@{}", woken.name, woken.team);
    match (&woken.why, &woken.evidence) {
        (Some(why), _) => format!("{who} was not woken: {why}"),
        (None, Some(evidence)) => format!("{who}: {evidence} (unread {})", woken.unread),
        (None, None) if dry_run => format!("{who} would be woken (unread {})", woken.unread),
        (None, None) => format!("{who} was woken (unread {})", woken.unread),
    }
}
