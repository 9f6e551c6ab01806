//! The rules of presence: traces in, a state out. No file is read here and no clock.
//!
//! | question, in this order | answer |
//! |---|---|
//! | does a process run that can be tied to it? (its own pane; for a lead the recorded process; for a member inside its lead, the lead's; its session; a process with its `--agent-id`; a client that calls its hooks) | it is there, whatever else says |
//! | is its own pane, or the recorded process, gone? or is there proof that a separate process has ended (see `own`)? | offline |
//! | is `isActive` false? | offline, unless it was heard of since it ended (`shutdownAt`) and within 15 minutes; where no end is recorded, within 2 minutes. Of a separate process its conversation counts too, if that went on since; and it is not offline while a client runs that may be it and does not say so |
//! | is `isActive` true? | it is there, unless it was heard of before, and neither started nor heard of for a day: unknown. One that was never heard of keeps what the configuration claims |
//! | nothing of these | heard of within 15 minutes: it is there; else unknown |
//! | if it is there: is a health check older than 30 s, and nothing heard since? or did a sweep find it stalled, and nothing was heard since? | stalled |
//! | if it is there: does its session say what it does? | idle or online accordingly |
//! | if its process runs, or its conversation goes on: is `isActive` false? | idle: separate-process clients write that at the end of every turn |
//! | if it is there: was its last word an idle notification, and did it take no mail since? | idle (not while a separate process says `isActive: true`: it is in a turn); else online |
//!
//! Heard of: it sent something, which nobody else does in its name, or it took mail. Taking alone does not count
//! against `isActive: false`: others empty inboxes too.

use std::time::Duration;

use atm_clients::claude::sessions::Activity;
use atm_wire::Stamp;

use super::own::Own;
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
    /// A session of its client's that runs, in words, and what it does.
    pub(crate) session: Option<(String, Option<Activity>)>,
    /// A client that calls its hooks and runs, in words, and what it does as far as they tell.
    pub(crate) tied: Option<(String, Option<Activity>)>,
    /// Since when that session does so.
    pub(crate) session_since: Option<Stamp>,
    /// A process that runs with its `--agent-id`, in words.
    pub(crate) agent: Option<String>,
    /// What became of its own process, where nothing above says.
    pub(crate) own: Option<Own>,
    /// When the conversation of a separate process last went on.
    pub(crate) wrote: Option<Stamp>,
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
    /// What another machine says, if that is its home: nothing else counts.
    pub(crate) elsewhere: Option<Judgement>,
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
    Session,
    Agent,
    Tied,
    Own,
    Conversation,
    Flag,
    Heard,
    Nothing,
}

/// The state of a member, and why.
pub(crate) fn judge(signs: &Signs, now: Stamp) -> Judgement {
    if let Some(said) = &signs.elsewhere {
        return said.clone();
    }
    let (running, by) = signs.running(now);
    let stalled = signs.stalled_at(now);
    let idle = signs.idle(by);
    let state = match running {
        Running::No => Presence::Offline,
        Running::CannotTell => Presence::Unknown,
        Running::Yes if stalled.is_some() => Presence::Stalled,
        Running::Yes if idle.is_some() => Presence::Idle,
        Running::Yes => Presence::Online,
    };
    let mut evidence = signs.traces(running, by, state, idle);
    // What decides stands first; the order is kept otherwise.
    evidence.sort_by_key(|trace| trace.weight != Weight::Decides);
    let activity = if running == Running::Yes { signs.activity() } else { None };
    Judgement { state, activity, evidence }
}

/// When the answer of [`judge`] may become another though nothing happens: the first time at which one of its rules looks at a
/// trace that got too old.
pub(crate) fn next_change(signs: &Signs, now: Stamp) -> Option<Stamp> {
    let said = signs.word.as_ref().map(|word| word.at);
    let heard = signs.last_heard();
    let ends = [
        (said, FRESH),
        (said, RECENT),
        (heard, RECENT),
        (heard.map(|heard| Some(heard).max(signs.started).unwrap_or(heard)), FLAG_GOOD_FOR),
        (signs.wrote, FRESH),
        (signs.unanswered, CHECK_PATIENCE),
    ];
    let past = |(at, good_for): (Option<Stamp>, Duration)| {
        Some(at?.saturating_add(good_for).saturating_add(Duration::from_millis(1)))
    };
    ends.into_iter().filter_map(past).filter(|at| *at > now).min()
}

impl By {
    /// A process that can be tied to the member, or the conversation that it writes.
    fn is_process(self) -> bool {
        matches!(
            self,
            Self::Pane
                | Self::Process
                | Self::Session
                | Self::Agent
                | Self::Tied
                | Self::Own
                | Self::Conversation
        )
    }
}

/// What says that a member has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Idle {
    Session,
    Flag,
    Word,
}

impl Signs {
    /// When it last said something or took mail.
    pub(crate) fn last_heard(&self) -> Option<Stamp> {
        self.word.as_ref().map(|word| word.at).max(self.took)
    }

    /// Whether a process, pane or session says whether it runs.
    pub(crate) fn is_settled(&self) -> bool {
        self.running_by_process().is_some()
    }

    fn running_by_process(&self) -> Option<(Running, By)> {
        // First all that runs: a member may have been started again by other means than those that ended.
        Some(match (&self.pane, &self.process, &self.own) {
            (Some(Pane::Runs(_)), ..) => (Running::Yes, By::Pane),
            (_, Some((Fate::Runs, _)), _) => (Running::Yes, By::Process),
            _ if self.session.is_some() => (Running::Yes, By::Session),
            _ if self.agent.is_some() => (Running::Yes, By::Agent),
            _ if self.tied.is_some() => (Running::Yes, By::Tied),
            (Some(Pane::Gone(_)), ..) => (Running::No, By::Pane),
            (_, Some((Fate::Gone | Fate::Replaced, _)), _) => (Running::No, By::Process),
            (.., Some(Own::Gone(_))) => (Running::No, By::Own),
            _ => return None,
        })
    }

