//! Answering. Each question is answered in a thread of its own, from what the loop last wrote down, so that one that is
//! busy answers, too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use atm_office::Office;
use atm_office::watch::Since;
use atm_store::watch::Waker;
use atm_wire::TeamName;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Answer, Ask, LONGEST, PROTOCOL, Question};
use crate::status::{Check, Status};

/// How long a client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many are answered at once; the oldest of more has its line closed.
const AT_ONCE: usize = 32;
/// So many threads there are at most: where the disk hangs, those that try it end with it.
const MOST: usize = 2 * AT_ONCE;
/// Orders for more teams than this are an order for all.
const MOST_ORDERS: usize = 64;
/// After an error of the socket itself.
const PAUSE: Duration = Duration::from_millis(200);

/// What the loop is told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    Stop,
    Tend(Option<TeamName>),
    /// Somebody began or ceased to listen to events.
    Listen,
}

/// What the loop and those who answer share.
#[derive(Debug, Default)]
pub(crate) struct Board {
    state: Mutex<BoardState>,
    /// Told when there may be news in the log.
    news: Condvar,
}

#[derive(Debug, Default)]
struct BoardState {
    status: Status,
    orders: Vec<Order>,
    waker: Option<Waker>,
    /// How often there may have been news in the log.
    editions: u64,
    subscribers: usize,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is said of the daemon.
    pub(crate) fn write(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.lock().status);
    }

    pub(crate) fn status(&self) -> Status {
        self.lock().status.clone()
    }

    /// Whose wait ends when there is an order.
    pub(crate) fn set_waker(&self, waker: Waker) {
        self.lock().waker = Some(waker);
    }

    /// What was ordered since the last question.
    pub(crate) fn take_orders(&self) -> Vec<Order> {
        std::mem::take(&mut self.lock().orders)
    }

    /// There may be news in the log.
    pub(crate) fn publish(&self) {
        self.lock().editions += 1;
        self.news.notify_all();
    }

    /// Whether somebody wants to hear of news in the log.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.lock().subscribers > 0
    }

    fn subscribe(&self, by: isize) {
        let mut state = self.lock();
        state.subscribers = state.subscribers.saturating_add_signed(by);
        drop(state);
        self.order(Order::Listen);
    }

    /// Waits for an edition after this one, for a while; gives the newest.
    fn edition_after(&self, seen: u64) -> u64 {
        let wait = self.news.wait_timeout_while(self.lock(), PATIENCE, |state| state.editions == seen);
        wait.unwrap_or_else(PoisonError::into_inner).0.editions
    }

    pub(crate) fn order(&self, order: Order) {
        let mut state = self.lock();
        if !state.orders.contains(&order) {
            state.orders.push(order);
        }
        if state.orders.len() > MOST_ORDERS {
            state.orders.retain(|order| !matches!(order, Order::Tend(_)));
            state.orders.push(Order::Tend(None));
        }
        if let Some(waker) = &state.waker {
            waker.wake();
        }
    }
}

/// Answers from now on, in threads.
pub(crate) fn serve(listener: UnixListener, office: Office, board: Arc<Board>) -> io::Result<()> {
    listener.set_nonblocking(false)?;
    let answer_all = move || {
        let mut talks: Vec<Weak<UnixStream>> = Vec::new();
        loop {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            talks.retain(|talk| talk.strong_count() > 0);
            let too_many = (talks.len() + 1).saturating_sub(AT_ONCE);
            for oldest in talks.iter().take(too_many).filter_map(Weak::upgrade) {
                // Who asks has asked long ago; who only holds the line holds nobody up.
                let _ = oldest.shutdown(Shutdown::Both);
            }
            if talks.len() >= MOST {
                continue;
            }
            let stream = Arc::new(stream);
            talks.push(Arc::downgrade(&stream));
            let (office, board) = (office.clone(), Arc::clone(&board));
            let talk = move || {
                // One that asks nothing, or does not listen, gets nothing.
                let _ = talk(&stream, &office, &board);
            };
            // Where there is no thread for it, the line is closed.
            let _ = thread::Builder::new().name("answer".to_owned()).spawn(talk);
        }
    };
    thread::Builder::new().name("control".to_owned()).spawn(answer_all).map(drop)
}

