//! The web server: its pages with many messages, and under load, with 200 streams of events and 1,000 requests a second.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Bench;
use super::measure::{self, median, percentile};
use super::report::Row;
use super::world::{self, World};

const STREAMS: usize = 200;
const CLIENTS: u32 = 4;
/// Of each client.
const REQUESTS_A_SECOND: u32 = 250;
const SECONDS: u32 = 10;
/// Messages while all that goes on; each has to reach every stream.
const MESSAGES: u32 = 10;
const PATHS: [&str; 4] = ["/api/v1/teams", "/api/v1/tasks", "/api/v1/log?limit=10", "/assets/atm.css"];
const PATIENCE: Duration = Duration::from_secs(30);

/// So many messages are in the team whose pages are timed.
const MANY: u32 = 10_000;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = pages(bench)?;
    rows.extend(under_load(bench)?);
    Ok(rows)
}

/// How long pages take of a team with many messages, and how large they are.
fn pages(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("web-pages")?;
    world.fill(0..MANY, false)?;
    // The first look records them all, whichever program it is.
    measure::run(world.atm("team-lead").arg("status"))?;
    let server = Server::start(&world)?;
    let start = Instant::now();
    let first_size = server.ask(&mut server.connect()?, "/teams/bench")?.len();
    let first = start.elapsed();
    let mut connection = server.connect()?;
    let mut ask_often = |path: &str| -> Result<(Duration, usize)> {
        let mut times = Vec::new();
        let mut size = 0;
        for _ in 0..9 {
            let start = Instant::now();
            size = server.ask(&mut connection, path)?.len();
            times.push(start.elapsed());
        }
        Ok((median(&times), size))
    };
    let mut rows = vec![sized("`atm web`: first view of a team with 10,000 messages", first, first_size)];
    for (name, path) in [
        ("the same page again", "/teams/bench"),
        ("a page of its member's inbox, which is one file of 5 MB", "/teams/bench/inboxes/bob?page=100"),
        ("a page of all mail", "/search?team=bench"),
        ("a page of a search", "/search?q=parser"),
    ] {
        let (time, size) = ask_often(path)?;
        rows.push(sized(name, time, size));
    }
    // To the end, page by page: the last costs what the first did.
    let mut cursor = String::new();
    let mut times = Vec::new();
    let mut count = 0;
    loop {
        let start = Instant::now();
        let page = server.ask(&mut connection, &format!("/api/v1/log?limit=100&cursor={cursor}"))?;
        times.push(start.elapsed());
        let page: serde_json::Value = serde_json::from_slice(&page)?;
        count += page["items"].as_array().map_or(0, Vec::len);
        let Some(next) = page["next"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    ensure!(count == MANY as usize, "{count} messages in the pages of the log instead of {MANY}");
    let part = times.len() / 4;
    let (begin, end) = (median(&times[..part]), median(&times[times.len() - part..]));
    rows.push(
        Row::new("100 of the log by the API, the last 2,500 of 10,000", end)
            .note(&format!("the first 2,500: {:.1} ms", begin.as_secs_f64() * 1_000.0))
            .aim("as fast as the first", end <= begin * 3 / 2 + Duration::from_millis(2)),
    );
    Ok(rows)
}

fn sized(name: &str, time: Duration, size: usize) -> Row {
    Row::new(name, time)
        .note(&format!("{:.0} KB", f64::from(u32::try_from(size).unwrap_or(u32::MAX)) / 1_000.0))
        .aim_ms(100, time)
        .aim("100 KB", size < 100_000)
}

fn under_load(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("web")?;
    world.fill(0..100, false)?;
    let server = Server::start(&world)?;
    server.ask(&mut server.connect()?, "/")?;
    let shown = appears(&world, &server)?;

    let heard = Arc::new(AtomicUsize::new(0));
    let opened = Arc::new(AtomicUsize::new(0));
    for _ in 0..STREAMS {
        let (stream, heard, opened) = (server.stream()?, heard.clone(), opened.clone());
        // It ends with the server.
        thread::spawn(move || listen(stream, &heard, &opened));
    }
    wait_until("all streams are open", || opened.load(Ordering::Relaxed) == STREAMS)?;
    let idle_before: u32 = cpu(&server)?;
    thread::sleep(Duration::from_secs(2));
    let idle = cpu(&server)? - idle_before;

    let times: Mutex<Vec<Duration>> = Mutex::default();
    let failed = AtomicUsize::new(0);
    let begin = Instant::now();
    thread::scope(|scope| -> Result<()> {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let taken = load(&server, &failed);
                times.lock().unwrap_or_else(PoisonError::into_inner).extend(taken);
            });
        }
        for number in 0..MESSAGES {
            thread::sleep(Duration::from_secs(u64::from(SECONDS)) / (MESSAGES + 1));
            measure::run(world.atm("team-lead").args(["send", "bob", &world::text(number)]))?;
        }
        Ok(())
    })?;
    let took = begin.elapsed();
    let wanted = STREAMS * MESSAGES as usize;
    wait_until("every stream has every message", || heard.load(Ordering::Relaxed) >= wanted)?;
    ensure!(heard.load(Ordering::Relaxed) == wanted, "a stream has a message twice");
    let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    let failed = failed.into_inner();
    let rate = f64::from(u32::try_from(times.len())?) / took.as_secs_f64();
    Ok(vec![
        Row::new("from the end of `atm send` to its event on an open page, and that page fetched again", median(&shown))
            .note(&format!("worst of {} {:.1} ms", shown.len(), percentile(&shown, 100).as_secs_f64() * 1_000.0))
            .aim("1 s, with 120 ms that the page waits for more", percentile(&shown, 100) < Duration::from_millis(880)),
        Row::new("a request, beside 200 streams and 999 others a second", median(&times))
            .note(&format!(
                "{rate:.0} a second, {failed} errors, 99 % within {:.1} ms; {wanted} events given out once each",
                percentile(&times, 99).as_secs_f64() * 1_000.0
            ))
            .aim("1,000 a second", rate >= 990.0)
            .aim("no error", failed == 0),
        Row::of_words("200 streams that are open while nothing happens, for 2 s", format!("{} ms of CPU", idle * 10))
            .aim("no CPU", idle <= 1),
    ])
}

