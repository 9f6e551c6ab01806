//! A scripted model that speaks what each vendor's client speaks. Its requests are the truth about a conversation.
//!
//! `HOLD-7.` in a prompt makes it hold its answer back until 7 is released, `TOOL-7.` makes it call a shell that waits for
//! the same, `ASK-7.` the same with a command for which its user has to be asked.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::clients::model::{self, read_body};

/// The server; it ends with this process.
pub(super) struct VendorModel {
    pub(super) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// Where a released number is a file, for the shells that wait for it.
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    heard: Vec<(Instant, String)>,
    /// How many of them do not count any more.
    forgotten: usize,
    holding: HashSet<u32>,
    released: HashSet<u32>,
}

impl VendorModel {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on this machine")?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared { folder: folder.to_owned(), state: Mutex::default() });
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&served);
                // A client that hangs up or is killed ends its connection alone.
                thread::spawn(move || drop(shared.serve(&stream)));
            }
        });
        Ok(Self { url, shared })
    }

    /// How often these words are in one request, at most.
    pub(super) fn count(&self, words: &str) -> usize {
        self.shared.state().counted().iter().map(|(_, body)| body.matches(words).count()).max().unwrap_or(0)
    }

    /// Whether one request had both.
    pub(super) fn has_both(&self, one: &str, other: &str) -> bool {
        self.shared.state().counted().iter().any(|(_, body)| body.contains(one) && body.contains(other))
    }

    /// When they were first in one.
    pub(super) fn first(&self, words: &str) -> Option<Instant> {
        self.shared.state().counted().iter().find(|(_, body)| body.contains(words)).map(|(at, _)| *at)
    }

    /// What was said so far does not count any more.
    pub(super) fn forget(&self) {
        let mut state = self.shared.state();
        state.forgotten = state.heard.len();
    }

    /// All requests, each in a line, for a look after the fact.
    pub(super) fn requests(&self) -> String {
        let state = self.shared.state();
        state.heard.iter().map(|(_, body)| body.clone() + "\n").collect()
    }

    /// Whether a turn hangs on this number.
    pub(super) fn is_holding(&self, number: u32) -> bool {
        self.shared.state().holding.contains(&number) || self.shared.started(number).exists()
    }

    pub(super) fn release(&self, number: u32) -> Result<()> {
        self.shared.state().released.insert(number);
        std::fs::write(self.shared.go(number), "").context("cannot release a shell")
    }
}

