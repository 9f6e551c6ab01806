//! Puts that end a hold of a member here: until it is known what came of one, who has the task since may have it by right.

use atm_wire::task::TaskId;

use super::entries::{Away, Entries};
use super::files::TaskFiles;
use super::mirror::Mirror;
use crate::nats::Set;
use crate::protocol::tasks::SharedTask;
use crate::protocol::tasks::home::is_same;

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// Puts an entry in the place of that version. That a hold of a member here may have ended by it is saved before.
    pub(super) fn set_entry(&mut self, value: &SharedTask, revision: u64) -> Result<Set, Away> {
        let (team, id) = (value.team.clone(), value.id);
        let gives_up = self.gives_up(value) && self.team(&team).given_up.insert(id);
        if gives_up {
            // If it cannot be saved, this process knows it all the same.
            let _ = self.save();
        }
        let set = self.entries.set(value, revision);
        if gives_up && matches!(set, Ok(Set::Lost)) {
            self.team(&team).given_up.remove(&id);
        }
        set
    }

    /// Whether a member here has the task by what is remembered, and not by this.
    fn gives_up(&self, value: &SharedTask) -> bool {
        let Some(base) = self.base(&value.team, value.id) else { return false };
        let owner = base.value.owner.as_ref();
        let is_own = owner.is_some_and(|owner| owner.machine == self.me) && base.value.until.is_some();
        let stays = value.text.is_some() && !value.is_completed() && is_same(value.owner.as_ref(), owner);
        is_own && !base.value.is_completed() && !stays
    }

    /// Whether a member here may have given the task up without an answer.
    pub(super) fn is_given_up(&self, team: &str, id: TaskId) -> bool {
        self.memory.teams.get(team).is_some_and(|known| known.given_up.contains(&id))
    }
}
