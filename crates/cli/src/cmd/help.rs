//! `atm help`

use std::ffi::OsString;

use clap::Args;
use clap::error::ErrorKind;

use crate::help::{self, topics};

#[derive(Debug, Args)]
#[command(after_help = "\
Topics: exit-codes, json, environment, files. Without words: all commands.")]
pub(crate) struct Help {
    /// A command, like `task create`, or a topic
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<OsString>,
}

impl Help {
    /// The page, as the parser gives the one of `--help`. It needs no settings, so bad ones are no reason to have none.
    pub(crate) fn page(&self) -> clap::Error {
        let topic = match self.words.as_slice() {
            [name] => name.to_str().and_then(topics::Topic::named),
            _ => None,
        };
        match topic {
            Some(topic) => ask(clap::Command::new("atm").override_help(topic.text()), &[]),
            None => ask(help::command(), &self.words),
        }
    }
}

fn ask(command: clap::Command, words: &[OsString]) -> clap::Error {
    let line = [OsString::from("atm")].into_iter().chain(words.iter().cloned()).chain(["--help".into()]);
    match command.try_get_matches_from(line) {
        Err(page) => page,
        Ok(_) => clap::Error::new(ErrorKind::DisplayHelp),
    }
}
