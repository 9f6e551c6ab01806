//! Whether a message that is not in its inbox any more was taken, undone, or removed by ourselves.
//!
//! Clients do not say what they do, so it is read off the file, and off what stood in it when the message was written.
//! Clocks say nothing here: a later arrival may carry an earlier stamp.
//!
//! - Who drains an inbox takes all of it in one write. So if one that stood before ours is still there, read or unread,
//!   nobody has drained: a writer without a lock put back what it had read before ours came.
//! - If none of them is there, it was drained, and ours with it.
//! - If nothing stood there before ours, or nobody knows what did, the file does not tell. The recipient's conversation
//!   may.
//! - A member that runs inside its lead takes one message at a time, and a later one of its lead before an earlier one
//!   of a peer: there the file never tells.
//!
//! A reader that marks mail as read and leaves it there takes nothing out, so for it the first rule holds as well.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use atm_ledger::Known;
use atm_wire::team::TeamConfig;

use super::gather::GatheredInbox;
use crate::trail::intake::Outline;
use crate::trail::putback::AT_MOST;

/// After this long, what we were about to take out and is still there will not be taken out.
const REMOVED_WITHIN_MS: i64 = 60_000;

/// How the owner of an inbox takes mail out of it, if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// All that is there, in one write.
    Whole,
    /// One message, or one kind, after the other.
    OneByOne,
}

impl Reader {
    /// How this member does.
    pub(super) fn of(config: &TeamConfig, name: &str) -> Self {
        let leads = config.lead().is_some_and(|lead| lead.name == name);
        let pane = config.member(name).and_then(|member| member.tmux_pane_id.as_deref());
        if pane == Some("in-process") && !leads { Self::OneByOne } else { Self::Whole }
    }
}

/// What became of a message that was in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is there, unread.
    StillThere,
    /// It is there, and was marked as read.
    MarkedRead,
    /// We took it out ourselves.
    RemovedByUs,
    /// Somebody without a lock undid it.
    Undone,
    /// It is gone, and the file does not tell why.
    TakenUnproved,
    /// It was drained with all that stood before it.
    Taken,
}

/// What stands in an inbox.
#[derive(Debug)]
struct Standing<'a> {
    messages: &'a [Outline],
    /// Whether each is read.
    flags: HashMap<&'a str, bool>,
    prints: OnceCell<HashSet<String>>,
    /// There is such a file. Who drains one leaves an empty one.
    is_there: bool,
}

impl<'a> Standing<'a> {
    fn new(messages: &'a [Outline], is_there: bool) -> Self {
        let flags = messages.iter().map(|message| (message.id(), message.is_read())).collect();
        Self { messages, flags, prints: OnceCell::new(), is_there }
    }

    fn has(&self, print: &str) -> bool {
        let all = || self.messages.iter().map(Outline::fingerprint).collect();
        self.prints.get_or_init(all).contains(print)
    }
}

/// What a look found out about the messages that should be in an inbox.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    pub(super) marked: Vec<String>,
    pub(super) taken: Vec<String>,
    pub(super) unproved: Vec<String>,
    /// Taken once more, after an offer.
    pub(super) taken_again: Vec<String>,
    /// Put back too often.
    pub(super) held: Vec<String>,
    pub(super) not_removed: Vec<String>,
    /// Gone after their sender was about to take them back: whether that was it, the inbox's queue tells.
    pub(super) recalls: Vec<String>,
    /// Each with how often it was put back before.
    pub(super) undone: Vec<(String, usize)>,
    /// When it happened to each, as far as the file says.
    pub(super) happened_at: HashMap<String, i64>,
}

/// What became of all messages that should be in an inbox. One that was put back too often is not undone but held.
pub(super) fn judge_inbox(gathered: &GatheredInbox, now: i64) -> Findings {
    let standing = Standing::new(&gathered.messages, gathered.exists);
    let mut findings = Findings::default();
    for message in &gathered.known {
        let id = || message.id.clone();
        if was_not_removed(message, &standing, now) {
            findings.not_removed.push(id());
        }
        match judge(message, &standing, gathered.reader) {
            Verdict::RemovedByUs if message.is_recalled && gathered.is_whole => {
                findings.recalls.push(id());
                continue;
            }
            Verdict::StillThere | Verdict::RemovedByUs => continue,
            Verdict::MarkedRead => findings.marked.push(id()),
            _ if !gathered.is_whole => continue,
            Verdict::Taken => findings.taken.push(id()),
            Verdict::TakenUnproved => findings.unproved.push(id()),
            Verdict::Undone => {
                let times = gathered.restored.get(&message.id).copied().unwrap_or(0);
                if times < AT_MOST {
                    findings.undone.push((id(), times));
                } else {
                    findings.held.push(id());
                }
            }
        }
        findings.note_time(message, gathered, now);
    }
    // An offer that was undone is like one that was taken: what matters is whether the conversation gets it.
    for message in &gathered.on_offer {
        let is_gone = match standing.flags.get(message.id.as_str()) {
            Some(is_read) => *is_read,
            None => gathered.is_whole && message.removing_since.is_none(),
        };
        if is_gone {
            findings.taken_again.push(message.id.clone());
            findings.note_time(message, gathered, now);
        }
    }
    findings
}

