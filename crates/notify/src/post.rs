//! Handing events over to the channels: while the caller waits, or from a thread, so that a receiver that hangs holds up
//! nobody.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use atm_office::Office;
use atm_wire::Stamp;

use crate::Notifier;
use crate::channel::{Channel, Sent, send_by_all};
use crate::event::{Event, Kind};
use crate::rules::Rules;

/// For all events of one pass together: what is left after it is told in the next one.
const BUDGET: Duration = Duration::from_secs(20);
/// At most this many events wait for slow receivers.
const LONGEST: usize = 64;
/// So many events of one kind that wait are told one by one; more of them in one notification.
const ONE_BY_ONE: usize = 5;
/// Such a notification names at most this many.
const NAMED: usize = 5;
/// How long the end of a process waits for them.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a thread that ends is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often a thread looks at the machine.
const MACHINE_LOOK: Duration = Duration::from_secs(5 * 60);

/// Why an event was not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// Too many wait: nothing was done.
    #[error("the receivers are too slow; it is told later")]
    Full,
    /// Some channels failed, each with why.
    #[error("{0}")]
    Failed(String),
}

/// What tells people.
pub trait Post: fmt::Debug {
    /// Tells them.
    fn post(&self, event: &Event) -> Result<(), PostError>;
}

/// Tells while its caller waits.
#[derive(Debug)]
pub(crate) struct Direct {
    channels: Vec<Channel>,
    budget: Duration,
    /// In milliseconds.
    spent: AtomicU64,
}

impl Direct {
    pub(crate) fn new(channels: Vec<Channel>) -> Self {
        Self { channels, budget: BUDGET, spent: AtomicU64::default() }
    }
}

impl Post for Direct {
    fn post(&self, event: &Event) -> Result<(), PostError> {
        if Duration::from_millis(self.spent.load(Ordering::Relaxed)) >= self.budget {
            return Err(PostError::Full);
        }
        let begun = Instant::now();
        let failed = failures(&send_by_all(&self.channels, event));
        let spent = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.spent.fetch_add(spent, Ordering::Relaxed);
        failed.map_or(Ok(()), |failed| Err(PostError::Failed(failed)))
    }
}

/// What failed, without the words of the programs that did: those may repeat what they were told.
fn failures(sent: &[Sent]) -> Option<String> {
    let failed = sent.iter().filter_map(|sent| Some(format!("{}: {}", sent.channel, sent.error.as_ref()?)));
    let failed: Vec<String> = failed.collect();
    (!failed.is_empty()).then(|| failed.join("; "))
}

/// A thread that tells, for long-lived processes. Which receiver failed is in their journal.
#[derive(Debug)]
struct Queue {
    sender: Option<SyncSender<Event>>,
    thread: Option<JoinHandle<()>>,
}

impl Notifier {
    /// One whose caller never waits: a thread tells, and looks at the machine now and then.
    pub fn in_background(
        rules: Rules,
        channels: Vec<Channel>,
        minute_of: fn(Stamp) -> u16,
        office: Office,
    ) -> std::io::Result<Self> {
        let (sender, events) = mpsc::sync_channel(LONGEST);
        let (of_thread, work) = (rules.clone(), move |rules| {
            let direct = Direct { budget: Duration::MAX, ..Direct::new(channels) };
            let notifier = Self { rules, minute_of, post: Box::new(direct) };
            serve(&notifier, &office, &events);
        });
        let thread = thread::Builder::new().name("notify".to_owned()).spawn(move || work(of_thread))?;
        let queue = Queue { sender: Some(sender), thread: Some(thread) };
        Ok(Self { rules, minute_of, post: Box::new(queue) })
    }
}

