//! Processes that say on their command line which member they are.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atm_clients::claude::process::{AGENT_ID, agent_id, is_nameless, root_in, variable};
use memchr::memmem;

use super::probe::{Agent, Nameless};

/// All that run on this machine.
pub(super) fn running() -> Vec<Agent> {
    by_proc(Path::new("/proc")).unwrap_or_else(by_ps)
}

/// The clients that do not say which member they are.
pub(super) fn nameless() -> Vec<Nameless> {
    let by_proc = || {
        let found = lines(Path::new("/proc"), |line| memmem::find(line, b"claude").is_some())?
            .filter(|(_, _, line)| is_nameless(line.split('\0')));
        let client = |(pid, folder, _): (u64, PathBuf, String)| {
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            let pane = variable(&environment, "TMUX_PANE");
            Nameless {
                pid,
                root: root_of(&folder, &environment),
                cwd: fs::read_link(folder.join("cwd")).ok(),
                pane: pane.map(|pane| String::from_utf8_lossy(pane).into_owned()),
            }
        };
        Some(found.map(client).collect())
    };
    by_proc().unwrap_or_else(|| {
        let client = |(pid, words): (u64, Vec<&str>)| {
            is_nameless(words.into_iter()).then_some(Nameless { pid, root: None, cwd: None, pane: None })
        };
        listed().lines().filter_map(words_of).filter_map(client).collect()
    })
}

/// `None` where the system has no `/proc`.
fn by_proc(proc: &Path) -> Option<Vec<Agent>> {
    let named = |(pid, folder, line): (u64, PathBuf, String)| {
        let id = agent_id(line.split('\0'))?;
        let root = match fs::read(folder.join("environ")) {
            // It ended after its line was read: of whichever tree it was, it is nobody's any more.
            Ok(environment) if environment.is_empty() => return None,
            Err(error) if error.kind() == io::ErrorKind::NotFound || !folder.exists() => return None,
            // Another user's.
            Err(_) => None,
            Ok(environment) => root_of(&folder, &environment),
        };
        Some(Agent { id, pid, root })
    };
    let has_id = |line: &[u8]| memmem::find(line, AGENT_ID.as_bytes()).is_some();
    Some(lines(proc, has_id)?.filter_map(named).collect())
}

/// The shared tree of a process that sees the same files under the same names as we do: the paths of a container say
/// nothing here.
fn root_of(folder: &Path, environment: &[u8]) -> Option<PathBuf> {
    let view = |folder: &Path| fs::read_link(folder.join("ns/mnt")).ok();
    let ours = view(Path::new("/proc/self"))?;
    view(folder).filter(|view| *view == ours).and_then(|_| root_in(environment))
}

/// The command lines of all processes that are `wanted`, with their numbers and folders. There may be hundreds of processes,
/// with long lines, and a look at the team reads all of them.
fn lines<'w>(
    proc: &Path,
    wanted: impl Fn(&[u8]) -> bool + 'w,
) -> Option<impl Iterator<Item = (u64, PathBuf, String)> + 'w> {
    fs::metadata(proc.join("self/stat")).ok()?;
    let entries = fs::read_dir(proc).ok()?.filter_map(Result::ok);
    let mut line = vec![0; PIECE];
    Some(entries.filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path();
        // One that ended meanwhile, or waits to be reaped, has none.
        let length = read(&folder.join("cmdline"), &mut line).ok().filter(|length| *length > 0)?;
        let line = Some(&line[..length]).filter(|line| wanted(line))?;
        Some((pid, folder, String::from_utf8_lossy(line).into_owned()))
    }))
}

/// What is read at once: more than most command lines.
const PIECE: usize = 4096;

/// Reads a file of `/proc`, which has no size that could be asked for, into a buffer that grows with it; says how much
/// there is.
fn read(path: &Path, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut file = File::open(path)?;
    let mut length = 0;
    loop {
        match file.read(&mut buffer[length..])? {
            0 => return Ok(length),
            read => length += read,
        }
        // The system fills what it is given as far as it can.
        if length < buffer.len() {
            return Ok(length);
        }
        buffer.resize(2 * length, 0);
    }
}

fn by_ps() -> Vec<Agent> {
    let named =
        |(pid, words): (u64, Vec<&str>)| Some(Agent { id: agent_id(words.into_iter())?, pid, root: None });
    listed().lines().filter_map(words_of).filter_map(named).collect()
}

fn listed() -> String {
    let listed = Command::new("ps").args(["-axww", "-o", "pid=,stat=,args="]).stdin(Stdio::null()).output();
    listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default()
}

/// A line of `ps`: number, state, words. A word with a blank in it cannot be told from two.
fn words_of(line: &str) -> Option<(u64, Vec<&str>)> {
    let mut words = line.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    words.next().filter(|state| !state.starts_with('Z'))?;
    Some((pid, words.collect()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    /// One that ended while it was looked at does not say of which tree it is, and would count for every tree.
    #[test]
    fn a_process_that_ends_while_it_is_read_is_nobody() {
        let proc = tempfile::tempdir().unwrap();
        let process = |pid: &str, environment: Option<&str>| {
            let folder = proc.path().join(pid);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("stat"), "").unwrap();
            fs::write(folder.join("cmdline"), format!("claude\0{AGENT_ID}\0bob{pid}@dev\0")).unwrap();
            if let Some(environment) = environment {
                fs::write(folder.join("environ"), environment).unwrap();
            }
        };
        process("self", None);
        process("1", Some("CLAUDE_CONFIG_DIR=/r\0"));
        process("2", Some(""));
        process("3", None);
        let found: Vec<u64> = by_proc(proc.path()).unwrap().into_iter().map(|agent| agent.pid).collect();
        assert_eq!(found, [1]);
    }

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
