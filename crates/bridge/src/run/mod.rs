//! The process: one thread for the engine and its ledger, which block, and tasks around the server, which do not.
//!
//! | module | does |
//! |---|---|
//! | [`worker`] | the engine's thread: one input after the other |
//! | `ask` | asks another bridge of this name whether it is there |
//! | [`collecting`] | what clients write for other machines, on the thread that hears of changed files |
//! | `intake` | what arrives → engine → acknowledgment |
//! | `namesake` | whether another bridge has this machine's name |
//! | `objects` | which letters are in the object store |
//! | `publisher` | what the engine posts → server → engine |
//! | `presence` | heartbeats, announcements, what other machines say |
//! | `homes` | the bucket of members' homes |
//! | `tasks` | the tasks of shared teams: bucket, files, and who asks |
//! | `uploads` | large letters, one at a time, while everything else goes on |
//! | [`status`] | what the bridge says of itself |
//! | `telling` | when others are told of this machine |

mod ask;
pub mod collecting;
pub mod homes;
mod intake;
mod namesake;
mod objects;
mod presence;
mod publisher;
pub mod status;
mod tasks;
mod telling;
mod uploads;
pub mod worker;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atm_office::clock::{Clock, SystemClock};
use atm_store::watch::Watcher;
use atm_wire::Stamp;
use ed25519_dalek::SigningKey;
use tokio::sync::{Notify, mpsc, watch};

use crate::engine::Identity;
use crate::envelope::seal::Opener;
use crate::files::Files;
use crate::nats::{self, Link, NatsError, Word, setup};
use crate::protocol::{Position, StreamView};
use crate::tasks::files::OfficeFiles;
use crate::trust::Trust;
use worker::{Handle, Input};

/// What a bridge needs to run.
#[derive(Debug)]
pub struct Plan {
    /// Who this machine is.
    pub me: Identity,
    /// Its key.
    pub key: SigningKey,
    /// How to reach the server.
    pub server: nats::Options,
    /// How the stream is kept, if it has to be made.
    pub limits: setup::Limits,
    /// Whether bodies are sealed for their recipient.
    pub seals: bool,
    /// Where its files are.
    pub files: Files,
    /// What hears of changed files.
    pub watcher: Watcher,
    /// The files of the teams' tasks.
    pub tasks: Mutex<Option<OfficeFiles>>,
    /// Whether anything is under way.
    pub busy: watch::Receiver<bool>,
    /// Questions whether what the stream held for this machine is processed, by number.
    pub catch_up: watch::Receiver<u64>,
}

/// What the tasks share.
#[derive(Clone)]
pub(crate) struct Shared {
    link: Link,
    plan: Arc<Plan>,
    engine: Handle,
    trust: watch::Receiver<Trust>,
    passed: Arc<watch::Sender<Passed>>,
    /// Changes when the server may have lost what it had: whoever listens to a bucket begins anew.
    renewed: watch::Receiver<u64>,
    last_word: Arc<presence::LastWord>,
    opener: Arc<Mutex<Opener>>,
    namesakes: Arc<Mutex<namesake::Namesakes>>,
    /// Wakes who waits for answers of a namesake: there is a new question.
    asked: Arc<Notify>,
}

/// How far this machine has processed the stream.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    /// Which stream is read.
    stream: Option<String>,
    /// The last message that was processed.
    last: u64,
    /// Messages that come again later.
    postponed: std::collections::BTreeSet<u64>,
}

impl Passed {
    /// The server was asked for the stream. What it dropped does not come again. Says whether it is another stream than
    /// before.
    fn look_at(&mut self, view: &StreamView) -> bool {
        self.postponed = self.postponed.split_off(&view.first);
        self.stream.replace(view.stream.clone()).is_some_and(|before| before != view.stream)
    }

    /// The server, asked after that, had nothing for this machine: it has processed all that the stream held. What was lost
    /// with a part of the stream has a place that other machines' mail took, and nobody else can say that it is not there.
    fn catch_up(&mut self, view: &StreamView) {
        if self.stream.as_ref() == Some(&view.stream) && self.postponed.is_empty() {
            self.last = self.last.max(view.last);
        }
    }

    fn position(&self) -> Option<Position> {
        let seq = self.postponed.first().map_or(self.last, |first| first.saturating_sub(1).min(self.last));
        self.stream.clone().map(|stream| Position { stream, seq })
    }
}

