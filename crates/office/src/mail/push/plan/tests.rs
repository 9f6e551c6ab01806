use super::super::fate::{Fate, fate};
use super::super::pace::Limits;
use super::*;

const BUDGET: usize = 8_000;

fn words(id: &str) -> Words<'_> {
    Words {
        id,
        from: "alice",
        at: "12:00Z",
        wants_ack: false,
        text: "please look at the build, it is red again",
    }
}

fn at(now: i64, doing: Doing) -> Moment {
    Moment { now, doing, since: i64::MIN, asked_at: None }
}

#[test]
fn the_first_goes_at_once_and_what_a_turn_cannot_take_waits_for_its_end() {
    let ids: Vec<String> = (0..200).map(|number| format!("letter-{number:08}")).collect();
    let waiting: Vec<Waiting> = ids.iter().map(|id| Waiting { words: words(id), lost: 0 }).collect();
    let pace = Pace::new(Limits::CLAUDE);
    for doing in [Doing::Nothing, Doing::Turn] {
        let Next::Push { text, count } = next(&waiting, &Under::default(), &pace, &at(1_000, doing), BUDGET)
        else {
            panic!("it waits")
        };
        assert!(count > 50 && count < 200 && text.len() <= BUDGET, "{count} {}", text.len());
    }
    let full = Under { frames: 1, bytes: BUDGET, last_at: 1_000 };
    assert_eq!(next(&waiting, &full, &pace, &at(1_000, Doing::Turn), BUDGET), Next::Wait(Some(1_150)));
    assert_eq!(next(&waiting, &full, &pace, &at(9_000, Doing::Turn), BUDGET), Next::Wait(Some(10_000)));
    // It was shown, and the turn goes on.
    let spent = Under { frames: 0, ..full };
    assert_eq!(next(&waiting, &spent, &pace, &at(9_000, Doing::Turn), BUDGET), Next::Wait(Some(10_000)));
    assert_eq!(next(&[], &spent, &pace, &at(9_000, Doing::Turn), BUDGET), Next::Wait(None));
}

#[test]
fn letters_that_were_lost_go_apart_from_others_and_in_other_words() {
    let waiting = [Waiting { words: words("a"), lost: 1 }, Waiting { words: words("b"), lost: 0 }];
    let pace = Pace::new(Limits::CLAUDE);
    let Next::Push { text, count } = next(&waiting, &Under::default(), &pace, &at(0, Doing::Nothing), BUDGET)
    else {
        panic!("it waits")
    };
    assert!(count == 1 && text.contains("Offered again"), "{text}");
}

#[test]
fn the_clients_limits_are_kept() {
    let waiting = [Waiting { words: words("a"), lost: 0 }];
    let mut pace = Pace::new(Limits::CLAUDE);
    for _ in 0..30 {
        pace.send(1_000);
    }
    assert_eq!(
        next(&waiting, &Under::default(), &pace, &at(1_000, Doing::Nothing), BUDGET),
        Next::Wait(Some(3_050))
    );
    let fresh = Pace::new(Limits::CLAUDE);
    let many = Under { frames: 50, bytes: 0, last_at: 1_000 };
    assert_eq!(next(&waiting, &many, &fresh, &at(1_000, Doing::Nothing), BUDGET), Next::Wait(Some(1_150)));
}

/// A client as it was measured: takes 30 frames at once and then one each two seconds, keeps at most 50, shows all that
/// waits in one turn, and drops the rest without a word. It also loses a frame now and then.
#[derive(Default)]
struct Client {
    taken: Vec<(usize, Vec<String>, usize)>,
    shown: Vec<String>,
    dropped: usize,
    turns: usize,
    largest_turn: usize,
    times: Vec<i64>,
    turn_ends: Option<i64>,
}

impl Client {
    fn give(&mut self, number: usize, ids: Vec<String>, bytes: usize, now: i64, loses: bool) {
        self.times.retain(|at| now - at < 60_000);
        let allowed =
            30 + self.times.first().map_or(0, |first| usize::try_from((now - first) / 2_000).unwrap_or(0));
        if self.times.len() >= allowed || self.taken.len() >= 50 {
            self.dropped += 1;
            return;
        }
        self.times.push(now);
        if !loses {
            self.taken.push((number, ids, bytes));
        }
    }

