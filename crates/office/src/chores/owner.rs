//! Which process took a step, and whether it still runs.

use std::fs;
use std::process;

use atm_ledger::{StepOwner, StepRow};
use atm_wire::Stamp;

use crate::people::process::{pid_space, started};

/// A step takes seconds. One whose owner cannot be asked from here, since it is in another container, counts as dropped
/// after this long.
const LONG_MS: i64 = 10 * 60 * 1_000;

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
    if owner.boot == here {
        return start != Some(owner.start.as_str());
    }
    let machine = |boot: &str| boot.split_once(' ').map(|(machine, _)| machine.to_owned());
    // Another start of this machine has ended all that ran before it; another container cannot be asked.
    machine(&owner.boot) != machine(here) || now.as_millis().saturating_sub(row.taken_at) > LONG_MS
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
