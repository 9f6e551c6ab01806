//! Whether one recorded process still runs: by its number, when it started, and where that number means something.

use std::fs;

/// What became of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// It runs.
    Runs,
    /// There is none of that number.
    Gone,
    /// The number is another process' now.
    Another,
    /// It is of another machine or container: it cannot be asked from here.
    Elsewhere,
}

/// What became of the process of this number, which had started then, in the space of numbers that was called so.
pub fn life_of(pid: u64, started: Option<&str>, space: Option<&str>) -> Process {
    if space.is_some_and(|space| !is_here(space)) {
        return Process::Elsewhere;
    }
    match (start_of(pid), started) {
        (None, _) => Process::Gone,
        (Some(found), Some(recorded)) if found.trim() != recorded.trim() => Process::Another,
        (Some(_), _) => Process::Runs,
    }
}

/// Whether a space's name, `<host>#pid:[<number>]`, is ours. What we cannot compare is taken as ours: then number and
/// start tell.
fn is_here(space: &str) -> bool {
    let (host, numbers) = space.split_once('#').unwrap_or((space, ""));
    let ours = fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned());
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    ours.is_none_or(|ours| !numbers.starts_with("pid:") || ours == numbers)
        && name.is_none_or(|name| host.is_empty() || name.trim() == host)
}

/// When a process started, in the system's own spelling; `None` if it does not run.
#[cfg(target_os = "linux")]
pub(crate) fn start_of(pid: u64) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything; behind it are the third field and those that follow.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    // A process that has ended and whose parent has not looked yet.
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    // The twenty-second field; the state was the third.
    fields.nth(18).map(ToOwned::to_owned)
}

/// When a process started, in the system's own spelling; `None` if it does not run.
#[cfg(not(target_os = "linux"))]
pub(crate) fn start_of(pid: u64) -> Option<String> {
    let asked = std::process::Command::new("ps")
        .args(["-o", "stat=,lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let (state, started) = said.split_once(char::is_whitespace)?;
    (!state.starts_with('Z')).then(|| started.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = u64::from(child.id());
        let start = start_of(pid).unwrap();
        assert_eq!(life_of(pid, Some(&start), None), Process::Runs);
        assert_eq!(life_of(pid, None, None), Process::Runs);
        assert_eq!(life_of(pid, Some("1"), None), Process::Another, "the number was given again");
        assert_eq!(life_of(pid, Some(&start), Some("elsewhere#pid:[1]")), Process::Elsewhere);
        child.kill().unwrap();
        // Until its parent looks, its number is still there, and nothing runs.
        assert_eq!(life_of_when_ended(pid), Process::Gone);
        child.wait().unwrap();
        assert_eq!(life_of(pid, Some(&start), None), Process::Gone);
    }

    /// The kill takes a moment.
    fn life_of_when_ended(pid: u64) -> Process {
        atm_support::wait_until("it has ended", || life_of(pid, None, None) == Process::Gone);
        life_of(pid, None, None)
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_s_space_is_here() {
        let numbers = fs::read_link("/proc/self/ns/pid").unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert!(is_here(&format!("{}#{}", host.trim(), numbers.display())));
        assert!(!is_here(&format!("{}#pid:[1]", host.trim())));
        assert!(!is_here(&format!("not-{}#{}", host.trim(), numbers.display())));
    }
}