    fn running(&self, now: Stamp) -> (Running, By) {
        if let Some(settled) = self.running_by_process() {
            return settled;
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
                let since_end = |at: Stamp| self.ended.is_none_or(|ended| at > ended);
                let wrote = self.wrote.filter(|at| since_end(*at));
                match self.own {
                    Some(Own::MayRun(_)) if wrote.is_some() => (Running::Yes, By::Own),
                    _ if within(wrote, FRESH) => (Running::Yes, By::Conversation),
                    _ if back.is_some() => (Running::Yes, By::Heard),
                    _ => (Running::No, By::Flag),
                }
            }
            Some(true) => match heard {
                Some(last) if !within(Some(last).max(self.started), FLAG_GOOD_FOR) => {
                    (Running::CannotTell, By::Heard)
                }
                _ => (Running::Yes, By::Flag),
            },
            None if within(heard, RECENT) => (Running::Yes, By::Heard),
            None => (Running::CannotTell, By::Nothing),
        }
    }

    /// Since when it does not answer.
    fn stalled_at(&self, now: Stamp) -> Option<Stamp> {
        let said = self.word.as_ref().map(|word| word.at);
        let silent_since = |at: &Stamp| said.is_none_or(|said| !said.may_be_since(*at));
        let overdue = self.unanswered.filter(|at| now.since(*at) > CHECK_PATIENCE);
        overdue.filter(silent_since).or(self.stalled.filter(silent_since))
    }

    /// Whether it has nothing to do, and what says so.
    fn idle(&self, by: By) -> Option<Idle> {
        match self.doing() {
            Some(Activity::Idle) => return Some(Idle::Session),
            Some(Activity::Busy | Activity::Waiting(_)) => return None,
            Some(Activity::Other(_)) | None => {}
        }
        match self.is_active {
            Some(false) if by.is_process() => return Some(Idle::Flag),
            // Such a client keeps the flag current at both ends of a turn.
            Some(true) if self.agent.is_some() => return None,
            _ => {}
        }
        let word = self.word.as_ref().filter(|word| word.kind == "idle_notification")?;
        self.took.is_none_or(|took| took <= word.at).then_some(Idle::Word)
    }

    /// What its session does, by its client's registry or by its hooks.
    fn doing(&self) -> Option<&Activity> {
        [&self.session, &self.tied].into_iter().flatten().find_map(|(_, doing)| doing.as_ref())
    }

    /// What it does, where its client says so.
    fn activity(&self) -> Option<String> {
        self.doing().map(Activity::describe).or_else(|| {
            self.agent.as_ref()?;
            self.is_active.map(|is_active| if is_active { "working" } else { "idle" }.to_owned())
        })
    }

    fn traces(&self, running: Running, by: By, state: Presence, idle: Option<Idle>) -> Vec<Trace> {
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
        if let Some((what, _)) = &self.session {
            add(what.clone(), None, decided(By::Session));
        }
        if let Some(what) = &self.agent {
            add(what.clone(), None, decided(By::Agent));
        }
        if let Some((what, _)) = &self.tied {
            add(what.clone(), None, decided(By::Tied));
        }
        match &self.own {
            Some(Own::Gone(what)) => add(what.clone(), None, against(Running::No, By::Own)),
            Some(Own::MayRun(what)) => add(what.clone(), None, decided(By::Own)),
            None => {}
        }
        if let Some(at) = self.wrote {
            add(format!("its conversation went on at {at}"), Some(at), decided(By::Conversation));
        }
        match self.is_active {
            Some(true) => {
                let what = "isActive is true in config.json".to_owned();
                add(what, self.started, against(Running::Yes, By::Flag));
            }
            Some(false) if running == Running::Yes && by.is_process() => {
                let says_idle = state == Presence::Idle && idle == Some(Idle::Flag);
                let weight = if says_idle { Weight::Decides } else { Weight::Beside };
                add("isActive is false in config.json: it is between two turns".to_owned(), None, weight);
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
        let says_idle = state == Presence::Idle && idle == Some(Idle::Word);
        self.words(by, state, says_idle, &mut add);
        traces
    }

    /// What was heard of it.
    fn words(
        &self,
        by: By,
        state: Presence,
        says_idle: bool,
        add: &mut impl FnMut(String, Option<Stamp>, Weight),
    ) {
        let heard = if by == By::Heard { Weight::Decides } else { Weight::Beside };
        let is = |wanted: Presence, otherwise| if state == wanted { Weight::Decides } else { otherwise };
        if let Some(word) = &self.word {
            let detail = word.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
            let (what, weight) = match word.kind.as_str() {
                "idle_notification" if says_idle => ("said that it is idle", Weight::Decides),
                "idle_notification" => ("said that it is idle", heard),
                "heartbeat" => ("gave a heartbeat", heard),
                _ => ("sent mail", heard),
            };
            add(format!("{what}{detail} at {}", word.at), Some(word.at), weight);
        } else if self.took.is_none() && self.is_active == Some(true) {
            // The configuration's claim stands, with what it is worth.
            let weight = if by == By::Flag { Weight::Decides } else { Weight::Beside };
            add("never heard from".to_owned(), None, weight);
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
mod tests;
