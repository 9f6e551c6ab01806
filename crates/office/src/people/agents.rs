//! Processes that say on their command line which member they are.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use atm_clients::claude::process::{AGENT_ID, agent_id, root_in};
use memchr::memmem;

use super::probe::Agent;

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
        if memmem::find(&line, AGENT_ID.as_bytes()).is_none() {
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn real_processes_are_found_by_both_ways_until_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let id = format!("bob@scan-{}", std::process::id());
        let mut child = Command::new("sh")
            .args(["-c", "read -r line", "member", AGENT_ID, &id])
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
