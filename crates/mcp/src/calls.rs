//! Running tools: in threads, a few at a time, until they answer or are cancelled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atm_store::watch::Stop;
use rmcp::RoleServer;
use rmcp::model::{JsonObject, ProgressNotificationParam};
use rmcp::service::RequestContext;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};

use crate::answer::Answer;
use crate::desk::Desk;
use crate::handover::Slot;
use crate::tools::Offered;
use crate::trouble::Trouble;

/// Calls that work at the same time. They wait for disks and locks, and for each other.
pub(crate) const WORKERS: usize = 4;
/// Calls of one client that wait for mail at the same time, beside those.
pub(crate) const WAITERS: usize = 8;
/// How often somebody who waits is told that we still do.
const STILL_WAITING: Duration = Duration::from_secs(5);

/// The places for calls.
#[derive(Debug)]
pub(crate) struct Calls {
    workers: Semaphore,
    waiters: Semaphore,
    /// Ends all that wait, when the client has gone.
    closed: Stop,
}

impl Calls {
    pub(crate) fn new(closed: Stop) -> Self {
        Self { workers: Semaphore::new(WORKERS), waiters: Semaphore::new(WAITERS), closed }
    }

    /// Runs a tool to its end. Cancelling, or a client that is gone, stops what only waits; what is being written is finished.
    pub(crate) async fn run(
        &self,
        desk: &Arc<Desk>,
        offered: &Arc<Offered>,
        given: JsonObject,
        context: &RequestContext<RoleServer>,
        slot: &Slot,
    ) -> Result<Answer, Trouble> {
        let _place = if offered.waits {
            self.waiters.try_acquire().map_err(|_| {
                Trouble::new(format!("{WAITERS} calls wait already")).hint("Wait for one of them first")
            })
        } else {
            // Nobody closes it.
            self.workers.acquire().await.map_err(|_| Trouble::new("the server ends"))
        }?;
        let stop = self.closed.child();
        let work = {
            let (desk, offered, stop) = (desk.clone(), offered.clone(), stop.clone());
            tokio::task::spawn_blocking(move || offered.run(&desk, given, &stop))
        };
        let progress = context.meta.get_progress_token().filter(|_| offered.waits);
        let started = Instant::now();
        let mut still_waiting = interval(STILL_WAITING);
        still_waiting.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    return done.unwrap_or_else(|error| Err(Trouble::new(format!("the tool failed: {error}"))));
                }
                () = context.ct.cancelled(), if !stop.is_stopped() => stop.stop(),
                () = slot.abandoned(), if !stop.is_stopped() => stop.stop(),
                _ = still_waiting.tick(), if progress.is_some() => {
                    if let Some(token) = progress.clone() {
                        let waited = ProgressNotificationParam::new(token, started.elapsed().as_secs_f64())
                            .with_message("waiting");
                        // A client that does not hear it does not need it.
                        let _ = context.peer.notify_progress(waited).await;
                    }
                }
            }
        }
    }
}
