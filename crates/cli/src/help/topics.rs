//! What belongs to no single command: `atm help TOPIC`, and the same sections of the manual pages.

mod environment;
mod files;

use std::fmt::Write as _;

use crate::exit::ExitCode;

pub(crate) use environment::VARIABLES;
pub(crate) use files::FILES;

/// A page of `atm help`.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    text: fn() -> String,
}

/// All of them.
pub(crate) const TOPICS: [Topic; 4] = [
    Topic { name: "exit-codes", text: exit_codes },
    Topic { name: "json", text: json },
    Topic { name: "environment", text: environment },
    Topic { name: "files", text: files },
];

impl Topic {
    /// The topic of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| topic.name == name)
    }

    /// What is to be said of it.
    pub(crate) fn text(&self) -> String {
        (self.text)()
    }
}

fn exit_codes() -> String {
    let rows = ExitCode::table();
    let mut text = "How a command ends. These numbers are a promise to scripts.\n\n".to_owned();
    push_table(&mut text, rows.iter().map(|(code, meaning)| (code.as_str(), *meaning)));
    text.push_str(
        "
Of several messages (broadcast, send --batch) it is that of the first that
failed. With --json an error is {\"error\":{\"code\",\"message\",\"hint\"}} on stderr;
its code is a word that does not change.
",
    );
    text
}

fn json() -> String {
    let mut text = "\
With --json a command prints one JSON document on stdout, and everything else
on stderr. What goes on for a while (watch, status --watch, tend --watch)
prints JSON Lines: one document on each line, flushed at once.

"
    .to_owned();
    let rows = [
        ("times", "UTC, ISO 8601 with milliseconds: 2026-11-15T06:00:00.000Z"),
        ("ids", "whole; commands take them whole, or at least 6 characters of their start or end"),
        ("warnings", "in \"warnings\" of the answer where its schema has it, and on stderr"),
        ("errors", "{\"error\":{\"code\",\"message\",\"hint\"}} on stderr, with an exit code"),
        ("new keys", "may be added to every object: ignore those that you do not know; none is renamed"),
    ];
    push_table(&mut text, rows.into_iter());
    text.push_str(
        "
`atm schema` lists the schemas, `atm schema COMMAND` prints that of a command's
answer.
",
    );
    text
}

fn environment() -> String {
    let mut text = "A flag counts before a variable, a variable before the settings files.\n\n".to_owned();
    push_table(&mut text, VARIABLES.iter().copied());
    text.push_str("\n`atm config` shows each setting, and where it is from.\n");
    text
}

fn files() -> String {
    let mut text = "\
ROOT is --root, usually ~/.claude; STATE is --state, usually
~/.local/state/atm. `atm config` shows both.

"
    .to_owned();
    push_table(&mut text, FILES.iter().copied());
    text
}

/// Rows of two columns, the first as wide as its widest, the second wrapped.
fn push_table<'a>(text: &mut String, rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
    const WIDTH: usize = 79;
    let first = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, meaning) in rows {
        let mut line = format!("  {name:<first$} ");
        for word in meaning.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                let _ = writeln!(text, "{line}");
                line = " ".repeat(first + 3);
            }
            line.push(' ');
            line.push_str(word);
        }
        let _ = writeln!(text, "{line}");
    }
}
