//! The events as a stream for many: each client goes on from its own cursor of the log.
//!
//! While anybody listens, one thread follows the teams, so that what other programs do is recorded; every change wakes the
//! streams, which read the log behind their cursors. Streams at the same place share what was read.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use atm_ledger::Cursor;
use atm_office::watch::{EventView, Since};
use atm_office::{Office, OfficeError};
use atm_store::watch::Stop;
use axum::body::{Bytes, HttpBody};
use hyper::body::Frame;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::app::App;

/// How often a stream says that it is alive.
const ALIVE: Duration = Duration::from_secs(15);
/// After so long it is looked whether there are other teams.
const OTHER_TEAMS: Duration = Duration::from_secs(3);
/// How long to wait when the files cannot be read.
const PAUSE: Duration = Duration::from_secs(1);
/// So many pages of events are kept for streams at the same place.
const KEPT: usize = 16;
/// So much may wait for a slow client.
const BEHIND: usize = 8;

/// An event, ready to be sent.
#[derive(Debug)]
struct Ready {
    team: String,
    bytes: Bytes,
}

/// What the log has behind a cursor.
#[derive(Debug)]
struct Page {
    events: Vec<Ready>,
    next: Cursor,
}

#[derive(Debug)]
pub(crate) struct Feed {
    office: Office,
    followers: Mutex<(usize, Option<Stop>)>,
    ticks: Arc<watch::Sender<u64>>,
    pages: Mutex<VecDeque<(String, Arc<Page>)>>,
}

/// One who listens, until it is dropped.
#[derive(Debug)]
struct Listener(App);

impl Feed {
    pub(crate) fn new(office: Office) -> Self {
        let ticks = Arc::new(watch::Sender::new(0));
        Self { office, followers: Mutex::default(), ticks, pages: Mutex::default() }
    }

    /// What comes behind a place, and the place behind that.
    fn page(&self, since: &Since) -> Result<Arc<Page>, OfficeError> {
        let key = match since {
            Since::Cursor(cursor) => Some(cursor.to_string()),
            Since::Start | Since::Now | Since::Last(_) => None,
        };
        if let Some(known) = key.as_ref().and_then(|key| self.known(key)) {
            return Ok(known);
        }
        let (events, next) = self.office.events_after(since)?;
        let page = Arc::new(Page { events: events.iter().map(ready).collect(), next });
        // The log only grows: what came behind an event stays so. That nothing came may change.
        if let Some(key) = key.filter(|_| !page.events.is_empty()) {
            let mut pages = self.pages();
            pages.push_back((key, page.clone()));
            if pages.len() > KEPT {
                pages.pop_front();
            }
        }
        Ok(page)
    }

    fn known(&self, key: &str) -> Option<Arc<Page>> {
        self.pages().iter().find(|(known, _)| known == key).map(|(_, page)| page.clone())
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<(String, Arc<Page>)>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more listens: the first has somebody follow.
    fn enter(&self) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.0 += 1;
        if followers.1.is_none() {
            let stop = Stop::default();
            let (office, ticks, ends) = (self.office.clone(), self.ticks.clone(), stop.clone());
            let follower = thread::Builder::new().name("events".to_owned());
            // Without the thread, streams still look at the log each time that they say that they are alive.
            if follower.spawn(move || follow(&office, &ticks, &ends)).is_ok() {
                followers.1 = Some(stop);
            }
        }
    }

    fn leave(&self) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.0 = followers.0.saturating_sub(1);
        if followers.0 == 0
            && let Some(stop) = followers.1.take()
        {
            stop.stop();
        }
    }
}

