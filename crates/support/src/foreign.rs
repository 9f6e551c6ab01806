//! Other programs that write the same files, as processes of their own.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::wait::wait_until;

/// A test double of another program, about to be started. Its arguments are described at the top of its script.
#[derive(Debug)]
pub struct Foreign {
    command: Command,
    script: &'static str,
}

impl Foreign {
    /// An agent client: locks by a directory, with the clients' own lock library.
    pub fn client(inbox: &Path) -> Self {
        let mut client = Self::script("node", "client.mjs").with("--inbox", inbox);
        client.command.env("ATM_TEST_NODE_MODULES", node_modules());
        client
    }

    /// An agent client at the task list in `folder`, which exists.
    pub fn task_client(folder: &Path) -> Self {
        let mut client = Self::script("node", "tasks.mjs").with("--folder", folder);
        client.command.env("ATM_TEST_NODE_MODULES", node_modules());
        client
    }

    /// A Python tool: locks by `flock` on `.lock` beside the inbox.
    pub fn python(inbox: &Path) -> Self {
        Self::script("python3", "flock_writer.py").with("--inbox", inbox)
    }

    /// A shell script that appends lines with `>>`.
    pub fn shell(inbox: &Path) -> Self {
        Self::script("sh", "append.sh").with("--inbox", inbox)
    }

    /// A shell script that reads the lines behind the cursor in `state`, and moves it.
    pub fn shell_reader(inbox: &Path, state: &Path) -> Self {
        Self::script("sh", "read_new.sh").with("--inbox", inbox).with("--state", state)
    }

    /// Somebody who holds an `flock` on the file `lock` until told to finish.
    pub fn flock_holder(lock: &Path) -> Self {
        Self::script("python3", "hold_flock.py").with("--lock", lock)
    }

    /// Agents of four clients that edit the working tree `tree`, each only what it has reserved.
    pub fn editors(tree: &Path) -> Self {
        Self::script("python3", "editors.py").with("--tree", tree)
    }

    fn script(interpreter: &str, script: &'static str) -> Self {
        let mut command = Command::new(interpreter);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign").join(script));
        Self { command, script }
    }

    /// With an option and its value.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(option).arg(value);
        self
    }

    /// With an option that has no value.
    #[must_use]
    pub fn flag(mut self, option: &str) -> Self {
        self.command.arg(option);
        self
    }

    /// Sends `count` messages: `<prefix>0` and so on.
    #[must_use]
    pub fn sending(self, prefix: &str, count: usize) -> Self {
        self.with("--prefix", prefix).with("--count", count.to_string())
    }

    /// Replaces the file by a rename; without this, clients and Python tools write it in place.
    #[must_use]
    pub fn renaming(self) -> Self {
        self.with("--style", "rename")
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.command));
        let said = Arc::new(Mutex::new(Vec::new()));
        let output = child.stdout.take().expect("a pipe");
        let errors = child.stderr.take().expect("a pipe");
        let listener = thread::spawn({
            let said = Arc::clone(&said);
            move || {
                for line in BufReader::new(output).lines() {
                    let line = line.expect("UTF-8");
                    let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
                    said.lock().expect("no panic while it was held").push(value);
                }
            }
        });
        let complaints = thread::spawn(move || {
            let mut text = String::new();
            let _ = BufReader::new(errors).read_to_string(&mut text);
            text
        });
        Running { child, script: self.script, said, listener: Some(listener), complaints: Some(complaints) }
    }

    /// Runs it to its end.
    pub fn run(self) -> Said {
        self.start().finish()
    }
}

/// A running test double; killed when it is dropped before its end.
#[derive(Debug)]
pub struct Running {
    child: Child,
    script: &'static str,
    said: Arc<Mutex<Vec<Value>>>,
    listener: Option<JoinHandle<()>>,
    complaints: Option<JoinHandle<String>>,
}

impl Running {
    /// Waits until it has said `count` lines.
    pub fn wait_for_lines(&mut self, count: usize) {
        let said = Arc::clone(&self.said);
        let script = self.script;
        let enough = || said.lock().expect("no panic while it was held").len() >= count;
        wait_until(&format!("{script} says {count} lines"), || {
            let ended = self.child.try_wait().expect("a child of ours").is_some();
            // What it said last may still be on its way to us.
            assert!(
                enough() || !ended || !self.has_been_heard(),
                "{script} ended before it said {count} lines"
            );
            enough()
        });
    }

    /// Whether it has said `count` lines, or has ended.
    pub fn said_all(&mut self, count: usize) -> bool {
        let said = self.said.lock().expect("no panic while it was held").len();
        said >= count || self.child.try_wait().expect("a child of ours").is_some()
    }

    /// Waits for its end, which must be a good one, and gives what it said.
    pub fn finish(self) -> Said {
        let script = self.script;
        let (code, said) = self.end();
        assert_eq!(code, Some(0), "{script} failed: {}", said.complaints);
        said
    }

    /// Waits for its end, however it ends; gives its exit code and what it said.
    pub fn end(mut self) -> (Option<i32>, Said) {
        drop(self.child.stdin.take());
        let status = self.child.wait().expect("a child of ours");
        let complaints = self.complaints.take().map(|thread| thread.join().expect("its errors"));
        let complaints = complaints.unwrap_or_default();
        self.listener.take().map(JoinHandle::join).transpose().expect("only JSON on its output");
        let said = std::mem::take(&mut *self.said.lock().expect("no panic while it was held"));
        (status.code(), Said { lines: said, complaints })
    }

    fn has_been_heard(&self) -> bool {
        self.listener.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The output of a test double.
#[derive(Debug)]
pub struct Said {
    /// Its JSON lines.
    pub lines: Vec<Value>,
    /// Its standard error.
    pub complaints: String,
}

impl Said {
    /// The texts of messages: sent, shown, or taken.
    pub fn texts(&self) -> Vec<String> {
        let text = |line: &Value| {
            let text = line.get("text").or_else(|| line.pointer("/content/text"))?;
            text.as_str().map(ToOwned::to_owned)
        };
        self.lines.iter().filter_map(text).collect()
    }
}

/// Where `cargo xtask setup` put the lock library of the clients: below the folder that this test was built in.
fn node_modules() -> PathBuf {
    if let Some(told) = env::var_os("ATM_TEST_NODE_MODULES") {
        return told.into();
    }
    let test = env::current_exe().expect("where this test is");
    test.ancestors()
        .map(|folder| folder.join("test-tools/node/node_modules"))
        .find(|modules| modules.join("proper-lockfile").is_dir())
        .expect("the clients' lock library is not installed: run cargo xtask setup")
}
