//! The client that a hook or a server of ours runs below: the nearest process above it that is not a shell.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use atm_clients::claude::process::agent_id;
use atm_clients::{AgentClient, Invocation};

/// Clients call us directly, or through one shell or two.
const AT_MOST: usize = 4;
/// Nobody looks farther up than this.
const FARTHEST: usize = 16;
/// Programs that only pass a call on.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"];

/// A client's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProcess {
    /// Its number.
    pub pid: u64,
    /// When it started, as the system spells it; empty where nothing says.
    pub start: String,
    /// The member that its command line names: `NAME@TEAM`.
    pub agent_id: Option<String>,
    /// How it was started.
    pub invocation: Invocation,
}

/// What is known of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    parent: u64,
    start: String,
    words: Vec<String>,
    is_split: bool,
    has_terminal: Option<bool>,
}

impl Process {
    fn into_client(self, pid: u64) -> ClientProcess {
        let agent_id = agent_id(self.words.iter().map(String::as_str));
        let invocation =
            Invocation { words: self.words, is_split: self.is_split, has_terminal: self.has_terminal };
        ClientProcess { pid, start: self.start, agent_id, invocation }
    }
}

/// The client above a process whose parent is `parent`.
pub(super) fn client_above(parent: u64) -> Option<ClientProcess> {
    find(parent, look)
}

/// Whether a process whose parent is `parent` runs below the process `pid`.
pub(super) fn is_above(parent: u64, pid: u64) -> bool {
    let next = |below: &u64| look(*below).map(|process| process.parent).filter(|above| *above > 1);
    std::iter::successors(Some(parent), next).take(FARTHEST).any(|above| above == pid)
}

/// The nearest process above one whose parent is `parent` that is an agent's client by its name.
pub(super) fn named_client_above(parent: u64) -> Option<ClientProcess> {
    find_named(parent, look)
}

fn find_named(parent: u64, look: impl Fn(u64) -> Option<Process>) -> Option<ClientProcess> {
    let mut pid = parent;
    for _ in 0..FARTHEST {
        let process = Some(pid).filter(|pid| *pid > 1).and_then(&look)?;
        if is_client(&process.words) {
            return Some(process.into_client(pid));
        }
        pid = process.parent;
    }
    None
}

/// Whether a command line is that of an agent's client: its program, or the script that an interpreter runs.
fn is_client(words: &[String]) -> bool {
    let is_name = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let name = [".js", ".mjs", ".cjs"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        name.parse::<AgentClient>().is_ok()
    };
    let mut words = words.iter().map(String::as_str);
    let is_program = words.next().is_some_and(is_name);
    is_program || words.find(|word| !word.starts_with('-')).is_some_and(is_name)
}

fn look(pid: u64) -> Option<Process> {
    by_proc(pid).unwrap_or_else(|| by_ps(pid))
}

fn find(parent: u64, look: impl Fn(u64) -> Option<Process>) -> Option<ClientProcess> {
    let mut pid = parent;
    for _ in 0..AT_MOST {
        if pid <= 1 {
            return None;
        }
        let process = look(pid)?;
        if !is_shell(&process.words) {
            return Some(process.into_client(pid));
        }
        pid = process.parent;
    }
    None
}

fn is_shell(words: &[String]) -> bool {
    let program = words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    SHELLS.contains(&program.trim_start_matches('-'))
}

/// `None` where the system has no `/proc`; there, what it does not know is not there.
#[expect(clippy::option_option, reason = "no /proc is something else than no process")]
fn by_proc(pid: u64) -> Option<Option<Process>> {
    let folder = format!("/proc/{pid}");
    let Ok(stat) = fs::read_to_string(format!("{folder}/stat")) else {
        return fs::metadata("/proc/self/stat").is_ok().then_some(None);
    };
    let line = fs::read(format!("{folder}/cmdline")).unwrap_or_default();
    let has_terminal =
        has_terminal(&[0, 1].map(|stream| fs::read_link(format!("{folder}/fd/{stream}")).ok()));
    Some(of_stat(&stat, &line).map(|process| Process { has_terminal, ..process }))
}

/// Whether what a process reads and what it writes are a terminal; what is shown of one may do.
fn has_terminal(streams: &[Option<PathBuf>; 2]) -> Option<bool> {
    let is_terminal = |path: &PathBuf| {
        let path = path.to_string_lossy();
        ["/dev/pts/", "/dev/tty", "/dev/console"].iter().any(|start| path.starts_with(start))
    };
    let shown = streams.each_ref().map(|path| path.as_ref().map(is_terminal));
    if shown.contains(&Some(false)) { Some(false) } else { shown[0].and(shown[1]) }
}

fn of_stat(stat: &str, line: &[u8]) -> Option<Process> {
    // The name, in brackets, may hold anything; the fields come behind it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        start: fields.get(19).map(ToString::to_string).unwrap_or_default(),
        words: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
        is_split: false,
        has_terminal: None,
    })
}

