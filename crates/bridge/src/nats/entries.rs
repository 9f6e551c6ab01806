//! The bucket of tasks, for a thread that waits: signed entries, and the server's clock.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime};

use async_nats::connection::State;
use atm_office::clock::{Clock, SystemClock};
use atm_office::tasks::shared::LONGEST_SHARED_LEASE;
use atm_wire::Stamp;
use atm_wire::task::TaskId;
use ed25519_dalek::{SigningKey, VerifyingKey};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{Bucket, Link, NatsError, Set, Standing};
use crate::engine::Identity;
use crate::envelope::codec::{self, Keys};
use crate::envelope::{Body, Numbers};
use crate::name::Machine;
use crate::protocol::tasks::{MARGIN, SharedTask};
use crate::subject;
use crate::tasks::entries::{Away, Entries, Entry, LastNumber};
use crate::trust::Trust;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long is waited at a time before it is looked whether the bridge ends.
const SLICE: Duration = Duration::from_millis(100);
/// The longest way to the server and back by which its clock can be told: a part of the margin between claims.
const LONGEST_WAY: Duration = Duration::from_millis(1_500);
/// For how long the server's clock is counted on from what it said.
const CLOCK_HOLDS: Duration = Duration::from_secs(30);
/// By how much the two clocks of this machine may differ: one of them stops while it sleeps.
const CLOCKS_AGREE: Duration = Duration::from_millis(500);
/// Room for headers in a message.
const HEADERS: usize = 1024;

/// What was heard of the bucket.
#[derive(Debug, Default)]
pub struct Heard {
    /// The bucket, once all of it was heard.
    pub bucket: Option<(Bucket, String)>,
    /// Its entries, by key.
    pub entries: BTreeMap<String, Entry>,
    /// Counts what was heard.
    pub version: u64,
}

/// What was heard, for all who hear and read.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Heard>>);

impl Board {
    /// What was heard so far.
    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who signs entries, and whose entries are read.
#[derive(Debug, Clone)]
pub struct Signer {
    /// This machine.
    pub me: Identity,
    /// Its key.
    pub key: SigningKey,
    /// Whose keys are trusted.
    pub trust: watch::Receiver<Trust>,
}

/// The keys of the machines that are trusted, and of this one.
struct Ring<'a>(&'a Trust, &'a Machine, VerifyingKey);

impl Keys for Ring<'_> {
    fn key_of(&self, machine: &Machine) -> Option<VerifyingKey> {
        if machine == self.1 { Some(self.2) } else { self.0.key_of(machine) }
    }
}

impl Signer {
    fn seal(&self, body: Body) -> Result<Vec<u8>, Away> {
        let envelope = self.me.announce(body, SystemClock.now());
        let entry = codec::encode(&envelope, &self.key, None).map_err(|error| Away(error.to_string()))?;
        // No machine would read it.
        if entry.len() > codec::LARGEST_FOR_ALL {
            return Err(Away(format!("it is larger than {} bytes", codec::LARGEST_FOR_ALL)));
        }
        Ok(entry)
    }

