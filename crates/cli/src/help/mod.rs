//! Help: the overview by groups, examples for every command, and topics that belong to no single command.

pub(crate) mod examples;
mod groups;
pub(crate) mod manual;
mod reflow;
pub(crate) mod topics;

use clap::builder::Styles;
use clap::{Command, CommandFactory};

use crate::args::Args;

/// The command line with its whole help: dearer to make than the parser needs, so only for those who ask.
pub(crate) fn command() -> Command {
    let mut atm = Args::command();
    // The commands describe their arguments only once they are built.
    atm.build();
    let overview = groups::overview(&atm);
    with_examples(atm, "").override_help(overview)
}

/// Adds the examples to a command and all below it; `path` is how the command is called, without `atm`.
fn with_examples(command: Command, path: &str) -> Command {
    let about = command.get_after_help().map(|text| reflow::paragraphs(&text.to_string()));
    let examples = examples::of(path).map(section);
    let text: Vec<String> = about.into_iter().chain(examples).collect();
    let command = if text.is_empty() { command } else { command.after_help(text.join("\n\n")) };
    command.mut_subcommands(|below| {
        let path = below_path(path, below.get_name());
        with_examples(below, &path)
    })
}

/// Whether there is such a command.
pub(crate) fn has_command(path: &str) -> bool {
    let mut atm = Args::command();
    atm.build();
    let found = path.split(' ').try_fold(&atm, |command, word| command.find_subcommand(word));
    found.is_some()
}

/// How a command below another one is called.
pub(crate) fn below_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path} {name}") }
}

/// Examples as a section of a help page.
fn section(lines: &[&str]) -> String {
    let head = Styles::styled().get_header().to_owned();
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    format!("{head}Examples:{head:#}\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that can be called, by its path.
    fn paths(command: &Command, path: &str, found: &mut Vec<String>) {
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            let path = below_path(path, below.get_name());
            found.push(path.clone());
            paths(below, &path, found);
        }
    }

    #[test]
    fn every_command_has_examples_and_every_example_a_command() {
        let mut atm = Args::command();
        atm.build();
        let mut all = Vec::new();
        paths(&atm, "", &mut all);
        for path in &all {
            let examples = examples::of(path).unwrap_or_else(|| panic!("`atm {path}` has no examples"));
            assert!((2..=5).contains(&examples.len()), "{path}: {examples:?}");
            for line in examples {
                assert!(line.contains("atm ") && line.len() <= 96, "{path}: {line}");
            }
        }
        for path in examples::paths() {
            let is_planned = groups::is_planned(&atm, path);
            assert!(all.iter().any(|known| known == path) || is_planned, "{path}: no such command");
        }
    }

    #[test]
    fn every_command_is_in_one_group_and_the_overview_fits_a_screen() {
        let mut atm = command();
        let overview = atm.render_help().to_string();
        for below in atm.get_subcommands() {
            let name = below.get_name();
            assert_eq!(groups::all().filter(|(known, _)| *known == name).count(), 1, "{name}");
        }
        assert!(overview.lines().count() <= 45, "{overview}");
        for line in overview.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(!overview.contains("More "), "{overview}");
    }
}
