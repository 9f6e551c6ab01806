//! The engine's thread. The ledger blocks, so it has a thread of its own; everything else talks to it by messages.

mod due;
mod homes;
mod memory;
mod message;
mod namesake;
mod neighbours;

use std::collections::BTreeMap;
use std::sync::mpsc::{self as std_mpsc, RecvTimeoutError};
use std::time::{Duration, Instant};

use atm_office::OfficeError;
use tokio::sync::{mpsc, watch};

use super::homes::News;
use super::status::{ClockOffset, Status};
use super::{now, steady_now};
use crate::engine::{Engine, Identity, Polled, Post, Room, Ticket};
use crate::envelope::SharedTeam;
use crate::files::Files;
use crate::house::{House, Neighbour, Outcome};
use crate::name::Machine;
use crate::protocol::homes::Homes;
use crate::protocol::tasks::home::Residences;
use due::{Due, Now};
use memory::Saved;

pub use due::look_every;
pub use memory::remembered_homes;
pub use message::{Handle, Input, Output, Word};

/// Publications that the server has not answered yet, and bytes of letters in them: many can be large.
const MOST_UNDER_WAY: usize = 2_048;
const MOST_BYTES_UNDER_WAY: usize = 16 << 20;
/// How often the engine looks for what is due, while something waits for an answer.
const TICK: Duration = Duration::from_millis(500);
/// How often what has to be remembered is saved, if it changed.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// After a save comes a rest of so many times as long.
const SAVE_REST: u32 = 20;

/// The engine's thread.
pub struct Worker {
    engine: Engine<House>,
    files: Files,
    inputs: std_mpsc::Receiver<Input>,
    outputs: mpsc::UnboundedSender<Output>,
    neighbours: BTreeMap<Machine, Neighbour>,
    under_way: usize,
    bytes_under_way: usize,
    /// What was announced last.
    teams: Vec<SharedTeam>,
    places_again: bool,
    /// Whether it is known which machines there are. Before, members of other machines stay as they are: a bridge that has
    /// just started has heard from nobody yet.
    knows_all: bool,
    saved: Saved,
    status: Status,
    clock: ClockOffset,
    /// The status as it stands in its file.
    shown: Option<Status>,
    /// Whether something happened that has to be saved or shown.
    is_unsaved: bool,
    /// When another bridge that has this machine's name was heard last: nothing is carried meanwhile.
    namesake: Option<Instant>,
    due: Due,
    /// When it is saved next, if there is anything to save.
    save: Instant,
    /// The last question whether what the stream held for this machine is processed.
    catch_up: watch::Sender<u64>,
    /// Where members are at home, for the thread of the tasks.
    residences: watch::Sender<Residences>,
    /// Whether anything is under way.
    busy: watch::Sender<bool>,
}

impl Worker {
    /// Over this house, going on where the last one was.
    pub fn new(
        me: Identity,
        house: House,
        files: Files,
        inputs: std_mpsc::Receiver<Input>,
        outputs: mpsc::UnboundedSender<Output>,
        status: Status,
    ) -> Self {
        let saved = memory::load(&files);
        let mut house = house;
        let homes = Homes::remembering(saved.homes.clone());
        let (residences, _) = watch::channel(residences_of(&homes));
        house.set_homes(homes);
        house.set_listed(saved.listed.clone());
        house.wait_for_stream();
        let start = Instant::now();
        let due = Due::new(house.has_events(), start);
        Self {
            engine: Engine::new(me, house, saved.engine.clone()),
            files,
            inputs,
            outputs,
            neighbours: saved.neighbours.clone(),
            under_way: 0,
            bytes_under_way: 0,
            teams: Vec::new(),
            places_again: false,
            knows_all: !saved.neighbours.is_empty(),
            saved,
            status,
            clock: ClockOffset::default(),
            shown: None,
            is_unsaved: true,
            namesake: None,
            due,
            save: start + SAVE_EVERY,
            catch_up: watch::Sender::new(0),
            residences,
            busy: watch::Sender::new(true),
        }
    }

    /// Where members are at home, as it changes.
    pub fn residences(&self) -> watch::Receiver<Residences> {
        self.residences.subscribe()
    }

