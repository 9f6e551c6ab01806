//! What somebody meant who typed a command that does not exist: by meaning, where spelling does not help.

use std::env;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cmd::Command;

/// Words that people try, and what they want to type; `team` is where a word of `atm team` begins with it.
const MEANT: &[(&str, &str)] = &[
    // Names of before.
    ("nudge", "atm wake NAME --type [LINE]"),
    ("presence", "atm status NAME --why"),
    ("rotate", "atm archive --over SIZE"),
    ("team repair", "atm doctor TEAM --fix"),
    ("verify", "atm track ID|TEXT"),
    // To look.
    ("agents", "atm members"),
    ("alive", "atm status NAME --why"),
    ("cat", "atm inbox NAME"),
    ("events", "atm watch"),
    ("find", "atm search WORDS"),
    ("follow", "atm watch"),
    ("grep", "atm search WORDS"),
    ("history", "atm log"),
    ("info", "atm status"),
    ("list", "atm members"),
    ("ls", "atm members"),
    ("messages", "atm inbox NAME"),
    ("metrics", "atm stats"),
    ("overview", "atm status"),
    ("people", "atm members"),
    ("ping", "atm health NAME"),
    ("ps", "atm members"),
    ("queue", "atm pending"),
    ("show", "atm thread ID"),
    ("tail", "atm watch"),
    ("teams", "atm team list"),
    ("trace", "atm track ID"),
    ("unread", "atm inbox NAME --unread"),
    ("waiting", "atm pending"),
    ("who", "atm members"),
    ("whoami", "atm config"),
    ("why", "atm status NAME --why"),
    // To talk.
    ("all", "atm broadcast TEXT"),
    ("announce", "atm broadcast TEXT"),
    ("answer", "atm reply ID TEXT"),
    ("cancel", "atm recall ID"),
    ("ask", "atm request NAME TYPE"),
    ("check", "atm read"),
    ("confirm", "atm ack ID"),
    ("dm", "atm send NAME TEXT"),
    ("mail", "atm inbox NAME"),
    ("message", "atm send NAME TEXT"),
    ("msg", "atm send NAME TEXT"),
    ("poll", "atm read"),
    ("post", "atm send NAME TEXT"),
    ("receive", "atm read"),
    ("say", "atm send NAME TEXT"),
    ("retract", "atm recall ID"),
    ("tell", "atm send NAME TEXT"),
    ("undo", "atm recall ID"),
    ("unsend", "atm recall ID"),
    ("write", "atm send NAME TEXT"),
    // To work.
    ("assign", "atm task assign ID NAME"),
    ("claim", "atm task claim ID"),
    ("done", "atm task complete ID"),
    ("file", "atm artifacts put FILE"),
    ("files", "atm artifacts list"),
    ("issue", "atm task"),
    ("jobs", "atm task list"),
    ("lock", "atm task claim ID"),
    ("tasks", "atm task list"),
    ("todo", "atm task"),
    ("todos", "atm task list"),
    // To run members.
    ("add", "atm member add NAME"),
    ("create", "atm team create NAME"),
    ("delete", "atm team delete NAME"),
    ("end", "atm shutdown request NAME"),
    ("join", "atm team join"),
    ("launch", "atm spawn NAME"),
    ("leave", "atm member remove NAME"),
    ("logs", "atm peek NAME"),
    ("new", "atm team create NAME"),
    ("poke", "atm wake NAME"),
    ("remind", "atm wake NAME"),
    ("remove", "atm member remove NAME"),
    ("restart", "atm respawn NAME"),
    ("rm", "atm member remove NAME"),
    ("run", "atm spawn NAME"),
    ("screen", "atm peek NAME"),
    ("start", "atm spawn NAME"),
    ("stop", "atm shutdown request NAME"),
    // Below a command.
    ("config get", "atm config"),
    ("config list", "atm config"),
    ("config show", "atm config"),
    ("member list", "atm members"),
    ("task add", "atm task create SUBJECT"),
    ("task done", "atm task complete ID"),
    ("task ls", "atm task list"),
    ("task new", "atm task create SUBJECT"),
    ("task start", "atm task claim ID"),
    ("team add", "atm member add NAME"),
    ("team ls", "atm team list"),
    ("team members", "atm members"),
    ("team new", "atm team create NAME"),
    ("team remove", "atm team delete NAME"),
    ("team rename", "atm team alias NAME TEAM"),
    ("team rm", "atm team delete NAME"),
    // To keep it in order.
    ("backup", "atm team backup"),
    ("cleanup", "atm clean"),
    ("convert", "atm team convert NAME"),
    ("cron", "atm tend"),
    ("service", "atm daemon"),
    ("alert", "atm notify test"),
    ("notification", "atm notify test"),
    ("notifications", "atm notify test"),
    ("export", "atm team export"),
    ("fix", "atm doctor --fix"),
    ("gc", "atm clean"),
    ("import", "atm team import FILE"),
    ("init", "atm team create NAME"),
    ("lint", "atm validate"),
    ("purge", "atm clean"),
    ("repair", "atm doctor --fix"),
    ("restore", "atm team restore FILE"),
    ("resend", "atm retry"),
    ("settings", "atm config"),
    ("setup", "atm install CLIENT"),
    ("upgrade", "atm migrate"),
    ("version", "atm --version"),
];

