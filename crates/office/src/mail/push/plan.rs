//! What goes into the next frame, and when: a pure function of what waits, what is on its way and the time.

use super::fate::{Doing, Moment};
use super::pace::Pace;
use super::text::{Words, compose};

/// How often a frame that is on its way is looked for: soon at first, then seldom.
const SOON_MS: i64 = 150;
const SELDOM_MS: i64 = 1_000;
/// For so long it is looked for soon.
const YOUNG_MS: i64 = 5_000;

/// A letter that waits to be pushed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting<'a> {
    pub(crate) words: Words<'a>,
    /// How often it was in a frame that was lost.
    pub(crate) lost: u32,
}

/// What is on its way, and what this turn was given.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Under {
    /// How many frames the conversation does not show yet.
    pub(crate) frames: usize,
    /// How many bytes these have, and those that came in this turn.
    pub(crate) bytes: usize,
    /// When the youngest of these was given.
    pub(crate) last_at: i64,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A frame of the first so many letters.
    Push {
        /// Its text.
        text: String,
        /// How many letters are in it.
        count: usize,
    },
    /// Nothing until this time, or until something changes.
    Wait(Option<i64>),
}

/// What is to be done next. `budget` is what a turn may be given, in bytes.
pub(crate) fn next(
    waiting: &[Waiting<'_>],
    under: &Under,
    pace: &Pace,
    moment: &Moment,
    budget: usize,
) -> Next {
    let age = moment.now.saturating_sub(under.last_at);
    let look = (under.frames > 0).then(|| moment.now + if age < YOUNG_MS { SOON_MS } else { SELDOM_MS });
    // One at a time: a client may show two that it has in another order.
    let Some(first) = waiting.first().filter(|_| under.frames == 0) else { return Next::Wait(look) };
    if !pace.may_send(moment.now, under.frames) {
        let pace = pace.next().max(moment.now + SOON_MS);
        return Next::Wait(Some(look.map_or(pace, |look| look.min(pace))));
    }
    let is_fresh = under.bytes == 0;
    let same = waiting.iter().take_while(|letter| letter.lost == first.lost).map(|letter| letter.words);
    let room = budget.saturating_sub(under.bytes);
    let (text, count) = compose(same, room, first.lost + 1, is_fresh);
    if count > 0 {
        return Next::Push { text, count };
    }
    // The turn has enough: its end is waited for.
    let end = if moment.doing == Doing::Turn { SELDOM_MS } else { SOON_MS };
    Next::Wait(Some(look.unwrap_or(moment.now + end)))
}

#[cfg(test)]
mod tests;