impl Findings {
    /// A file that was written before the message was sent, or after now, is of another clock.
    fn note_time(&mut self, message: &Known, gathered: &GatheredInbox, now: i64) {
        if let Some(at) = gathered.changed_at.filter(|at| (message.sent_at..=now).contains(at)) {
            self.happened_at.insert(message.id.clone(), at);
        }
    }
}

/// Whether we were about to take a message out, and did not.
fn was_not_removed(message: &Known, standing: &Standing, now: i64) -> bool {
    let is_late = |since: i64| now.saturating_sub(since) > REMOVED_WITHIN_MS;
    message.removing_since.is_some_and(is_late) && standing.flags.contains_key(message.id.as_str())
}

/// What became of a message that the ledger has as written and not taken.
fn judge(message: &Known, standing: &Standing, reader: Reader) -> Verdict {
    match (standing.flags.get(message.id.as_str()), message.removing_since) {
        (Some(true), _) => Verdict::MarkedRead,
        (Some(false), _) => Verdict::StillThere,
        (None, Some(_)) => Verdict::RemovedByUs,
        // Of mail that others wrote we do not have what it takes to put it back.
        (None, None) if !message.ours => Verdict::Taken,
        (None, None) => match &message.witnesses {
            Some(before) if reader == Reader::Whole && standing.is_there && !before.is_empty() => {
                let undone = before.split(' ').any(|print| standing.has(print));
                if undone { Verdict::Undone } else { Verdict::Taken }
            }
            _ => Verdict::TakenUnproved,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use atm_ledger::InboxKey;
    use atm_wire::Message;
    use serde_json::value::RawValue;

    use super::*;

    const NOW: i64 = 1_000_000;

    /// A message, what stands in the file and whether it is read, its reader, and what became of the message.
    type Row<'a> = (&'a Known, &'a [(&'a str, bool)], Reader, Verdict);

    fn entry(text: &str, read: bool) -> Message {
        // All of one second, and that long after ours: no clock decides.
        let entry =
            format!(r#"{{"from":"a","text":"{text}","timestamp":"2126-01-01T00:00:00Z","read":{read}}}"#);
        Message::from_entry(&RawValue::from_string(entry).unwrap()).unwrap()
    }

    fn ours(before: Option<&[&str]>) -> Known {
        let prints = |texts: &[&str]| {
            texts.iter().map(|text| entry(text, false).fingerprint()).collect::<Vec<_>>().join(" ")
        };
        Known {
            id: "ours".into(),
            sender: "lead".into(),
            text: "hello".into(),
            sent_at: 0,
            ours: true,
            witnesses: before.map(prints),
            removing_since: None,
            is_recalled: false,
        }
    }

    fn after(message: &Known, there: &[(&str, bool)], reader: Reader) -> Verdict {
        let mut messages: Vec<Message> = there.iter().map(|(text, read)| entry(text, *read)).collect();
        for message in messages.iter_mut().filter(|message| message.text == "hello") {
            message.id = "ours".into();
        }
        let messages: Vec<Outline> = messages.into_iter().map(Outline::of).collect();
        judge(message, &Standing::new(&messages, true), reader)
    }

    #[test]
    fn what_stood_before_ours_decides_and_no_clock() {
        use Reader::{OneByOne, Whole};
        use Verdict::{MarkedRead, StillThere, Taken, TakenUnproved, Undone};
        let (alone, behind) = (ours(Some(&[])), ours(Some(&["w1", "w2"])));
        let unknown = ours(None);
        let rows: [Row; 14] = [
            (&behind, &[("w1", false), ("w2", false), ("hello", false)], Whole, StillThere),
            (&behind, &[("hello", true)], Whole, MarkedRead),
            // A writer without a lock, whether or not the earlier were read, and with or without others.
            (&behind, &[("w1", true)], Whole, Undone),
            (&behind, &[("w2", false), ("later", false)], Whole, Undone),
            // A client that drains, and mail that came since with whatever stamp.
            (&behind, &[], Whole, Taken),
            (&behind, &[("later", false)], Whole, Taken),
            // Nothing stood there before.
            (&alone, &[], Whole, TakenUnproved),
            (&alone, &[("later", false)], Whole, TakenUnproved),
            (&alone, &[("hello", true)], Whole, MarkedRead),
            // Nobody knows what did: an old row, or its writer died.
            (&unknown, &[("w1", false)], Whole, TakenUnproved),
            (&unknown, &[], Whole, TakenUnproved),
            // In-process members: the lead's first, or all but a peer's.
            (&behind, &[("w1", false)], OneByOne, TakenUnproved),
            (&behind, &[], OneByOne, TakenUnproved),
            (&behind, &[("w1", false), ("hello", false)], OneByOne, StillThere),
        ];
        for (message, there, reader, expected) in rows {
            assert_eq!(
                after(message, there, reader),
                expected,
                "{there:?} {reader:?} {:?}",
                message.witnesses
            );
        }
        let missing = Standing::new(&[], false);
        assert_eq!(judge(&behind, &missing, Whole), TakenUnproved, "a file that is gone was not drained");
        let foreign = Known { ours: false, ..ours(None) };
        assert_eq!(after(&foreign, &[("w1", false)], Whole), Taken, "we could not put it back");
    }

    #[test]
    fn what_we_remove_is_nobodys_doing_and_a_removal_that_failed_is_forgotten() {
        let removing = |since| Known { removing_since: Some(since), ..ours(Some(&["w1"])) };
        for since in [NOW, 0] {
            assert_eq!(after(&removing(since), &[("w1", false)], Reader::Whole), Verdict::RemovedByUs);
            assert_eq!(after(&removing(since), &[], Reader::Whole), Verdict::RemovedByUs);
        }
        let mut there = [entry("w1", false), entry("hello", false)];
        there[1].id = "ours".into();
        let there = there.map(Outline::of);
        let standing = Standing::new(&there, true);
        assert_eq!(judge(&removing(0), &standing, Reader::Whole), Verdict::StillThere);
        assert!(!was_not_removed(&removing(NOW), &standing, NOW), "it may be about to go");
        assert!(was_not_removed(&removing(0), &standing, NOW));
        assert!(!was_not_removed(&removing(0), &Standing::new(&[], true), NOW));
    }

    /// An offer is another copy of a message that was taken: it is judged apart, and by its own copy alone.
    #[test]
    fn an_offer_is_taken_again_when_it_is_read_or_gone_and_not_while_we_remove_it() {
        let removing = Known { removing_since: Some(NOW), ..ours(Some(&["w1"])) };
        let there = |texts: &[(&str, bool)]| -> Vec<Outline> {
            let named = |(text, read): &(&str, bool)| {
                let mut message = entry(text, *read);
                if *text == "hello" {
                    message.id = "ours".into();
                }
                Outline::of(message)
            };
            texts.iter().map(named).collect()
        };
        let offer = ours(Some(&["w1"]));
        for (offer, standing, is_whole, is_taken) in [
            (&offer, &[("w1", false), ("hello", false)][..], true, false),
            (&offer, &[("w1", false), ("hello", true)], true, true),
            // Whether it was undone or taken: only the conversation tells, and it is not put back.
            (&offer, &[("w1", false)], true, true),
            (&offer, &[], true, true),
            // A file that does not show what is gone.
            (&offer, &[("w1", false)], false, false),
            (&offer, &[("hello", true)], false, true),
            (&removing, &[("w1", false)], true, false),
        ] {
            let gathered = GatheredInbox {
                key: InboxKey { root: String::new(), team: String::new(), name: String::new() },
                known_signature: None,
                known: Vec::new(),
                on_offer: vec![offer.clone()],
                restored: HashMap::new(),
                archived: Vec::new(),
                messages: there(standing),
                exists: true,
                is_whole,
                signature: String::new(),
                changed_at: Some(NOW - 1),
                file: PathBuf::new(),
                reader: Reader::Whole,
            };
            let findings = judge_inbox(&gathered, NOW);
            let mut expected = Findings::default();
            if is_taken {
                expected.taken_again.push("ours".into());
                expected.happened_at.insert("ours".into(), NOW - 1);
            }
            assert_eq!(findings, expected, "{standing:?} {is_whole}");
        }
    }
}