    /// What an entry says and who signed it; or why it is refused.
    fn open(&self, bytes: &[u8]) -> Result<(Machine, Body), &'static str> {
        let trust = self.trust.borrow();
        let ring = Ring(&trust, &self.me.machine, self.key.verifying_key());
        let checked = codec::check(bytes, &ring, &self.me.realm, &self.me.machine);
        let envelope = checked.and_then(|checked| checked.open(&self.key));
        envelope.map(|envelope| (envelope.header.from, envelope.body)).map_err(|refusal| refusal.kind())
    }

    /// The entry at a key; with why it is refused, if it is.
    pub fn entry(&self, key: &str, standing: &Standing) -> (Entry, Option<&'static str>) {
        let Standing { value, revision, created } = standing;
        let me = &self.me.machine;
        // Nobody who keeps to the protocol deletes an entry.
        let Some(bytes) = value else { return (Entry::unread(*revision, me.clone(), *created), None) };
        let why = match self.open(bytes) {
            Ok((from, Body::Task(task))) if task_key(&task.team, task.id) == key => {
                return (Entry::of(*revision, from, task), None);
            }
            // It stands where it was not put.
            Ok(_) => "foreign-place",
            Err(why) => why,
        };
        let signer = codec::says_from(bytes).and_then(|name| name.parse().ok()).unwrap_or_else(|| me.clone());
        // It is no honest machine's word, or was this one's before its key was replaced. Every other one may be of a machine that is
        // trusted by others: it stands for as long as a claim in it may hold.
        let is_nobodys = matches!(why, "malformed" | "foreign-place" | "other-realm") || signer == *me;
        let wait = if is_nobodys { Duration::ZERO } else { LONGEST_SHARED_LEASE + MARGIN };
        (Entry::unread(*revision, signer, created.saturating_add(wait)), Some(why))
    }
}

/// The key of a task.
pub fn task_key(team: &str, id: TaskId) -> String {
    format!("{}.task.{id}", subject::token(team))
}

/// The number of a task by its key, if it is one of this team.
fn number_in(team: &str, key: &str) -> Option<TaskId> {
    let number = key.strip_prefix(&subject::token(team))?.strip_prefix(".task.")?;
    TaskId::parse(number).ok()
}

fn numbers_key(team: &str) -> String {
    format!("{}.numbers", subject::token(team))
}

/// What the server's clock said.
#[derive(Debug, Clone, Copy)]
struct Told {
    stamp: Stamp,
    at: Instant,
    wall: SystemTime,
}

/// The bucket, for the thread of the mirror.
#[derive(Debug)]
pub struct NatsEntries {
    handle: Handle,
    link: Link,
    board: Board,
    signer: Signer,
    clock: Option<Told>,
    ends: Arc<AtomicBool>,
}

impl NatsEntries {
    /// Over this connection, whose runtime is driven by another thread.
    pub fn new(handle: Handle, link: Link, board: Board, signer: Signer) -> Self {
        Self { handle, link, board, signer, clock: None, ends: Arc::default() }
    }

