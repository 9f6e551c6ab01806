//! One task: what its file, its entry and what is remembered of both come to.

use atm_wire::message::Flaw;
use atm_wire::task::TaskId;

use super::entries::{Away, Entries, Entry};
use super::files::{FileError, TaskFiles, Texts};
use super::mirror::{GONE_FOR, Mirror, MirrorError, TeamNames};
use super::renumber::Around;
use crate::nats::Set;
use crate::protocol::tasks::home::is_same;
use crate::protocol::tasks::merge::{
    Merged, Names, edits, may_delete, merge, put_again, with_hold_back, without_liberties, words,
};
use crate::protocol::tasks::{Base, Before, Seen, SharedTask};

/// How often a task is looked at again that others change at the same time. What is left is for the next look.
const ROUNDS: usize = 8;

/// What is done next about a task.
enum Next {
    /// Nothing: all is as it should be, or cannot be changed.
    Rest,
    /// The entry is looked at as it is now: what was heard of it is older than what is remembered.
    Refresh,
    /// This is remembered.
    Remember(Base),
    /// The file becomes this.
    Write(Option<String>),
    /// The entry of this version becomes this.
    Put(SharedTask, u64),
    /// The same, and with it the file's text is no request any more; what of it is set back.
    Answer(SharedTask, u64, Refused),
    /// The file is a task that no other machine has; it takes the place of this version.
    Publish(String, u64),
    /// The file is another task than the entry's.
    Move(String),
}

