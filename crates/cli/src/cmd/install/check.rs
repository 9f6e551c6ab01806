//! Asking clients themselves whether it works.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use atm_clients::settings::{Identity, SettingsFile, is_our_hook};
use atm_clients::{AgentClient as Client, Folders, Scope};
use atm_office::ExitCode;
use atm_store::client_file::ClientFile;
use serde::Serialize;
use serde_json::{Value, json};

use super::find_program;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

/// How long a client may take to start our server and tell.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it may take to end.
const FAREWELL: Duration = Duration::from_secs(3);

/// What we know of one client.
#[derive(Debug, Serialize)]
struct Checked {
    client: &'static str,
    /// Whether what is ours is in all of its files.
    set_up: bool,
    /// `works`, `fails`, `not_asked` or `not_there`.
    state: &'static str,
    /// What it said of the server.
    said: String,
    /// What it said of the hooks, where it can be asked.
    hooks: String,
}

/// What a client said.
#[derive(Debug, Default)]
struct Words {
    server: String,
    hooks: String,
}

pub(crate) fn run(
    context: &mut Context,
    clients: &[Client],
    scope: Scope,
    folders: &Folders,
    who: &Identity,
) -> Result<i32, Failure> {
    let checked: Vec<Checked> =
        clients.iter().map(|client| check(context, *client, scope, folders, who)).collect();
    let out = &mut context.out;
    if out.json {
        out.document(&checked)?;
    } else {
        for one in &checked {
            let set_up = if one.set_up { "set up" } else { "not set up" };
            let state = match one.state {
                "works" => "works",
                "fails" => "does not work",
                "not_there" => "the client is not on your path",
                _ if one.set_up => "cannot be asked",
                _ => "so it was not asked",
            };
            let said = |lead: &str, said: &str| {
                if said.is_empty() { String::new() } else { format!("{lead}{}", safe::line(said)) }
            };
            let (server, hooks) = (said(": ", &one.said), said("; ", &one.hooks));
            out.line(format!("{:<9} {set_up}; {state}{server}{hooks}", one.client))?;
        }
    }
    let fails = checked.iter().any(|one| one.state == "fails" && (one.set_up || clients.len() == 1));
    let missing = clients.len() == 1 && checked.iter().any(|one| !one.set_up || one.state == "not_there");
    let code = match (fails, missing) {
        (_, true) => ExitCode::NotFound,
        (true, _) => ExitCode::Io,
        _ => return Ok(0),
    };
    Ok(i32::from(u8::from(code)))
}

fn check(context: &Context, client: Client, scope: Scope, folders: &Folders, who: &Identity) -> Checked {
    let targets = (client.profile().settings)(scope, folders, who);
    let is_in = |target: &SettingsFile| {
        let file = ClientFile::new(&target.path, context.office.state());
        file.read().ok().flatten().is_some_and(|text| target.is_in(&text))
    };
    let set_up = targets.iter().all(is_in);
    let (state, words) = match find_program(client.as_str()) {
        None => ("not_there", Words::default()),
        Some(_) if !set_up => ("not_asked", Words::default()),
        Some(program) => ask(client, &program, &context.cwd),
    };
    Checked { client: client.as_str(), set_up, state, said: words.server, hooks: words.hooks }
}

/// Exit codes lie: what counts is what it says of us.
fn ask(client: Client, program: &Path, cwd: &Path) -> (&'static str, Words) {
    let said = match client {
        Client::Cursor => return ("not_asked", Words::default()),
        Client::Codex => ask_codex(program, cwd),
        _ => list(program, cwd).map(|server| Words { server, ..Words::default() }),
    };
    let said = said.map(|mut words| {
        if client == Client::Gemini && words.server.contains("Disabled") {
            words.server.push_str(": you do not trust this folder (/permissions)");
        }
        words
    });
    match said {
        Ok(words) => {
            let plain = words.server.to_lowercase();
            let bad = ["fail", "disconnected", "disabled", "error", "not connected", "pending"];
            let is_there = plain.contains("connected") && !bad.iter().any(|word| plain.contains(word));
            (if is_there { "works" } else { "fails" }, words)
        }
        Err(why) => ("fails", Words { server: why, ..Words::default() }),
    }
}