impl Listener {
    fn enter(app: &App) -> Self {
        app.feed.enter();
        app.metrics.streams.fetch_add(1, Ordering::Relaxed);
        Self(app.clone())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.feed.leave();
        self.0.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Records what changes in all teams, and says so, until nobody listens any more or the office ends.
fn follow(office: &Office, ticks: &watch::Sender<u64>, stop: &Stop) {
    let tick = || ticks.send_modify(|count| *count = count.wrapping_add(1));
    let mut since = Since::Now;
    while !stop.is_stopped() {
        let teams = office.team_names().unwrap_or_default();
        let Ok(mut stream) = office.follow(&teams, &[], &since, stop) else {
            thread::sleep(PAUSE);
            continue;
        };
        // Somebody may have come while nobody followed.
        tick();
        loop {
            let until = Instant::now() + OTHER_TEAMS;
            match stream.next(Some(until)) {
                Ok(Some(_)) => tick(),
                Ok(None) if stop.is_stopped() => return,
                // Too early: the office ends, and the streams will.
                Ok(None) if Instant::now() < until => thread::sleep(PAUSE),
                Ok(None) => {}
                Err(_) => {
                    thread::sleep(PAUSE);
                    break;
                }
            }
            if office.team_names().is_ok_and(|now| now != teams) {
                tick();
                break;
            }
            if stop.is_stopped() {
                return;
            }
        }
        since = Since::Cursor(stream.cursor().clone());
    }
}

/// Where a client wants to begin; an unreadable cursor is one of a log that is lost.
pub(crate) fn since(text: Option<&str>) -> Result<Since, ()> {
    match text {
        None | Some("" | "now") => Ok(Since::Now),
        Some("start") => Ok(Since::Start),
        Some(cursor) => Cursor::from_str(cursor).map(Since::Cursor).map_err(|_| ()),
    }
}

fn ready(view: &EventView) -> Ready {
    let value = serde_json::to_value(view).unwrap_or_default();
    let kind = value.get("event").and_then(|kind| kind.as_str()).unwrap_or("event").to_owned();
    // JSON has no bare line breaks, so it is one line of the stream.
    let text = format!("id: {}\nevent: {kind}\ndata: {value}\n\n", view.cursor);
    Ready { team: view.team.clone(), bytes: text.into() }
}

/// A stream of events from a place on, of one team or of all.
pub(crate) fn stream(app: &App, begin: Result<Since, ()>, team: Option<String>) -> Events {
    let (sender, receiver) = mpsc::channel(BEHIND);
    let listener = Listener::enter(app);
    tokio::spawn(async move {
        // Nobody is left to be told when the client has gone.
        let _ = pump(&listener, begin, team.as_deref(), &sender).await;
    });
    Events(receiver)
}

async fn pump(
    Listener(app): &Listener,
    begin: Result<Since, ()>,
    team: Option<&str>,
    sender: &mpsc::Sender<Bytes>,
) -> Option<()> {
    let mut ticks = app.feed.ticks.subscribe();
    let mut closing = app.closing.clone();
    let is_lost = begin.is_err();
    let mut since = begin.unwrap_or(Since::Now);
    let mut is_open = false;
    loop {
        ticks.mark_unchanged();
        let asked = (app.clone(), since.clone());
        let page = tokio::task::spawn_blocking(move || asked.0.feed.page(&asked.1)).await.ok()?;
        let Ok(page) = page else {
            // The ledger cannot be asked now. The client comes again, with its cursor.
            return None;
        };
        if !is_open {
            // The place to go on from, before anything happened. A cursor that is none is of a log that is lost.
            let kind = if is_lost { "reset" } else { "open" };
            let place = if let Since::Cursor(cursor) = &since { cursor } else { &page.next };
            let data = json!({ "cursor": place.to_string(), "at": app.settings.office.now(), "team": "", "event": kind });
            let text = format!("retry: 1000\nid: {place}\nevent: {kind}\ndata: {data}\n\n");
            let begins_at_start = matches!(since, Since::Start);
            sender
                .send(if begins_at_start { Bytes::from_static(b"retry: 1000\n\n") } else { text.into() })
                .await
                .ok()?;
            is_open = true;
        }
        since = Since::Cursor(page.next.clone());
        let is_wanted = |event: &&Ready| team.is_none_or(|team| event.team == team || event.team.is_empty());
        for event in page.events.iter().filter(is_wanted) {
            sender.send(event.bytes.clone()).await.ok()?;
            app.metrics.events.fetch_add(1, Ordering::Relaxed);
        }
        if !page.events.is_empty() {
            continue;
        }
        tokio::select! {
            ticked = ticks.changed() => ticked.ok()?,
            () = tokio::time::sleep(ALIVE) => sender.send(Bytes::from_static(b": alive\n\n")).await.ok()?,
            () = closed(&mut closing) => return Some(()),
            () = sender.closed() => return Some(()),
        }
    }
}

/// Waits for the end of the server.
pub(crate) async fn closed(closing: &mut watch::Receiver<bool>) {
    // Nobody is left to say so: it has ended.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// The body of a stream.
#[derive(Debug)]
pub(crate) struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