/// What of a change here is set back.
#[derive(Debug, Clone, Default)]
struct Refused {
    /// Who has the task, or how far it is.
    hold: bool,
    /// What else, in words.
    words: String,
}

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// Brings one task into order.
    pub(super) fn settle(
        &mut self,
        team: &str,
        id: TaskId,
        mut entry: Option<Entry>,
        texts: &Texts,
    ) -> Result<(), MirrorError> {
        let mut local = match texts.get(&id) {
            None => None,
            Some(Some(text)) => Some(text.clone()),
            // It cannot be read: it is left alone.
            Some(None) => {
                self.is_gone(team, id, false);
                return Ok(());
            }
        };
        let mut is_fresh = false;
        for _ in 0..ROUNDS {
            entry = self.in_reach(team, id, entry)?;
            match self.next(team, id, (entry.as_ref(), local.as_deref(), texts), is_fresh)? {
                Next::Rest => return Ok(()),
                Next::Refresh => {
                    entry = self.entries.get(team, id)?;
                    is_fresh = true;
                }
                Next::Remember(base) => self.remember(team, id, base),
                Next::Write(text) => {
                    if let Some(base) = self.team(team).tasks.get_mut(&id) {
                        (base.mirrored, base.before) = (text.clone(), Some(Before { text: local.clone() }));
                    }
                    let write = (id, local.clone(), text.clone());
                    if let Some(writes) = &mut self.writes {
                        writes.push(write);
                        return Ok(());
                    }
                    self.writes = Some(vec![write]);
                    self.write_all(team)?;
                    if self.base(team, id).is_none_or(|base| base.mirrored != text) {
                        // Somebody wrote it meanwhile: the next look sees what.
                        return Ok(());
                    }
                    local = text;
                }
                next @ (Next::Put(..) | Next::Answer(..)) => {
                    if let Some(put) = self.put(team, id, local.as_deref(), next)? {
                        entry = Some(put);
                    } else {
                        entry = self.entries.get(team, id)?;
                        is_fresh = true;
                    }
                }
                Next::Publish(text, revision) => match self.publish(team, id, &text, revision)? {
                    Some((published, mirrored)) => {
                        entry = Some(published);
                        local = Some(mirrored);
                    }
                    None => return Ok(()),
                },
                Next::Move(text) => {
                    let instead = match &entry {
                        Some(Entry { value: Some(value), .. }) => self.text_here(team, value)?,
                        _ => None,
                    };
                    let mut around = Around::of(self.texts(team)?);
                    if !self.give_another_number(team, id, &text, instead.as_deref(), &mut around)? {
                        return Ok(());
                    }
                    local = instead;
                }
            }
        }
        Ok(())
    }

    /// Puts an entry, and remembers it; none if another one was put meanwhile.
    fn put(
        &mut self,
        team: &str,
        id: TaskId,
        local: Option<&str>,
        next: Next,
    ) -> Result<Option<Entry>, MirrorError> {
        let refused =
            if let Next::Answer(.., refused) = &next { refused.clone() } else { Refused::default() };
        let (value, revision, mirrored) = match next {
            Next::Put(value, revision) => {
                // A file of another task, that had this number before, is no text of this one.
                let is_it = |base: &&Base| base.value.shared_id == value.shared_id;
                let mirrored = self.base(team, id).filter(is_it).and_then(|base| base.mirrored.clone());
                (value, revision, mirrored)
            }
            Next::Answer(value, revision, _) => (value, revision, local.map(ToOwned::to_owned)),
            _ => return Ok(None),
        };
        let Set::Done(revision) = self.set_entry(&value, revision)? else { return Ok(None) };
        if let Some(local) = local {
            self.tell_loser(team, id, local, &value, &refused);
        }
        self.remember(team, id, Base { revision, value: value.clone(), mirrored, before: None, was: None });
        Ok(Some(Entry::of(revision, self.me.clone(), value)))
    }

    /// What is done next about a task. Whose it is, is decided by where its owner is at home now.
    fn next(
        &mut self,
        team: &str,
        id: TaskId,
        (entry, local, texts): (Option<&Entry>, Option<&str>, &Texts),
        is_fresh: bool,
    ) -> Result<Next, MirrorError> {
        // After a bucket was lost, another machine may have given this number to another task.
        let shared_id = entry.and_then(|entry| entry.value.as_ref()).map(|value| &value.shared_id);
        let is_about = |base: &Base| shared_id.is_none_or(|shared_id| *shared_id == base.value.shared_id);
        let base = self.base(team, id).filter(|base| is_about(base)).cloned();
        let version = entry.and_then(|entry| entry.value.as_ref()).map(|value| value.version);
        let is_behind = |base: &Base| version.is_some_and(|version| version < base.value.version);
        let is_old = |base: &Base| entry.is_none_or(|entry| entry.revision < base.revision);
        if base.as_ref().is_some_and(|base| is_old(base) || is_behind(base)) && !is_fresh {
            return Ok(Next::Refresh);
        }
        if let Some(local) = local.filter(|_| !self.unsettled.is_empty())
            && base.as_ref().is_none_or(|base| base.mirrored.as_deref() != Some(local))
            && links(local).any(|other| self.unsettled.contains(&other))
        {
            // It links to a task whose number may change.
            return Ok(Next::Rest);
        }
        let longest = self.longest;
        let had_file = base.as_ref().is_some_and(|base| base.mirrored.is_some());
        let is_gone = self.is_gone(team, id, local.is_none() && had_file);
        let now = self.entries.now()?;
        let again_from = Some(now.saturating_add(longest));
        let revision = entry.map_or(0, |entry| entry.revision);
        let Some((entry, value)) = entry.and_then(|entry| Some((entry, entry.value.as_ref()?))) else {
            let is_vacant = entry.is_none_or(|entry| entry.vacant_from.is_some_and(|from| now >= from));
            return Ok(match base {
                // It was read here when its signer was trusted: nothing of it is lost.
                Some(base) if entry.is_some() && base.revision == revision => Next::Put(base.value, revision),
                _ if !is_vacant => Next::Rest,
                // The bucket is another one, was set back to before the task was made, or has lost it. If another machine knows
                // more of it, its version wins.
                Some(base) => {
                    let value = SharedTask { again: base.was, grants_from: again_from, ..base.value };
                    Next::Put(value, revision)
                }
                None => self.next_of_new(team, id, (local, revision), texts),
            });
        };
        if value.again.as_ref().is_some_and(|again| again.bucket == self.memory.bucket) {
            // What is taken for the bucket here is lost, and this is of a new one.
            return Err(Away("the bucket of tasks was made anew".to_owned()).into());
        }
        if let Some(value) = self.correction((team, id), entry, value, (base.as_ref(), local), now) {
            return Ok(Next::Put(value, entry.revision));
        }
        let there = self.at_home(team, value);
        if let Some(taken) = value.taken_along(&there, &self.me, &self.as_lead) {
            return Ok(Next::Put(taken, entry.revision));
        }
        let is_news = is_news(base.as_ref(), entry, value);
        let seen = Seen { me: &self.me, as_lead: &self.as_lead, now, longest };
        let names = TeamNames { files: &self.files, team };
        let wanted = there.text_here(|owner| names.called(owner)).map_err(unreadable)?;
        let remember = |mirrored: Option<String>| {
            let value = value.clone();
            Next::Remember(Base { revision: entry.revision, value, mirrored, before: None, was: None })
        };
        let Some(base) = base else {
            return Ok(match local {
                Some(text) if !is_same_task(text, value) => Next::Move(text.to_owned()),
                _ => remember(local.map(ToOwned::to_owned)),
            });
        };
        let next = match (base.mirrored.as_deref(), local) {
            // The file is no request.
            (mirrored, local) if mirrored == local => {
                if is_news || base.was.is_some() {
                    remember(base.mirrored)
                } else if wanted.as_deref() == local {
                    Next::Rest
                } else {
                    Next::Write(wanted)
                }
            }
            // Made under a number whose task has no file here: it was deleted, or is not written yet.
            (None, Some(text)) if !is_same_task(text, value) => Next::Move(text.to_owned()),
            (mirrored, Some(text)) if wanted.is_none() => {
                let (next, words) = (remember(Some(text.to_owned())), words(&edits(mirrored, text)));
                self.tell_loser(team, id, text, &there, &Refused { hold: false, words });
                next
            }
            (None, Some(text)) => remember(Some(text.to_owned())),
            (Some(mirrored), Some(text)) => {
                let had = self.at_home(team, &base.value);
                let merged = merge((&had, mirrored, text), &there, &names, &seen);
                let Merged { value: merged, is_refused, lost } = merged.map_err(unreadable)?;
                let refused = Refused { hold: is_refused, words: words(&lost) };
                if merged != there {
                    let told = merged.renewed().told_by(&self.me, value, &there);
                    return Ok(Next::Answer(told, entry.revision, refused));
                }
                let next = remember(Some(text.to_owned()));
                self.tell_loser(team, id, text, &there, &refused);
                next
            }
            (Some(_), None) if wanted.is_none() => remember(None),
            (Some(_), None) if !is_gone => Next::Rest,
            (Some(_), None) if may_delete(&self.at_home(team, &base.value), &there, &seen) => {
                Next::Answer(value.gone().renewed(), entry.revision, Refused::default())
            }
            (Some(mirrored), None) => {
                let next = remember(None);
                self.tell_loser(team, id, mirrored, &there, &Refused { hold: true, words: String::new() });
                next
            }
            // Both none: the first arm.
            (None, None) => Next::Rest,
        };
        Ok(next)
    }

    /// What is done next about a file that neither the bucket nor this machine's memory knows.
    fn next_of_new(
        &self,
        team: &str,
        id: TaskId,
        (local, revision): (Option<&str>, u64),
        texts: &Texts,
    ) -> Next {
        match (local, self.moved_from(team, id, texts)) {
            // It has no number among all machines yet.
            (Some(_), None) if self.unsettled.contains(&id) => Next::Rest,
            (Some(text), None) => Next::Publish(text.to_owned(), revision),
            // The task is told to all under its old number after all, or its file there is not gone yet.
            (Some(_), Some(from)) if self.base(team, from).is_some() => Next::Write(None),
            _ => Next::Rest,
        }
    }

    /// What is put in the place of an entry, if this machine may not leave it as it is: it is older than what is remembered, takes a
    /// claim of a member here, or gives it a task.
    fn correction(
        &mut self,
        (team, id): (&str, TaskId),
        entry: &Entry,
        value: &SharedTask,
        (base, local): (Option<&Base>, Option<&str>),
        now: atm_wire::Stamp,
    ) -> Option<SharedTask> {
        let seen = Seen { me: &self.me, as_lead: &self.as_lead, now, longest: self.longest };
        let names = TeamNames { files: &self.files, team };
        if let Some(base) = base.filter(|base| value.version < base.value.version) {
            // Of a new bucket: what another machine put again, which knew less. Else the bucket was set back to an earlier
            // state, or somebody put an old entry there.
            let is_new = base.was.is_some();
            if !(is_new && value.is_completed()) {
                let again_from = Some(now.saturating_add(self.longest));
                let grants_from = if is_new { value.grants_from } else { again_from };
                let (again, known) = (base.was.clone(), put_again(&base.value, value, &seen));
                return Some(SharedTask { grants_from, again, ..known });
            }
        }
        if !is_news(base, entry, value) {
            return None;
        }
        // Only what the bucket said to be a member's here, and is still, is its claim.
        let stays =
            |base: &&Base| is_same(base.value.owner.as_ref(), self.at_home(team, &base.value).owner.as_ref());
        let guarded = base.filter(stays).filter(|_| !self.is_given_up(team, id));
        let back = guarded.and_then(|base| with_hold_back(&entry.from, base, value, &seen));
        if let Some(back) = back {
            self.refused.push(("not-its-claim", format!("task {id} of {team} by {}", entry.from)));
            return Some(back);
        }
        let base = base.map(|base| Base { value: self.at_home(team, &base.value), ..base.clone() });
        without_liberties(&entry.from, base.as_ref(), local, value, &names, &seen).map(SharedTask::renewed)
    }

    /// The text of a task, with the owner as it is called here.
    pub(super) fn text_here(&self, team: &str, value: &SharedTask) -> Result<Option<String>, MirrorError> {
        self.at_home(team, value).text_here(|owner| self.files.called(team, owner)).map_err(unreadable)
    }

    /// A task, with its owner where it is at home now.
    pub(super) fn at_home(&self, team: &str, value: &SharedTask) -> SharedTask {
        let residence = value.owner.as_ref().and_then(|owner| self.files.residence(team, &owner.name));
        value.at_home(residence.as_ref())
    }

    /// Whether a file has been gone for so long that somebody means it.
    fn is_gone(&mut self, team: &str, id: TaskId, is_missing: bool) -> bool {
        let key = (team.to_owned(), id);
        if !is_missing {
            self.gone.remove(&key);
            return false;
        }
        let now = self.files.now();
        let since = self.gone.entry(key).or_insert(now);
        // The clock may have been set back.
        *since = now.min(*since);
        now.since(*since) >= GONE_FOR
    }

    fn tell_loser(&mut self, team: &str, id: TaskId, text: &str, value: &SharedTask, refused: &Refused) {
        let owner = atm_wire::task::Task::parse(text).ok().and_then(|task| task.owner);
        if !refused.words.is_empty() {
            let what = if value.text.is_some() {
                format!(
                    "Another machine changed the same part of task {id} before: what was written here is not in it."
                )
            } else {
                format!("Task {id} was deleted before: what was written here went with its file.")
            };
            let said = format!("{what} It was:\n{}", refused.words);
            self.files.tell(team, owner.as_deref(), &said);
        }
        if !refused.hold {
            return;
        }
        let has = match (&value.owner, value.is_completed()) {
            (_, true) => "is completed".to_owned(),
            (Some(owner), _) => format!("is {}'s", self.files.called(team, owner)),
            (None, _) => "is nobody's".to_owned(),
        };
        let text = format!(
            "Task {id} {has}, by what all machines of the team have in common: the change of who has it, or how far it is, \
             was set back here. `atm task claim {id}` claims a task on all machines at once."
        );
        self.files.tell(team, owner.as_deref(), &text);
    }
}

/// Whether an entry is not the one that is remembered. In a bucket that was set back, revisions come again.
fn is_news(base: Option<&Base>, entry: &Entry, value: &SharedTask) -> bool {
    base.is_none_or(|base| base.revision != entry.revision || base.value != *value)
}

/// The tasks that a file links to.
pub(super) fn links(text: &str) -> impl Iterator<Item = TaskId> {
    let task = atm_wire::task::Task::parse(text).unwrap_or_default();
    task.blocks.into_iter().chain(task.blocked_by).filter_map(|id| TaskId::parse(&id).ok())
}

pub(super) fn is_same_task(text: &str, value: &SharedTask) -> bool {
    let id = atm_wire::task::Task::parse(text).ok().and_then(|task| task.shared_id());
    id.as_ref() == Some(&value.shared_id)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
pub(super) fn unreadable(flaw: Flaw) -> MirrorError {
    MirrorError::File(FileError(flaw.to_string()))
}