fn serve(notifier: &Notifier, office: &Office, events: &Receiver<Event>) {
    let mut look_at = Instant::now();
    loop {
        let now = Instant::now();
        if now >= look_at {
            look_at = now + MACHINE_LOOK;
            for told in notifier.look_at_machine(office, false) {
                report(&told.event, told.error.as_deref());
            }
        }
        match events.recv_timeout(look_at.saturating_duration_since(now)) {
            Ok(event) => {
                for event in combine(&std::iter::once(event).chain(events.try_iter()).collect::<Vec<_>>()) {
                    let failed = notifier.post.post(&event).err().map(|error| error.to_string());
                    report(&event, failed.as_deref());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// One event for those of a kind of which many came at once: when a machine goes down with thirty agents, nobody wants to
/// be told thirty times.
fn combine(events: &[Event]) -> Vec<Event> {
    let is_of = |kind: Kind| move |event: &&Event| event.kind == kind;
    let is_storm = |kind: &Kind| events.iter().filter(is_of(*kind)).count() > ONE_BY_ONE;
    let storms: Vec<Kind> = Kind::ALL.into_iter().filter(is_storm).collect();
    let mut told: Vec<Event> = events.iter().filter(|event| !storms.contains(&event.kind)).cloned().collect();
    told.extend(
        storms.iter().map(|kind| summary(*kind, &events.iter().filter(is_of(*kind)).collect::<Vec<_>>())),
    );
    told
}

fn summary(kind: Kind, events: &[&Event]) -> Event {
    let mut whom: Vec<&str> =
        events.iter().filter_map(|event| event.title.split_once(": ")).map(|(_, whom)| whom).collect();
    whom.sort_unstable();
    whom.dedup();
    let named = whom.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if whom.len() > NAMED { " and others" } else { "" };
    let text = format!(
        "{} notifications at once ({}): {named}{more}. `atm status --all-teams` shows them.",
        events.len(),
        kind.as_str()
    );
    let mut teams = events.iter().map(|event| event.team.as_deref());
    let team = teams.next().flatten().filter(|team| teams.all(|other| other == Some(*team)));
    let since = events.iter().map(|event| event.since).min().unwrap_or(Stamp::from_millis(0));
    // The same events make the same notification.
    let ids: String = events.iter().map(|event| event.id.as_str()).collect();
    Event::new(kind, team, &ids, since, &text)
}

fn report(event: &Event, failed: Option<&str>) {
    let (kind, id) = (event.kind.as_str(), &event.id);
    if let Some(failed) = failed {
        tracing::error!(kind, id, failed, "a notification failed");
    } else {
        tracing::info!(kind, id, "notified");
    }
}

impl Post for Queue {
    fn post(&self, event: &Event) -> Result<(), PostError> {
        let Some(sender) = &self.sender else { return Err(PostError::Full) };
        sender.try_send(event.clone()).map_err(|error| match error {
            TrySendError::Full(_) => PostError::Full,
            TrySendError::Disconnected(_) => PostError::Failed("the thread that tells has ended".to_owned()),
        })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.sender = None;
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + PATIENCE;
        while !thread.is_finished() && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        if !thread.is_finished() {
            tracing::error!("notifications that waited for slow receivers may be lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;

    fn sh(script: &str) -> Vec<Channel> {
        vec![Channel::Command(["sh", "-c", script].map(ToOwned::to_owned).to_vec())]
    }

    fn event() -> Event {
        Event::test(Stamp::from_millis(0))
    }

    #[test]
    fn a_pass_ends_after_its_time_and_leaves_the_rest_to_the_next() {
        let direct = Direct { budget: Duration::from_millis(1), ..Direct::new(sh("sleep 0.1")) };
        assert_eq!(direct.post(&event()), Ok(()));
        assert_eq!(direct.post(&event()), Err(PostError::Full));
    }

    #[test]
    fn many_events_of_a_kind_are_one_notification() {
        let death = |number: usize| {
            let team = if number < 10 { "dev" } else { "ops" };
            let about =
                Event::new(Kind::Death, Some(team), &number.to_string(), Stamp::from_millis(7), "died");
            about.about(&format!("m{number}"))
        };
        let disk = Event::new(Kind::Disk, None, "disk", Stamp::from_millis(9), "full");
        let few: Vec<Event> = (0..ONE_BY_ONE).map(death).chain([disk.clone()]).collect();
        assert_eq!(combine(&few), few);
        let many = |count: usize| combine(&(0..count).map(death).chain([disk.clone()]).collect::<Vec<_>>());
        let told = many(8);
        assert_eq!((told.len(), &told[0]), (2, &disk));
        assert_eq!(
            told[1].text,
            "8 notifications at once (death): m0@dev, m1@dev, m2@dev, m3@dev, m4@dev and others. `atm status --all-teams` shows them."
        );
        assert_eq!((told[1].team.as_deref(), told[1].since), (Some("dev"), Stamp::from_millis(7)));
        assert_eq!(many(20)[1].team, None, "of several teams");
        assert_ne!(many(20)[1].id, told[1].id);
    }

    #[test]
    fn the_reason_has_no_words_of_the_program_that_failed() {
        let failed = Direct::new(sh("echo secret >&2; exit 1")).post(&event()).unwrap_err();
        assert_eq!(failed, PostError::Failed("command: sh ended with exit status: 1".to_owned()));
    }
}
