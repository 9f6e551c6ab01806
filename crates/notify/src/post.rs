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
use crate::event::Event;
use crate::rules::Rules;

/// For all events of one pass together: what is left after it is told in the next one.
const BUDGET: Duration = Duration::from_secs(20);
/// At most this many events wait for slow receivers.
const LONGEST: usize = 64;
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
                let failed = notifier.post.post(&event).err().map(|error| error.to_string());
                report(&event, failed.as_deref());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
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
    fn the_reason_has_no_words_of_the_program_that_failed() {
        let failed = Direct::new(sh("echo secret >&2; exit 1")).post(&event()).unwrap_err();
        assert_eq!(failed, PostError::Failed("command: sh ended with exit status: 1".to_owned()));
    }
}
