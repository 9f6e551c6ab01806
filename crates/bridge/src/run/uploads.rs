//! Letters on their way into the object store, one at a time: their envelopes are published when all of them is there. Everything else goes
//! on meanwhile, but for what stands behind one of them in its lane: its recipient would only hold that.

use std::collections::VecDeque;

use super::objects::Content;
use crate::engine::Ticket;
use crate::name::Machine;

/// What is published to one member.
pub(super) type Lane = (Machine, String, String);

/// An envelope that has to be published, with all that it takes.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) ticket: Ticket,
    pub(super) subject: String,
    /// The id by which the server drops a repetition.
    pub(super) id: Option<String>,
    pub(super) bytes: Vec<u8>,
    /// Whose mail it is, if it is a letter.
    pub(super) lane: Option<Lane>,
    /// What goes into the object store, if it is too large for a message.
    pub(super) upload: Option<Upload>,
}

/// What goes into the object store.
#[derive(Debug)]
pub(super) struct Upload {
    /// Its letter, by the machine that it is for and its number.
    pub(super) letter: (Machine, u64),
    /// Which attempt this is.
    pub(super) attempt: u32,
    pub(super) content: Option<Content>,
    /// The object that has this content, if the store still has it.
    pub(super) known: Option<String>,
}

/// What waits until a large letter is uploaded.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    /// The lane of the letter that is being uploaded.
    current: Option<Lane>,
    waiting: VecDeque<Ready>,
}

impl Uploads {
    /// What may be published now of a new envelope: it, or nothing.
    pub(super) fn admit(&mut self, ready: Ready) -> Option<Ready> {
        let is_behind = ready.lane.is_some()
            && (self.current == ready.lane || self.waiting.iter().any(|before| before.lane == ready.lane));
        if is_behind || (ready.upload.is_some() && self.current.is_some()) {
            self.waiting.push_back(ready);
            return None;
        }
        self.begin(&ready);
        Some(ready)
    }

    /// An upload is over.
    pub(super) fn end(&mut self) {
        self.current = None;
    }

    /// The next one of those that waited, if it may go.
    pub(super) fn next(&mut self) -> Option<Ready> {
        if self.current.is_some() {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.begin(&next);
        Some(next)
    }

    fn begin(&mut self, ready: &Ready) {
        if ready.upload.is_some() {
            self.current.clone_from(&ready.lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(n: u64, to: &str, is_large: bool) -> Ready {
        let machine: Machine = "hub".parse().unwrap();
        let upload =
            is_large.then(|| Upload { letter: (machine.clone(), n), attempt: 1, content: None, known: None });
        Ready {
            ticket: Ticket::Letter { n, attempt: 1, since: 1, size: 0 },
            subject: String::new(),
            id: None,
            bytes: Vec::new(),
            lane: Some((machine, "alpha".into(), to.into())),
            upload,
        }
    }

    fn number(ready: &Ready) -> u64 {
        let Ticket::Letter { n, .. } = ready.ticket else { panic!("a letter") };
        n
    }

    #[test]
    fn one_large_letter_goes_at_a_time_and_only_what_follows_one_waits_for_it() {
        let mut uploads = Uploads::default();
        let letters =
            [(1, "bob", true), (2, "bob", false), (3, "eve", false), (4, "eve", true), (5, "eve", false)];
        let gone =
            letters.map(|(n, to, is_large)| uploads.admit(ready(n, to, is_large)).as_ref().map(number));
        assert_eq!(gone, [Some(1), None, Some(3), None, None]);
        assert!(uploads.next().is_none());
        uploads.end();
        let mut rest = Vec::new();
        while let Some(next) = uploads.next() {
            rest.push(number(&next));
            if next.upload.is_some() {
                assert!(uploads.next().is_none(), "another upload is under way");
                uploads.end();
            }
        }
        assert_eq!(rest, [2, 4, 5]);
        assert!(uploads.admit(ready(6, "bob", false)).is_some());
    }
}