fn by_ps(pid: u64) -> Option<Process> {
    let listed = Command::new("ps")
        .args(["-ww", "-o", "ppid=,lstart=,args=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    of_ps(&String::from_utf8_lossy(&listed.stdout))
}

/// A line of `ps`: the parent, five words of time, the command. A word with a blank in it cannot be told from two.
fn of_ps(line: &str) -> Option<Process> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(Process {
        parent: words.first()?.parse().ok()?,
        start: words.get(1..6)?.join(" "),
        words: words.get(6..)?.iter().map(ToString::to_string).collect(),
        is_split: true,
        has_terminal: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(parent: u64, line: &str) -> Process {
        let words = line.split(' ').map(ToOwned::to_owned).collect();
        Process { parent, start: "7".to_owned(), words, is_split: false, has_terminal: None }
    }

    #[test]
    fn the_nearest_process_that_is_no_shell_is_the_client() {
        let machine = |pid: u64| match pid {
            10 => Some(process(9, "/bin/sh -c atm")),
            9 => Some(process(8, "claude --agent-id bob@dev")),
            8 => Some(process(1, "-bash")),
            // A plain session that a member started.
            20 => Some(process(21, "claude -p hello")),
            21 => Some(process(9, "bash -c claude")),
            30 => Some(process(1, "bash")),
            40 => Some(process(40, "sh")),
            _ => None,
        };
        let agent = |parent| find(parent, machine).map(|client| (client.pid, client.agent_id));
        assert_eq!(agent(10), Some((9, Some("bob@dev".to_owned()))));
        assert_eq!(agent(9), Some((9, Some("bob@dev".to_owned()))));
        assert_eq!(agent(20), Some((20, None)), "it is not the member that started it");
        assert_eq!(agent(30), None, "only shells up to the first process");
        assert_eq!(agent(40), None, "a circle ends");
        assert_eq!(agent(50), None);
    }

    /// A tool of an agent may be a script of many processes: the client is the one with a client's name.
    #[test]
    fn a_client_is_found_by_its_name_behind_other_programs() {
        let machine = |pid: u64| match pid {
            10 => Some(process(9, "python3 build.py")),
            9 => Some(process(8, "/bin/bash -c python3 build.py")),
            8 => Some(process(7, "node --no-warnings /usr/lib/gemini.js --yolo")),
            7 => Some(process(1, "-zsh")),
            20 => Some(process(21, "make test")),
            21 => Some(process(1, "tmux")),
            30 => Some(process(30, "vi claude.md")),
            40 => Some(process(1, "/opt/claude --agent-id bob@dev")),
            _ => None,
        };
        let found = |parent| find_named(parent, machine).map(|client| client.pid);
        assert_eq!(found(10), Some(8));
        assert_eq!(found(20), None);
        assert_eq!(found(30), None, "a circle ends");
        assert_eq!(find_named(40, machine).unwrap().agent_id.as_deref(), Some("bob@dev"));
    }

    #[test]
    fn a_process_has_a_terminal_if_it_reads_from_one_and_writes_to_one() {
        let row = |input: &str, output: &str| {
            has_terminal(&[input, output].map(|path| (!path.is_empty()).then(|| PathBuf::from(path))))
        };
        for (input, output, expected) in [
            ("/dev/pts/3", "/dev/pts/3", Some(true)),
            ("/dev/tty1", "/dev/console", Some(true)),
            ("pipe:[42]", "/dev/pts/3", Some(false)),
            ("/dev/null", "/dev/null", Some(false)),
            ("/dev/pts/3", "/tmp/log", Some(false)),
            ("pipe:[42]", "", Some(false)),
            ("/dev/pts/3", "", None),
            ("", "", None),
        ] {
            assert_eq!(row(input, output), expected, "{input} {output}");
        }
    }

    #[test]
    fn both_ways_tell_the_same_of_this_process() {
        let pid = u64::from(std::process::id());
        let (first, second) = (by_proc(pid), by_ps(pid).unwrap());
        if let Some(first) = first.flatten() {
            assert_eq!(first.parent, second.parent);
            assert_eq!(first.words.first(), second.words.first());
        }
        let parent = u64::from(std::os::unix::process::parent_id());
        assert_eq!(second.parent, parent);
        assert!(is_above(parent, parent) && !is_above(parent, pid));
        // There a prompt is several words, one of which may be a command's name.
        let asked = of_ps("1 Thu Nov 19 04:00:00 2026 codex review my changes").unwrap().into_client(7);
        assert!(!AgentClient::Codex.is_single_run(&asked.invocation));
        let odd = of_stat("42 (a) b) S 7 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 322905 1", b"x\0--y\0").unwrap();
        assert_eq!((odd.parent, odd.start.as_str()), (7, "322905"));
        assert_eq!(odd.words, ["x", "--y"]);
    }
}
