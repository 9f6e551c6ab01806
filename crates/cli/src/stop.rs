//! Told to stop by a signal: what is done then, and how the command ends.
//!
//! A command that has changed nothing ends at once. One that has goes on to its end, where it says what it did: no wait
//! holds it up any more, and nothing new is begun (see `atm_store::interrupt`). A second signal ends it there and then.

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use atm_office::Deliveries;
use atm_office::watch::Hub;
use atm_store::interrupt::{self, Progress};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cmd::demo;
use crate::exit::ExitCode;
use crate::failure::{Failure, Told};
use crate::output::waiting;

/// The first signal that came; 0 before.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The deliveries of the command's office: a signal's thread has to know of them.
static DELIVERIES: OnceLock<Deliveries> = OnceLock::new();
/// What a daemon waits in: its end is an orderly one.
static WAITS: OnceLock<Hub> = OnceLock::new();
/// Whether a pager shows the answer: Ctrl-C is for it.
static IS_PAGING: AtomicBool = AtomicBool::new(false);
/// How long a server's last deliveries may take.
const LAST_DELIVERIES: Duration = Duration::from_secs(5);

/// Listens for signals, in a thread of its own. A server does not come to an end by itself: for it, only the deliveries
/// that are under way are waited for.
pub(crate) fn listen(is_server: bool) {
    let listening = Signals::new([SIGINT, SIGTERM, SIGHUP]).and_then(|mut signals| {
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.forever().for_each(|signal| receive(signal, is_server)))
    });
    if listening.is_err() {
        eprintln!("warning: signals are not handled; a stop may leave a temp file behind");
    }
}

/// Tells the signals' thread what the command sends.
pub(crate) fn answer_for(deliveries: &Deliveries) {
    let _ = DELIVERIES.set(deliveries.clone());
}

/// The first signal ends these waits, and nothing else: who waits there ends by itself.
pub(crate) fn end_in_order(waits: &Hub) {
    let _ = WAITS.set(waits.clone());
}

/// A pager is on the terminal for as long as this lives.
#[derive(Debug)]
pub(crate) struct Paging;

impl Drop for Paging {
    fn drop(&mut self) {
        IS_PAGING.store(false, Ordering::SeqCst);
    }
}

/// The terminal sends Ctrl-C to us and to the pager. It stops what the pager does; we wait for the pager's end, so that
/// the shell does not get the terminal back before.
pub(crate) fn leave_interrupts_to_the_pager() -> Paging {
    IS_PAGING.store(true, Ordering::SeqCst);
    Paging
}

fn is_delivering() -> bool {
    DELIVERIES.get().is_some_and(Deliveries::is_delivering)
}

fn receive(signal: i32, is_server: bool) {
    if signal == SIGINT && IS_PAGING.load(Ordering::SeqCst) {
        return;
    }
    let is_first = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if let Some(waits) = WAITS.get().filter(|_| is_first) {
        waits.shut_down();
        return;
    }
    if demo::abandon() {
        waiting::clear();
        process::exit(exit_code());
    }
    let progress = interrupt::request();
    match progress {
        Progress::Begun if is_server => {
            let deadline = Instant::now() + LAST_DELIVERIES;
            while is_delivering() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
        }
        // It comes to its end, and says what it did.
        Progress::Begun if is_first => return,
        Progress::Begun | Progress::Nothing => {}
    }
    interrupt::abandon();
    waiting::clear();
    atm_tui::restore();
    if progress == Progress::Begun && DELIVERIES.get().is_some_and(Deliveries::leave_accepted) {
        eprintln!("stopped at once: what is accepted and not written yet will be; `atm pending` shows it");
        process::exit(i32::from(ExitCode::Accepted));
    }
    process::exit(exit_code());
}

/// How a command ends that came to its end, after a signal or without one.
pub(crate) fn conclude(done: Result<i32, Failure>) -> Result<i32, Failure> {
    let mail = DELIVERIES.get().map(Deliveries::sent).unwrap_or_default();
    let accepted = i32::from(ExitCode::Accepted);
    let was_told = SIGNAL.load(Ordering::SeqCst) != 0;
    match done {
        Ok(0) if mail.has_accepted => Ok(accepted),
        // What did not come in time was never written so far.
        Err(Failure::Told(told)) if mail.has_accepted && told.exit == ExitCode::TimedOut => {
            Err(Failure::Told(Told { exit: ExitCode::Accepted, ..told }))
        }
        done if !was_told => done,
        _ if mail.has_accepted => Ok(accepted),
        // All was written; at most a wait for what follows was cut short.
        done if mail.has_written && interrupt::has_ended_a_wait() => {
            if done.is_err() {
                eprintln!("stopped while waiting; what was sent is written, `atm log` shows it");
            }
            Ok(0)
        }
        _ if interrupt::has_ended_a_wait() => Err(Failure::Stopped),
        done => done,
    }
}

/// Whether a wait was cut short because the process was told to stop.
pub(crate) fn has_cut_short() -> bool {
    interrupt::has_ended_a_wait()
}

/// The exit code of a process that was told to stop, as shells have it: 128 and the signal.
pub(crate) fn exit_code() -> i32 {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => i32::from(ExitCode::Interrupted),
        signal => 128 + signal,
    }
}
