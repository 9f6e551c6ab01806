//! The scripted model: an HTTP server on this machine that speaks the vendor's messages API. What it is sent is the
//! truth about a conversation, whatever the client writes into its files.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead as _, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::request::{Answer, Request, Speaker};
use crate::clients::model::read_body;

/// How often a held answer shows that it is still coming.
const PING: Duration = Duration::from_millis(250);

/// The server; it ends with this process.
pub(super) struct ScriptedModel {
    pub(super) url: String,
    shared: Arc<Shared>,
}

/// A point in all conversations.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Mark(HashMap<Speaker, usize>);

struct Shared {
    /// Where a released number is a file, for the shells that wait for it.
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    conversations: HashMap<Speaker, Conversation>,
    holding: HashSet<u32>,
    released: HashSet<u32>,
}

#[derive(Default)]
struct Conversation {
    /// The text of every request.
    heard: Vec<String>,
    /// Requests that are being answered.
    open: usize,
    /// When the last turn ended; nothing inside a turn.
    ended: Option<Instant>,
}

impl ScriptedModel {
    /// `folder` is for the files that release shells.
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

    /// How often these words are in the conversation.
    pub(super) fn count(&self, speaker: Speaker, words: &str) -> usize {
        self.count_since(&Mark::default(), speaker, words)
    }

    /// Where the requests are that come from now on.
    pub(super) fn mark(&self) -> Mark {
        let state = self.shared.state();
        Mark(state.conversations.iter().map(|(speaker, all)| (*speaker, all.heard.len())).collect())
    }

    /// How often these words are in a conversation that began after the mark.
    pub(super) fn count_since(&self, mark: &Mark, speaker: Speaker, words: &str) -> usize {
        let state = self.shared.state();
        let heard = state.conversations.get(&speaker).map(|conversation| conversation.heard.as_slice());
        let begin = mark.0.get(&speaker).copied().unwrap_or(0);
        let since = heard.unwrap_or_default().iter().skip(begin);
        since.map(|text| text.matches(words).count()).max().unwrap_or(0)
    }

    /// The longest request of a conversation.
    pub(super) fn longest(&self, speaker: Speaker) -> String {
        let state = self.shared.state();
        let heard = state.conversations.get(&speaker).map(|conversation| conversation.heard.iter());
        heard.into_iter().flatten().max_by_key(|text| text.len()).cloned().unwrap_or_default()
    }

    /// Whether no turn is running, and none was for that long.
    pub(super) fn is_quiet(&self, speaker: Speaker, time: Duration) -> bool {
        let state = self.shared.state();
        state.conversations.get(&speaker).is_some_and(|conversation| {
            conversation.open == 0 && conversation.ended.is_some_and(|ended| ended.elapsed() >= time)
        })
    }

    /// Whether a turn hangs on this number: an answer that is held, or a shell that waits.
    pub(super) fn is_holding(&self, number: u32) -> bool {
        self.shared.state().holding.contains(&number) || self.shared.started(number).exists()
    }

    pub(super) fn release(&self, number: u32) -> Result<()> {
        self.shared.state().released.insert(number);
        std::fs::write(self.shared.go(number), "").context("cannot release a shell")
    }

    /// All requests, for a look after the fact.
    pub(super) fn requests(&self) -> Vec<Value> {
        let state = self.shared.state();
        let all = state.conversations.iter().flat_map(|(speaker, conversation)| {
            conversation
                .heard
                .iter()
                .map(move |text| json!({ "speaker": format!("{speaker:?}"), "heard": text }))
        });
        all.collect()
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
        let body: Value = serde_json::from_str(&read_body(&mut reader)?).unwrap_or_default();
        let mut output = stream;
        if !line.contains("/messages") || line.contains("count_tokens") {
            return write_json(&mut output, &json!({ "input_tokens": 1, "data": [] }));
        }
        let request = Request::parse(&body);
        if body["stream"] != true {
            let content = json!([{ "type": "text", "text": "Ok" }]);
            return write_json(&mut output, &message(&content, &json!("end_turn")));
        }
        let Some(request) = request else {
            return Stream::begin(&mut output)?.end(&Answer::Words, self);
        };
        let speaker = request.speaker;
        let answer = request.answer();
        {
            let mut state = self.state();
            let conversation = state.conversations.entry(speaker).or_default();
            conversation.heard.push(request.heard);
            conversation.open += 1;
            conversation.ended = None;
        }
        let answered = self.answer(&mut output, &answer);
        let mut state = self.state();
        let conversation = state.conversations.entry(speaker).or_default();
        conversation.open -= 1;
        if matches!(answer, Answer::Words | Answer::Hold(_)) {
            conversation.ended = Some(Instant::now());
        }
        answered
    }