/// The command that a word stands for, below another command or none.
fn meant(below: Option<&str>, word: &str) -> Option<&'static str> {
    let word = word.trim_end_matches(['?', '!']).to_ascii_lowercase();
    let typed = below.map_or_else(|| word.clone(), |below| format!("{below} {word}"));
    let found = MEANT.iter().find(|(tried, _)| *tried == typed).map(|(_, command)| *command);
    found.filter(|command| {
        let first = command.split(' ').nth(1).unwrap_or_default();
        first.starts_with("--") || Command::describe(first).is_some()
    })
}

/// What to say instead of `atm send` to somebody who is no single name, if that is it.
pub(crate) fn instead_of_send(to: &str) -> Option<String> {
    const EVERYBODY: [&str; 8] =
        ["*", "@all", "all", "everybody", "everyone", "members", "team", "broadcast"];
    if EVERYBODY.contains(&to.to_ascii_lowercase().as_str()) {
        return Some("`atm broadcast TEXT` writes to everybody".to_owned());
    }
    let names: Vec<&str> = to.split([',', ';', ' ']).filter(|name| !name.is_empty()).collect();
    let list = || format!("`atm broadcast --to {} TEXT` writes to several", names.join(","));
    (names.len() > 1).then(list)
}

/// Puts what was probably meant into the error for a command that does not exist.
pub(crate) fn add_to(error: &mut clap::Error) {
    match error.kind() {
        ErrorKind::InvalidSubcommand => add_command(error),
        ErrorKind::ValueValidation => add_recipients(error),
        ErrorKind::UnknownArgument => {
            add_reader(error);
            add_option(error);
        }
        ErrorKind::InvalidValue => add_colour(error),
        _ => {}
    }
}

fn tip(error: &mut clap::Error, words: String) {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(words)]));
}

/// The colour of a member, given to the option for the colours of the answer.
fn add_colour(error: &mut clap::Error) {
    let is_colour = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(arg)) if arg.starts_with("--color"));
    let command = env::args().skip(1).find(|word| Command::describe(word).is_some());
    if is_colour && command.is_some_and(|command| command == "member" || command == "spawn") {
        tip(error, "--member-color is the option for a member's own colour".to_owned());
    }
}

fn add_recipients(error: &mut clap::Error) {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return };
    let is_send =
        env::args().skip(1).find(|word| Command::describe(word).is_some()).is_some_and(|word| word == "send");
    let is_recipient =
        matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(arg)) if arg.contains("TO"));
    if let Some(words) = instead_of_send(value).filter(|_| is_send && is_recipient) {
        tip(error, words);
    }
}

/// Somebody names a mailbox to read, which only its owner does.
fn add_reader(error: &mut clap::Error) {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg) else { return };
    let is_read =
        env::args().skip(1).find(|word| Command::describe(word).is_some()).is_some_and(|word| word == "read");
    if is_read && !name.starts_with('-') {
        let words =
            format!("`atm inbox {name}` looks, and marks nothing; `atm --as {name} read` reads as {name}");
        tip(error, words);
    }
}

