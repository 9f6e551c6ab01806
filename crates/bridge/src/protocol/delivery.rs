//! Whether one envelope has to be published, or published again.
//!
//! The server's acknowledgment says where the envelope is, not that it will stay there. So it is published again when the
//! stream is another one, or ends before it, and when the recipient's machine has processed that place of the stream and has not
//! confirmed it within the backoff. What is published again stands behind that place, so a machine that is away costs
//! nothing, and two machines that are never on at the same time still come to an end.
//!
//! What the stream has dropped because it is full is not published again before that: it would only push out other mail, and that
//! would be published again. The recipient's machine passes that place as soon as it is there. What was dropped because of its age is
//! published again at once: that is seldom.

use std::time::Duration;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use super::{PeerView, Position, StreamView};

/// The longest wait before the next attempt.
pub const MOST_BACKOFF: Duration = Duration::from_secs(15);
/// So many attempts that were processed without any answer are no accident: the machine does not accept what this one signs, or cannot
/// read it.
const SILENT_AFTER: u32 = 4;

/// The wait before the next attempt: doubled each time, at most 15 seconds.
pub fn backoff(attempt: u32) -> Duration {
    Duration::from_secs(1_u64 << attempt.saturating_sub(1).min(4)).min(MOST_BACKOFF)
}

/// Where an envelope is, seen from its recipient's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Not published.
    Nowhere,
    /// The stream has it, or had to drop it, and that machine has not processed its place.
    Ahead,
    /// That machine has processed its place. It is published again, unless there is an answer.
    Passed,
    /// The stream has lost its place, and it is published again.
    Lost,
}

/// How far one envelope came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Which attempt is under way, or was made last; 0 before the first.
    attempt: u32,
    /// How often publishing has failed since it last succeeded.
    #[serde(skip)]
    failures: u32,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    /// Not published, as far as we know.
    Unsent,
    /// The server has not answered yet.
    Publishing,
    /// The server did not answer, or refused it, at this time (in milliseconds).
    Failed(i64),
    /// The server said that it is there.
    Stored {
        /// Where.
        position: Position,
        /// When the server said so, in milliseconds. After a restart, whatever is asked is asked later: the clock may have
        /// been set back.
        #[serde(skip)]
        at: i64,
        /// The same, also after a restart: how old it is, about.
        #[serde(default)]
        since: i64,
        /// Since when we know that the recipient's machine has processed that place.
        #[serde(skip)]
        passed: Option<i64>,
    },
}

impl Default for Delivery {
    fn default() -> Self {
        Self { attempt: 0, failures: 0, state: State::Unsent }
    }
}

impl Delivery {
    /// Which attempt is under way, or was made last.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Where the server said that it is.
    pub fn position(&self) -> Option<&Position> {
        match &self.state {
            State::Stored { position, .. } => Some(position),
            _ => None,
        }
    }

    /// Whether it has to be published now. Notes since when the recipient's machine has passed it.
    pub fn is_due(&mut self, now: Stamp, stream: &StreamView, peer: Option<&PeerView>) -> bool {
        match &mut self.state {
            State::Unsent => true,
            State::Publishing => false,
            State::Failed(at) => now >= Stamp::from_millis(*at).saturating_add(backoff(self.failures)),
            State::Stored { position, at, since, passed } => {
                if is_gone(stream, position, (*at, *since), now) {
                    return true;
                }
                if !has_passed(peer, position) {
                    *passed = None;
                    return false;
                }
                let since = *passed.get_or_insert(now.as_millis());
                now >= Stamp::from_millis(since).saturating_add(backoff(self.attempt))
            }
        }
    }

    /// Where it is, seen from its recipient's machine.
    pub fn place(&self, now: Stamp, stream: &StreamView, peer: Option<&PeerView>) -> Place {
        match &self.state {
            State::Unsent => Place::Nowhere,
            State::Stored { position, at, since, .. } if is_gone(stream, position, (*at, *since), now) => {
                Place::Lost
            }
            State::Stored { position, .. } if has_passed(peer, position) => Place::Passed,
            // What the server did not answer it may have, and it is repeated under its number.
            State::Publishing | State::Failed(_) | State::Stored { .. } => Place::Ahead,
        }
    }

    /// Whether the recipient's machine has processed it, as it said last.
    pub fn is_passed_by(&self, peer: Option<&PeerView>) -> bool {
        self.position().is_some_and(|position| has_passed(peer, position))
    }

    /// Whether the recipient's machine has processed this attempt, and nothing came of it nor of several before.
    pub fn is_unanswered(&self) -> bool {
        self.attempt >= SILENT_AFTER && matches!(self.state, State::Stored { passed: Some(_), .. })
    }

    /// Whether the next attempt is the last one once more, because the server did not answer.
    pub fn is_repeated(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    /// Whether the server has not answered yet.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, State::Publishing)
    }

