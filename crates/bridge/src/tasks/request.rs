//! What processes of this machine ask: claims and numbers.

use std::time::Duration;

use atm_office::tasks::shared::Answer;
use atm_wire::MemberName;
use atm_wire::task::TaskId;

use super::entries::{Entries, Entry};
use super::files::TaskFiles;
use super::mirror::{Mirror, MirrorError};
use super::settle::unreadable;
use crate::nats::Set;
use crate::protocol::tasks::claim::{Claim, Verdict, claim};
use crate::protocol::tasks::{Base, Seen};

/// How often a claim is tried while others change the same task.
const ATTEMPTS: usize = 8;

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// Claims a task for a member of this machine. If the answer is not `Granted`, it may still be claimed where the bucket
    /// did not answer; then asking again grants it.
    pub fn claim(
        &mut self,
        team: &str,
        id: TaskId,
        who: &MemberName,
        lease: Duration,
        renews: bool,
    ) -> Result<Answer, MirrorError> {
        self.begin()?;
        for _ in 0..ATTEMPTS {
            let entry = self.entries.get(team, id)?;
            let texts = self.texts(team)?;
            // What was changed here before counts, and a task that nobody else has is told to all first.
            self.settle(team, id, entry, &texts)?;
            let Some(entry) = self.entries.get(team, id)? else { return Ok(Answer::NoTask) };
            let Some(value) = entry.value else {
                let why = format!("{}, who put it there last, is not trusted here", entry.from);
                return Ok(Answer::Away { why });
            };
            let text = value.text_here(|owner| self.files.called(team, owner)).map_err(unreadable)?;
            let wanted = Claim { who: who.as_str(), lease, renews, at: self.files.now() };
            let now = self.entries.now()?;
            let seen = Seen { me: &self.me, as_lead: &self.as_lead, now, longest: self.longest };
            let granted = match claim(&value, text.as_deref(), &wanted, &seen) {
                Verdict::Grant(granted) => granted,
                Verdict::Held(owner, until) => {
                    return Ok(Answer::Held { owner: self.files.called(team, &owner), until });
                }
                Verdict::NotHeld => return Ok(Answer::NotHeld),
                Verdict::Completed => return Ok(Answer::Completed),
                Verdict::Gone => return Ok(Answer::NoTask),
                Verdict::NotYet(until) => return Ok(Answer::NotYet { until }),
                Verdict::Unreadable => {
                    return Ok(Answer::Away { why: "the task cannot be changed".to_owned() });
                }
            };
            if let Set::Done(revision) = self.entries.set(&granted, entry.revision)? {
                let before = self.base(team, id).cloned();
                let mirrored = before.and_then(|base| base.mirrored);
                let base = Base { revision, value: *granted, mirrored, was: None };
                self.remember(team, id, base.clone());
                self.save()?;
                let entry = Entry { revision, from: self.me.clone(), value: Some(base.value) };
                for _ in 0..ATTEMPTS {
                    let texts = self.texts(team)?;
                    self.settle(team, id, Some(entry.clone()), &texts)?;
                    // Somebody may have written the file in between.
                    if self.base(team, id).is_some_and(|base| base.mirrored == base.value.text) {
                        break;
                    }
                }
                self.save()?;
                return Ok(Answer::Granted);
            }
        }
        Ok(Answer::Away { why: "others change the same task".to_owned() })
    }

    /// Reserves the number of a new task.
    pub fn number(&mut self, team: &str) -> Result<Answer, MirrorError> {
        self.begin()?;
        Ok(Answer::Number { id: self.reserve(team)? })
    }
}
