//! Archiving by the settings: what was read and is not to stay goes. A step's subject is the inbox's owner with the newest
//! message that goes.

use atm_office::OfficeError;
use atm_office::chores::{Carried, Chore, Effect, Parts, Site, Snapshot, Step, soonest};
use atm_wire::{MemberName, Message, Stamp, counted};
use serde_json::Value;

use super::{Rule, Upkeep, archive};

const NAME: &str = "archive";
/// About what an entry has beside its text, in bytes.
const OVERHEAD: usize = 400;

/// Archiving what the settings say.
#[derive(Debug)]
pub struct Archiving<'a>(pub &'a Upkeep);

impl Archiving<'_> {
    /// In an inbox that got too large, less stays than in others, however young it is.
    fn rule(&self, messages: &[Message]) -> Rule {
        let rule = Rule { keep: self.0.keep, older_than: self.0.older_than, force: false };
        let size = |message: &Message| (message.text.len() + OVERHEAD) as u64;
        if messages.iter().map(size).sum::<u64>() <= self.0.shrink_over {
            return rule;
        }
        let mut left = self.0.shrink_over / 2;
        let stays = messages.iter().rev().take_while(|message| {
            let fits = size(message) <= left;
            left = left.saturating_sub(size(message));
            fits
        });
        Rule { keep: stays.count().min(rule.keep), older_than: None, ..rule }
    }
}

impl Chore for Archiving<'_> {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { inboxes: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<Step> {
        let step = |(name, messages): (&MemberName, &Vec<Message>)| {
            let chosen = self.rule(messages).chosen(messages, now);
            let newest = &messages[*chosen.last()?];
            let what = format!("archive {} of {name}", counted(chosen.len(), "message"));
            let details = serde_json::json!({ "name": name, "archived": chosen.len() });
            Some(Step::new((NAME, Effect::Files), format!("{name} {}", newest.id), 1, what, &details))
        };
        snapshot.inboxes.iter().filter_map(step).collect()
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        let older_than = self.0.older_than?;
        let of_one = |messages: &Vec<Message>| {
            let candidates = messages.len().saturating_sub(self.0.keep);
            let read = messages.iter().take(candidates).filter(|message| message.read);
            let over = |at: Stamp| at.saturating_add(older_than + std::time::Duration::from_millis(1));
            read.filter_map(|message| message.sent_at).map(over).collect::<Vec<_>>()
        };
        soonest(snapshot.inboxes.values().flat_map(of_one), now)
    }

    fn carry_out(&self, site: &Site, step: &Step) -> Result<Carried<Value>, OfficeError> {
        let name: MemberName = match serde_json::from_value(step.details["name"].clone()) {
            Ok(name) => name,
            Err(_) => return Ok(Carried::Moot),
        };
        // An error here is its reader's, too.
        let listing = site.office.mailbox(site.team, &name).list();
        let messages = listing.map(|listing| listing.messages).unwrap_or_default();
        let rule = self.rule(&messages);
        let done = archive(site.office, site.team, &name, &rule, self.0, &mut |_, _| {})?;
        Ok(Carried::Done(serde_json::to_value(done).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: i64 = 1_794_768_140_463;
    const HOUR: i64 = 3_600_000;

    /// Mail, settings, the subjects of what is due, and the next time.
    type Row = (Vec<Message>, usize, Option<Duration>, &'static [&'static str], Option<Stamp>);

    fn message(id: &str, hours_ago: i64, read: bool) -> Message {
        let sent = Stamp::from_millis(NOW - hours_ago * HOUR);
        let text =
            format!(r#"{{"from":"a","text":"t","timestamp":"{sent}","read":{read},"messageId":"{id}"}}"#);
        Message::from_entry(&serde_json::value::RawValue::from_string(text).unwrap()).unwrap()
    }

    #[test]
    fn a_step_for_each_inbox_that_has_something_to_give() {
        let mail = || vec![message("a", 9, true), message("b", 5, true), message("c", 1, true)];
        let unread = || vec![message("a", 9, false), message("b", 5, true)];
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3_600));
        let at = |millis: i64| Some(Stamp::from_millis(millis));
        let rows: Vec<Row> = vec![
            (mail(), 1, None, &["bob b"], None),
            (mail(), 0, hours(6), &["bob a"], at(NOW + HOUR + 1)),
            (mail(), 3, None, &[], None),
            (mail(), 2, hours(12), &[], at(NOW + 3 * HOUR + 1)),
            (unread(), 1, None, &[], None),
            (Vec::new(), 0, None, &[], None),
        ];
        for (mail, keep, older_than, expected, next) in rows {
            let upkeep = Upkeep { keep, older_than, ..Upkeep::default() };
            let mut snapshot = Snapshot::default();
            snapshot.inboxes.insert("bob".parse().unwrap(), mail);
            let now = Stamp::from_millis(NOW);
            let due = Archiving(&upkeep).due(&snapshot, now);
            let subjects: Vec<&str> = due.iter().map(|step| step.subject.as_str()).collect();
            assert_eq!(subjects, expected, "keep {keep}, older than {older_than:?}");
            assert_eq!(
                Archiving(&upkeep).next(&snapshot, now),
                next,
                "keep {keep}, older than {older_than:?}"
            );
        }
    }

    #[test]
    fn an_inbox_that_is_too_large_gives_what_was_read_however_young() {
        let upkeep = Upkeep { shrink_over: 2_000, ..Upkeep::default() };
        for (count, read, expected) in [(4, true, 0), (9, true, 7), (9, false, 0)] {
            let mail: Vec<Message> = (0..count).map(|n| message(&format!("m{n}"), 0, read)).collect();
            let now = Stamp::from_millis(NOW);
            let archiving = Archiving(&upkeep);
            assert_eq!(archiving.rule(&mail).chosen(&mail, now).len(), expected, "{count} {read}");
        }
    }
}
