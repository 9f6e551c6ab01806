//! Whether a process that somebody recorded still runs here.

use std::fs;
use std::process::{Command, Stdio};

use atm_wire::team::LeadProcess;

use super::probe::{ProcessProbe, SystemProbe};

/// What became of a recorded process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Runs,
    /// It has ended.
    Gone,
    /// It has ended, and another process has its number.
    Replaced,
    /// It was on another machine, or in another container: from here nobody can tell.
    Elsewhere,
}

/// What became of a lead's process on this machine.
pub fn fate(process: &LeadProcess) -> Option<Fate> {
    fate_by(&SystemProbe, process)
}

/// What became of a lead's process, as `probe` has it.
pub(crate) fn fate_by(probe: &dyn ProcessProbe, process: &LeadProcess) -> Option<Fate> {
    let pid = process.pid?;
    if process.pid_space.as_deref().is_some_and(|space| space != probe.pid_space()) {
        return Some(Fate::Elsewhere);
    }
    let same_start = |start: &str| process.proc_start.as_deref().is_none_or(|recorded| recorded == start);
    Some(match probe.started(pid) {
        Some(start) if start.is_empty() || same_start(&start) => Fate::Runs,
        Some(_) => Fate::Replaced,
        None => Fate::Gone,
    })
}

/// A record of a process of this machine, in the spelling that clients use. `None` if there is no such process.
pub(crate) fn record(pid: u64, claimed_at: i64) -> Option<serde_json::Value> {
    let start = started(pid)?;
    let mut record = serde_json::json!({ "pid": pid, "pidSpace": pid_space(), "claimedAt": claimed_at });
    if !start.is_empty() {
        record["procStart"] = start.into();
    }
    Some(record)
}

/// When a process started, as the system spells it: in the kernel's ticks, else as `ps` says; empty where nothing says.
/// `None` if it does not run.
pub(crate) fn started(pid: u64) -> Option<String> {
    let (state, start) = look(pid)?;
    (!state.is_empty() && !state.starts_with(['Z', 'X'])).then_some(start)
}

/// Whether a process was stopped, by its terminal or a debugger.
pub(crate) fn is_stopped(pid: u64) -> bool {
    look(pid).is_some_and(|(state, _)| state.starts_with(['T', 't']))
}

/// What a process does, as the system spells it, and when it started. `None` if there is none of that number.
fn look(pid: u64) -> Option<(String, String)> {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => {
            // The name, in brackets, may hold anything; the fields come behind it.
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
            let state = fields.next().unwrap_or_default().to_owned();
            Some((state, fields.nth(18).unwrap_or_default().to_owned()))
        }
        Err(_) if fs::metadata("/proc/self/stat").is_ok() => None,
        Err(_) => {
            let said = Command::new("ps")
                .args(["-o", "stat=,lstart=", "-p", &pid.to_string()])
                .env("LC_ALL", "C")
                .stdin(Stdio::null())
                .output();
            let said = said.ok().map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned())?;
            let (state, start) = said.split_once(char::is_whitespace).unwrap_or((&said, ""));
            Some((state.to_owned(), start.trim().to_owned()))
        }
    }
}

/// Where a process number means something: the machine, and where there are such, the namespace.
pub(crate) fn pid_space() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| {
        let said = Command::new("hostname").stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&said.stdout).into_owned())
    });
    let host = host.unwrap_or_default().trim().to_owned();
    match fs::read_link("/proc/self/ns/pid") {
        Ok(namespace) => format!("{host}#{}", namespace.display()),
        Err(_) => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(pid: u64) -> LeadProcess {
        LeadProcess { pid: Some(pid), pid_space: Some(pid_space()), ..LeadProcess::default() }
    }

    #[test]
    fn a_process_is_known_by_its_number_its_start_and_its_space() {
        let pid = u64::from(std::process::id());
        let ours = record(pid, 0).unwrap();
        let start = ours["procStart"].as_str().map(ToOwned::to_owned);
        let alive = LeadProcess { proc_start: start, ..recorded(pid) };
        assert_eq!(fate(&alive), Some(Fate::Runs));
        if cfg!(target_os = "linux") {
            assert_eq!(
                fate(&LeadProcess { proc_start: Some("1".into()), ..alive.clone() }),
                Some(Fate::Replaced)
            );
        }
        let elsewhere = LeadProcess { pid_space: Some("moon#pid:[1]".into()), ..alive };
        assert_eq!(fate(&elsewhere), Some(Fate::Elsewhere));
        assert_eq!(fate(&LeadProcess::default()), None);
    }

    #[test]
    fn one_that_was_stopped_is_told_from_one_that_runs() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = u64::from(child.id());
        let signal = |name: &str| Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
        assert!(!is_stopped(pid));
        assert!(signal("-STOP").success());
        atm_support::wait_until("it is stopped", || is_stopped(pid));
        assert!(started(pid).is_some(), "it has not ended");
        assert!(signal("-CONT").success());
        atm_support::wait_until("it goes on", || !is_stopped(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_stopped(pid));
    }

    #[test]
    fn one_that_has_ended_is_gone() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = u64::from(child.id());
        // Until its parent looks, its number is there, and nothing runs.
        atm_support::wait_until("it has ended", || fate(&recorded(pid)) == Some(Fate::Gone));
        child.wait().unwrap();
        assert_eq!(fate(&recorded(pid)), Some(Fate::Gone));
        assert!(record(pid, 0).is_none());
    }
}