    /// An idle client begins a turn with all that waits; it takes five seconds. Gives the frames that it showed.
    fn pass(&mut self, now: i64) -> Vec<usize> {
        if self.turn_ends.is_some_and(|end| now >= end) {
            self.turn_ends = None;
        }
        if self.taken.is_empty() || self.turn_ends.is_some() {
            return Vec::new();
        }
        self.turns += 1;
        self.turn_ends = Some(now + 5_000);
        self.largest_turn = self.largest_turn.max(self.taken.iter().map(|(.., bytes)| bytes).sum());
        let shown: Vec<usize> = self.taken.iter().map(|(number, ..)| *number).collect();
        self.shown.extend(self.taken.drain(..).flat_map(|(_, ids, _)| ids));
        shown
    }
}

/// Pushes `count` letters into a client, in simulated time; `loses` says which frames it loses.
fn push_all(count: usize, loses: impl Fn(usize) -> bool) -> Client {
    let ids: Vec<String> = (0..count).map(|number| format!("letter-{number:08}")).collect();
    let mut waiting: Vec<Waiting> = ids.iter().map(|id| Waiting { words: words(id), lost: 0 }).collect();
    let mut client = Client::default();
    let mut pace = Pace::new(Limits::CLAUDE);
    let mut open: Vec<(usize, i64, usize, Vec<Waiting>)> = Vec::new();
    let (mut now, mut number, mut given) = (1_000_000, 0, 0);
    while client.shown.len() < count {
        assert!(now < 1_000_000 + 30 * 3_600_000, "{} of {count} after a day", client.shown.len());
        for shown in client.pass(now) {
            open.retain(|(frame, _, bytes, _)| {
                given += if *frame == shown { *bytes } else { 0 };
                *frame != shown
            });
        }
        let doing = if client.turn_ends.is_some() { Doing::Turn } else { Doing::Nothing };
        if doing == Doing::Nothing {
            given = 0;
        }
        let moment = at(now, doing);
        let (lost, kept) =
            open.into_iter().partition(|(_, at, ..)| fate(*at, None, true, &moment) == Fate::Lost);
        open = kept;
        for (.., letters) in lost {
            let again = letters.into_iter().map(|letter| Waiting { lost: letter.lost + 1, ..letter });
            waiting.splice(0..0, again.collect::<Vec<_>>());
        }
        let under = Under {
            frames: open.len(),
            bytes: given + open.iter().map(|(_, _, bytes, _)| bytes).sum::<usize>(),
            last_at: open.iter().map(|(_, at, ..)| *at).max().unwrap_or_default(),
        };
        match next(&waiting, &under, &pace, &moment, BUDGET) {
            Next::Push { text, count } => {
                let letters: Vec<Waiting> = waiting.drain(..count).collect();
                let ids = letters.iter().map(|letter| letter.words.id.to_owned()).collect();
                pace.send(now);
                client.give(number, ids, text.len(), now, loses(number));
                open.push((number, now, text.len(), letters));
                number += 1;
            }
            Next::Wait(until) => now = until.unwrap_or(now + 1_000).max(now + 1),
        }
    }
    client
}

#[test]
fn a_burst_of_ten_thousand_arrives_whole_and_in_order_over_as_many_turns_as_it_needs() {
    let client = push_all(10_000, |_| false);
    assert_eq!((client.shown.len(), client.dropped), (10_000, 0));
    assert!(client.shown.is_sorted(), "in order");
    assert!(
        client.turns > 50 && client.largest_turn <= BUDGET,
        "{} turns, {}",
        client.turns,
        client.largest_turn
    );
}

#[test]
fn what_a_client_loses_is_offered_again_and_nothing_arrives_twice() {
    let client = push_all(1_000, |number| number % 7 == 3);
    let mut all = client.shown.clone();
    all.sort();
    all.dedup();
    assert_eq!((all.len(), client.shown.len(), client.dropped), (1_000, 1_000, 0));
}
