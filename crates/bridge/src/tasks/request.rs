//! What processes of this machine ask: claims, changes of who has a task and how far it is, and numbers.

use std::time::Duration;

use atm_office::tasks::shared::Answer;
use atm_wire::MemberName;
use atm_wire::task::TaskId;

use super::entries::{Away, Entries, Entry};
use super::files::TaskFiles;
use super::mirror::{Mirror, MirrorError, TeamNames};
use super::settle::is_same_task;
use crate::nats::Set;
use crate::protocol::tasks::change::{Wanted, change};
use crate::protocol::tasks::claim::{Claim, Verdict, claim};
use crate::protocol::tasks::{Base, Seen, SharedTask};

/// How often something is tried while others change the same task.
const ATTEMPTS: usize = 8;

/// Where one attempt ended.
enum Attempt {
    /// With this answer.
    Answered(Answer),
    /// Somebody else changed the entry meanwhile.
    Lost,
    /// The bucket did not say whether it took it.
    Unheard(Away),
}

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// Claims a task for a member of this machine. After `Unsure` the bucket may have it; then asking again grants it.
    pub fn claim(
        &mut self,
        team: &str,
        id: TaskId,
        who: &MemberName,
        lease: Duration,
        renews: bool,
    ) -> Result<Answer, MirrorError> {
        let (at, owner) = (self.files.now(), self.files.owner_of(team, who.as_str()));
        if owner.machine != self.me {
            return Ok(Answer::Away { why: format!("{who} has moved to {}", owner.machine) });
        }
        let wanted = Claim { who: &owner, lease, renews, at };
        self.decide(team, id, &Answer::Granted, |entry, text, _, seen| claim(entry, text, &wanted, seen))
    }

    /// Changes who has a task and how far it is, with what else changes, or deletes it. After `Unsure` the bucket may have
    /// it; then asking again says so.
    pub fn change(&mut self, team: &str, id: TaskId, wanted: &Wanted<'_>) -> Result<Answer, MirrorError> {
        self.decide(team, id, &Answer::Done, |entry, text, names, seen| {
            change(entry, text, wanted, names, seen)
        })
    }

    /// Brings what `verdict` says of a task into the bucket and the file here; then it is `done`.
    fn decide(
        &mut self,
        team: &str,
        id: TaskId,
        done: &Answer,
        verdict: impl Fn(&SharedTask, Option<&str>, &TeamNames<'_, F>, &Seen<'_>) -> Verdict,
    ) -> Result<Answer, MirrorError> {
        self.begin()?;
        let mut unheard: Option<Away> = None;
        for _ in 0..ATTEMPTS {
            match (self.attempt(team, id, done, &verdict), &unheard) {
                // That nothing is changed is not known any more.
                (Ok(Attempt::Answered(Answer::Away { .. }) | Attempt::Unheard(_)) | Err(_), Some(away)) => {
                    return Ok(Answer::Unsure { why: away.to_string() });
                }
                (Ok(Attempt::Answered(answer)), _) => return Ok(answer),
                (Ok(Attempt::Lost), _) => {}
                (Ok(Attempt::Unheard(away)), None) => unheard = Some(away),
                (Err(error), None) => return Err(error),
            }
        }
        let why = "others change the same task".to_owned();
        Ok(unheard.map_or(Answer::Away { why }, |away| Answer::Unsure { why: away.to_string() }))
    }

    fn attempt(
        &mut self,
        team: &str,
        id: TaskId,
        done: &Answer,
        verdict: impl Fn(&SharedTask, Option<&str>, &TeamNames<'_, F>, &Seen<'_>) -> Verdict,
    ) -> Result<Attempt, MirrorError> {
        // A new task without a number stops no other one.
        let numbered = self.number_new(team);
        let entry = self.entries.get(team, id)?;
        let texts = self.texts(team)?;
        // What was changed here before counts, and a task that nobody else has is told to all first.
        self.settle(team, id, entry, &texts)?;
        let here = self.texts(team)?.remove(&id).flatten();
        let Some(entry) = self.entries.get(team, id)? else {
            if here.is_none() {
                return Ok(Attempt::Answered(Answer::NoTask));
            }
            // A file that is there is just being told to all, unless that is what cannot be done.
            return numbered.map(|()| Attempt::Lost);
        };
        let Some(value) = entry.value.clone() else {
            let why = if entry.from == self.me {
                "what the bucket has of it cannot be read".to_owned()
            } else {
                format!("what {} put there last is not trusted here", entry.from)
            };
            return Ok(Attempt::Answered(Answer::Away { why }));
        };
        if value.text.is_some() && here.is_some_and(|text| !is_same_task(&text, &value)) {
            // The file is another task, which is just getting another number: nobody asked for this one.
            return Ok(Attempt::Lost);
        }
        let (there, text) = (self.at_home(team, &value), self.text_here(team, &value)?);
        let now = self.entries.now()?;
        let seen = Seen { me: &self.me, as_lead: &self.as_lead, now, longest: self.longest };
        let names = TeamNames { files: &self.files, team };
        Ok(match verdict(&there, text.as_deref(), &names, &seen) {
            Verdict::Grant(granted) => {
                let granted = granted.renewed().told_by(&self.me, &value, &there);
                match self.set_entry(&granted, entry.revision) {
                    Ok(Set::Done(revision)) => {
                        Attempt::Answered(self.granted(team, id, granted, revision, done))
                    }
                    Ok(Set::Lost) => Attempt::Lost,
                    Err(away) => Attempt::Unheard(away),
                }
            }
            Verdict::Done => Attempt::Answered(self.shown(team, id, &entry, done)),
            Verdict::Stale => Attempt::Answered(self.shown(team, id, &entry, &Answer::Stale)),
            Verdict::Held(owner, until) => {
                Attempt::Answered(Answer::Held { owner: self.files.called(team, &owner), until })
            }
            Verdict::NotHeld => Attempt::Answered(Answer::NotHeld),
            Verdict::Completed => Attempt::Answered(Answer::Completed),
            Verdict::Gone => Attempt::Answered(Answer::NoTask),
            Verdict::NotYet(until) => Attempt::Answered(Answer::NotYet { until }),
            Verdict::Unreadable => {
                Attempt::Answered(Answer::Away { why: "the task cannot be changed".to_owned() })
            }
        })
    }

    /// Remembers what the bucket took, before anybody hears of it, and shows it in the file.
    fn granted(&mut self, team: &str, id: TaskId, value: SharedTask, revision: u64, done: &Answer) -> Answer {
        let mirrored = self.base(team, id).and_then(|base| base.mirrored.clone());
        self.remember(team, id, Base { revision, value: value.clone(), mirrored, before: None, was: None });
        if let Err(error) = self.save() {
            return Answer::Unsure { why: format!("what was done could not be saved here ({error})") };
        }
        let entry = Entry::of(revision, self.me.clone(), value);
        self.shown(team, id, &entry, done)
    }

    /// That answer, if the file here shows the entry.
    fn shown(&mut self, team: &str, id: TaskId, entry: &Entry, answer: &Answer) -> Answer {
        match self.show(team, id, entry) {
            Ok(true) => answer.clone(),
            Ok(false) => Answer::Unsure { why: "somebody writes the file of the task here".to_owned() },
            Err(error) => {
                Answer::Unsure { why: format!("the file of the task here is not written ({error})") }
            }
        }
    }

    fn show(&mut self, team: &str, id: TaskId, entry: &Entry) -> Result<bool, MirrorError> {
        let is_shown =
            |base: &Base, called: Option<String>| base.revision >= entry.revision && base.mirrored == called;
        for _ in 0..ATTEMPTS {
            let texts = self.texts(team)?;
            self.settle(team, id, Some(entry.clone()), &texts)?;
            // Somebody may have written the file in between.
            let Some(base) = self.base(team, id).cloned() else { continue };
            let text = self.text_here(team, &base.value)?;
            if is_shown(&base, text) {
                self.save()?;
                return Ok(true);
            }
        }
        self.save()?;
        Ok(false)
    }

    /// Reserves the number of a new task.
    pub fn number(&mut self, team: &str) -> Result<Answer, MirrorError> {
        self.begin()?;
        // Tasks that were made before it keep theirs.
        self.number_new(team)?;
        let id = self.reserve(team, 1)?.pop();
        id.map(|id| Answer::Number { id }).ok_or_else(|| Away("there is no number left".to_owned()).into())
    }
}