/// Options that other programs have for what a command of ours calls otherwise.
const OPTIONS: [(&str, &[&str], &str); 6] = [
    ("task", &["--assign", "--assignee", "--assigned-to", "--to", "--for"], "--owner NAME"),
    ("task", &["--hours", "--estimated-hours", "--time"], "--estimate HOURS"),
    ("task", &["--depends-on", "--depends", "--after", "--needs"], "--blocked-by ID,…"),
    ("send", &["--subject", "--title"], "--summary TEXT"),
    ("send", &["--urgent", "--important"], "--priority high"),
    ("send", &["--reply", "--in-reply-to"], "--reply-to ID"),
];

/// An option that means the same, where the command has one; in place of one that is only spelled like it.
fn add_option(error: &mut clap::Error) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return };
    let given = given.split(['=', ' ']).next().unwrap_or_default().to_owned();
    let command = env::args().skip(1).find(|word| Command::describe(word).is_some()).unwrap_or_default();
    let fits = |(of, words, _): &&(&str, &[&str], &str)| *of == command && words.contains(&given.as_str());
    if let Some((.., meant)) = OPTIONS.iter().find(fits) {
        error.remove(ContextKind::SuggestedArg);
        tip(error, format!("`{meant}` does that"));
    }
}

fn add_command(error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let arguments = env::args().skip(1).take_while(|argument| argument != word);
    let below = arguments.filter(|word| word != "help" && Command::describe(word).is_some()).last();
    let bare = word.trim_end_matches(['?', '!']).to_ascii_lowercase();
    let command = match &below {
        Some(below) if bare == "help" => Some(format!("atm help {below}")),
        None if Command::describe(&bare).is_some() => Some(format!("atm {bare}")),
        _ => meant(below.as_deref(), word).map(ToOwned::to_owned),
    };
    let Some(command) = command else { return };
    // What is only spelled like it would be a second guess.
    error.remove(ContextKind::SuggestedSubcommand);
    tip(error, format!("`{command}` does that"));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn words_that_people_try_lead_to_the_command() {
        for (below, word, command) in [
            (None, "todo", "atm task"),
            (None, "WHO", "atm members"),
            (None, "whoami?", "atm config"),
            (None, "presence", "atm status NAME --why"),
            (Some("team"), "repair", "atm doctor TEAM --fix"),
        ] {
            assert_eq!(meant(below, word), Some(command), "{word}");
        }
        assert_eq!(meant(Some("task"), "repair"), None);
        assert_eq!(meant(None, "xyzzy"), None);
    }

    #[test]
    fn several_recipients_are_a_broadcast() {
        for to in ["all", "*", "Everyone"] {
            assert!(instead_of_send(to).unwrap().contains("`atm broadcast TEXT`"), "{to}");
        }
        for to in ["bob,alice", "bob, alice", "bob;alice"] {
            assert!(instead_of_send(to).unwrap().contains("`atm broadcast --to bob,alice TEXT`"), "{to}");
        }
        assert_eq!(instead_of_send("bob"), None);
        assert_eq!(instead_of_send("bob@dev"), None);
    }

    #[test]
    fn every_suggestion_is_a_command_and_no_word_is_one() {
        let mut atm = crate::args::Args::command();
        atm.build();
        let find =
            |words: &str| words.split(' ').try_fold(&atm, |command, word| command.find_subcommand(word));
        for (tried, command) in MEANT {
            assert!(find(tried).is_none(), "{tried} is a command");
            let mut command_words = command.split(' ').skip(1);
            let first = command_words.next().unwrap();
            if first.starts_with("--") {
                continue;
            }
            let Some(found) = atm.find_subcommand(first) else { panic!("{command} is none") };
            if let Some(second) =
                command_words.next().filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
            {
                assert!(!found.has_subcommands() || found.find_subcommand(second).is_some(), "{command}");
            }
        }
        let mut sorted: Vec<&str> = MEANT.iter().map(|(tried, _)| *tried).collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), MEANT.len(), "a word stands twice in the list");
    }
}