impl State {
    fn counted(&self) -> &[(Instant, String)] {
        self.heard.get(self.forgotten..).unwrap_or_default()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn started(&self, number: u32) -> PathBuf {
        self.folder.join(format!("started-{number}"))
    }

    fn go(&self, number: u32) -> PathBuf {
        self.folder.join(format!("go-{number}"))
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let body = read_body(&mut reader)?;
        let request: Value = serde_json::from_str(&body).unwrap_or_default();
        self.state().heard.push((Instant::now(), without_repeats(&request).unwrap_or_else(|| body.clone())));
        let tools = tool_names(&request);
        // Requests without tools are the client's own, for a title or the like.
        if let Some(number) = directive(&body, "HOLD-").filter(|_| !tools.is_empty()) {
            self.state().holding.insert(number);
            while !self.state().released.contains(&number) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        // A client that was killed may have lost the answer; it is not asked for again.
        let is_open = |number: &u32| {
            let is_answered = body.contains(&format!("released {number} now")) || self.go(*number).exists();
            !tools.is_empty() && !is_answered
        };
        let (asks, number) = match directive(&body, "ASK-").filter(is_open) {
            Some(number) => (true, Some(number)),
            None => (false, directive(&body, "TOOL-").filter(is_open)),
        };
        let call = number.and_then(|number| call(&path, &tools, &self.command(number), asks));
        let (kind, text) = match call {
            Some(events) => ("text/event-stream", model::stream_of(&events)),
            None => model::answer(&path, request["stream"] == true),
        };
        let mut output = stream;
        write!(
            output,
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        )
    }

    /// What a shell runs that waits; the words that it ends with are nowhere in the command.
    fn command(&self, number: u32) -> String {
        let (started, go) = (self.started(number), self.go(number));
        format!(
            "touch '{}'; until [ -e '{}' ]; do sleep 0.05; done; printf 'released %s now' {number}",
            started.display(),
            go.display()
        )
    }
}

/// A request in which each call of a tool is answered once: Gemini CLI says an answer twice by itself, with the mail in it, when it was
/// killed after the call and goes on. None where nothing is repeated.
fn without_repeats(request: &Value) -> Option<String> {
    let mut request = request.clone();
    let mut known = HashSet::new();
    let mut has_repeats = false;
    for content in request["contents"].as_array_mut()? {
        let Some(parts) = content["parts"].as_array_mut() else { continue };
        parts.retain(|part| {
            let answers = part["functionResponse"]["id"].as_str();
            let is_new = answers.is_none_or(|id| known.insert(id.to_owned()));
            has_repeats |= !is_new;
            is_new
        });
    }
    has_repeats.then(|| request.to_string())
}

/// The last number that follows a directive in a request.
fn directive(body: &str, word: &str) -> Option<u32> {
    let (_, rest) = body.rsplit_once(word)?;
    rest.split_once('.')?.0.parse().ok()
}

/// The names of the tools that a request offers.
fn tool_names(request: &Value) -> Vec<String> {
    let listed = request["tools"].as_array().into_iter().flatten();
    let names = listed.flat_map(|tool| {
        let declared = tool["functionDeclarations"].as_array().cloned().unwrap_or_default();
        let own = [tool["name"].clone(), tool["function"]["name"].clone()];
        own.into_iter().chain(declared.into_iter().map(|tool| tool["name"].clone()))
    });
    names.filter_map(|name| name.as_str().map(ToOwned::to_owned)).collect()
}

/// A call of the client's shell, in the words of its vendor.
fn call(path: &str, tools: &[String], command: &str, asks: bool) -> Option<Vec<(&'static str, Value)>> {
    let known = ["Bash", "exec_command", "shell_command", "run_shell_command", "bash"];
    let name = known.into_iter().find(|known| tools.iter().any(|tool| tool == known))?;
    let arguments = match name {
        "exec_command" if asks => json!({ "cmd": command, "yield_time_ms": 30_000, "justification": "wait",
                                          "sandbox_permissions": "require_escalated" }),
        "exec_command" => json!({ "cmd": command, "yield_time_ms": 30_000 }),
        "run_shell_command" if path.ends_with("/chat/completions") => {
            json!({ "command": command, "description": "wait", "is_background": false })
        }
        "run_shell_command" => json!({ "command": command }),
        _ => json!({ "command": command, "description": "wait" }),
    };
    Some(if path.contains("/messages") {
        let typed = |name: &'static str, mut data: Value| {
            data["type"] = name.into();
            (name, data)
        };
        let block = json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": {} });
        let delta = json!({ "type": "input_json_delta", "partial_json": arguments.to_string() });
        let end = json!({ "stop_reason": "tool_use", "stop_sequence": null });
        vec![
            typed("message_start", json!({ "message": model::message(&json!([]), &Value::Null) })),
            typed("content_block_start", json!({ "index": 0, "content_block": block })),
            typed("content_block_delta", json!({ "index": 0, "delta": delta })),
            typed("content_block_stop", json!({ "index": 0 })),
            typed("message_delta", json!({ "delta": end, "usage": { "output_tokens": 1 } })),
            typed("message_stop", json!({})),
        ]
    } else if path.contains(":streamGenerateContent") {
        let part = json!({ "functionCall": { "name": name, "args": arguments } });
        vec![(
            "",
            json!({
                "candidates": [{ "index": 0, "content": { "role": "model", "parts": [part] }, "finishReason": "STOP" }],
                "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
            }),
        )]
    } else if path.ends_with("/responses") {
        let item = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name,
                           "arguments": arguments.to_string() });
        model::response(&item)
    } else {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        let delta = json!({ "role": "assistant",
                            "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] });
        model::chat_of(delta, "tool_calls")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_directive_of_a_request_counts() {
        assert_eq!(directive("TOOL-1. and TOOL-12.", "TOOL-"), Some(12));
        assert_eq!(directive("no such thing", "TOOL-"), None);
        assert_eq!(directive("TOOL-x.", "TOOL-"), None);
    }

    #[test]
    fn an_answer_that_a_client_repeats_by_itself_counts_once() {
        let answer = |id: &str| json!({ "functionResponse": { "id": id, "response": { "output": "mail" } } });
        let request = |parts: Value| json!({ "contents": [{ "role": "user", "parts": parts }] });
        let twice = request(json!([answer("a"), answer("a"), answer("b")]));
        assert_eq!(without_repeats(&twice), Some(request(json!([answer("a"), answer("b")])).to_string()));
        assert_eq!(
            without_repeats(&request(json!([answer("a"), { "text": "mail" }, { "text": "mail" }]))),
            None
        );
        assert_eq!(without_repeats(&json!({ "messages": [] })), None);
    }

    #[test]
    fn a_shell_is_called_by_the_name_that_the_client_offers() {
        let request = json!({ "tools": [{ "functionDeclarations": [{ "name": "run_shell_command" }] }] });
        let tools = tool_names(&request);
        assert_eq!(tools, ["run_shell_command"]);
        let events = call("/v1beta/models/m:streamGenerateContent", &tools, "true", false).unwrap();
        assert!(events[0].1.to_string().contains("run_shell_command"));
        assert!(call("/v1/responses", &["other".to_owned()], "true", false).is_none());
        let asking = call("/v1/responses", &["exec_command".to_owned()], "true", true).unwrap();
        assert!(format!("{asking:?}").contains("require_escalated"));
    }
}
