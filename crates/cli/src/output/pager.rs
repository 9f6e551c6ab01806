//! A pager, as `git` uses one: for what is longer than the screen, on a terminal.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use super::fit;
use super::screen::Screen;
use crate::stop;

/// What `less` does unless the user says otherwise: it ends when all fits, passes colours, and leaves the text there.
const LESS: &str = "FRX";

/// The user's pager; none where the user wants none.
pub(crate) fn of_environment() -> Option<String> {
    let said = |name: &str| env::var(name).ok();
    let pager = said("ATM_PAGER").or_else(|| said("PAGER")).unwrap_or_else(|| "less".to_owned());
    let is_dumb = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let pager = pager.trim();
    (!is_dumb && !pager.is_empty() && pager != "cat").then(|| pager.to_owned())
}

/// Whether a text is longer than the screen.
pub(crate) fn is_needed(text: &str, screen: Screen) -> bool {
    let (Some(rows), Some(columns)) = (screen.rows, screen.columns) else { return false };
    let high = |line: &str| fit::width(&fit::without_colours(line)).div_ceil(columns.max(1)).max(1);
    // The prompt takes a line, too.
    text.lines().map(high).sum::<usize>() >= rows
}

/// Shows a text in the pager, until the user has seen enough. Says whether it could be started.
pub(crate) fn show(pager: &str, text: &[u8]) -> io::Result<bool> {
    let paging = stop::leave_interrupts_to_the_pager();
    let Ok(mut child) = start(pager) else { return Ok(false) };
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text));
    let status = child.wait()?;
    drop(paging);
    match written {
        // The user has seen enough. A shell that does not find the pager ends like that, too.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(status.code() != Some(127)),
    }
}

fn start(pager: &str) -> io::Result<Child> {
    // What is only words needs no shell; without one, a program that is not there is noticed.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=,: ".contains(c);
    let mut words = pager.split(' ').filter(|word| !word.is_empty());
    let mut command = match words.next() {
        Some(program) if pager.chars().all(is_plain) && !program.contains('=') => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        _ => {
            let mut command = Command::new("sh");
            command.args([OsStr::new("-c"), OsStr::new(pager)]);
            command
        }
    };
    for (name, value) in [("LESS", LESS), ("LV", "-c")] {
        if env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::piped()).spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_high_as_the_screen_is_paged() {
        let screen = Screen { columns: Some(10), rows: Some(4) };
        assert!(!is_needed("one\ntwo\nthree\n", screen));
        assert!(is_needed("one\ntwo\nthree\nfour\n", screen));
        assert!(is_needed("one\n this takes two\nthree\n", screen));
        assert!(!is_needed("one\n\x1b[1mcolours\x1b[0m\nthree\n", screen));
        assert!(!is_needed(&"line\n".repeat(100), Screen { columns: Some(10), rows: None }));
    }

    #[test]
    fn a_pager_that_is_not_there_is_noticed() {
        assert!(!show("no-such-pager-here", b"text").unwrap());
        assert!(!show("no-such-pager-here 2>/dev/null", b"text").unwrap());
        assert!(show("true", &vec![b'x'; 1 << 20]).unwrap(), "quitting early is no error");
    }
}
