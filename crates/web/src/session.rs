//! How a browser comes in: a token that is good once, and the cookie that it is exchanged for.
//!
//! The cookie is sealed, not remembered: so a page goes on after a restart. Its key is of the secret that tokens are derived from;
//! who removes that file ends all sessions.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use atm_office::token::derive;
use atm_wire::Stamp;
use uuid::Uuid;

use crate::guard::is_same;

/// The cookie's name.
pub(crate) const COOKIE: &str = "atm_session";
/// How long a session lasts, in milliseconds.
pub(crate) const LASTS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// What lets in.
#[derive(Debug)]
pub(crate) struct Keys {
    /// For programs.
    token: String,
    /// Each for one browser, once, with the time that it was made; the newest last.
    one_time: Mutex<VecDeque<(String, Stamp)>>,
    seal: String,
}

/// So many browsers may be on their way in.
const MOST_ON_THEIR_WAY: usize = 8;
/// How long an entrance waits for its browser: an address that nobody opened stays in a terminal's history or in a log.
pub(crate) const OPEN_FOR: Duration = Duration::from_secs(10 * 60);

impl Keys {
    pub(crate) fn new(token: String, seal: String) -> Self {
        Self { token, one_time: Mutex::default(), seal }
    }

    /// A token that is good once, for one more browser.
    pub(crate) fn make_entrance(&self, now: Stamp) -> String {
        let made = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let mut all = self.one_time.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back((made.clone(), now));
        if all.len() > MOST_ON_THEIR_WAY {
            all.pop_front();
        }
        made
    }

    pub(crate) fn is_token(&self, given: &str) -> bool {
        is_same(given.as_bytes(), self.token.as_bytes())
    }

    /// Uses up the token that is good once, if this is one and not too old. A clock that was set back keeps none of them.
    pub(crate) fn exchange(&self, given: &str, now: Stamp) -> bool {
        let mut all = self.one_time.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, made)| *made <= now && now.since(*made) < OPEN_FOR);
        let before = all.len();
        all.retain(|(wanted, _)| !is_same(given.as_bytes(), wanted.as_bytes()));
        all.len() < before
    }

    /// A new session's cookie.
    pub(crate) fn open_session(&self, now: Stamp) -> String {
        let ticket = format!("{}.{}", now.as_millis(), Uuid::new_v4().simple());
        let seal = self.sealed(&ticket);
        format!("{ticket}.{seal}")
    }

    /// Whether a cookie is one of ours and still good.
    pub(crate) fn is_session(&self, cookie: &str, now: Stamp) -> bool {
        let Some((ticket, seal)) = cookie.rsplit_once('.') else { return false };
        if !is_same(seal.as_bytes(), self.sealed(ticket).as_bytes()) {
            return false;
        }
        let opened = ticket.split('.').next().and_then(|at| at.parse::<i64>().ok());
        opened.is_some_and(|opened| (0..LASTS).contains(&now.as_millis().saturating_sub(opened)))
    }

    fn sealed(&self, ticket: &str) -> String {
        derive(&self.seal, &format!("session {ticket}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Stamp {
        Stamp::from_millis(1_794_768_000_000)
    }

    fn keys() -> (Keys, String) {
        let keys = Keys::new("a".repeat(64), "b".repeat(64));
        let one_time = keys.make_entrance(now());
        (keys, one_time)
    }

    /// An address that nobody opened let a browser in for as long as the server ran.
    #[test]
    fn an_entrance_that_nobody_used_closes() {
        let open = i64::try_from(OPEN_FOR.as_millis()).unwrap();
        for (later, is_open) in [(0, true), (open - 1, true), (open, false), (-1, false)] {
            let (keys, one_time) = keys();
            let then = Stamp::from_millis(now().as_millis() + later);
            assert_eq!(keys.exchange(&one_time, then), is_open, "{later}");
            // One that was made later has its own time.
            let newer = keys.make_entrance(then);
            assert!(keys.exchange(&newer, then), "{later}");
        }
    }

    #[test]
    fn the_one_time_token_is_good_once() {
        let (keys, one_time) = keys();
        let exchange = |given: &str| keys.exchange(given, now());
        assert!(!exchange("x") && !keys.is_token(&one_time));
        assert!(exchange(&one_time));
        assert!(!exchange(&one_time));
        let all: Vec<String> = (0..=MOST_ON_THEIR_WAY).map(|_| keys.make_entrance(now())).collect();
        assert!(!exchange(&all[0]), "the oldest gave way");
        assert!(exchange(&all[1]) && exchange(&all[MOST_ON_THEIR_WAY]));
    }

    #[test]
    fn a_session_outlives_the_server_and_ends_in_time() {
        let (keys, _) = keys();
        let now = now();
        let cookie = keys.open_session(now);
        let (after_restart, _) = self::keys();
        assert!(after_restart.is_session(&cookie, now));
        let later = |millis: i64| Stamp::from_millis(now.as_millis() + millis);
        assert!(after_restart.is_session(&cookie, later(LASTS - 1)));
        assert!(!after_restart.is_session(&cookie, later(LASTS)));
        assert!(!after_restart.is_session(&cookie, later(-1)), "not from the future");
        let stranger = Keys::new("a".repeat(64), "c".repeat(64));
        assert!(!stranger.is_session(&cookie, now));
        let longer = cookie.replacen('1', "2", 1);
        assert!(!keys.is_session(&longer, now) && !keys.is_session("", now) && !keys.is_session(".", now));
    }
}
