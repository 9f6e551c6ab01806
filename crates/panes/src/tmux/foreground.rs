//! Whether a pane's first program is the one that its terminal listens to.

use std::fs;
use std::process::{Command, Stdio};

/// Shells that show a prompt and wait for a line.
const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "ash"];

/// Whether the process is a shell that runs no script and no command, so that it is at its prompt.
pub(super) fn shell_waits(pid: u32, command: &str) -> bool {
    if !SHELLS.contains(&command.trim_start_matches('-')) {
        return false;
    }
    let Some(facts) = facts(pid) else { return false };
    // A shell that was given a script or `-c` is at work, even while nothing else is in the foreground.
    let interactive = facts.arguments.iter().skip(1).all(|word| word.starts_with('-') && !word.contains('c'));
    facts.group == facts.foreground && interactive
}

struct Facts {
    group: i64,
    foreground: i64,
    arguments: Vec<String>,
}

/// What the system knows of a process: by `/proc`, or where there is none, by `ps`.
fn facts(pid: u32) -> Option<Facts> {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return facts_by_ps(pid) };
    // The name, in brackets, may hold anything; the numbers come behind it.
    let numbers: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| numbers.get(index)?.parse().ok();
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    Some(Facts {
        group: number(2)?,
        foreground: number(5)?,
        arguments: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
    })
}

fn facts_by_ps(pid: u32) -> Option<Facts> {
    let said = Command::new("ps")
        .args(["-o", "pgid=,tpgid=,args=", "-p", &pid.to_string()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut words = text.split_whitespace().map(ToOwned::to_owned);
    let group = words.next()?.parse().ok()?;
    let foreground = words.next()?.parse().ok()?;
    Some(Facts { group, foreground, arguments: words.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_agree_about_this_process() {
        let pid = std::process::id();
        let (first, second) = (facts(pid).unwrap(), facts_by_ps(pid).unwrap());
        assert_eq!((first.group, first.foreground), (second.group, second.foreground));
        assert!(!first.arguments.is_empty() && !second.arguments.is_empty());
    }

    #[test]
    fn what_is_no_shell_never_waits_at_a_prompt() {
        assert!(!shell_waits(std::process::id(), "claude"));
        assert!(!shell_waits(0, "sh"));
    }
}
