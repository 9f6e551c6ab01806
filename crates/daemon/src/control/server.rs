//! Answering. Each question is answered in a thread of its own, from what the loop last wrote down, so that one that is
//! busy answers, too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use atm_office::Office;
use atm_store::watch::Waker;
use atm_wire::TeamName;
use serde_json::{Value, json};

use super::{Answer, Ask, LONGEST, PROTOCOL, Question};
use crate::status::{Check, Status};

/// How long a client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many are answered at once.
const AT_ONCE: usize = 32;
/// After an error of the socket itself.
const PAUSE: Duration = Duration::from_millis(200);

/// What the loop is told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    Stop,
    Tend(Option<TeamName>),
}

/// What the loop and those who answer share.
#[derive(Debug, Default)]
pub(crate) struct Board {
    state: Mutex<BoardState>,
}

#[derive(Debug, Default)]
struct BoardState {
    status: Status,
    orders: Vec<Order>,
    waker: Option<Waker>,
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

    pub(crate) fn order(&self, order: Order) {
        let mut state = self.lock();
        if !state.orders.contains(&order) {
            state.orders.push(order);
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
        let busy = Arc::new(AtomicUsize::new(0));
        loop {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            if busy.fetch_add(1, Ordering::SeqCst) >= AT_ONCE {
                busy.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (office, board, done) = (office.clone(), Arc::clone(&board), Arc::clone(&busy));
            let talk = move || {
                // One that asks nothing, or does not listen, gets nothing.
                let _ = talk(&stream, &office, &board);
                done.fetch_sub(1, Ordering::SeqCst);
            };
            if thread::Builder::new().name("answer".to_owned()).spawn(talk).is_err() {
                busy.fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
    thread::Builder::new().name("control".to_owned()).spawn(answer_all).map(drop)
}

fn talk(stream: &UnixStream, office: &Office, board: &Board) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(Read::take(stream, LONGEST)).read_line(&mut line)?;
    let (answer, error) = match serde_json::from_str::<Question>(&line) {
        Ok(question) => {
            tracing::debug!(ask = ?question.ask, build = question.build, "asked");
            (answer(question.ask, office, board), None)
        }
        Err(error) => (Value::Null, Some(format!("that is no question of this version: {error}"))),
    };
    let build = board.status().build;
    let text = serde_json::to_string(&Answer { atm: PROTOCOL, build, answer, error })?;
    let mut stream = stream;
    stream.write_all(text.as_bytes())?;
    stream.write_all(b"\n")
}

fn answer(ask: Ask, office: &Office, board: &Board) -> Value {
    match ask {
        Ask::Status => {
            let mut status = board.status();
            status.store = Check::store(office.state());
            status.ledger = Check::ledger(office);
            serde_json::to_value(status).unwrap_or_default()
        }
        Ask::Stop => {
            board.order(Order::Stop);
            json!({ "stopping": true })
        }
        Ask::Tend { team } => {
            board.order(Order::Tend(team));
            json!({ "ordered": true })
        }
    }
}
