//! Processes that say on their command line which member they are.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use memchr::memmem;

use super::probe::Agent;

/// What separate-process members of Claude Code are started with.
const FLAG: &str = "--agent-id";

/// Programs that carry a member's command line without being the member: a tmux server keeps the words of the command
/// that started it for as long as it runs, and searches have them as their pattern.
const OTHERS: [&str; 8] = ["tmux", "screen", "grep", "egrep", "rg", "pgrep", "pkill", "ps"];

/// All that run on this machine.
pub(super) fn running() -> Vec<Agent> {
    by_proc(Path::new("/proc")).unwrap_or_else(by_ps)
}

/// `None` where the system has no `/proc`.
fn by_proc(proc: &Path) -> Option<Vec<Agent>> {
    fs::metadata(proc.join("self/stat")).ok()?;
    let mut agents = Vec::new();
    for entry in fs::read_dir(proc).ok()?.filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that ended meanwhile, or waits to be reaped, has none.
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        if memmem::find(&line, FLAG.as_bytes()).is_none() {
            continue;
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(id) = agent_id(line.split('\0')) {
            let root = fs::read(entry.path().join("environ")).ok().and_then(|all| root_in(&all));
            agents.push(Agent { id, pid, root });
        }
    }
    Some(agents)
}

fn by_ps() -> Vec<Agent> {
    let listed = Command::new("ps").args(["-axww", "-o", "pid=,stat=,args="]).stdin(Stdio::null()).output();
    let Ok(listed) = listed else { return Vec::new() };
    String::from_utf8_lossy(&listed.stdout).lines().filter_map(by_line).collect()
}

/// A line of `ps`: number, state, words. A word with a blank in it cannot be told from two.
fn by_line(line: &str) -> Option<Agent> {
    let mut words = line.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    words.next().filter(|state| !state.starts_with('Z'))?;
    Some(Agent { id: agent_id(words)?, pid, root: None })
}

/// The member that a command line names.
fn agent_id<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<String> {
    let program = words.next()?.rsplit('/').next()?.trim_end_matches(':');
    if OTHERS.contains(&program) {
        return None;
    }
    while let Some(word) = words.next() {
        let id = match word.strip_prefix(FLAG) {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => continue,
        };
        return id.filter(|id| id.contains('@')).map(ToOwned::to_owned);
    }
    None
}

/// The shared tree that a client of this environment works with.
fn root_in(environment: &[u8]) -> Option<PathBuf> {
    let value = |name: &str| {
        let mut all = environment.split(|byte| *byte == 0);
        let value = all.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        (!value.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(value)))
    };
    value("CLAUDE_CONFIG_DIR").or_else(|| Some(value("HOME")?.join(".claude")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn a_member_is_named_by_a_flag_of_its_own_program() {
        let id = |line: &str| agent_id(line.split(' '));
        assert_eq!(id("claude --agent-id bob@dev --agent-name bob").as_deref(), Some("bob@dev"));
        assert_eq!(id("/usr/bin/node cli.js --agent-id=bob@dev").as_deref(), Some("bob@dev"));
        for other in [
            "claude",
            "claude --agent-id",
            "claude --agent-id bob",
            "claude --agent-ids bob@dev",
            "tmux new-session -d claude --agent-id bob@dev",
            "tmux: server --agent-id bob@dev",
            "/usr/bin/pgrep -f --agent-id bob@dev",
            "",
        ] {
            assert_eq!(id(other), None, "{other}");
        }
    }

    #[test]
    fn the_tree_is_the_one_of_its_environment() {
        let root = |text: &str| root_in(text.as_bytes());
        assert_eq!(root("A=1\0HOME=/home/me\0"), Some("/home/me/.claude".into()));
        assert_eq!(root("HOME=/home/me\0CLAUDE_CONFIG_DIR=/srv/c\0"), Some("/srv/c".into()));
        assert_eq!(root("CLAUDE_CONFIG_DIR=\0HOMES=/x\0"), None);
    }

    #[test]
    fn real_processes_are_found_by_both_ways_until_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let id = format!("bob@scan-{}", std::process::id());
        let mut child = Command::new("sh")
            .args(["-c", "read -r line", "member", FLAG, &id])
            .arg0("sh")
            .env("CLAUDE_CONFIG_DIR", folder.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = u64::from(child.id());
        let of = |agents: Vec<Agent>| agents.into_iter().find(|agent| agent.id == id);
        atm_support::wait_until("it runs", || of(running()).is_some());
        let found = of(running()).unwrap();
        assert_eq!(found.pid, pid);
        if cfg!(target_os = "linux") {
            assert_eq!(found.root.as_deref(), Some(folder.path()));
        }
        assert_eq!(of(by_ps()).map(|agent| agent.pid), Some(pid));
        child.kill().unwrap();
        // Its parent has not reaped it yet, and it is no agent any more.
        atm_support::wait_until("it has ended", || of(running()).is_none() && of(by_ps()).is_none());
        child.wait().unwrap();
    }
}
