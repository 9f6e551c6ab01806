//! Moves that wait for the stream: what was read at a former home may be told there alone, and the bucket of homes is heard of
//! apart from it. Each move asks once, when nothing else keeps it waiting: what is heard later of other members does not begin
//! its wait anew, and a former home has told by then what was read until it handed the member over.

use std::collections::HashMap;

use crate::protocol::homes::MemberKey;

/// Questions, by number, whether this machine has processed what the stream held for it when they were asked.
#[derive(Debug, Default)]
pub(super) struct CatchUps {
    /// Whether there is a stream to wait for.
    pub(super) has_stream: bool,
    asked: u64,
    answered: u64,
    /// By member and epoch: the question whose answer a move waits for.
    moves: HashMap<(MemberKey, u64), u64>,
}

impl CatchUps {
    /// Whether a move has to wait that could be done otherwise.
    pub(super) fn waits(&mut self, key: &MemberKey, epoch: u64) -> bool {
        let next = self.asked + 1;
        self.has_stream && *self.moves.entry((key.clone(), epoch)).or_insert(next) > self.answered
    }

    /// Forgets all moves but those of these members.
    pub(super) fn retain(&mut self, is_open: impl Fn(&MemberKey) -> bool) {
        self.moves.retain(|(member, _), _| is_open(member));
    }

    /// The question that is to be asked now, if a move waits that has not asked.
    pub(super) fn ask(&mut self) -> Option<u64> {
        let is_new = self.moves.values().any(|question| *question > self.asked);
        self.asked += u64::from(is_new);
        is_new.then_some(self.asked)
    }

    /// The answer is yes, to this question and to all before it.
    pub(super) fn answer(&mut self, question: u64) {
        self.answered = self.answered.max(question);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> MemberKey {
        MemberKey { team: "demo".into(), name: name.into() }
    }

    /// Every home that was heard of began the wait of all moves anew.
    #[test]
    fn a_move_waits_for_its_own_question_whatever_is_asked_later() {
        let mut waits = CatchUps { has_stream: true, ..CatchUps::default() };
        assert_eq!(waits.ask(), None, "nothing is asked at rest");
        for number in 1..=100 {
            let name = format!("m{number}");
            assert!(waits.waits(&member(&name), 2));
            assert_eq!(waits.ask(), Some(number));
            assert_eq!(waits.ask(), None, "once");
            waits.answer(number - 1);
            assert!(waits.waits(&member(&name), 2), "that was asked before");
            let before = format!("m{}", number - 1);
            assert!(number == 1 || !waits.waits(&member(&before), 2));
        }
        assert!(waits.waits(&member("m1"), 3), "another move");
        waits.retain(|_| false);
        assert_eq!(waits.ask(), None, "nobody waits any more");
    }

    #[test]
    fn without_a_stream_nothing_is_waited_for() {
        let mut waits = CatchUps::default();
        assert!(!waits.waits(&member("bob"), 2));
        assert_eq!(waits.ask(), None);
    }
}