/// `… mcp list`: the line about us.
fn list(program: &Path, cwd: &Path) -> Result<String, String> {
    let mut child = start(Command::new(program).args(["mcp", "list"]).current_dir(cwd))?;
    let said = lines(&mut child);
    let deadline = Instant::now() + PATIENCE;
    let mut found = None;
    while let Ok(line) = said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        let line = without_colours(&line);
        let word = |word: &str| word.trim_end_matches(':') == "atm";
        if found.is_none() && line.split_whitespace().any(word) {
            found = Some(line.trim().to_owned());
        }
    }
    end(child);
    found.ok_or_else(|| "it does not list the server `atm`".to_owned())
}

/// Codex lists without starting anything; its server for editors starts ours and tells.
fn ask_codex(program: &Path, cwd: &Path) -> Result<Words, String> {
    let mut child = start(Command::new(program).arg("app-server").current_dir(cwd))?;
    let said = lines(&mut child);
    let hello = json!({ "id": 1, "method": "initialize", "params": {
        "clientInfo": { "name": "atm", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": { "experimentalApi": true },
    }});
    let ask =
        json!({ "id": 2, "method": "mcpServerStatus/list", "params": { "detail": "toolsAndAuthOnly" } });
    let ask_hooks = json!({ "id": 3, "method": "hooks/list", "params": { "cwds": [cwd] } });
    let words = format!("{hello}\n{}\n{ask}\n{ask_hooks}\n", json!({ "method": "initialized" }));
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // If it has ended already, what it said before tells.
        let _ = stdin.write_all(words.as_bytes()).and_then(|()| stdin.flush());
    }
    let deadline = Instant::now() + PATIENCE;
    let (mut server, mut hooks) = (None, None);
    while server.is_none() || hooks.is_none() {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(line) = said.recv_timeout(left) else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message["id"] == 2 {
            server = Some(told_of_server(&message));
        } else if message["id"] == 3 {
            hooks = Some(told_of_hooks(&message));
        }
    }
    drop(stdin);
    end(child);
    let server = server.ok_or("it did not answer in time")?;
    Ok(Words { server, hooks: hooks.unwrap_or_default() })
}

fn told_of_server(message: &Value) -> String {
    let servers = message.pointer("/result/data").and_then(Value::as_array);
    let ours = servers.and_then(|servers| servers.iter().find(|server| server["name"] == "atm"));
    let tools = ours.and_then(|server| match &server["tools"] {
        Value::Object(tools) => Some(tools.len()),
        Value::Array(tools) => Some(tools.len()),
        _ => None,
    });
    match (ours, tools) {
        (_, Some(tools)) if tools > 0 => format!("connected, {tools} tools"),
        (Some(_), _) => "failed: it shows no tools of the server `atm`".to_owned(),
        (None, _) => "failed: it does not list the server `atm`".to_owned(),
    }
}

/// How many of our hooks it has, and whether its user has reviewed them; nothing, where it does not tell.
fn told_of_hooks(message: &Value) -> String {
    let folders = message.pointer("/result/data").and_then(Value::as_array).into_iter().flatten();
    let hooks = folders.filter_map(|folder| folder["hooks"].as_array()).flatten();
    let ours: Vec<&Value> = hooks.filter(|hook| is_our_hook(hook)).collect();
    let waiting =
        ours.iter().filter(|hook| ["untrusted", "modified"].iter().any(|s| hook["trustStatus"] == *s));
    match (ours.len(), waiting.count()) {
        (0, _) => String::new(),
        (count, 0) => format!("hooks: {count}"),
        (count, waiting) => {
            format!("hooks: {count}, {waiting} of them skipped until you review them in /hooks")
        }
    }
}

fn start(command: &mut Command) -> Result<Child, String> {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    streams.spawn().map_err(|error| error.to_string())
}

/// The lines of both streams, as they come.
fn lines(child: &mut Child) -> Receiver<String> {
    let (say, said) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
    ];
    for stream in streams.into_iter().flatten() {
        let say = say.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if say.send(line).is_err() {
                    break;
                }
            }
        });
    }
    said
}

/// Its input is at an end, so it ends by itself, with all that it started; if not, it is ended.
fn end(mut child: Child) {
    drop(child.stdin.take());
    let deadline = Instant::now() + FAREWELL;
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == '?');
        rest = rest.get(1..).unwrap_or_default();
    }
    plain + rest
}