fn talk(stream: &UnixStream, office: &Office, board: &Board) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(Read::take(stream, LONGEST)).read_line(&mut line)?;
    let mut order = None;
    let (answer, error) = match serde_json::from_str::<Question>(&line) {
        Ok(Question { ask: Ask::Events { since }, .. }) => {
            return tell(stream, office, board, since.as_deref());
        }
        Ok(question) => {
            tracing::debug!(ask = ?question.ask, build = question.build, "asked");
            order = (question.ask == Ask::Stop).then_some(Order::Stop);
            (answer(question.ask, office, board), None)
        }
        Err(error) => (Value::Null, Some(format!("that is no question of this version: {error}"))),
    };
    let said = say(stream, &Answer { atm: PROTOCOL, build: board.status().build, answer, error });
    // The answer first: the process may end as soon as it is told to.
    if let Some(order) = order {
        board.order(order);
    }
    said
}

fn say(mut stream: &UnixStream, line: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(line)? + "\n";
    stream.write_all(text.as_bytes())
}

/// Tells what happens, for as long as the other side listens.
fn tell(stream: &UnixStream, office: &Office, board: &Board, since: Option<&str>) -> io::Result<()> {
    let build = board.status().build;
    let refuse = |what: String| {
        let error = Some(what);
        say(stream, &Answer { atm: PROTOCOL, build: build.clone(), answer: Value::Null, error })
    };
    let since = match since.map(str::parse).transpose() {
        Ok(since) => since.map_or(Since::Now, Since::Cursor),
        Err(error) => return refuse(format!("that is no place in the log: {error}")),
    };
    let subscription = Subscription::new(board);
    let (mut events, mut cursor) = match office.events_after(&since) {
        Ok(first) => first,
        Err(error) => return refuse(error.to_string()),
    };
    let begins = if let Since::Cursor(begins) = &since { begins } else { &cursor };
    let begins = json!({ "cursor": begins.to_string() });
    say(stream, &Answer { atm: PROTOCOL, build: build.clone(), answer: begins, error: None })?;
    let mut edition = 0;
    loop {
        for event in &events {
            say(stream, event)?;
        }
        if events.is_empty() {
            edition = subscription.board.edition_after(edition);
            if has_hung_up(stream) {
                return Ok(());
            }
        }
        match office.events_after(&Since::Cursor(cursor)) {
            Ok(next) => (events, cursor) = next,
            Err(error) => return refuse(error.to_string()),
        }
    }
}

/// Somebody listens, for as long as it lives.
struct Subscription<'a> {
    board: &'a Board,
}

impl<'a> Subscription<'a> {
    fn new(board: &'a Board) -> Self {
        board.subscribe(1);
        Self { board }
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        self.board.subscribe(-1);
    }
}

/// Whether the other side is gone: it says nothing more after its question.
fn has_hung_up(mut stream: &UnixStream) -> bool {
    let set = stream.set_nonblocking(true);
    let read = stream.read(&mut [0; 1]);
    let _ = stream.set_nonblocking(false);
    set.is_err() || matches!(read, Ok(0))
}

fn answer(ask: Ask, office: &Office, board: &Board) -> Value {
    match ask {
        Ask::Status => {
            let mut status = board.status();
            // It grows while the loop is busy, and cannot say so.
            let behind = status.behind_since.map(|since| office.now().since(since).as_millis());
            status.lag_ms = behind.map_or(0, |millis| u64::try_from(millis).unwrap_or(u64::MAX));
            let of_peers = std::mem::take(&mut status.peer_troubles);
            status.troubles.extend(of_peers);
            status.store = Check::store(office);
            status.ledger = Check::ledger(office);
            serde_json::to_value(status).unwrap_or_default()
        }
        Ask::Events { .. } => Value::Null,
        Ask::Stop => json!({ "stopping": true }),
        Ask::Tend { team } => {
            board.order(Order::Tend(team));
            json!({ "ordered": true })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_that_nobody_takes_do_not_pile_up() {
        let board = Board::default();
        board.order(Order::Listen);
        for number in 0..1_000 {
            board.order(Order::Tend(Some(format!("team-{number}").parse().unwrap())));
            assert!(board.lock().orders.len() <= MOST_ORDERS + 1);
        }
        board.order(Order::Stop);
        let orders = board.take_orders();
        for order in [Order::Listen, Order::Tend(None), Order::Stop] {
            assert!(orders.contains(&order), "{orders:?}");
        }
    }
}