    /// What is stored has to be published again, at once, under the next number. Says whether it was.
    pub fn again(&mut self) -> bool {
        let is_stored = matches!(self.state, State::Stored { .. });
        if is_stored {
            self.state = State::Unsent;
        }
        is_stored
    }

    /// It is being published; says which attempt this is. An attempt that failed is repeated under its number, so that the
    /// server drops it if it had it after all.
    pub fn begin(&mut self) -> u32 {
        if !matches!(self.state, State::Failed(_)) {
            self.attempt = self.attempt.saturating_add(1);
        }
        self.state = State::Publishing;
        self.attempt
    }

    /// The server has answered for an attempt, or did not.
    pub fn end(&mut self, attempt: u32, position: Option<Position>, now: Stamp) {
        if attempt != self.attempt || !matches!(self.state, State::Publishing) {
            return;
        }
        if let Some(position) = position {
            self.failures = 0;
            let at = now.as_millis();
            self.state = State::Stored { position, at, since: at, passed: None };
        } else {
            self.failures = self.failures.saturating_add(1);
            self.state = State::Failed(now.as_millis());
        }
    }
}

/// Whether the server, asked after it stored an envelope, has it no more, and did not drop it to make room: the stream is another one, or
/// ends before that place, or the envelope was too old.
fn is_gone(stream: &StreamView, position: &Position, (at, since): (i64, i64), now: Stamp) -> bool {
    if stream.at.as_millis() <= at {
        return false;
    }
    let is_lost = stream.stream != position.stream || stream.last < position.seq;
    let is_old = |most| now >= Stamp::from_millis(since).saturating_add(most);
    is_lost || stream.first > position.seq && stream.most_age.is_some_and(is_old)
}

