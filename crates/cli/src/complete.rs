//! Completions that know the team: its members, its tasks, and the mail that came last.
//!
//! The shell's script asks the program itself, with [`VARIABLE`] set. What is asked for is read from the shared tree
//! and nothing is written: no look, no ledger.

mod candidates;
mod words;

use std::env;
use std::process;

use clap::{Arg, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::ArgValueCompleter;

use crate::args::Args;
use crate::help::below_path;
use candidates::{members, messages, own_messages, tasks, teams};

/// Set by the scripts that `atm completions` prints.
pub(crate) const VARIABLE: &str = "ATM_COMPLETE";

/// Answers a shell and ends, if a shell asks.
pub(crate) fn answer_a_shell() {
    // Most calls are not a shell's: they pay for no more than this.
    if env::var_os(VARIABLE).is_none() {
        return;
    }
    let current = env::current_dir().ok();
    let answered = CompleteEnv::with_factory(command).var(VARIABLE).bin("atm").completer("atm");
    match answered.try_complete(env::args_os(), current.as_deref()) {
        Ok(true) => process::exit(0),
        Ok(false) => {}
        Err(error) => error.exit(),
    }
}

/// The command line, with what its arguments can be.
fn command() -> Command {
    let mut atm = Args::command();
    // The commands describe their arguments only once they are built.
    atm.build();
    let wants_option = words::current().is_some_and(|word| word.starts_with('-'));
    with_values(atm, "", wants_option)
}

fn with_values(command: Command, path: &str, wants_option: bool) -> Command {
    let command = command.mut_args(|arg| {
        // Options would bury the names: they are offered to who begins one, and where there is nothing else.
        let is_buried = !wants_option && !arg.is_positional();
        let arg = if is_buried { arg.hide(true) } else { arg };
        match kind(path, &arg) {
            Some(kind) => arg.add(kind.completer()),
            None => arg,
        }
    });
    command.mut_subcommands(|below| {
        let path = below_path(path, below.get_name());
        with_values(below, &path, wants_option)
    })
}

/// What the value of an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Team,
    Member,
    Task,
    /// A message in anybody's inbox.
    Message,
    /// A message in one's own.
    OwnMessage,
}

impl Kind {
    fn completer(self) -> ArgValueCompleter {
        match self {
            Self::Team => ArgValueCompleter::new(teams),
            Self::Member => ArgValueCompleter::new(members),
            Self::Task => ArgValueCompleter::new(tasks),
            Self::Message => ArgValueCompleter::new(messages),
            Self::OwnMessage => ArgValueCompleter::new(own_messages),
        }
    }
}

/// What an argument of the command `path` names, by how its help calls it.
fn kind(path: &str, arg: &Arg) -> Option<Kind> {
    let value = arg.get_value_names()?.first()?.as_str();
    // `ID|last` is an id, too.
    let value = if value.split('|').any(|part| part == "ID") { "ID" } else { value };
    let first = path.split(' ').next().unwrap_or_default();
    let option = arg.get_long();
    match (value, path, option) {
        // Names of what is to be made.
        ("NAME", "team create" | "member add" | "spawn", None) => None,
        (_, "team create" | "team restore" | "team import" | "artifacts put" | "schema", _)
            if option != Some("team") =>
        {
            None
        }
        ("TEAM", ..) | ("NAME", "team show" | "team join" | "team delete", None) => Some(Kind::Team),
        ("NAME" | "NAMES" | "TO", ..) => Some(Kind::Member),
        ("ID", "reply" | "ack", _) => Some(Kind::OwnMessage),
        ("ID", "thread" | "track" | "recall", _) | ("ID", "send", Some("reply-to")) => Some(Kind::Message),
        ("IDS" | "ID,…", ..) | ("ID", "heartbeat" | "idle", Some("task")) => Some(Kind::Task),
        ("ID", ..) if first == "task" && option.is_none() => Some(Kind::Task),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(line: &str) -> Vec<(String, Kind)> {
        let mut atm = Args::command();
        atm.build();
        let command = line.split(' ').fold(&atm, |command, word| command.find_subcommand(word).unwrap());
        let named =
            command.get_arguments().filter_map(|arg| Some((arg.get_id().to_string(), kind(line, arg)?)));
        named.filter(|(id, _)| !["team", "who"].contains(&id.as_str())).collect()
    }

    #[test]
    fn arguments_are_known_by_what_they_name() {
        let one = |id: &str, kind| vec![(id.to_owned(), kind)];
        assert_eq!(kinds("send"), [("to".to_owned(), Kind::Member), ("reply_to".to_owned(), Kind::Message)]);
        assert_eq!(kinds("reply"), one("id", Kind::OwnMessage));
        assert_eq!(kinds("track"), one("what", Kind::Message));
        assert_eq!(kinds("broadcast"), one("to", Kind::Member));
        assert_eq!(kinds("task show"), one("id", Kind::Task));
        assert_eq!(kinds("task assign"), [("id".to_owned(), Kind::Task), ("name".to_owned(), Kind::Member)]);
        assert_eq!(kinds("team delete"), one("name", Kind::Team));
        assert_eq!(kinds("team create"), []);
        assert_eq!(kinds("member add"), []);
    }
}
