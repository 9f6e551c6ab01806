//! The rules of presence: traces in, a state out. No file is read here and no clock.
//!
//! | question, in this order | answer |
//! |---|---|
//! | does its process run? (its own pane; for a lead the recorded process; for a member inside its lead, the lead's) | gone: offline, whatever else says. Runs: it is there, whatever `isActive` says |
//! | is `isActive` false? | offline, unless it was heard of since it ended (`shutdownAt`) and within 15 minutes; where no end is recorded, within 2 minutes |
//! | is `isActive` true? | it is there, unless it was started more than a day ago and not heard of for a day: unknown |
//! | nothing of these | heard of within 15 minutes: it is there; else unknown |
//! | if it is there: is a health check older than 30 s, and nothing heard since? or did a sweep find it stalled, and nothing was heard since? | stalled |
//! | if it is there: was its last word an idle notification, and did it take no mail since? | idle; else online |
//!
//! Heard of: it sent something, which nobody else does in its name, or it took mail. Taking alone does not count
//! against `isActive: false`: others empty inboxes too.

use std::time::Duration;

use atm_wire::Stamp;

use super::{Judgement, Presence, Trace, Weight};
use crate::people::process::Fate;

/// How long a health check may go without an answer.
pub(crate) const CHECK_PATIENCE: Duration = Duration::from_secs(30);
/// Heard of within this time: it is there, where nothing better says.
const RECENT: Duration = Duration::from_secs(15 * 60);
/// Two heartbeats.
const FRESH: Duration = Duration::from_secs(2 * 60);
/// For so long is a flag believed that nothing confirms.
const FLAG_GOOD_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// What is known of a member's pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pane {
    /// Its program runs.
    Runs(String),
    /// It is gone, or its program has ended.
    Gone(String),
    /// It could not be asked, or it says nothing.
    Silent(String),
}

/// The last thing that somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// When.
    pub(crate) at: Stamp,
    /// What kind of message it was.
    pub(crate) kind: String,
    /// More about it, in words.
    pub(crate) detail: Option<String>,
}

/// All traces of one member.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signs {
    /// What the configuration says.
    pub(crate) is_active: Option<bool>,
    /// When it was started, or became a member.
    pub(crate) started: Option<Stamp>,
    /// When it ended.
    pub(crate) ended: Option<Stamp>,
    /// Its pane.
    pub(crate) pane: Option<Pane>,
    /// The recorded process: its own if it leads, its lead's if it lives in that one.
    pub(crate) process: Option<(Fate, String)>,
    /// The last thing it said.
    pub(crate) word: Option<Word>,
    /// When it last gave a heartbeat.
    pub(crate) heartbeat: Option<Stamp>,
    /// When it last took mail, or was told some in its conversation.
    pub(crate) took: Option<Stamp>,
    /// When the newest health check was sent that it has not answered.
    pub(crate) unanswered: Option<Stamp>,
    /// Since when a sweep holds it to be stalled.
    pub(crate) stalled: Option<Stamp>,
}

/// Whether it runs, as far as we can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    Yes,
    No,
    CannotTell,
}

/// Which trace decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Pane,
    Process,
    Flag,
    Heard,
    Nothing,
}

/// The state of a member, and why.
pub(crate) fn judge(signs: &Signs, now: Stamp) -> Judgement {
    let (running, by) = signs.running(now);
    let stalled = signs.stalled_at(now);
    let idle = signs.idle_since();
    let state = match running {
        Running::No => Presence::Offline,
        Running::CannotTell => Presence::Unknown,
        Running::Yes if stalled.is_some() => Presence::Stalled,
        Running::Yes if idle.is_some() => Presence::Idle,
        Running::Yes => Presence::Online,
    };
    let mut evidence = signs.traces(running, by, state);
    // What decides stands first; the order is kept otherwise.
    evidence.sort_by_key(|trace| trace.weight != Weight::Decides);
    Judgement { state, evidence }
}

impl Signs {
    /// When it last said something or took mail.
    pub(crate) fn last_heard(&self) -> Option<Stamp> {
        self.word.as_ref().map(|word| word.at).max(self.took)
    }

    fn running(&self, now: Stamp) -> (Running, By) {
        match (&self.pane, &self.process) {
            (Some(Pane::Gone(_)), _) => return (Running::No, By::Pane),
            (Some(Pane::Runs(_)), _) => return (Running::Yes, By::Pane),
            (_, Some((Fate::Gone | Fate::Replaced, _))) => return (Running::No, By::Process),
            (_, Some((Fate::Runs, _))) => return (Running::Yes, By::Process),
            _ => {}
        }
        let said = self.word.as_ref().map(|word| word.at);
        let heard = self.last_heard();
        let within = |at: Option<Stamp>, time| at.is_some_and(|at| now.since(at) <= time);
        match self.is_active {
            Some(false) => {
                let back = match self.ended {
                    Some(ended) => said.filter(|said| *said > ended && within(Some(*said), RECENT)),
                    None => said.filter(|said| within(Some(*said), FRESH)),
                };
                if back.is_some() { (Running::Yes, By::Heard) } else { (Running::No, By::Flag) }
            }
            Some(true) => match heard.max(self.started) {
                Some(last) if !within(Some(last), FLAG_GOOD_FOR) => (Running::CannotTell, By::Heard),
                _ => (Running::Yes, By::Flag),
            },
            None if within(heard, RECENT) => (Running::Yes, By::Heard),
            None => (Running::CannotTell, By::Nothing),
        }
    }

