//! Which numbers count when the next ones are given: one that is far above all others would leave none after it.

use atm_wire::task::TaskId;

use super::entries::{Entries, Entry};
use super::files::TaskFiles;
use super::mirror::{Mirror, MirrorError};

/// By how much a number may be above the highest of those before it. No team leaves out so many, and no bucket has room for the
/// entries by which one could get to the greatest number there is in steps of this size.
const REACH: u64 = 1 << 32;

/// The highest of these numbers, without those that are far above all before them.
pub(super) fn highest(numbers: impl IntoIterator<Item = TaskId>) -> TaskId {
    let mut numbers: Vec<TaskId> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.into_iter().fold(TaskId::NONE, |highest, id| if is_far(id, highest) { highest } else { id })
}

fn is_far(id: TaskId, highest: TaskId) -> bool {
    id.ahead_of(highest) > REACH
}

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// The numbers that machines gave to tasks, as far as they are known here.
    pub(super) fn given(&mut self, team: &str) -> Result<Vec<TaskId>, MirrorError> {
        // Anybody may put something that nobody can read under any number.
        let entries = self.entries.list(team)?.into_iter().filter(|(_, entry)| entry.value.is_some());
        let mut given: Vec<TaskId> = entries.map(|(id, _)| id).collect();
        let known = self.team(team);
        given.extend(known.tasks.keys().copied().chain(known.last));
        Ok(given)
    }

    /// Whether a number is far above all that were given.
    pub(super) fn is_far(&mut self, team: &str, id: TaskId) -> Result<bool, MirrorError> {
        // The numbers of nearly all tasks are small, and then there is nothing to be asked.
        Ok(is_far(id, TaskId::NONE) && is_far(id, highest(self.given(team)?)))
    }

    /// The entry of a task, unless its number is far above the others and nobody here has the task: who keeps to the protocol gives
    /// no such number, and no file here gets it. That is told once.
    pub(super) fn in_reach(
        &mut self,
        team: &str,
        id: TaskId,
        entry: Option<Entry>,
    ) -> Result<Option<Entry>, MirrorError> {
        let Some(found) = entry else { return Ok(None) };
        if self.base(team, id).is_some() || !self.is_far(team, id)? {
            return Ok(Some(found));
        }
        if self.far.insert((team.to_owned(), id)) {
            self.refused.push(("far-number", format!("task {id} of {team} by {}", found.from)));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_far_above_the_others_is_not_the_highest() {
        let highest_of = |numbers: &[u64]| {
            highest(numbers.iter().map(|number| number.to_string().parse().unwrap())).to_string()
        };
        let rows: [(&str, &[u64], u64); 6] = [
            ("none", &[], 0),
            ("in any order", &[7, 2, 5], 7),
            ("many are left out", &[2, 1_000_000, 3], 1_000_000),
            ("the furthest", &[2, 2 + REACH], 2 + REACH),
            ("too far", &[2, 3 + REACH], 2),
            ("the greatest", &[2, (1 << 53) - 1, (1 << 53) - 2], 2),
        ];
        for (case, numbers, expected) in rows {
            assert_eq!(highest_of(numbers), expected.to_string(), "{case}");
        }
    }
}
