//! The tasks of shared teams: what is heard of the bucket, what processes ask, and the thread that keeps files and bucket the
//! same.

mod left;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use atm_office::tasks::Edit;
use atm_office::tasks::shared::{Answer, Ask, LONGEST_LINE, LONGEST_SHARED_LEASE};
use atm_store::watch::{ManyWatch, Stop, Waker, Woken};
use atm_wire::task::{Change, Status};
use futures_util::StreamExt;
use tokio::sync::watch;

use super::Shared;
use super::status::Fill;
use super::worker::Input;
use crate::name::Machine;
use crate::nats::entries::{Board, NatsEntries, Signer};
use crate::nats::{Bucket, Names, NatsError, Standing};
use crate::protocol::tasks::change::Wanted;
use crate::protocol::tasks::home::Residences;
use crate::tasks::entries::Entries;
use crate::tasks::files::OfficeFiles;
use crate::tasks::mirror::{Mirror, MirrorError};
use left::Left;

/// The wait before the server is asked again.
const BETWEEN: Duration = Duration::from_secs(1);
/// How often it is asked whether the bucket is another one, if the stream is the same: then it is hardly ever; and how full it is.
const ASK_EVERY: Duration = Duration::from_secs(30);
/// How often all is compared, whether anything changed or not: names and claims change by the clock.
const ALL_EVERY: Duration = Duration::from_secs(30);
/// How long an ask may wait for its turn: who asked gives up a little later.
const TURN: Duration = Duration::from_secs(3);
/// How long a caller may take to say what it wants.
const CALLER: Duration = Duration::from_secs(1);
/// Callers at a time.
const MOST_CALLERS: usize = 64;

/// Something for the thread.
enum Event {
    Asked(Ask, Instant, mpsc::Sender<Answer>),
    Changed,
    Stop,
}

/// Where events for the thread go.
#[derive(Clone)]
struct Events {
    inputs: mpsc::Sender<Event>,
    waker: Waker,
}

impl Events {
    /// Hands one over; says whether the thread is there.
    fn send(&self, event: Event) -> bool {
        let is_sent = self.inputs.send(event).is_ok();
        self.waker.wake();
        is_sent
    }
}

/// What runs beside the bridge for tasks, until it is dropped.
pub(super) struct Tasks {
    events: Events,
    ends: Arc<AtomicBool>,
    follow: [tokio::task::JoinHandle<()>; 2],
    thread: Option<thread::JoinHandle<()>>,
}

