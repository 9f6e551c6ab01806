//! The commands in six groups, and the page that shows them.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::{StyledStr, Styles};

use super::topics;

/// A command and what it is for, in a few words.
type Entry = (&'static str, &'static str);

/// The groups. A name that is not a command is left out.
const GROUPS: [(&str, &[Entry]); 6] = [
    (
        "See",
        &[
            ("status", "the team in one look"),
            ("members", "who is on; what waits"),
            ("inbox", "look into an inbox"),
            ("log", "what was sent, when"),
            ("search", "search all mail"),
            ("thread", "one conversation"),
            ("track", "what became of it"),
            ("pending", "what waits, and why"),
            ("stats", "rates, waiting times"),
            ("mute", "leave it out a while"),
            ("watch", "mail as it comes"),
            ("sessions", "clients that run here"),
            ("ui", "all of it, full screen"),
            ("web", "the same in a browser"),
        ],
    ),
    (
        "Talk",
        &[
            ("send", "send a message"),
            ("reply", "answer a message"),
            ("broadcast", "write to everybody"),
            ("read", "read your own mail"),
            ("ack", "say that it arrived"),
            ("request", "ask, and wait"),
            ("respond", "answer a request"),
            ("recall", "take a message back"),
        ],
    ),
    (
        "Work",
        &[
            ("task", "the shared task list"),
            ("plan", "hand in or decide one"),
            ("shutdown", "ask a member to end"),
            ("artifacts", "reports, logs, files"),
            ("idle", "I have nothing to do"),
            ("heartbeat", "I am alive, this far"),
            ("health", "ask: are you alive?"),
            ("reserve", "keep paths for you"),
            ("release", "give paths back"),
            ("reservations", "who keeps which path"),
        ],
    ),
    (
        "Run",
        &[
            ("team", "make, show, back up"),
            ("member", "add, change, remove"),
            ("spawn", "start one in tmux"),
            ("kill", "close its pane"),
            ("respawn", "start it again"),
            ("attach", "show its pane here"),
            ("peek", "its last lines"),
            ("wake", "wake it for its mail"),
        ],
    ),
    (
        "Care",
        &[
            ("tend", "do all that is due"),
            ("retry", "offer mail again"),
            ("doctor", "find faults, mend them"),
            ("validate", "check files"),
            ("archive", "move read mail away"),
            ("clean", "clear up"),
            ("migrate", "raise file versions"),
            ("daemon", "tend in the background"),
            ("notify", "try a notification"),
            ("bridge", "teams on many machines"),
        ],
    ),
    (
        "Set up",
        &[
            ("demo", "a team's day, played"),
            ("install", "set up in a client"),
            ("config", "show or set settings"),
            ("mcp", "serve an agent client"),
            ("hook", "called by clients"),
            ("primer", "for an agent's prompt"),
            ("schema", "JSON Schemas"),
            ("completions", "for your shell"),
            ("man", "manual pages"),
            ("help", "a command or a topic"),
        ],
    ),
];

/// All commands of all groups.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = Entry> {
    GROUPS.iter().flat_map(|(_, entries)| entries.iter().copied())
}

/// Whether a path begins with the name of a command that has its place here, and is not there.
#[cfg(test)]
pub(super) fn is_planned(atm: &Command, path: &str) -> bool {
    let first = path.split(' ').next().unwrap_or_default();
    all().any(|(name, _)| name == first) && atm.find_subcommand(first).is_none()
}

/// The page for who asks what there is.
pub(super) fn overview(atm: &Command) -> StyledStr {
    let styles = Styles::styled();
    let (head, name) = (styles.get_header(), styles.get_literal());
    let about = atm.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page =
        format!("{about}\n\n{head}Usage:{head:#} {name}atm{name:#} [OPTIONS] COMMAND [ARGUMENTS]\n\n");
    let is_there = |(command, _): &&Entry| atm.find_subcommand(command).is_some();
    let mut groups: Vec<(&str, Vec<Entry>)> = GROUPS
        .iter()
        .map(|(group, entries)| (*group, entries.iter().filter(is_there).copied().collect()))
        .collect();
    let others = atm.get_subcommands().map(Command::get_name);
    let others =
        others.filter(|name| !GROUPS.iter().flat_map(|(_, all)| *all).any(|(known, _)| known == name));
    let others: Vec<&str> = others.collect();
    groups.retain(|(_, entries)| !entries.is_empty());
    for (group, entries) in &groups {
        let rows = entries.len().div_ceil(2);
        for row in 0..rows {
            let group = if row == 0 { *group } else { "" };
            let _ = write!(page, "{head}{group:<7}{head:#}");
            for (command, brief) in [entries.get(row), entries.get(row + rows)].into_iter().flatten() {
                let _ = write!(page, "{name}{command:<13}{name:#}{brief:<23}");
            }
            page.truncate(page.trim_end().len());
            page.push('\n');
        }
    }
    if !others.is_empty() {
        let _ = writeln!(page, "{head}More   {head:#}{}", others.join(" "));
    }
    let _ = write!(page, "\n{head}Options{head:#} of every command: {}\n\n", options(atm));
    let _ = writeln!(page, "`atm COMMAND --help` has all options and examples of a command;");
    let _ = writeln!(page, "`atm --version --verbose` says how this program was built.");
    let names: Vec<&str> = topics::TOPICS.iter().map(|topic| topic.name).collect();
    let _ = write!(page, "More: atm help {}", names.join(" | "));
    StyledStr::from(page)
}

/// The options that every command takes, in lines that fit below each other.
fn options(atm: &Command) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for option in atm.get_arguments().filter(|option| !option.is_hide_set()) {
        let Some(long) = option.get_long() else { continue };
        let short = option.get_short().map(|short| format!("-{short}/")).unwrap_or_default();
        let value = option.get_value_names().filter(|_| option.get_action().takes_values());
        let value = value.and_then(|names| names.first()).map(|name| format!(" {name}")).unwrap_or_default();
        let word = format!("{short}--{long}{value}");
        // The first line begins behind its heading.
        let room = if lines.len() == 1 { 54 } else { 76 };
        let Some(line) = lines.last_mut() else { break };
        if line.len() + word.len() + 2 > room {
            line.push(',');
            lines.push(word);
        } else if line.is_empty() {
            line.push_str(&word);
        } else {
            let _ = write!(line, ", {word}");
        }
    }
    lines.join("\n  ")
}
