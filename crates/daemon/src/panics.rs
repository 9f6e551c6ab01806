//! Panics: each is a defect, and ends the process. The daemon notes first which team it visited, and begins again; then
//! that team rests, later ones for longer, and the others are served.

use std::any::Any;
use std::cell::RefCell;
use std::panic;
use std::process;
use std::time::Duration;

use atm_office::clock::{Clock as _, SystemClock};
use atm_store::State;
use atm_wire::{Stamp, TeamName};
use serde::{Deserialize, Serialize};

use crate::last::LastRun;

/// So long a panic counts.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);
/// So many are remembered.
const AT_MOST: usize = 32;
/// After this many panics outside of any team within [`IN_A_ROW`] it does not begin again: it would go on so for ever.
const LAST: usize = 5;
const IN_A_ROW: Duration = Duration::from_secs(60);

thread_local! {
    /// The team that this thread visits.
    static VISITED: RefCell<Option<TeamName>> = const { RefCell::new(None) };
}

/// A panic of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panic {
    /// When.
    pub at: Stamp,
    /// In the visit of which team, if in one.
    #[serde(default)]
    pub team: Option<TeamName>,
    /// Its words, and where.
    pub what: String,
}

/// Does something in the name of a team, which a panic then is noted for.
pub(crate) fn in_team<T>(team: &TeamName, act: impl FnOnce() -> T) -> T {
    VISITED.set(Some(team.clone()));
    let done = act();
    VISITED.set(None);
    done
}

/// From now on a panic ends the process, also in builds that unwind. It is noted first, and `again` is called if it makes
/// sense to begin again.
pub fn begin_again(state: State, again: impl Fn() + Send + Sync + 'static) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        let words = words_of(info.payload());
        let place = info.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
        let team = VISITED.try_with(|visited| visited.try_borrow().ok()?.clone()).ok().flatten();
        let panic = Panic { at: SystemClock.now(), team, what: words + &place.unwrap_or_default() };
        if note(&state, panic) {
            again();
        }
        process::abort();
    }));
}

/// Notes it. False: enough is enough.
fn note(state: &State, panic: Panic) -> bool {
    // Without a word of it the next one would do the same again, and again.
    let Some(mut last) = LastRun::read(state) else { return false };
    let now = panic.at;
    last.panics.push(panic);
    last.panics = remembered(last.panics, now);
    last.write(state).is_ok() && may_begin_again(&last.panics, now)
}

/// Those that count.
pub(crate) fn remembered(mut panics: Vec<Panic>, now: Stamp) -> Vec<Panic> {
    panics.retain(|panic| now.since(panic.at) <= REMEMBERED);
    let too_many = panics.len().saturating_sub(AT_MOST);
    panics.drain(..too_many);
    panics
}

/// A team that panics rests; nothing else does.
fn may_begin_again(panics: &[Panic], now: Stamp) -> bool {
    let counts = |panic: &&Panic| panic.team.is_none() && now.since(panic.at) <= IN_A_ROW;
    panics.iter().filter(counts).count() < LAST
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panic(at: i64, team: Option<&str>) -> Panic {
        let team = team.map(|team| team.parse().unwrap());
        Panic { at: Stamp::from_millis(at), team, what: "words".to_owned() }
    }

    #[test]
    fn a_team_may_panic_for_ever_and_the_rest_five_times_in_a_minute() {
        let now = Stamp::from_millis(100_000);
        let cases: [(Vec<Panic>, bool); 4] = [
            (vec![panic(99_999, None)], true),
            ((0..30).map(|_| panic(99_999, Some("shop"))).collect(), true),
            ((0..5).map(|_| panic(99_999, None)).collect(), false),
            ((0..5).map(|number| panic(number * 20_000, None)).collect(), true),
        ];
        for (number, (panics, expected)) in cases.into_iter().enumerate() {
            assert_eq!(may_begin_again(&panics, now), expected, "{number}");
        }
    }

    #[test]
    fn the_last_hour_is_remembered_and_of_a_storm_its_end() {
        let now = Stamp::from_millis(3_600_000 + 10);
        let panics = remembered(vec![panic(9, None), panic(10, None)], now);
        assert_eq!(panics, [panic(10, None)]);
        let storm: Vec<Panic> = (0..100).map(|number| panic(1_000 + number, None)).collect();
        let panics = remembered(storm, now);
        assert_eq!((panics.len(), panics.last()), (AT_MOST, Some(&panic(1_099, None))));
    }
}