    /// Whether anything is under way, as it changes.
    pub fn busy(&self) -> watch::Receiver<bool> {
        self.busy.subscribe()
    }

    /// Questions whether what the stream held for this machine is processed, by number.
    pub fn catch_up(&self) -> watch::Receiver<u64> {
        self.catch_up.subscribe()
    }

    /// Works until it is told to stop.
    pub fn run(mut self) {
        // What the last bridge said of itself is not true of this one. What it remembered is not read in yet.
        self.status.save(&self.files);
        loop {
            let input = match self.inputs.recv_timeout(self.rest()) {
                Ok(Input::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
            };
            let mut is_news = false;
            if let Some(input) = input {
                is_news = self.take(input);
                // What else is there costs one look at the ledger less.
                while let Ok(input) = self.inputs.try_recv() {
                    if matches!(input, Input::Stop) {
                        self.save();
                        return;
                    }
                    is_news |= self.take(input);
                }
            }
            // What is new goes first: clients' files are looked at for a while.
            if is_news || !self.engine.is_at_rest() {
                self.poll();
            }
            if self.tend() {
                self.poll();
                self.is_unsaved = true;
            }
            let is_busy = self.under_way > 0 || !self.engine.is_at_rest();
            self.busy.send_if_modified(|busy| std::mem::replace(busy, is_busy) != is_busy);
            let start = Instant::now();
            if self.is_unsaved && start >= self.save {
                self.save();
                // What is remembered of many letters takes long to write, and is needed only after a restart.
                self.save = Instant::now() + SAVE_EVERY.max(start.elapsed() * SAVE_REST);
            }
        }
        self.save();
    }

    /// How long nothing has to be done, if nothing happens.
    fn rest(&self) -> Duration {
        let now = Instant::now();
        let mut next = self.due.next();
        if self.is_unsaved {
            next = next.min(self.save);
        }
        if !self.engine.is_at_rest() {
            next = next.min(now + TICK);
        }
        next.saturating_duration_since(now)
    }

    fn note(&mut self, trouble: &impl std::fmt::Display) {
        self.status.set_trouble(&trouble.to_string(), now());
        self.is_unsaved = true;
    }

    fn note_trouble(&mut self, trouble: Option<OfficeError>) {
        if let Some(error) = trouble {
            self.note(&error);
        }
    }

    /// Says whether it was news: what changes nothing is nothing to look at the ledger for, nor to save.
    fn take(&mut self, input: Input) -> bool {
        if let Input::Heard(word) = input {
            let is_news = self.hear(*word);
            self.is_unsaved |= is_news;
            return is_news;
        }
        let is_news = match &input {
            Input::Stream(stream) => self.status.set_stream(stream.as_ref()),
            Input::Lag(count) => self.status.set_lag(*count, now()),
            Input::TaskBytes(fill) => self.status.task_bytes.replace(*fill) != Some(*fill),
            // It comes with what arrived.
            Input::Age(_) => false,
            _ => true,
        };
        self.is_unsaved |= is_news;
        self.act_on(input);
        is_news
    }

    fn act_on(&mut self, input: Input) {
        match input {
            Input::Arrived(envelopes, answer) => {
                let (verdicts, posts) = self.engine.receive(envelopes, steady_now());
                self.follow(Instant::now());
                self.post(posts);
                // Whoever asked may be gone: then it comes again.
                let _ = answer.send(verdicts);
            }
            Input::Wanted(envelope, answer) => {
                let (verdict, posts) = self.engine.receive_again(*envelope, steady_now());
                self.follow(Instant::now());
                self.post(posts);
                let _ = answer.send(verdict);
            }
            Input::Published(ticket, position) => {
                self.end(&ticket);
                self.engine.published(&ticket, position, steady_now());
            }
            Input::TooLarge(ticket, bytes) => {
                self.end(&ticket);
                self.engine.give_up(&ticket, bytes, steady_now());
            }
            Input::Stream(stream) => self.engine.set_stream(stream),
            Input::Connected(is_up) => {
                self.status.connected = is_up;
                if !is_up {
                    self.engine.set_stream(None);
                }
            }
            Input::Homes(news) => self.hear_of_homes(news),
            Input::CaughtUp(question) => self.note_caught_up(question),
            Input::HeardAll => {
                self.knows_all = true;
                self.places_again = true;
            }
            Input::Refused(why, from) => self.engine.count_refused(why, &from),
            Input::Poison { from, epoch, n, why } => {
                let post = self.engine.failure(&from, &epoch, n, "", &why, steady_now());
                self.post(vec![post]);
            }
            Input::Age(age) => self.clock.note(age, steady_now()),
            Input::Namesake => self.note_namesake(),
            Input::Trouble(text) => self.status.set_trouble(&text, now()),
            Input::Wake => {
                self.due.note_change();
                self.engine.wake();
            }
            Input::Trust(trust) => self.trust(&trust),
            Input::Heard(_) | Input::Lag(_) | Input::TaskBytes(_) | Input::Stop => {}
        }
    }

    /// What happens by the clock: clients' files, who is at home, who is away. Says whether anything was due.
    fn tend(&mut self) -> bool {
        let start = Instant::now();
        let Now { look: is_look, follow: is_follow, members: is_time, away: is_away } = self.due.take(start);
        if is_look {
            self.engine.wake();
        }
        if is_follow {
            let Outcome { done: has_news, trouble } = self.engine.local().look();
            self.note_trouble(trouble);
            if has_news {
                self.engine.wake();
            }
            self.follow(start);
        }
        if is_time {
            self.announce();
        }
        if is_away {
            let next = start + self.note_absent();
            self.due.away_at(next);
        }
        let is_place = self.knows_all && (is_time || self.places_again);
        if is_place {
            self.places_again = false;
            let Outcome { done: has_changed, trouble } = self.engine.local().place(&self.neighbours);
            if has_changed {
                self.engine.list_again();
                self.due.members_now(start);
                // Owners of tasks may be called otherwise here now.
                self.residences.send_modify(|_| ());
            } else if trouble.is_some() {
                self.due.members_soon(start);
            }
            self.note_trouble(trouble);
            if self.engine.local().homes().has_open() {
                // It may wait for a time, of which nothing tells, and its mail waits for it.
                self.due.members_soon(start);
            }
            self.ask_for_stream();
            if !self.has_namesake() {
                self.put_homes();
            }
        }
        is_look || is_follow || is_time || is_place
    }

    /// Teams with mail from other machines are looked at when the next one is due.
    fn follow(&mut self, now: Instant) {
        let next = self.engine.local().next_look();
        self.due.follow_at(next, now);
    }

    fn announce(&mut self) {
        let Outcome { done: teams, trouble } = self.engine.local().shared();
        if self.teams != teams {
            self.teams.clone_from(&teams);
            let _ = self.outputs.send(Output::Teams(teams));
        }
        self.note_trouble(trouble);
    }

    fn poll(&mut self) {
        if self.has_namesake() {
            return;
        }
        let room = Room {
            letters: MOST_UNDER_WAY.saturating_sub(self.under_way),
            bytes: MOST_BYTES_UNDER_WAY.saturating_sub(self.bytes_under_way),
        };
        let epoch = self.engine.me().epoch.clone();
        let Polled { posts, trouble } = self.engine.poll(steady_now(), room);
        self.post(posts);
        if let Some(error) = trouble {
            self.note(&error);
        }
        let confirmed = self.engine.take_confirmed();
        if !confirmed.is_empty() {
            let _ = self.outputs.send(Output::Confirmed(confirmed));
        }
        if self.engine.me().epoch != epoch {
            let _ = self.outputs.send(Output::Epoch(self.engine.me().epoch.clone()));
        }
    }

    fn post(&mut self, posts: Vec<Post>) {
        if posts.is_empty() {
            return;
        }
        self.under_way += posts.len();
        self.bytes_under_way += posts.iter().map(|post| post.ticket.size()).sum::<usize>();
        let _ = self.outputs.send(Output::Posts(posts));
    }

    /// A publication is over.
    fn end(&mut self, ticket: &Ticket) {
        self.under_way = self.under_way.saturating_sub(1);
        self.bytes_under_way = self.bytes_under_way.saturating_sub(ticket.size());
    }
}

fn residences_of(homes: &Homes) -> Residences {
    homes.residences().map(|(key, residence)| (key.clone(), residence.clone())).collect()
}
