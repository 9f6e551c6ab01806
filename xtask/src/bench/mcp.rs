//! The MCP server: how soon it answers, what it holds, and how soon a waiting call wakes.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::measure::{self, median};
use super::report::Row;
use super::world::{self, World};

const RUNS: u32 = 30;
/// Messages in an inbox that is read page by page.
const DRAINED: u32 = 5_000;

/// By then a call that waits has found nothing, and sleeps.
const SETTLED: Duration = Duration::from_millis(300);
/// By then threads that have nothing to do have ended.
const IDLE: Duration = Duration::from_millis(1_500);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("mcp")?;
    let (mut version, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        version.push(measure::run(world.command().arg("--version"))?.wall);
        let begin = Instant::now();
        let mut client = Client::start(&world)?;
        client.greet()?;
        starts.push(begin.elapsed());
    }
    let start = median(&starts);

    let mut client = Client::start(&world)?;
    client.greet()?;
    client.call("task_list", &json!({}))?;
    thread::sleep(IDLE);
    let (memory, threads): (u32, u32) = (client.status("VmRSS")?, client.status("Threads")?);

    let (mut sends, mut wakes) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        let letter = json!({ "type": "message", "recipient": "team-lead", "content": world::text(number) });
        let begin = Instant::now();
        client.call("send_message", &letter)?;
        sends.push(begin.elapsed());
        wakes.push(client.wake(&world, number)?);
    }
    let (send, wake) = (median(&sends), median(&wakes));
    let fsyncs =
        median(&(0..RUNS).map(|_| measure::two_fsyncs(bench.scratch())).collect::<Result<Vec<_>>>()?);
    Ok(vec![
        Row::new("`atm mcp` starts and answers `initialize`", start)
            .note(&format!("then idle: {:.1} MB, threads: {threads}", f64::from(memory) / 1024.0))
            .against("process start", median(&version), start)
            .aim_ms(15, start)
            .aim("≤ 12 MB", memory <= 12 * 1024)
            .aim("≤ 2 threads, one of them for signals", threads <= 2),
        Row::new("a waiting `poll_inbox` answers a foreign write", wake)
            .against("two fsyncs", fsyncs, wake)
            .aim_ms(5, wake),
        Row::new("`send_message` over MCP", send).against("two fsyncs", fsyncs, send),
        drain(bench)?,
    ])
}

/// Reads a large inbox page by page, as fast as the answers come.
fn drain(bench: &Bench) -> Result<Row> {
    let world = bench.world("mcp-drain")?;
    world.fill(0..DRAINED, false)?;
    let copy = measure::durable_copy(&world.inbox())?;
    let mut client = Client::start(&world)?;
    client.greet()?;
    let (mut drained, mut calls) = (0, 0);
    let begin = Instant::now();
    while drained < DRAINED {
        let answer = client.call("poll_inbox", &json!({}))?;
        let page: Vec<Value> =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().context("a page")?)?;
        ensure!(!page.is_empty(), "{drained} of {DRAINED} messages came");
        for message in &page {
            let text = message["text"].as_str();
            ensure!(text == Some(&world::text(drained)), "another message than number {drained}: {message}");
            drained += 1;
        }
        calls += 1;
    }
    let time = begin.elapsed();
    let memory = client.status("VmHWM")?;
    // Any other call comes after the last mark.
    client.call("task_list", &json!({}))?;
    let unread = world.entries()?.iter().filter(|entry| entry["read"] != true).count();
    ensure!(unread == 0, "{unread} of {DRAINED} messages are still unread");
    Ok(Row::new("5,000 messages through `poll_inbox`, page by page", time)
        .note(&format!("{calls} calls, {:.1} MB at most", f64::from(memory) / 1024.0))
        .against("durable copy", copy, time)
        .aim_ms(1_000, time)
        .aim("≤ 15 MB", memory <= 15 * 1024))
}

/// A server, and its one client.
pub(super) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    /// A server of bob's.
    fn start(world: &World) -> Result<Self> {
        Self::of(world.atm("bob").arg("mcp"))
    }

    /// A server that is started so.
    pub(super) fn of(server: &mut Command) -> Result<Self> {
        let mut child =
            server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the server")?;
        let input = child.stdin.take().context("the server has an input")?;
        let output = BufReader::new(child.stdout.take().context("the server has an output")?);
        Ok(Self { child, input, output, next: 0 })
    }

    /// What the server says when it is greeted.
    pub(super) fn greet(&mut self) -> Result<Value> {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        self.ask("initialize", &params)?;
        let answer = self.answer()?;
        ensure!(answer["result"]["serverInfo"]["name"] == "atm", "no greeting: {answer}");
        writeln!(self.input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(answer["result"].clone())
    }

    /// The list of tools, as it is sent.
    pub(super) fn list_tools(&mut self) -> Result<String> {
        self.ask("tools/list", &json!({}))?;
        Ok(self.answer()?["result"].to_string())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<()> {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        Ok(writeln!(self.input, "{request}")?)
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("not JSON: {line:?}"))
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let answer = self.answer()?;
        ensure!(answer["id"] == self.next && answer["result"]["isError"] != true, "{tool}: {answer}");
        Ok(answer)
    }

    /// From a foreign writer's rename to the answer of a call that waits.
    fn wake(&mut self, world: &World, number: u32) -> Result<Duration> {
        self.ask("tools/call", &json!({ "name": "poll_inbox", "arguments": {} }))?;
        thread::sleep(SETTLED);
        let temp = world.inbox().with_extension("json.tmp.0badcafe");
        measure::write_synced(&temp, world::inbox(number..number + 1, false).as_bytes())?;
        let begin = Instant::now();
        fs::rename(&temp, world.inbox())?;
        let answer = self.answer()?;
        let time = begin.elapsed();
        let mail: Value =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap_or_default())?;
        let text = mail[0]["text"].as_str();
        ensure!(text == Some(&world::text(number)), "woken without the message: {answer}");
        Ok(time)
    }

    /// A number of the kernel's, in kB where it is memory.
    fn status(&self, key: &str) -> Result<u32> {
        measure::kernel_says(self.child.id(), key)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
