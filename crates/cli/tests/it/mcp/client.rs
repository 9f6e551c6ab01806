//! A client of the server: a process, requests and answers by hand, so that a test sees what is really said.
#![expect(clippy::needless_pass_by_value, reason = "`json!` makes values, and tests read better without `&`")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::scene::World;

/// Long enough for a loaded machine; a test that passes never waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server at work, and its one client.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came while something else was waited for.
    early: Vec<Value>,
    next: u64,
}

impl Client {
    /// A server that has not been greeted yet.
    pub(crate) fn silent(world: &World, args: &[&str]) -> Self {
        Self::of(&mut world.command(&[&["mcp"], args].concat()))
    }

    /// A server that is started so.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if send.send(serde_json::from_str(&line).expect("every line is JSON")).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, early: Vec::new(), next: 0 }
    }

    pub(crate) fn new(world: &World, args: &[&str]) -> Self {
        let mut client = Self::silent(world, args);
        client.greet();
        client
    }

    pub(crate) fn greet(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let greeting = self.request("initialize", params);
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        greeting["result"].clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.say_line(&message.to_string());
    }

    pub(crate) fn say_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is closed at the end only");
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// Asks and does not wait; gives the request's id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    /// The answer to a request, whatever else comes before it.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.first(|message| message["id"] == id)
    }

    /// The first message that fits.
    pub(crate) fn first(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&fits) {
            return self.early.remove(at);
        }
        loop {
            let message = self.lines.recv_timeout(PATIENCE).expect("an answer in time");
            if fits(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// Everything that came so far and was not asked for.
    pub(crate) fn early(&self) -> &[Value] {
        &self.early
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub(crate) fn ask_tool(&mut self, name: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Calls a tool that must succeed; gives the JSON of its first text, a list below `result`.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.ask_tool(name, arguments);
        self.called(id)
    }

    pub(crate) fn called(&mut self, id: u64) -> Value {
        let answer = self.answer(id);
        let result = &answer["result"];
        assert_ne!(result["isError"], true, "{answer}");
        assert_eq!(result.get("structuredContent"), None, "nothing is said twice: {answer}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        if text.is_array() { json!({ "result": text }) } else { text }
    }

    /// Calls a tool that must succeed; gives the texts beside its answer.
    pub(crate) fn notes(&mut self, name: &str, arguments: Value) -> Vec<String> {
        let id = self.ask_tool(name, arguments);
        let answer = self.answer(id);
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        let texts = answer["result"]["content"].as_array().unwrap().iter().skip(1);
        texts.map(|block| block["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Calls a tool that must refuse; gives its words.
    pub(crate) fn refused(&mut self, name: &str, arguments: Value) -> String {
        let id = self.ask_tool(name, arguments);
        let answer = self.answer(id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    /// Closes its input and waits for its end.
    pub(crate) fn close(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