impl Shared {
    /// Waits until the stream was seen: before, there is nothing to ask for.
    async fn wait_for_stream(&self) {
        let mut renewed = self.renewed.clone();
        while self.passed().stream.is_none() {
            if renewed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Tells of a request that failed. Without a connection, all of them do: the reason is told by the connection itself.
    fn report(&self, error: &NatsError) {
        if self.link.client().connection_state() == async_nats::connection::State::Connected {
            self.engine.send(Input::Trouble(error.to_string()));
        }
    }

    fn passed(&self) -> watch::Ref<'_, Passed> {
        self.passed.borrow()
    }

    /// Changes how far this machine has processed the stream. Who tells others of it hears of another place alone.
    fn change_passed(&self, change: impl FnOnce(&mut Passed)) {
        self.passed.send_if_modified(|passed| {
            let before = passed.position();
            change(passed);
            passed.position() != before
        });
    }

    fn namesakes(&self) -> std::sync::MutexGuard<'_, namesake::Namesakes> {
        self.namesakes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opener(&self) -> std::sync::MutexGuard<'_, Opener> {
        self.opener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn now() -> Stamp {
    SystemClock.now()
}

/// The engine's time: that of the clock when the process started, and what has passed since. A clock that is set back by a
/// day would keep every backoff waiting for a day.
pub(crate) fn steady_now() -> Stamp {
    static START: LazyLock<(Stamp, Instant)> = LazyLock::new(|| (now(), Instant::now()));
    START.0.saturating_add(START.1.elapsed())
}

/// How often the server is asked for the stream: while anything is under way, or it could not be asked; and at rest, when the
/// connection tells of most that happens to it.
const LOOK_EVERY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(10));
/// Not sooner again it is asked as well whether anything waits for this machine: at every look at rest.
const CATCH_UP_EVERY: Duration = Duration::from_secs(9);
/// The longest time that the end takes for what has arrived: what is not acknowledged then comes again a minute later.
const FINISH: Duration = Duration::from_secs(2);

/// Runs the bridge until `stop` says so.
pub async fn run(
    plan: Plan,
    engine: Handle,
    posts: mpsc::UnboundedReceiver<worker::Output>,
    trust: watch::Receiver<Trust>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), NatsError> {
    let (teller, words) = mpsc::unbounded_channel();
    let client = nats::connect(&plan.server, &plan.me.realm, &plan.me.machine, true, teller).await?;
    let link =
        Link::new(client, plan.me.realm.clone(), plan.me.machine.clone()).remembering(plan.files.limits());
    let (renew, renewed) = watch::channel(0);
    let last_word = Arc::new(presence::LastWord::load(&plan.files, now()));
    let (plan, passed) = (Arc::new(plan), Arc::default());
    let (opener, namesakes, asked) = (Arc::default(), Arc::default(), Arc::default());
    let shared = Shared { link, plan, engine, trust, passed, renewed, last_word, opener, namesakes, asked };
    let up = Arc::new(Notify::new());
    let files = shared.plan.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
    let shared_tasks = files.map(|files| tasks::Tasks::start(&shared, files)).transpose()?;
    let mut intake = tokio::spawn(intake::run(shared.clone(), stop.clone()));
    let tasks = [
        tokio::spawn(pass_on(words, shared.engine.clone(), Arc::clone(&up))),
        tokio::spawn(publisher::run(shared.clone(), posts)),
        tokio::spawn(presence::listen(shared.clone(), true)),
        tokio::spawn(presence::listen(shared.clone(), false)),
        tokio::spawn(ask::listen(shared.clone())),
        tokio::spawn(homes::listen(shared.clone())),
        tokio::spawn(homes::catch_up(shared.clone())),
        tokio::spawn(follow_stream(shared.clone(), up, renew)),
    ];
    // A request to a server that is silent takes its time, and the end must not.
    while stop.changed().await.is_ok() && !*stop.borrow() {}
    let finish = async {
        let _ = (&mut intake).await;
        shared.link.client().flush().await
    };
    let _ = tokio::time::timeout(FINISH, finish).await;
    for task in tasks.iter().chain([&intake]) {
        task.abort();
    }
    drop(shared_tasks);
    Ok(())
}

/// What is heard of the connection is known at once, also while requests wait for their answers.
async fn pass_on(mut words: mpsc::UnboundedReceiver<Word>, engine: Handle, up: Arc<Notify>) {
    while let Some(word) = words.recv().await {
        match word {
            Word::Trouble(text) => engine.send(Input::Trouble(text)),
            Word::Down => engine.send(Input::Connected(false)),
            Word::Up => {
                engine.send(Input::Connected(true));
                up.notify_one();
            }
        }
    }
}

/// Asks for the stream now and then, and whenever the connection is back.
async fn follow_stream(shared: Shared, up: Arc<Notify>, renew: watch::Sender<u64>) {
    let mut busy = shared.plan.busy.clone();
    let (mut looked, mut caught_up): (Option<(Instant, bool)>, Instant) = (None, Instant::now());
    loop {
        let is_busy = *busy.borrow_and_update();
        let every = |is_there: bool| if is_busy || !is_there { LOOK_EVERY.0 } else { LOOK_EVERY.1 };
        let due = looked.map_or_else(Instant::now, |(at, is_there)| at + every(is_there));
        tokio::select! {
            () = up.notified() => renew.send_modify(|times| *times += 1),
            () = tokio::time::sleep_until(due.into()) => {}
            Ok(()) = busy.changed() => continue,
        }
        let view = look_at_stream(&shared, &renew).await;
        looked = Some((Instant::now(), view.is_some()));
        if let Some(view) = view.filter(|_| caught_up.elapsed() >= CATCH_UP_EVERY) {
            catch_up(&shared, &view).await;
            caught_up = Instant::now();
        }
    }
}

/// Asks the server whether anything waits for this machine, if the stream has grown by other machines' mail.
async fn catch_up(shared: &Shared, view: &StreamView) {
    let is_behind = shared.passed().last < view.last;
    // If it cannot be asked, it is asked the next time.
    if !is_behind || shared.link.lag().await.is_ok_and(|lag| lag.count() == 0) {
        shared.engine.send(Input::Lag(0));
        shared.change_passed(|passed| passed.catch_up(view));
    }
}

/// Asks the server for the stream; makes it if it is gone and this machine may.
async fn look_at_stream(shared: &Shared, renew: &watch::Sender<u64>) -> Option<StreamView> {
    let seen = |view: StreamView| {
        let mut is_another = shared.passed().stream.is_none();
        shared.change_passed(|passed| is_another |= passed.look_at(&view));
        if is_another {
            renew.send_modify(|times| *times += 1);
        }
        shared.engine.send(Input::Stream(Some(view.clone())));
        view
    };
    match shared.link.stream_view(steady_now()).await {
        Ok(view) => Some(seen(view)),
        Err(error) => {
            shared.engine.send(Input::Stream(None));
            // One that is missing and was made now is no trouble. If it may not be made, the next look says so again.
            match shared.link.init(shared.plan.limits).await {
                Ok(_) => return shared.link.stream_view(steady_now()).await.ok().map(seen),
                Err(old @ NatsError::TooOld { .. }) => shared.report(&old),
                Err(_) => shared.report(&error),
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_again_later_is_not_processed() {
        let mut passed = Passed { stream: Some("s".into()), last: 9, postponed: [4, 7].into() };
        assert_eq!(passed.position().map(|position| position.seq), Some(3));
        passed.postponed.remove(&4);
        assert_eq!(passed.position().map(|position| position.seq), Some(6));
    }

    /// Others would wait for ever for this machine to get there.
    #[test]
    fn what_the_stream_dropped_does_not_come_again() {
        let mut passed = Passed { stream: Some("s".into()), last: 9, postponed: [4, 7].into() };
        let view = |stream: &str, first| StreamView {
            stream: stream.into(),
            first,
            last: 20,
            most_bytes: None,
            most_age: None,
            at: now(),
        };
        assert!(!passed.look_at(&view("s", 5)));
        assert_eq!(passed.position().map(|position| position.seq), Some(6));
        assert!(!passed.look_at(&view("s", 8)));
        assert_eq!(passed.position().map(|position| position.seq), Some(9));
        assert!(passed.look_at(&view("t", 1)));
    }

    #[test]
    fn other_machines_mail_is_processed_when_nothing_is_for_this_one() {
        let mut passed = Passed { stream: Some("s".into()), last: 9, postponed: [4].into() };
        let view = |stream: &str, last| StreamView {
            stream: stream.into(),
            first: 1,
            last,
            most_bytes: None,
            most_age: None,
            at: now(),
        };
        passed.catch_up(&view("s", 20));
        assert_eq!(passed.position().map(|position| position.seq), Some(3));
        passed.postponed.clear();
        passed.catch_up(&view("t", 20));
        assert_eq!(passed.position().map(|position| position.seq), Some(9));
        passed.catch_up(&view("s", 20));
        assert_eq!(passed.position().map(|position| position.seq), Some(20));
    }
}
