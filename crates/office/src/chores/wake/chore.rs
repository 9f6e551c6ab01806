//! Waking as a chore. A step's subject is the member with the first message that it is woken for, its number that of the
//! wake for this message.

use atm_wire::{MemberName, Message, Stamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::way::is_called;
use super::{Ladder, Memory, WakeError, Woken};
use crate::chores::{Carried, Chore, Effect, Parts, Site, Snapshot, Step, soonest};
use crate::error::OfficeError;
use crate::people::spawn_error::SpawnError;

const NAME: &str = "wake";

/// Waking members that wait and have new mail.
#[derive(Debug)]
pub struct Waking<'a>(pub &'a Ladder);

/// Who is woken.
#[derive(Serialize, Deserialize)]
struct Planned {
    name: MemberName,
}

/// The step that is due for a member with this unread mail.
pub(super) fn step(
    name: &MemberName,
    unread: &[Message],
    memory: &Memory,
    ladder: &Ladder,
    now: Stamp,
) -> Option<Step> {
    let (message, number) = memory.next_wake(unread, ladder, now)?;
    let subject = format!("{name} {}", message.id);
    let what = format!("wake {name} for message {}", message.id);
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    Some(Step::new((NAME, Effect::Outside), subject, number, what, &Planned { name: name.clone() }))
}

/// The message that a step is for.
pub(super) fn message_of<'s>(name: &MemberName, step: &'s Step) -> Option<&'s str> {
    step.subject.strip_prefix(name.as_str())?.strip_prefix(' ')
}

/// A member's inbox, and for which mail it was woken.
type Inbox<'a> = (&'a MemberName, &'a [Message], &'a Memory);

/// The inboxes of members that are there and do not look by themselves.
fn called(snapshot: &Snapshot) -> impl Iterator<Item = Inbox<'_>> {
    snapshot.inboxes.iter().filter_map(|(name, messages)| {
        let member = snapshot.config.member(name.as_str())?;
        let is_called = !snapshot.off.contains(&member.name) && is_called(&snapshot.config, member);
        is_called.then_some((name, messages.as_slice(), snapshot.wakes.get(name)?))
    })
}

fn unread_of(messages: &[Message]) -> Vec<Message> {
    messages.iter().filter(|message| !message.read).cloned().collect()
}

impl Chore for Waking<'_> {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { inboxes: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<Step> {
        let of_one = |(name, messages, memory)| step(name, &unread_of(messages), memory, self.0, now);
        called(snapshot).filter_map(of_one).collect()
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        let of_one = |(_, messages, memory): Inbox| memory.times(&unread_of(messages), self.0);
        soonest(called(snapshot).flat_map(of_one), now)
    }

    fn learn_over(&self, site: &Site, step: &Step) -> Result<(), OfficeError> {
        let Ok(Planned { name }) = serde_json::from_value(step.details.clone()) else { return Ok(()) };
        site.office.learn_wake(site.team, &name, step)
    }

    fn carry_out(&self, site: &Site, step: &Step) -> Result<Carried<Value>, OfficeError> {
        let Ok(Planned { name }) = serde_json::from_value(step.details.clone()) else {
            return Ok(Carried::Moot);
        };
        let (office, team) = (site.office, site.team);
        let mut failed = None;
        let woken = office.with_way(team, &name, |manner, way, unread| {
            Ok(match office.call_now(team, &name, way, self.0, None)? {
                Carried::Done(called) => Woken::of(team, &name, manner, called, unread),
                Carried::Moot => Woken::not(team, &name, Some(manner), "it has just read its mail", 0),
                Carried::Failed(error) | Carried::Half(error) => {
                    let why = error.to_string();
                    failed = Some(error);
                    Woken::not(team, &name, Some(manner), &why, unread)
                }
            })
        });
        let woken = match woken {
            // It is asked again at the next pass.
            Err(OfficeError::Wake(WakeError::Busy { .. }) | OfficeError::Spawn(SpawnError::Busy { .. })) => {
                return Ok(Carried::Moot);
            }
            woken => woken?,
        };
        Ok(match failed {
            Some(error) => Carried::Failed(error),
            // A member that polls, or has read it, needs nothing; it is asked again for the next message.
            None if !woken.woken => Carried::Moot,
            None => Carried::Done(serde_json::to_value(woken).unwrap_or_default()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MINUTE: i64 = 60_000;

    fn message(id: &str, sent: i64, read: bool) -> Message {
        let entry = format!(
            r#"{{"from":"a","text":"b","timestamp":"{}","read":{read},"messageId":"{id}"}}"#,
            Stamp::from_millis(sent)
        );
        Message::from_entry(&serde_json::value::RawValue::from_string(entry).unwrap()).unwrap()
    }

    fn snapshot(active: bool, mail: Vec<Message>, memory: &str) -> Snapshot {
        let config = r#"{"members":[{"name":"bob","metadata":{"atm":{"wake":"codex"}}}]}"#;
        let bob: MemberName = "bob".parse().unwrap();
        let mut snapshot =
            Snapshot { config: atm_wire::team::TeamConfig::parse(config).unwrap(), ..Snapshot::default() };
        if !active {
            snapshot.off.insert("bob".to_owned());
        }
        snapshot.wakes.insert(bob.clone(), Memory::parse(Some(memory)));
        snapshot.inboxes.insert(bob, mail);
        snapshot
    }

    #[test]
    fn one_step_for_each_message_and_rung() {
        let ladder = Ladder(vec![Duration::ZERO, Duration::from_secs(120)]);
        let at = |minute: i64| Stamp::from_millis(minute * MINUTE);
        let due = |snapshot: &Snapshot, minute| {
            let steps = Waking(&ladder).due(snapshot, at(minute));
            steps.into_iter().map(|step| (step.subject, step.number)).collect::<Vec<_>>()
        };
        let next = |snapshot: &Snapshot, minute| Waking(&ladder).next(snapshot, at(minute));
        let rows = [
            (true, vec![message("m", 0, false)], "", 0, vec![("bob m".to_owned(), 1)], None),
            (true, vec![message("m", 0, false)], "m\t1\t0", 1, vec![], Some(at(2))),
            (true, vec![message("m", 0, false)], "m\t1\t0", 2, vec![("bob m".to_owned(), 2)], None),
            (true, vec![message("m", 0, false)], "m\t2\t120000", 9, vec![], None),
            (true, vec![message("m", 0, true)], "", 1, vec![], None),
            (false, vec![message("m", 0, false)], "", 1, vec![], None),
        ];
        for (active, mail, memory, minute, expected, then) in rows {
            let snapshot = snapshot(active, mail, memory);
            assert_eq!(due(&snapshot, minute), expected, "{memory:?} at {minute}");
            assert_eq!(next(&snapshot, minute), then, "{memory:?} at {minute}");
        }
    }
}
