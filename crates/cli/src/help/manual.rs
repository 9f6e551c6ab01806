//! The manual pages: what the parser knows of a command, and the sections that a manual page has besides.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::topics::{FILES, VARIABLES};
use super::{below_path, examples, reflow};
use crate::args::Args;
use crate::exit::ExitCode;

/// The page of the whole program.
pub(crate) fn main_page() -> io::Result<Vec<u8>> {
    page(built(), "")
}

/// The pages of the program and of every command, each with the name of its file.
pub(crate) fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    collect(built(), "", &mut pages)?;
    Ok(pages)
}

fn built() -> Command {
    let mut atm = Args::command();
    atm.build();
    atm
}

fn collect(command: Command, path: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below.clone(), &below_path(path, below.get_name()), pages)?;
    }
    pages.push((format!("{}.1", name(path)), page(command, path)?));
    Ok(())
}

/// `atm-task-create`.
fn name(path: &str) -> String {
    if path.is_empty() { "atm".to_owned() } else { format!("atm-{}", path.replace(' ', "-")) }
}

fn page(command: Command, path: &str) -> io::Result<Vec<u8>> {
    let notes = command.get_after_help().map(|text| reflow::paragraphs(&text.to_string()));
    let has_commands = command.has_subcommands();
    let man = Man::new(command).title(name(path)).manual("atm");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if has_commands {
        man.render_subcommands_section(&mut out)?;
    }
    if let Some(notes) = notes {
        section(&mut out, "NOTES")?;
        text(&mut out, &notes)?;
    }
    section(&mut out, "EXIT STATUS")?;
    let codes = ExitCode::table();
    list(&mut out, codes.iter().map(|(code, meaning)| (code.as_str(), *meaning)))?;
    // The program's own page has all of them; the others would only repeat it.
    section(&mut out, "ENVIRONMENT")?;
    let matters = |(variable, _): &&(&str, &str)| path.is_empty() || variable.starts_with("ATM_");
    list(&mut out, VARIABLES.iter().filter(matters).copied())?;
    section(&mut out, "FILES")?;
    if path.is_empty() {
        text(
            &mut out,
            "ROOT is the shared tree, usually ~/.claude; STATE is our own, usually ~/.local/state/atm.",
        )?;
        list(&mut out, FILES.iter().copied())?;
    } else {
        text(&mut out, "The settings, the shared tree and our own state are listed in atm(1).")?;
    }
    if let Some(lines) = examples::of(path).or_else(|| path.is_empty().then_some(FIRST_STEPS)) {
        section(&mut out, "EXAMPLES")?;
        let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        text(&mut out, &lines.join("\n"))?;
    }
    section(&mut out, "SEE ALSO")?;
    let above = path.rsplit_once(' ').map_or("", |(above, _)| above);
    let see = if path.is_empty() {
        "atm\\-help(1), atm\\-status(1), atm\\-send(1)".to_owned()
    } else {
        format!("{}(1)", name(above).replace('-', "\\-"))
    };
    writeln!(out, "{see}")?;
    man.render_version_section(&mut out)?;
    Ok(out)
}

/// What somebody would type first.
const FIRST_STEPS: &[&str] = &["atm demo", "atm status", "atm send bob \"please look at the build\""];

fn section(out: &mut Vec<u8>, heading: &str) -> io::Result<()> {
    // A blank must not make two arguments of it.
    writeln!(out, ".SH \"{heading}\"")
}

/// Terms and what they mean.
fn list<'a>(out: &mut Vec<u8>, rows: impl Iterator<Item = (&'a str, &'a str)>) -> io::Result<()> {
    for (term, meaning) in rows {
        writeln!(out, ".TP\n\\fB{}\\fR\n{}", escaped(term), escaped(meaning))?;
    }
    Ok(())
}

/// Prose, of which indented lines are shown as they are.
fn text(out: &mut Vec<u8>, text: &str) -> io::Result<()> {
    let mut is_code = false;
    for line in text.lines() {
        let code = line.starts_with(' ') || (is_code && line.is_empty());
        if code != is_code {
            writeln!(out, "{}", if code { ".PP\n.nf\n.RS 2" } else { ".RE\n.fi\n.PP" })?;
            is_code = code;
        }
        match line {
            "" => writeln!(out, ".PP")?,
            line => writeln!(out, "{}", escaped(line.strip_prefix("  ").filter(|_| code).unwrap_or(line)))?,
        }
    }
    if is_code {
        writeln!(out, ".RE\n.fi")?;
    }
    Ok(())
}

/// A line as roff takes it: no character of it is an instruction.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('~', "\\(ti").replace('^', "\\(ha");
    let line = line.replace('`', "\\(ga").replace('\'', "\\(aq");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_text_is_an_instruction() {
        assert_eq!(escaped(".atm.toml"), "\\&.atm.toml");
        assert_eq!(escaped("'a' \\n --b ~/c"), "\\(aqa\\(aq \\en \\-\\-b \\(ti/c");
        let mut out = Vec::new();
        text(&mut out, "So:\n  a\n  b\nThen.").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "So:\n.PP\n.nf\n.RS 2\na\nb\n.RE\n.fi\n.PP\nThen.\n");
    }
}