    /// Since when it does not answer.
    fn stalled_at(&self, now: Stamp) -> Option<Stamp> {
        let said = self.word.as_ref().map(|word| word.at);
        let silent_since = |at: &Stamp| said.is_none_or(|said| said < *at);
        let overdue = self.unanswered.filter(|at| now.since(*at) > CHECK_PATIENCE);
        overdue.filter(silent_since).or(self.stalled.filter(silent_since))
    }

    /// Since when it has nothing to do, by its own word.
    fn idle_since(&self) -> Option<Stamp> {
        let word = self.word.as_ref().filter(|word| word.kind == "idle_notification")?;
        self.took.is_none_or(|took| took <= word.at).then_some(word.at)
    }

    fn traces(&self, running: Running, by: By, state: Presence) -> Vec<Trace> {
        let mut traces = Vec::new();
        let mut add = |what: String, at: Option<Stamp>, weight| traces.push(Trace { what, at, weight });
        let decided = |one: By| if one == by { Weight::Decides } else { Weight::Beside };
        let against = |says: Running, one: By| match decided(one) {
            Weight::Beside if running != says => Weight::Overruled,
            weight => weight,
        };
        match &self.pane {
            Some(Pane::Runs(what)) => add(what.clone(), None, against(Running::Yes, By::Pane)),
            Some(Pane::Gone(what)) => add(what.clone(), None, against(Running::No, By::Pane)),
            Some(Pane::Silent(what)) => add(what.clone(), None, Weight::Beside),
            None => {}
        }
        match &self.process {
            Some((Fate::Runs, what)) => add(what.clone(), None, against(Running::Yes, By::Process)),
            Some((Fate::Gone | Fate::Replaced, what)) => {
                add(what.clone(), None, against(Running::No, By::Process));
            }
            Some((Fate::Elsewhere, what)) => add(what.clone(), None, Weight::Beside),
            None => {}
        }
        match self.is_active {
            Some(true) => {
                let what = "isActive is true in config.json".to_owned();
                add(what, self.started, against(Running::Yes, By::Flag));
            }
            Some(false) => {
                let weight = against(Running::No, By::Flag);
                add("isActive is false in config.json".to_owned(), None, weight);
                if let Some(at) = self.ended {
                    add(format!("shutdownAt is {at}"), Some(at), weight);
                }
            }
            None => add("config.json does not say isActive".to_owned(), None, decided(By::Nothing)),
        }
        self.words(by, state, &mut add);
        traces
    }

    /// What was heard of it.
    fn words(&self, by: By, state: Presence, add: &mut impl FnMut(String, Option<Stamp>, Weight)) {
        let heard = if by == By::Heard { Weight::Decides } else { Weight::Beside };
        let is = |wanted: Presence, otherwise| if state == wanted { Weight::Decides } else { otherwise };
        if let Some(word) = &self.word {
            let detail = word.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
            let (what, weight) = match word.kind.as_str() {
                "idle_notification" => ("said that it is idle", is(Presence::Idle, heard)),
                "heartbeat" => ("gave a heartbeat", heard),
                _ => ("sent mail", heard),
            };
            add(format!("{what}{detail} at {}", word.at), Some(word.at), weight);
        } else if by == By::Heard && self.took.is_none() {
            add("nothing was heard of it".to_owned(), None, heard);
        }
        let is_word = self.word.as_ref().is_some_and(|word| word.kind == "heartbeat");
        if let Some(at) = self.heartbeat.filter(|_| !is_word) {
            add(format!("gave a heartbeat at {at}"), Some(at), Weight::Beside);
        }
        if let Some(at) = self.took {
            let only = by == By::Heard && self.word.is_none();
            add(format!("took mail at {at}"), Some(at), if only { Weight::Decides } else { Weight::Beside });
        }
        if let Some(at) = self.unanswered {
            let what = format!("has not answered the health check of {at}");
            add(what, Some(at), is(Presence::Stalled, Weight::Beside));
        }
        if let Some(at) = self.stalled {
            add(format!("stalled since {at}"), Some(at), is(Presence::Stalled, Weight::Overruled));
        }
    }
}

#[cfg(test)]
#[expect(clippy::unnecessary_wraps, reason = "every sign is optional")]
mod tests {
    use super::*;

    const NOW: i64 = 1_794_768_000_000;

    /// So many minutes ago.
    fn ago(minutes: i64) -> Option<Stamp> {
        Some(Stamp::from_millis(NOW - minutes * 60_000))
    }