impl Tasks {
    /// Starts it.
    pub(super) fn start(shared: &Shared, files: OfficeFiles) -> Result<Self, NatsError> {
        let failed = |path: &str| {
            let path = path.to_owned();
            move |why: std::io::Error| NatsError::File { path, why: why.to_string() }
        };
        let (sender, inputs) = mpsc::channel();
        let watch = ManyWatch::on(&shared.plan.watcher, &Stop::default(), None);
        let events = Events { inputs: sender, waker: watch.waker() };
        let board = Board::default();
        let plan = &shared.plan;
        let signer = Signer { me: plan.me.clone(), key: plan.key.clone(), trust: shared.trust.clone() };
        let entries = NatsEntries::new(
            tokio::runtime::Handle::current(),
            shared.link.clone(),
            board.clone(),
            signer.clone(),
        );
        let ends = entries.end();
        let socket = files.socket();
        let listener = atm_store::socket::listen(&socket).map_err(failed(&socket.display().to_string()))?;
        let homes = files.homes();
        let memory = files.load();
        let mirror = Mirror::new(plan.me.machine.clone(), entries, files, memory, LONGEST_SHARED_LEASE);
        let keeper = Keeper {
            mirror,
            shared: shared.clone(),
            board: board.clone(),
            compared: None,
            left: Left::Nothing,
            next_all: Instant::now(),
        };
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let thread = named("tasks").spawn(move || keeper.run(&inputs, watch)).map_err(failed("thread"))?;
        let asks = events.clone();
        named("task asks").spawn(move || serve(&listener, &asks)).map_err(failed("thread"))?;
        let follow = [
            tokio::spawn(follow_homes(homes, board.clone(), events.clone())),
            tokio::spawn(listen(shared.clone(), board, signer, events.clone())),
        ];
        Ok(Self { events, ends, follow, thread: Some(thread) })
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.follow.iter().for_each(tokio::task::JoinHandle::abort);
        // The runtime answers nothing while this thread waits here.
        self.ends.store(true, Ordering::Relaxed);
        self.events.send(Event::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread that keeps files and bucket the same.
struct Keeper {
    mirror: Mirror<NatsEntries, OfficeFiles>,
    shared: Shared,
    board: Board,
    /// What all was compared at last, if nothing was left to do.
    compared: Option<(u64, Vec<Option<String>>)>,
    left: Left,
    next_all: Instant,
}

impl Keeper {
    fn run(mut self, inputs: &mpsc::Receiver<Event>, mut watch: ManyWatch) {
        let files = self.mirror.files();
        let (folders, has_events) = (files.folders(), files.has_events());
        loop {
            // Folders come, and go.
            watch.set(folders.there());
            let has_watches = has_events && watch.unwatched().next().is_none();
            let every = self.left.look_every(has_watches);
            let woken = watch.wait(Some(self.next_all.min(Instant::now() + every)));
            // One look is enough for all that changed, and who asks does not wait for it. Who wakes without a folder has sent an event.
            let mut is_changed = match woken {
                Woken::Over => return,
                Woken::By(changed) => !changed.is_empty(),
                Woken::EventsLost | Woken::Due => true,
            };
            for event in inputs.try_iter() {
                match event {
                    Event::Stop => return,
                    Event::Changed => is_changed = true,
                    Event::Asked(ask, until, answer) => {
                        let answered = self.answer(&ask, until);
                        // Who asked may have given up.
                        let _ = answer.send(answered);
                    }
                }
            }
            if is_changed {
                self.compare();
            }
        }
    }

    fn answer(&mut self, ask: &Ask, until: Instant) -> Answer {
        let away = |why: String| Answer::Away { why };
        if Instant::now() > until {
            return away("the bridge is busy".to_owned());
        }
        if self.has_namesake() {
            return away("another bridge has this machine's name".to_owned());
        }
        self.learn();
        let (Ask::Claim { root, team, .. } | Ask::Change { root, team, .. } | Ask::Number { root, team }) =
            ask;
        let Some(shared) = self.mirror.files().shared_name(root, team) else {
            return away(format!("the bridge that runs here does not share the team {team}"));
        };
        self.compared = None;
        let answered = match ask {
            Ask::Claim { id, who, seconds, renews, .. } => {
                let lease = Duration::try_from_secs_f64(*seconds).unwrap_or(LONGEST_SHARED_LEASE);
                self.mirror.claim(&shared, *id, who, lease, *renews)
            }
            Ask::Change { id, seen, edits, .. } => {
                let changes = edits.as_ref().map(|edits| edits.iter().map(Edit::change).collect());
                let changes: Option<Vec<Change>> = match changes {
                    Some(None) => return away("what is to be changed cannot be read".to_owned()),
                    changes => changes.flatten(),
                };
                let status = Status::parse(&seen.status);
                let wanted = Wanted { owner: seen.owner.as_deref(), status, changes };
                self.mirror.change(&shared, *id, &wanted)
            }
            Ask::Number { .. } => self.mirror.number(&shared),
        };
        answered.unwrap_or_else(|error| {
            self.shared.engine.send(Input::Trouble(error.to_string()));
            away(match error {
                MirrorError::Away(away) => away.to_string(),
                MirrorError::File(error) => format!("a file cannot be written ({error})"),
            })
        })
    }

    /// Whether another bridge has this machine's name: each would set back what the other one puts.
    fn has_namesake(&self) -> bool {
        self.shared.namesakes().is_there(Instant::now())
    }

    fn learn(&mut self) {
        let trust = self.shared.trust.borrow();
        let leads = trust.machines().iter().filter(|(_, trusted)| trusted.as_lead);
        let leads: Vec<Machine> = leads.map(|(machine, _)| machine.clone()).collect();
        drop(trust);
        self.mirror.set_as_lead(leads);
    }

    /// Brings files and bucket into order, if anything may have changed.
    fn compare(&mut self) {
        if self.has_namesake() {
            self.next_all = Instant::now() + ALL_EVERY;
            self.left = Left::Nothing;
            return;
        }
        let looks = (self.board.heard().version, self.mirror.files().signatures());
        let is_time = Instant::now() >= self.next_all;
        // A file that was written just now may be written again without looking different.
        let is_same = self.compared.as_ref() == Some(&looks) && looks.1.iter().all(Option::is_some);
        if is_same && !is_time {
            return;
        }
        self.next_all = Instant::now() + ALL_EVERY;
        self.learn();
        let synced = self.mirror.sync();
        for (why, what) in self.mirror.take_refused() {
            self.shared.engine.send(Input::Refused(why, what));
        }
        let is_away = self.mirror.entries().identity().is_err();
        self.left = match &synced {
            Err(_) if is_away => Left::Nothing,
            _ if self.mirror.has_missing() => Left::Missing,
            Err(_) => Left::Failed,
            Ok(()) => Left::Nothing,
        };
        // What was written by this is looked at once more.
        self.compared = Some(looks).filter(|_| synced.is_ok() && self.left == Left::Nothing);
        if let Err(error) = synced
            && !is_away
        {
            self.shared.engine.send(Input::Trouble(error.to_string()));
        }
    }
}

/// Whose a task is depends on where its owner is at home.
async fn follow_homes(mut homes: watch::Receiver<Residences>, board: Board, events: Events) {
    while homes.changed().await.is_ok() {
        board.heard().version += 1;
        events.send(Event::Changed);
    }
}

/// Hears what is put into the bucket, by whomever.
async fn listen(shared: Shared, board: Board, signer: Signer, events: Events) {
    shared.wait_for_stream().await;
    loop {
        let followed = follow(&shared, &board, &signer, &events).await;
        {
            let mut heard = board.heard();
            heard.bucket = None;
            heard.version += 1;
        }
        if let Err(error) = followed {
            shared.report(&error);
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

async fn follow(shared: &Shared, board: &Board, signer: &Signer, events: &Events) -> Result<(), NatsError> {
    // All that is heard from here on is judged by this trust, or by a later one.
    let mut trust = signer.trust.clone();
    trust.mark_unchanged();
    let mut renewed = shared.renewed.clone();
    renewed.mark_unchanged();
    let name = Names::of(&signer.me.realm).tasks;
    let bucket = Bucket::open(&shared.link, &name).await?;
    let identity = bucket.identity();
    let mut watch = bucket.watch().await?;
    {
        let mut heard = board.heard();
        heard.entries.clear();
        heard.bucket = bucket.is_empty().then(|| (bucket.clone(), identity.clone()));
        heard.version += 1;
    }
    events.send(Event::Changed);
    let mut look = tokio::time::interval(ASK_EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let entry = tokio::select! {
            entry = watch.next() => entry,
            // Others may be trusted now: all is read again.
            _ = trust.changed() => return Ok(()),
            _ = renewed.changed() => return Ok(()),
            _ = look.tick() => {
                let now = Bucket::open(&shared.link, &name).await?;
                if now.identity() != identity {
                    return Ok(());
                }
                // What is over its bound is refused, for all teams.
                let (used, most) = now.bytes();
                shared.engine.send(Input::TaskBytes(Fill { used, most }));
                continue;
            }
        };
        let Some(entry) = entry else { return Ok(()) };
        let entry = entry.map_err(|why| NatsError::request("listen to the bucket of tasks")(&why))?;
        let is_task = entry.key.contains(".task.");
        {
            let mut heard = board.heard();
            if is_task {
                let (value, refused) = signer.entry(&entry.key, &Standing::of(&entry));
                if let Some(why) = refused {
                    shared.engine.send(Input::Refused(why, entry.key.clone()));
                }
                heard.entries.insert(entry.key.clone(), value);
            }
            if entry.delta == 0 && heard.bucket.is_none() {
                heard.bucket = Some((bucket.clone(), identity.clone()));
                heard.version += 1;
            }
            heard.version += u64::from(is_task);
        }
        if is_task || entry.delta == 0 && !entry.key.starts_with("clock.") {
            events.send(Event::Changed);
        }
    }
}

/// Takes calls of processes of this machine.
fn serve(listener: &UnixListener, events: &Events) {
    let callers = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        if callers.fetch_add(1, Ordering::Relaxed) >= MOST_CALLERS {
            callers.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (events, count) = (events.clone(), Arc::clone(&callers));
        let spawned = thread::Builder::new().name("task ask".to_owned()).spawn(move || {
            // Who hangs up gets no answer.
            let _ = hear(stream, &events);
            count.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            callers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn hear(mut stream: UnixStream, events: &Events) -> std::io::Result<()> {
    stream.set_read_timeout(Some(CALLER))?;
    stream.set_write_timeout(Some(CALLER))?;
    let mut line = String::new();
    BufReader::new(Read::take(&stream, LONGEST_LINE)).read_line(&mut line)?;
    let away = |why: &str| Answer::Away { why: why.to_owned() };
    let answer = match serde_json::from_str::<Ask>(&line) {
        Err(_) => away("the bridge is of another version"),
        Ok(ask) => {
            let (send, answer) = mpsc::channel();
            let is_sent = events.send(Event::Asked(ask, Instant::now() + TURN, send));
            answer.recv().ok().filter(|_| is_sent).unwrap_or_else(|| away("the bridge ends"))
        }
    };
    stream.write_all((serde_json::to_string(&answer)? + "\n").as_bytes())
}