/// How long it takes until a page has what another process sent: the event, and the page again.
fn appears(world: &World, server: &Server) -> Result<Vec<Duration>> {
    let mut events = BufReader::new(server.stream()?);
    let mut connection = server.connect()?;
    let mut until = |wanted: &str| -> Result<()> {
        let mut line = String::new();
        while line.trim_end() != wanted {
            line.clear();
            ensure!(events.read_line(&mut line)? > 0, "the stream ended");
        }
        Ok(())
    };
    until("event: open")?;
    let mut times = Vec::new();
    for number in 0..9 {
        let text = format!("appears {number}");
        measure::run(world.atm("team-lead").args(["send", "bob", &text]))?;
        let start = Instant::now();
        until("event: message")?;
        let page = server.ask(&mut connection, "/teams/bench")?;
        times.push(start.elapsed());
        ensure!(String::from_utf8_lossy(&page).contains(&text), "the page does not have it");
    }
    Ok(times)
}

/// Requests at their times, and how long each took.
fn load(server: &Server, failed: &AtomicUsize) -> Vec<Duration> {
    let Ok(mut connection) = server.connect() else { return Vec::new() };
    let begin = Instant::now();
    let mut times = Vec::new();
    for number in 0..REQUESTS_A_SECOND * SECONDS {
        let due = begin + Duration::from_secs(1) * number / REQUESTS_A_SECOND;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let start = Instant::now();
        if server.ask(&mut connection, PATHS[number as usize % PATHS.len()]).is_ok() {
            times.push(start.elapsed());
            continue;
        }
        failed.fetch_add(1, Ordering::Relaxed);
        let Ok(again) = server.connect() else { break };
        connection = again;
    }
    times
}

fn listen(stream: TcpStream, heard: &AtomicUsize, opened: &AtomicUsize) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        match line.as_str() {
            "event: open" => opened.fetch_add(1, Ordering::Relaxed),
            "event: message" => heard.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }
}

fn wait_until(what: &str, condition: impl Fn() -> bool) -> Result<()> {
    let start = Instant::now();
    while !condition() {
        ensure!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The processor time that the server has used, in ticks of 10 ms.
fn cpu(server: &Server) -> Result<u32> {
    let line = std::fs::read_to_string(format!("/proc/{}/stat", server.child.id()))?;
    let (_, rest) = line.rsplit_once(')').context("/proc has no such line")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Ok(fields[11].parse::<u32>()? + fields[12].parse::<u32>()?)
}

struct Server {
    child: Child,
    host: String,
    token: String,
}

impl Server {
    fn start(world: &World) -> Result<Self> {
        let mut child = world.atm("team-lead").args(["web", "--json"]).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("no output")?;
        let mut documents = serde_json::Deserializer::from_reader(output).into_iter::<serde_json::Value>();
        let said = documents.next().context("it said nothing")??;
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        let host = text("address").trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, host, token: text("token") })
    }

    fn connect(&self) -> Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(BufReader::new(stream))
    }

    fn head(&self, path: &str) -> String {
        let Self { host, token, .. } = self;
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n")
    }

    /// Asks, and gives the whole answer; anything but success is an error.
    fn ask(&self, connection: &mut BufReader<TcpStream>, path: &str) -> Result<Vec<u8>> {
        connection.get_mut().write_all(self.head(path).as_bytes())?;
        let (mut status, mut length) = (String::new(), 0);
        connection.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            ensure!(connection.read_line(&mut line)? > 0, "the connection ended");
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse()?;
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        connection.read_exact(&mut body)?;
        ensure!(status.starts_with("HTTP/1.1 200"), "{path}: {status}");
        Ok(body)
    }

    fn stream(&self) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.write_all(self.head("/api/v1/events").as_bytes())?;
        Ok(stream)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
