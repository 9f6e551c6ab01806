//! Threads that visit teams and keep house, so that one that takes long holds nobody up.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use atm_office::Office;
use atm_store::watch::Waker;
use atm_wire::Stamp;

use crate::daemon::Chores;
use crate::schedule::Job;
use crate::visit::{Visited, visit};

/// So much is done at once.
const AT_ONCE: usize = 4;
/// How long the end waits for visits that are under way. What they leave undone is found by the next runner of chores.
const PATIENCE: Duration = Duration::from_secs(5);

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Errand {
    Visit(Job),
    /// What is of no team.
    KeepHouse,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Finished {
    Visited(Job, Result<Visited, String>),
    /// With what went wrong.
    HouseKept(Vec<String>),
}

impl Finished {
    fn is_of(&self, errand: &Errand) -> bool {
        match (self, errand) {
            (Self::Visited(job, _), Errand::Visit(other)) => job.team == other.team,
            (Self::HouseKept(_), Errand::KeepHouse) => true,
            _ => false,
        }
    }
}

/// The threads, which are made when they are first needed.
#[derive(Debug)]
pub(crate) struct Workers {
    office: Office,
    chores: Arc<dyn Chores>,
    waker: Waker,
    errands: Sender<Errand>,
    queue: Arc<Mutex<Receiver<Errand>>>,
    ended: Receiver<Finished>,
    end: Sender<Finished>,
    threads: usize,
    /// What is under way, and since when.
    under_way: Vec<(Errand, Stamp)>,
}

impl Workers {
    pub(crate) fn new(office: Office, chores: Arc<dyn Chores>, waker: Waker) -> Self {
        let (errands, queue) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        Self { office, chores, waker, errands, queue, ended, end, threads: 0, under_way: Vec::new() }
    }

    pub(crate) fn has_free(&self) -> bool {
        self.under_way.len() < AT_ONCE
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether somebody keeps house: one does so at a time, or all would, and nobody looked at mail.
    pub(crate) fn keeps_house(&self) -> bool {
        self.under_way.iter().any(|(errand, _)| *errand == Errand::KeepHouse)
    }

    /// Lets a free thread do this. Where the system has no further thread, those that there are do it, one after the other.
    pub(crate) fn begin(&mut self, errand: Errand) -> io::Result<()> {
        if self.threads <= self.under_way.len()
            && let Err(error) = self.add_thread()
        {
            if self.threads == 0 {
                return Err(error);
            }
            tracing::warn!(%error, threads = self.threads, "there is no further thread");
        }
        self.under_way.push((errand.clone(), self.office.now()));
        // They take errands for as long as we have the queue's other end.
        let _ = self.errands.send(errand);
        Ok(())
    }

    /// What ended since the last question.
    pub(crate) fn take(&mut self) -> Vec<Finished> {
        let ended: Vec<Finished> = self.ended.try_iter().collect();
        self.under_way.retain(|(errand, _)| !ended.iter().any(|ended| ended.is_of(errand)));
        ended
    }

    /// What is under way, in words; the oldest first.
    pub(crate) fn words(&self) -> Option<String> {
        let words: Vec<String> =
            self.under_way.iter().map(|(errand, since)| format!("{} since {since}", doing(errand))).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Waits for what is under way, though not for ever.
    pub(crate) fn end(mut self) {
        let until = Instant::now() + PATIENCE;
        while !self.is_idle() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(ended) = self.ended.recv_timeout(left) else {
                tracing::warn!(what = self.words(), "leaves undone");
                return;
            };
            self.under_way.retain(|(errand, _)| !ended.is_of(errand));
        }
    }

    fn add_thread(&mut self) -> io::Result<()> {
        let (office, chores) = (self.office.clone(), Arc::clone(&self.chores));
        let (queue, end, waker) = (Arc::clone(&self.queue), self.end.clone(), self.waker.clone());
        let work = move || {
            loop {
                let errand = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let ended = match errand {
                    Ok(Errand::Visit(job)) => {
                        let mut visited = Ok(Visited::default());
                        chores.lend(&mut |chores| visited = visit(&office, chores, &job));
                        Finished::Visited(job, visited)
                    }
                    Ok(Errand::KeepHouse) => Finished::HouseKept(chores.keep_house(&office)),
                    Err(_) => return,
                };
                if end.send(ended).is_err() {
                    return;
                }
                waker.wake();
            }
        };
        thread::Builder::new().name("visits".to_owned()).spawn(work)?;
        self.threads += 1;
        Ok(())
    }
}

fn doing(errand: &Errand) -> String {
    let Errand::Visit(job) = errand else { return "keeps house".to_owned() };
    let parts = [(job.look, "looks at"), (job.presence, "judges"), (job.tend, "tends")];
    let parts: Vec<&str> = parts.into_iter().filter_map(|(is_due, what)| is_due.then_some(what)).collect();
    format!("{} team {}", parts.join(", "), job.team)
}
