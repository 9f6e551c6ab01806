//! Which process took a step, and whether it still runs.

use std::fs;
use std::process;

use atm_ledger::{StepOwner, StepRow};
use atm_wire::Stamp;

use crate::people::process::{pid_space, started};

/// A step takes seconds. One whose owner cannot be asked from here, since it is in another container, counts as dropped
/// after this long.
const LONG_MS: i64 = 10 * 60 * 1_000;

/// Of a step that is half done, and was left to the next runner.
const NOBODY: &str = "";

/// No process: anybody may go on with what it has.
pub(super) fn nobody() -> StepOwner {
    StepOwner { boot: NOBODY.to_owned(), pid: 0, start: String::new() }
}

/// This process.
pub(super) fn this_process() -> StepOwner {
    let pid = process::id();
    StepOwner { boot: boot(), pid, start: started(u64::from(pid)).unwrap_or_default() }
}

/// Whether a step's owner has ended without finishing it.
pub(super) fn is_abandoned(row: &StepRow, now: Stamp) -> bool {
    judge(row, &boot(), started(u64::from(row.owner.pid)).as_deref(), now)
}

/// `start` is when the process of that number was started that runs here now, if one does.
fn judge(row: &StepRow, here: &str, start: Option<&str>, now: Stamp) -> bool {
    let owner = &row.owner;
    if owner.boot == NOBODY {
        return true;
    }
    if owner.boot == here {
        return start != Some(owner.start.as_str());
    }
    let (their_start, their_space) = owner.boot.split_once(' ').unwrap_or((&owner.boot, ""));
    let (our_start, our_space) = here.split_once(' ').unwrap_or((here, ""));
    let host = |space: &str| space.split('#').next().unwrap_or_default().to_owned();
    // Another start of this machine has ended all that ran before it. Another container, or another machine with the same
    // home, cannot be asked.
    let is_rebooted = their_start != our_start && host(their_space) == host(our_space);
    is_rebooted || now.as_millis().saturating_sub(row.taken_at) > LONG_MS
}

/// This start of the machine, and where process numbers mean something.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {}", id.trim(), pid_space())
}

#[cfg(test)]
mod tests {
    use atm_ledger::{StepKey, StepState};

    use super::*;

    fn row(boot: &str, start: &str) -> StepRow {
        StepRow {
            key: StepKey {
                root: String::new(),
                team: String::new(),
                chore: String::new(),
                subject: String::new(),
                number: 0,
            },
            state: StepState::Taken,
            owner: StepOwner { boot: boot.into(), pid: 7, start: start.into() },
            taken_at: 0,
            ended_at: None,
            what: String::new(),
        }
    }

    #[test]
    fn an_owner_is_known_by_machine_number_and_start() {
        let soon = Stamp::from_millis(1_000);
        let late = Stamp::from_millis(LONG_MS + 1);
        for (boot, start, now, expected) in [
            ("b1 here", Some("5"), late, false),
            ("b1 here", Some("6"), soon, true),
            ("b1 here", None, soon, true),
            ("b0 here", Some("5"), soon, true),
            ("b0 here#pid:[1]", Some("5"), soon, true),
            ("b0 other-host", Some("5"), soon, false),
            ("b0 other-host", Some("5"), late, true),
            (NOBODY, None, soon, true),
            ("b1 elsewhere", None, soon, false),
            ("b1 elsewhere", Some("5"), late, true),
        ] {
            assert_eq!(judge(&row(boot, "5"), "b1 here", start, now), expected, "{boot} {start:?}");
        }
        let mut ours = row("", "");
        ours.owner = this_process();
        assert!(!is_abandoned(&ours, late));
        ours.owner.start.push('1');
        assert!(is_abandoned(&ours, soon));
    }
}