/// Whether a machine has processed a place of the stream.
fn has_passed(peer: Option<&PeerView>, position: &Position) -> bool {
    let passed = peer.and_then(|peer| peer.passed.as_ref());
    passed.is_some_and(|at| at.stream == position.stream && at.seq >= position.seq)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const T0: i64 = 1_800_000_000_000;

    fn at(seconds: i64) -> Stamp {
        Stamp::from_millis(T0 + seconds * 1000)
    }

    fn stream(name: &str, first: u64, last: u64, asked: i64) -> StreamView {
        StreamView { stream: name.to_owned(), first, last, most_bytes: None, most_age: None, at: at(asked) }
    }

    fn place(seq: u64) -> Position {
        Position { stream: "s".to_owned(), seq }
    }

    fn peer(passed: u64, seen: i64) -> PeerView {
        PeerView { passed: Some(place(passed)), seen_at: at(seen) }
    }

    /// Stored at second 0 as number 7 of stream `s`.
    fn stored() -> Delivery {
        let mut delivery = Delivery::default();
        let attempt = delivery.begin();
        delivery.end(attempt, Some(place(7)), at(0));
        delivery
    }

    #[rstest]
    #[case(1, 1)]
    #[case(2, 2)]
    #[case(3, 4)]
    #[case(4, 8)]
    #[case(5, 15)]
    #[case(6, 15)]
    #[case(u32::MAX, 15)]
    #[case(0, 1)]
    fn backoff_doubles_up_to_15_seconds(#[case] attempt: u32, #[case] seconds: u64) {
        assert_eq!(backoff(attempt).as_secs(), seconds);
    }

    #[rstest]
    #[case::held(stream("s", 1, 9, 5), false)]
    #[case::dropped(stream("s", 8, 9, 5), false)]
    #[case::rolled_back(stream("s", 1, 6, 5), true)]
    #[case::made_anew(stream("t", 1, 9, 5), true)]
    #[case::asked_before_it_was_published(stream("s", 1, 6, 0), false)]
    fn what_the_stream_lost_is_due(#[case] stream: StreamView, #[case] expected: bool) {
        assert_eq!(stored().is_due(at(6), &stream, None), expected);
    }

    #[rstest]
    #[case::away(None)]
    #[case::not_there_yet(Some(peer(6, 100)))]
    #[case::in_another_stream(Some(PeerView { passed: Some(Position { stream: "t".into(), seq: 9 }), seen_at: at(100) }))]
    #[case::says_nothing(Some(PeerView { passed: None, seen_at: at(100) }))]
    fn a_machine_that_has_not_passed_it_costs_nothing(#[case] peer: Option<PeerView>) {
        let mut delivery = stored();
        for second in 100..110 {
            assert!(!delivery.is_due(at(second), &stream("s", 1, 9, 5), peer.as_ref()));
        }
    }

    /// It would push out what others wait for.
    #[rstest]
    #[case::away(None, &[])]
    #[case::not_there_yet(Some(peer(6, 100)), &[])]
    #[case::there(Some(peer(7, 100)), &[101, 103, 107, 115, 130])]
    #[case::far_behind_it(Some(peer(20, 100)), &[101, 103, 107, 115, 130])]
    fn what_the_stream_dropped_is_due_when_the_machine_has_passed_its_place(
        #[case] peer: Option<PeerView>,
        #[case] expected: &[i64],
    ) {
        let (mut delivery, stream) = (stored(), stream("s", 21, 20, 5));
        let mut published = Vec::new();
        for second in 100..140 {
            if delivery.is_due(at(second), &stream, peer.as_ref()) {
                published.push(second);
                // The stream is so full that it is dropped at once.
                let attempt = delivery.begin();
                delivery.end(attempt, Some(place(7)), at(4));
                assert!(!delivery.is_due(at(second), &stream, peer.as_ref()));
            }
        }
        assert_eq!(published, expected);
    }

    #[test]
    fn what_was_dropped_because_of_its_age_is_due_also_after_a_restart() {
        let aged = StreamView { most_age: Some(Duration::from_secs(60)), ..stream("s", 8, 9, 5) };
        let text = serde_json::to_string(&stored()).unwrap();
        for mut delivery in [stored(), serde_json::from_str(&text).unwrap()] {
            assert!(!delivery.is_due(at(59), &aged, None));
            assert_eq!(delivery.place(at(59), &aged, None), Place::Ahead);
            assert!(delivery.is_due(at(60), &aged, None));
            assert_eq!(delivery.place(at(60), &aged, None), Place::Lost);
            assert!(!delivery.is_due(at(60), &StreamView { first: 7, ..aged.clone() }, None), "it is there");
        }
    }

    #[rstest]
    #[case::held(stream("s", 1, 9, 5), Some(peer(6, 5)), Place::Ahead)]
    #[case::dropped(stream("s", 8, 9, 5), None, Place::Ahead)]
    #[case::processed(stream("s", 1, 9, 5), Some(peer(7, 5)), Place::Passed)]
    #[case::dropped_and_passed(stream("s", 8, 9, 5), Some(peer(7, 5)), Place::Passed)]
    #[case::lost(stream("s", 1, 6, 5), None, Place::Lost)]
    #[case::in_another_stream(stream("t", 1, 9, 5), None, Place::Lost)]
    #[case::stored_since(stream("s", 1, 6, 0), None, Place::Ahead)]
    fn where_an_envelope_is(
        #[case] stream: StreamView,
        #[case] peer: Option<PeerView>,
        #[case] expected: Place,
    ) {
        let mut delivery = stored();
        assert_eq!(delivery.place(at(6), &stream, peer.as_ref()), expected);
        assert_eq!(Delivery::default().place(at(6), &stream, peer.as_ref()), Place::Nowhere);
        delivery.begin();
        assert_eq!(delivery.place(at(6), &stream, peer.as_ref()), Place::Ahead);
    }

    #[test]
    fn the_backoff_begins_when_the_machine_has_passed_it() {
        let (mut delivery, stream) = (stored(), stream("s", 1, 9, 5));
        // A day later it comes back; its confirmation may be on its way.
        assert!(!delivery.is_due(at(86_400), &stream, Some(&peer(7, 86_400))));
        assert!(delivery.is_due(at(86_401), &stream, Some(&peer(7, 86_400))));
        assert_eq!(delivery.begin(), 2);
        delivery.end(2, Some(place(8)), at(86_401));
        assert!(!delivery.is_due(at(86_402), &stream, Some(&peer(8, 86_402))));
        assert!(!delivery.is_due(at(86_403), &stream, Some(&peer(8, 86_402))));
        assert!(delivery.is_due(at(86_404), &stream, Some(&peer(8, 86_402))));
    }

    #[test]
    fn what_could_not_be_published_is_tried_under_the_same_number() {
        let (mut delivery, stream) = (Delivery::default(), stream("s", 1, 9, 5));
        assert!(delivery.is_due(at(10), &stream, None));
        assert_eq!(delivery.begin(), 1);
        assert!(!delivery.is_due(at(10), &stream, None));
        delivery.end(1, None, at(10));
        assert!(!delivery.is_due(at(10), &stream, None));
        assert!(delivery.is_due(at(11), &stream, None));
        assert_eq!(delivery.begin(), 1);
        delivery.end(1, None, at(11));
        assert!(!delivery.is_due(at(12), &stream, None));
        assert!(delivery.is_due(at(13), &stream, None));
    }

    #[test]
    fn what_the_stream_lost_is_due_after_a_restart_with_the_clock_set_back() {
        let text = serde_json::to_string(&stored()).unwrap();
        let mut delivery: Delivery = serde_json::from_str(&text).unwrap();
        assert!(!delivery.is_due(at(-86_400), &stream("s", 1, 9, -86_400), None));
        assert!(delivery.is_due(at(-86_400), &stream("s", 1, 6, -86_400), None));
    }

    #[test]
    fn an_answer_to_an_older_attempt_changes_nothing() {
        let mut delivery = stored();
        delivery.begin();
        delivery.end(1, Some(place(1)), at(9));
        assert_eq!(delivery.position(), None);
        delivery.end(2, Some(place(8)), at(9));
        assert_eq!(delivery.position(), Some(&place(8)));
    }
}
