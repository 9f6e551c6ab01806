//! A bell or a title in the panes that tmux's clients show.
//!
//! tmux runs `#(…)` in a title as a command, so a title has no character but letters, digits and a few signs.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

use super::{Failed, program};
use crate::event::Event;

/// What happens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tmux {
    /// The bell rings.
    Bell,
    /// The pane is given a title.
    Title,
}

impl Tmux {
    /// The spelling in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bell => "bell",
            Self::Title => "title",
        }
    }

    pub(super) fn send(self, event: &Event) -> Result<(), Failed> {
        let format = "#{pane_id} #{pane_tty}";
        let list = program::run(Command::new("tmux").args(["list-clients", "-F", format]), b"")?;
        let list = String::from_utf8_lossy(&list);
        let mut panes: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(' ')).collect();
        panes.sort_unstable();
        panes.dedup();
        if panes.is_empty() {
            return Err(Failed::new("no client is attached to tmux"));
        }
        for (pane, terminal) in panes {
            match self {
                Self::Bell => ring(terminal).map_err(|error| Failed::new(format!("{terminal}: {error}")))?,
                Self::Title => {
                    let title = plain(&event.title);
                    program::run(Command::new("tmux").args(["select-pane", "-t", pane, "-T", &title]), b"")?;
                }
            }
        }
        Ok(())
    }
}

fn ring(terminal: &str) -> std::io::Result<()> {
    if !terminal.starts_with("/dev/") {
        return Err(std::io::Error::other("that is no terminal"));
    }
    let flags = rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().write(true).custom_flags(flags).open(terminal)?.write_all(b"\x07")
}

/// Without what tmux would understand.
fn plain(text: &str) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || " @._:-".contains(*c);
    text.chars().map(|c| if is_plain(&c) { c } else { '_' }).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_runs_nothing() {
        assert_eq!(plain("atm death: a#(id)b@dev\n\x1b]2;x\x07"), "atm death: a__id_b@dev___2_x_");
    }
}