    /// What ends all waiting, once it is set: nothing is answered from then on.
    pub fn end(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ends)
    }

    /// Waits for what the runtime does.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, NatsError>> + Send + 'static,
    ) -> Result<T, Away> {
        let (done, answer) = mpsc::channel();
        self.handle.spawn(async move {
            // Who asked may have given up.
            let _ = done.send(work.await);
        });
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && !self.ends.load(Ordering::Relaxed) {
            match answer.recv_timeout(SLICE) {
                Ok(answer) => return answer.map_err(|error| Away(error.to_string())),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        Err(Away("the server does not answer".to_owned()))
    }

    fn bucket(&self) -> Result<(Bucket, String), Away> {
        if self.ends.load(Ordering::Relaxed) {
            return Err(Away("the bridge ends".to_owned()));
        }
        if self.link.client().connection_state() != State::Connected {
            return Err(Away("the server cannot be reached".to_owned()));
        }
        let known = self.board.heard().bucket.clone();
        known.ok_or_else(|| Away("the bucket of tasks is not known yet".to_owned()))
    }

    fn set_body(&mut self, key: String, body: Body, revision: u64) -> Result<Set, Away> {
        let (bucket, _) = self.bucket()?;
        let bytes = self.signer.seal(body)?;
        if bytes.len() + HEADERS > self.link.client().max_payload() {
            return Err(Away("a task is larger than the server takes".to_owned()));
        }
        self.wait(async move { bucket.set(&key, bytes, revision).await })
    }

    fn ask_clock(&mut self) -> Result<Told, Away> {
        let (bucket, _) = self.bucket()?;
        let key = format!("clock.{}", self.signer.me.machine);
        let begun = (Instant::now(), SystemTime::now());
        let (put, found) = self.wait(async move {
            let put = bucket.put(&key, Vec::new()).await?;
            Ok((put, bucket.get(&key).await?))
        })?;
        let (at, wall) = (Instant::now(), SystemTime::now());
        // A replica may answer with what was put before.
        let found = found.filter(|found| found.revision >= put);
        let way = (at - begun.0, wall.duration_since(begun.1).unwrap_or(Duration::MAX));
        let Some(found) = found.filter(|_| is_short(way)) else {
            return Err(Away("the server answers too slowly to tell its clock".to_owned()));
        };
        Ok(Told { stamp: found.created, at, wall })
    }
}

/// Whether the way to the server and back, by the monotonic clock and by the wall clock, was short, and this machine did not
/// sleep meanwhile: one of its clocks stops then.
fn is_short((monotonic, wall): (Duration, Duration)) -> bool {
    monotonic < LONGEST_WAY && monotonic.abs_diff(wall) < CLOCKS_AGREE
}

impl Entries for NatsEntries {
    fn identity(&mut self) -> Result<String, Away> {
        self.bucket().map(|(_, identity)| identity)
    }

    fn now(&mut self) -> Result<Stamp, Away> {
        let holds = |told: &Told| {
            let (passed, wall) = (told.at.elapsed(), told.wall.elapsed().unwrap_or_default());
            passed < CLOCK_HOLDS && passed.abs_diff(wall) < CLOCKS_AGREE
        };
        let told = match self.clock.filter(holds) {
            Some(told) => told,
            None => self.ask_clock()?,
        };
        self.clock = Some(told);
        Ok(told.stamp.saturating_add(told.at.elapsed()))
    }

    fn list(&mut self, team: &str) -> Result<Vec<(TaskId, Entry)>, Away> {
        self.bucket()?;
        let heard = self.board.heard();
        let own =
            heard.entries.iter().filter_map(|(key, entry)| Some((number_in(team, key)?, entry.clone())));
        Ok(own.collect())
    }

    fn get(&mut self, team: &str, id: TaskId) -> Result<Option<Entry>, Away> {
        let (key, (bucket, _)) = (task_key(team, id), self.bucket()?);
        let place = key.clone();
        let found = self.wait(async move { bucket.standing(&place).await })?;
        Ok(found.map(|found| self.signer.entry(&key, &found).0))
    }

    fn set(&mut self, value: &SharedTask, revision: u64) -> Result<Set, Away> {
        self.set_body(task_key(&value.team, value.id), Body::Task(value.clone()), revision)
    }

    fn last_number(&mut self, team: &str) -> Result<LastNumber, Away> {
        let (key, (bucket, _)) = (numbers_key(team), self.bucket()?);
        let found = self.wait(async move { bucket.standing(&key).await })?;
        let Some(Standing { value, revision, .. }) = found else {
            return Ok(LastNumber { last: TaskId::NONE, revision: 0, is_own: false });
        };
        // What was deleted, or nobody can read, says nothing: it is replaced by what is known.
        let (last, is_own) = match value.map(|value| self.signer.open(&value)) {
            Some(Ok((from, Body::Numbers(numbers)))) if numbers.team == team => {
                (numbers.last, from == self.signer.me.machine)
            }
            _ => (TaskId::NONE, false),
        };
        Ok(LastNumber { last, revision, is_own })
    }

    fn set_last_number(&mut self, team: &str, known: LastNumber, last: TaskId) -> Result<Set, Away> {
        let body = Body::Numbers(Numbers { team: team.to_owned(), last });
        self.set_body(numbers_key(team), body, known.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_slept_on_the_way_does_not_know_the_servers_clock() {
        let millis = Duration::from_millis;
        let rows = [
            ("a short way", 40, 41, true),
            ("a long way", 1_600, 1_600, false),
            ("asleep for two minutes", 40, 120_040, false),
            ("its wall clock was set", 900, 0, false),
        ];
        for (case, monotonic, wall, expected) in rows {
            assert_eq!(is_short((millis(monotonic), millis(wall))), expected, "{case}");
        }
    }
}