    fn word(kind: &str, minutes: i64) -> Option<Word> {
        ago(minutes).map(|at| Word { at, kind: kind.to_owned(), detail: None })
    }

    fn runs() -> Option<Pane> {
        Some(Pane::Runs("its pane runs".to_owned()))
    }

    fn process(life: Fate) -> Option<(Fate, String)> {
        Some((life, "the process".to_owned()))
    }

    #[test]
    fn no_single_stale_flag_decides() {
        use Presence::{Idle, Offline, Online, Stalled, Unknown};
        let on = || Signs { is_active: Some(true), started: ago(60), ..Signs::default() };
        let off = || Signs { is_active: Some(false), ended: ago(60), ..Signs::default() };
        let day = 24 * 60;
        let cases: Vec<(&str, Signs, Presence)> = vec![
            ("nothing is known", Signs::default(), Unknown),
            ("the flag alone", on(), Online),
            ("the flag, undated", Signs { started: None, ..on() }, Online),
            ("an old flag", Signs { started: ago(day + 1), ..on() }, Unknown),
            ("an old flag, confirmed", Signs { started: ago(9 * day), took: ago(day), ..on() }, Online),
            ("off", off(), Offline),
            ("off, and heard of before", Signs { word: word("message", 61), ..off() }, Offline),
            ("off, and heard of since", Signs { word: word("message", 5), ..off() }, Online),
            ("off, and heard of since, long ago", Signs { word: word("message", 16), ..off() }, Offline),
            ("off, and its inbox was emptied", Signs { took: ago(1), ..off() }, Offline),
            (
                "off without a date, heard of",
                Signs { ended: None, word: word("message", 2), ..off() },
                Online,
            ),
            ("off without a date, silent", Signs { ended: None, word: word("message", 3), ..off() }, Offline),
            ("off, and its pane runs", Signs { pane: runs(), ..off() }, Online),
            ("on, and its pane is gone", Signs { pane: Some(Pane::Gone("x".into())), ..on() }, Offline),
            ("on, pane not asked", Signs { pane: Some(Pane::Silent("x".into())), ..on() }, Online),
            ("off, pane not asked", Signs { pane: Some(Pane::Silent("x".into())), ..off() }, Offline),
            ("process runs", Signs { process: process(Fate::Runs), ..Signs::default() }, Online),
            ("on, process gone", Signs { process: process(Fate::Gone), ..on() }, Offline),
            ("on, the number is another's", Signs { process: process(Fate::Replaced), ..on() }, Offline),
            ("on, process elsewhere", Signs { process: process(Fate::Elsewhere), ..on() }, Online),
            ("no flag, heard of", Signs { word: word("message", 15), ..Signs::default() }, Online),
            ("no flag, took mail", Signs { took: ago(15), ..Signs::default() }, Online),
            ("no flag, silent", Signs { word: word("message", 16), ..Signs::default() }, Unknown),
            ("idle is its last word", Signs { word: word("idle_notification", 5), ..on() }, Idle),
            (
                "idle, then took mail",
                Signs { word: word("idle_notification", 5), took: ago(4), ..on() },
                Online,
            ),
            (
                "took mail, then idle",
                Signs { word: word("idle_notification", 5), took: ago(6), ..on() },
                Idle,
            ),
            ("idle, and off since", Signs { word: word("idle_notification", 61), ..off() }, Offline),
            ("checked just now", Signs { unanswered: ago(0), ..on() }, Online),
            ("checked, no answer", Signs { unanswered: ago(1), ..on() }, Stalled),
            (
                "checked, heard of since",
                Signs { unanswered: ago(2), word: word("heartbeat", 1), ..on() },
                Online,
            ),
            ("checked, off", Signs { unanswered: ago(2), ..off() }, Offline),
            (
                "idle, checked, no answer",
                Signs { unanswered: ago(2), word: word("idle_notification", 5), ..on() },
                Stalled,
            ),
            ("found stalled", Signs { stalled: ago(9), ..on() }, Stalled),
            (
                "found stalled, heard of since",
                Signs { stalled: ago(9), word: word("message", 1), ..on() },
                Online,
            ),
            (
                "stalled, pane gone",
                Signs { stalled: ago(9), pane: Some(Pane::Gone("x".into())), ..on() },
                Offline,
            ),
        ];
        for (case, signs, state) in cases {
            let judged = judge(&signs, Stamp::from_millis(NOW));
            assert_eq!(judged.state, state, "{case}: {judged:?}");
            assert_eq!(judged.evidence[0].weight, Weight::Decides, "{case} has no reason: {judged:?}");
        }
    }

    #[test]
    fn what_is_not_believed_is_shown_as_overruled() {
        let signs = Signs { is_active: Some(false), pane: runs(), ..Signs::default() };
        let judged = judge(&signs, Stamp::from_millis(NOW));
        assert_eq!(judged.why(), "its pane runs");
        assert_eq!(judged.evidence[1].weight, Weight::Overruled, "{judged:?}");
    }
}