    fn answer(&self, output: &mut impl Write, answer: &Answer) -> io::Result<()> {
        let mut stream = Stream::begin(output)?;
        if let Answer::Hold(number) = *answer {
            self.state().holding.insert(number);
            while !self.state().released.contains(&number) {
                stream.event("ping", json!({}))?;
                thread::sleep(PING);
            }
        }
        stream.end(answer, self)
    }

    /// Ends by itself when the folder is gone, so that it does not outlive a killed client for long.
    fn shell(&self, number: u32) -> String {
        let (started, go) = (self.started(number), self.go(number));
        format!(
            ": > '{}'; until [ -e '{}' ] || [ ! -d '{}' ]; do sleep 0.1; done",
            started.display(),
            go.display(),
            self.folder.display()
        )
    }
}

/// A streamed answer.
struct Stream<'a, W>(&'a mut W);

impl<'a, W: Write> Stream<'a, W> {
    fn begin(output: &'a mut W) -> io::Result<Self> {
        write!(output, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
        let mut stream = Self(output);
        stream.event("message_start", json!({ "message": message(&json!([]), &Value::Null) }))?;
        Ok(stream)
    }

    fn event(&mut self, name: &str, mut data: Value) -> io::Result<()> {
        data["type"] = name.into();
        write!(self.0, "event: {name}\ndata: {data}\n\n")?;
        self.0.flush()
    }

    fn end(mut self, answer: &Answer, shared: &Shared) -> io::Result<()> {
        let tool = match answer {
            Answer::Words | Answer::Hold(_) => None,
            Answer::Tool { name, input } => Some((*name, input.clone())),
            Answer::Wait(number) => {
                let input = json!({ "command": shared.shell(*number), "description": "Wait for a file" });
                Some(("Bash", input))
            }
        };
        let stop = if tool.is_some() { "tool_use" } else { "end_turn" };
        let (block, delta) = match tool {
            None => (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": "Ok" })),
            Some((name, input)) => (
                json!({ "type": "tool_use", "id": unique("toolu"), "name": name, "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            ),
        };
        self.event("content_block_start", json!({ "index": 0, "content_block": block }))?;
        self.event("content_block_delta", json!({ "index": 0, "delta": delta }))?;
        self.event("content_block_stop", json!({ "index": 0 }))?;
        let delta = json!({ "stop_reason": stop, "stop_sequence": null });
        self.event("message_delta", json!({ "delta": delta, "usage": { "output_tokens": 1 } }))?;
        self.event("message_stop", json!({}))
    }
}

fn message(content: &Value, stop_reason: &Value) -> Value {
    json!({ "id": unique("msg"), "type": "message", "role": "assistant", "model": "scripted", "content": content,
            "stop_reason": stop_reason, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } })
}

/// Clients drop an answer whose id they know already.
fn unique(kind: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{kind}_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn write_json(output: &mut impl Write, value: &Value) -> io::Result<()> {
    let text = value.to_string();
    write!(
        output,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn ask(model: &ScriptedModel, text: &str) -> TcpStream {
        let body = json!({ "stream": true, "tools": [{ "name": "Bash" }],
                           "messages": [{ "role": "user", "content": text }] })
        .to_string();
        let mut stream = TcpStream::connect(model.url.trim_start_matches("http://")).unwrap();
        write!(stream, "POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream
    }

    fn read(mut stream: TcpStream) -> String {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    #[test]
    fn it_counts_what_it_was_sent_and_knows_when_a_turn_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start(folder.path()).unwrap();
        assert!(!model.is_quiet(Speaker::Main, Duration::ZERO));
        assert!(read(ask(&model, "mail mail")).contains("message_stop"));
        crate::clients::delivery::patience::wait_for("quiet", Duration::from_secs(30), || {
            Ok(model.is_quiet(Speaker::Main, Duration::ZERO))
        })
        .unwrap();
        assert_eq!(model.count(Speaker::Main, "mail"), 2);
        assert_eq!(model.count(Speaker::Member, "mail"), 0);
        let mark = model.mark();
        assert_eq!(model.count_since(&mark, Speaker::Main, "mail"), 0);
        read(ask(&model, "mail"));
        assert_eq!(model.count_since(&mark, Speaker::Main, "mail"), 1);
        assert_eq!(model.count(Speaker::Main, "mail"), 2);
    }

    #[test]
    fn a_held_answer_ends_when_it_is_released_and_a_tool_call_leaves_the_turn_open() {
        let folder = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start(folder.path()).unwrap();
        let held = ask(&model, "[hold 1]");
        crate::clients::delivery::patience::wait_for("a held answer", Duration::from_secs(30), || {
            Ok(model.is_holding(1))
        })
        .unwrap();
        assert!(!model.is_quiet(Speaker::Main, Duration::ZERO));
        model.release(1).unwrap();
        assert!(read(held).contains("end_turn"));
        assert!(read(ask(&model, "[tool 2]")).contains("tool_use"));
        assert!(!model.is_quiet(Speaker::Main, Duration::ZERO) && !model.is_holding(2));
    }
}
