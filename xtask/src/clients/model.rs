//! A model that understands everything: an HTTP server on this machine that answers the clients' requests in each
//! provider's own format, and remembers what it was asked.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::edits;

const WORDS: &str = "Understood.";

/// An event of a stream: its name, and its data.
pub(super) type Event = (&'static str, Value);

/// The server; it ends with this process.
pub(super) struct Model {
    /// Where it is.
    pub(super) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Model {
    pub(super) fn start() -> Result<Self> {
        Self::serve(None)
    }

    /// One that writes this file at the first request that lets it.
    pub(super) fn editing(file: &Path) -> Result<Self> {
        Self::serve(Some(file.to_owned()))
    }

    fn serve(edits: Option<PathBuf>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on this machine")?;
        let url = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, edits) = (Arc::clone(&remembered), edits.clone());
                // A client that hangs up is its own business.
                thread::spawn(move || drop(serve(&stream, &asked, edits.as_deref())));
            }
        });
        Ok(Self { url, asked })
    }

    /// Whether a request had these words in it.
    pub(super) fn was_told(&self, words: &str) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().any(|body| body.contains(words))
    }
}

fn serve(stream: &TcpStream, asked: &Mutex<Vec<String>>, edits: Option<&Path>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = read_body(&mut reader)?;
    let request: Value = serde_json::from_str(&body).unwrap_or_default();
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(body);
    let (kind, text) = match edits.and_then(|file| edits::call(&path, &request, file)) {
        Some(events) => ("text/event-stream", stream_of(&events)),
        None => answer(&path, request["stream"] == true),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
}

pub(super) fn read_body(reader: &mut impl BufRead) -> io::Result<String> {
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(("transfer-encoding", value)) => chunked = value.contains("chunked"),
            None => break,
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    if !chunked {
        reader.take(length).read_to_end(&mut body)?;
    }
    while chunked {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
        reader.by_ref().take(size).read_to_end(&mut body)?;
        reader.read_line(&mut String::new())?;
        chunked = size > 0;
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// What the provider of this path says.
pub(super) fn answer(path: &str, wants_stream: bool) -> (&'static str, String) {
    let events = if path.contains("/messages") && wants_stream {
        anthropic()
    } else if path.contains(":streamGenerateContent") {
        vec![("", gemini())]
    } else if path.ends_with("/responses") {
        responses()
    } else if path.ends_with("/chat/completions") && wants_stream {
        chat()
    } else {
        return ("application/json", plain(path).to_string());
    };
    ("text/event-stream", stream_of(&events))
}

pub(super) fn stream_of(events: &[Event]) -> String {
    let event = |(name, data): &Event| {
        let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        format!("{name}data: {data}\n\n")
    };
    events.iter().map(event).collect()
}

fn plain(path: &str) -> Value {
    if path.contains("ount") && path.contains("okens") {
        json!({ "input_tokens": 1, "totalTokens": 1 })
    } else if path.contains("/messages") {
        message(&json!([{ "type": "text", "text": WORDS }]), &json!("end_turn"))
    } else if path.contains(":generateContent") {
        gemini()
    } else if path.ends_with("/chat/completions") {
        let message = json!({ "role": "assistant", "content": WORDS });
        json!({ "id": "1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
    } else {
        json!({ "data": [], "models": [] })
    }
}

pub(super) fn message(content: &Value, stop_reason: &Value) -> Value {
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": stop_reason, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } })
}

fn anthropic() -> Vec<(&'static str, Value)> {
    let typed = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        (name, data)
    };
    vec![
        typed("message_start", json!({ "message": message(&json!([]), &Value::Null) })),
        typed("content_block_start", json!({ "index": 0, "content_block": { "type": "text", "text": "" } })),
        typed("content_block_delta", json!({ "index": 0, "delta": { "type": "text_delta", "text": WORDS } })),
        typed("content_block_stop", json!({ "index": 0 })),
        typed(
            "message_delta",
            json!({ "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 1 } }),
        ),
        typed("message_stop", json!({})),
    ]
}

fn gemini() -> Value {
    let content = json!({ "role": "model", "parts": [{ "text": WORDS }] });
    json!({ "candidates": [{ "index": 0, "content": content, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 } })
}

fn responses() -> Vec<(&'static str, Value)> {
    let content = json!([{ "type": "output_text", "text": WORDS, "annotations": [] }]);
    response(
        &json!({ "type": "message", "id": "1", "role": "assistant", "status": "completed", "content": content }),
    )
}

/// A response of one item.
pub(super) fn response(item: &Value) -> Vec<Event> {
    let usage = json!({ "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
                        "output_tokens_details": null, "total_tokens": 2 });
    vec![
        ("response.created", json!({ "type": "response.created", "response": { "id": "1" } })),
        (
            "response.output_item.done",
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        ),
        (
            "response.completed",
            json!({ "type": "response.completed", "response": { "id": "1", "output": [item], "usage": usage } }),
        ),
    ]
}

fn chat() -> Vec<(&'static str, Value)> {
    chat_of(json!({ "role": "assistant", "content": WORDS }), "stop")
}

/// An answer that is this, and ends so.
pub(super) fn chat_of(delta: Value, end: &str) -> Vec<(&'static str, Value)> {
    let chunk = |delta: Value, end: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        json!({ "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice] })
    };
    vec![("", chunk(delta, Value::Null)), ("", chunk(json!({}), json!(end)))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(model: &Model, request: &str) -> String {
        let mut stream = TcpStream::connect(model.url.trim_start_matches("http://")).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    #[test]
    fn it_answers_and_remembers_however_the_body_is_sent() {
        let model = Model::start().unwrap();
        let said = ask(&model, "POST /v1/messages HTTP/1.1\r\nContent-Length: 15\r\n\r\n{\"stream\":true}");
        assert!(said.contains("text/event-stream") && said.contains("event: message_stop"), "{said}");
        let chunked = "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nthe \r\n6\r\nbuild!\r\n0\r\n\r\n";
        assert!(ask(&model, chunked).contains(WORDS));
        assert!(model.was_told("the build!") && !model.was_told("the tests"));
    }
}
