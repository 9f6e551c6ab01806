//! The process: one thread for the engine and its ledger, which block, and tasks around the server, which do not.
//!
//! | module | does |
//! |---|---|
//! | [`worker`] | the engine's thread: one input after the other |
//! | `intake` | what arrives → engine → acknowledgment |
//! | `publisher` | what the engine posts → server → engine |
//! | `presence` | heartbeats, announcements, what other machines say |
//! | `tasks` | the tasks of shared teams: bucket, files, and who asks |
//! | [`status`] | what the bridge says of itself |

mod intake;
mod presence;
mod publisher;
pub mod status;
mod tasks;
pub mod worker;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atm_office::clock::{Clock, SystemClock};
use atm_wire::Stamp;
use ed25519_dalek::SigningKey;
use tokio::sync::{mpsc, watch};

use crate::engine::Identity;
use crate::files::Files;
use crate::nats::{self, Link, NatsError, setup};
use crate::protocol::Position;
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
    /// The files of the teams' tasks.
    pub tasks: Mutex<Option<OfficeFiles>>,
}

/// What the tasks share.
#[derive(Clone)]
pub(crate) struct Shared {
    link: Link,
    plan: Arc<Plan>,
    engine: Handle,
    trust: watch::Receiver<Trust>,
    passed: Arc<Mutex<Passed>>,
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
    fn position(&self) -> Option<Position> {
        let seq = self.postponed.first().map_or(self.last, |first| first.saturating_sub(1).min(self.last));
        self.stream.clone().map(|stream| Position { stream, seq })
    }
}

impl Shared {
    fn passed(&self) -> std::sync::MutexGuard<'_, Passed> {
        // Nothing panics while it is held.
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn now() -> Stamp {
    SystemClock.now()
}

/// How often the server is asked for the stream.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Runs the bridge until `stop` says so.
pub async fn run(
    plan: Plan,
    engine: Handle,
    posts: mpsc::UnboundedReceiver<worker::Output>,
    trust: watch::Receiver<Trust>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), NatsError> {
    let (up_sender, mut up) = mpsc::unbounded_channel();
    let client = nats::connect(&plan.server, &plan.me.realm, &plan.me.machine, true, up_sender).await?;
    let link = Link::new(client, plan.me.realm.clone(), plan.me.machine.clone());
    let passed = Arc::default();
    let shared = Shared { link, plan: Arc::new(plan), engine, trust, passed };
    let files = shared.plan.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
    let shared_tasks = files.map(|files| tasks::Tasks::start(&shared, files)).transpose()?;
    let tasks = [
        tokio::spawn(publisher::run(shared.clone(), posts)),
        tokio::spawn(intake::run(shared.clone())),
        tokio::spawn(presence::listen(shared.clone(), true)),
        tokio::spawn(presence::listen(shared.clone(), false)),
    ];
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            changed = stop.changed() => if changed.is_err() || *stop.borrow() { break },
            Some(is_up) = up.recv() => {
                shared.engine.send(Input::Connected(is_up));
                if is_up {
                    look_at_stream(&shared).await;
                }
            }
            _ = look.tick() => look_at_stream(&shared).await,
        }
    }
    for task in &tasks {
        task.abort();
    }
    drop(shared_tasks);
    Ok(())
}

/// Asks the server for the stream; makes it if it is gone and this machine may.
async fn look_at_stream(shared: &Shared) {
    let asked = now();
    match shared.link.stream_view(asked).await {
        Ok(view) => {
            shared.passed().stream = Some(view.stream.clone());
            shared.engine.send(Input::Stream(Some(view)));
        }
        Err(error) => {
            shared.engine.send(Input::Stream(None));
            shared.engine.send(Input::Trouble(error.to_string()));
            // If it may not, the next look says so again.
            let _ = shared.link.init(shared.plan.limits).await;
        }
    }
}
