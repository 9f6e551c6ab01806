//! What becomes of the frames on their way to a conversation: by what it shows, by what its client said, and by the time.

use std::collections::HashSet;

use atm_clients::claude::socket::Receipt;

use super::channel::MOST_LOST;
use super::fate::{Fate, Moment, fate};
use crate::mail::hook::{Heard, PushedFrame, Record};

/// So many words of a client of one frame are kept until the ledger has them.
const MOST_HEARD: usize = 8;

impl Record {
    /// Keeps what the client said of frames that are on their way; whether that is anything. It says so once, and may say it to a
    /// process that ends before it could act on it.
    pub(crate) fn hear(&mut self, receipts: Vec<Receipt>) -> bool {
        let mut has_news = false;
        for Receipt { frame, status, reason } in receipts {
            let Some(pushed) = self.pushed.iter_mut().find(|pushed| pushed.frame == frame) else { continue };
            has_news = true;
            let heard = Heard { status: status.clone(), why: reason };
            // A client that says the same again and again says it once.
            if pushed.unnoted.len() < MOST_HEARD && pushed.unnoted.last() != Some(&heard) {
                pushed.unnoted.push(heard);
            }
            pushed.said = Some(status);
        }
        has_news
    }

    /// A frame came to nothing: each of its letters is tried once less.
    pub(crate) fn lose(&mut self, frame: PushedFrame) {
        for letter in frame.receipts {
            *self.lost.entry(letter).or_default() += 1;
        }
    }

    /// Takes what is settled out of the frames on their way. Gives the receipts of the letters that the conversation shows.
    /// `lives` says whether the client that a frame was given to still runs.
    pub(crate) fn settle(
        &mut self,
        is_shown: impl Fn(&PushedFrame) -> bool,
        lives: impl Fn(&PushedFrame) -> bool,
        moment: &Moment,
    ) -> HashSet<String> {
        let mut shown = HashSet::new();
        for frame in std::mem::take(&mut self.pushed) {
            if is_shown(&frame) {
                self.spent += frame.bytes;
                shown.extend(frame.receipts);
                continue;
            }
            match fate(frame.at, frame.said.as_ref(), lives(&frame), moment) {
                Fate::Open | Fate::Held => self.pushed.push(frame),
                Fate::Free => {}
                Fate::Lost => self.lose(frame),
                Fate::Refused => {
                    self.lost.extend(frame.receipts.into_iter().map(|letter| (letter, MOST_LOST)));
                }
                Fate::Denied => self.denied.extend(frame.receipts),
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use atm_clients::claude::socket::Status;

    use super::super::fate::Doing;
    use super::*;

    fn record(said: Option<Status>) -> Record {
        let frame = PushedFrame {
            frame: "f1".into(),
            at: 1_000,
            bytes: 70,
            receipts: vec!["a".into(), "b".into()],
            said,
            ..PushedFrame::default()
        };
        Record { pushed: vec![frame], ..Record::default() }
    }

    #[test]
    fn a_frame_that_is_settled_leaves_each_of_its_letters_in_one_place() {
        let later = Moment { now: 100_000, doing: Doing::Nothing, since: 0, asked_at: None };
        let soon = Moment { now: 2_000, ..later };
        let both = |times: u32| BTreeMap::from([("a".to_owned(), times), ("b".to_owned(), times)]);
        for (said, is_shown, lives, moment, expected) in [
            (None, true, true, soon, ("shown", 0, BTreeMap::new(), 0)),
            (None, false, true, soon, ("", 1, BTreeMap::new(), 0)),
            (None, false, true, later, ("", 0, both(1), 0)),
            (None, false, false, soon, ("", 0, BTreeMap::new(), 0)),
            (Some(Status::Held), false, true, later, ("", 1, BTreeMap::new(), 0)),
            (Some(Status::Held), false, false, soon, ("", 0, BTreeMap::new(), 0)),
            (Some(Status::Denied), false, true, soon, ("", 0, BTreeMap::new(), 2)),
            (Some(Status::Denied), false, false, soon, ("", 0, BTreeMap::new(), 2)),
            (Some(Status::Expired), false, true, soon, ("", 0, both(MOST_LOST), 0)),
            // Whatever was said: what is shown is shown.
            (Some(Status::Denied), true, true, soon, ("shown", 0, BTreeMap::new(), 0)),
        ] {
            let mut record = record(said.clone());
            let shown = record.settle(|_| is_shown, |_| lives, &moment);
            let shown = if shown.len() == 2 { "shown" } else { "" };
            assert_eq!(record.spent, if is_shown { 70 } else { 0 });
            let found = (shown, record.pushed.len(), record.lost, record.denied.len());
            assert_eq!(found, expected, "{said:?} {is_shown} {lives} {moment:?}");
        }
    }

    #[test]
    fn what_a_client_says_is_kept_for_frames_on_their_way_alone() {
        let said = |frame: &str, status| Receipt { frame: frame.into(), status, reason: Some("so".into()) };
        let mut record = record(None);
        assert!(!record.hear(vec![said("another", Status::Denied)]));
        assert!(record.hear(vec![said("f1", Status::Held), said("f1", Status::Denied)]));
        let kept: Record = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(kept.pushed[0].said, Some(Status::Denied), "by another process, too");
        assert_eq!(kept, record);
        // All that it said is to be recorded, and not the last alone.
        let unnoted: Vec<&Status> = record.pushed[0].unnoted.iter().map(|heard| &heard.status).collect();
        assert_eq!(unnoted, [&Status::Held, &Status::Denied]);
        assert_eq!(record.pushed[0].unnoted[0].why.as_deref(), Some("so"));
        assert!(record.hear((0..1_000).map(|_| said("f1", Status::Denied)).collect()));
        assert!(record.hear((0..1_000).map(|n| said("f1", Status::Dropped(n.to_string()))).collect()));
        assert_eq!(record.pushed[0].unnoted.len(), MOST_HEARD);
    }
}
