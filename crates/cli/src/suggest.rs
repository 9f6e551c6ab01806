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
    ("ask", "atm request NAME TYPE"),
    ("check", "atm read"),
    ("confirm", "atm ack ID"),
    ("dm", "atm send NAME TEXT"),
    ("mail", "atm inbox NAME"),
    ("message", "atm send NAME TEXT"),
    ("msg", "atm send NAME TEXT"),
    ("notify", "atm send NAME TEXT"),
    ("poll", "atm read"),
    ("post", "atm send NAME TEXT"),
    ("receive", "atm read"),
    ("say", "atm send NAME TEXT"),
    ("tell", "atm send NAME TEXT"),
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
    // To keep it in order.
    ("backup", "atm team backup"),
    ("cleanup", "atm clean"),
    ("convert", "atm team convert NAME"),
    ("cron", "atm tend"),
    ("daemon", "atm tend --watch"),
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
    MEANT.iter().find(|(tried, _)| *tried == typed).map(|(_, command)| *command)
}

/// Puts what was probably meant into the error for a command that does not exist.
pub(crate) fn add_to(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let arguments = env::args().skip(1).take_while(|argument| argument != word);
    let below = arguments.filter(|argument| Command::describe(argument).is_some()).last();
    let bare = word.trim_end_matches(['?', '!']).to_ascii_lowercase();
    let known = below.is_none() && Command::describe(&bare).is_some();
    let command = if known {
        Some(format!("atm {bare}"))
    } else {
        meant(below.as_deref(), word).map(ToOwned::to_owned)
    };
    let Some(command) = command else { return };
    // What is only spelled like it would be a second guess.
    error.remove(ContextKind::SuggestedSubcommand);
    let tip = StyledStr::from(format!("`{command}` does that"));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
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
            let found = atm.find_subcommand(first).unwrap_or_else(|| panic!("{command}"));
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
