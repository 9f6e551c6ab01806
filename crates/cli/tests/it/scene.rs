//! What every test here stands on: the binary in a world of its own, and what it said.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::SystemTime;

use atm_store::Layout;
use atm_support::{TestEnv, TestTeam, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The binary under test.
pub(crate) const ATM: &str = env!("CARGO_BIN_EXE_atm");

/// What differs from run to run, digit by digit (`0`) and hexadecimal digit by digit (`x`), and what is shown for it.
const MASKS: [(&str, &str); 9] = [
    ("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "[ID]"),
    ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "[ID]"),
    // As wide as it was, so that columns stay in line.
    ("0000-00-00T00:00:00.000Z", "[.........TIME.........]"),
    ("00000000-000000-000", "[TIME]"),
    ("0000-00-00 00:00:00", "[......TIME.......]"),
    ("0000-00-00 00:00", "[.....TIME.....]"),
    ("at 00:00Z [xxxxxxxx]", "at [TIME] [ID]"),
    ("`atm ack xxxxxxxx` by 00:00Z", "`atm ack [ID]` by [TIME]"),
    ("(waited 00000 ms)", "(waited [TIME])"),
];

/// A world without teams, until a command makes one.
#[derive(Debug, Clone)]
pub(crate) struct World {
    env: TestEnv,
}

impl Deref for World {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self { env: TestEnv::new() }
    }

    /// With the team `dev` of `team-lead`, `alice` and `bob`, made by our own commands.
    pub(crate) fn with_team() -> Self {
        let world = Self::new();
        for line in ["team create dev", "member add alice", "member add bob"] {
            world.ok(&line.split(' ').collect::<Vec<_>>());
        }
        world
    }

    /// The binary, about to be run in this world.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.env.atm(ATM);
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn atm<S: AsRef<OsStr>>(&self, args: &[S]) -> Answer {
        Answer::of(self, &self.command(args).output().unwrap())
    }

    /// Runs the binary, which must succeed; gives its stdout.
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let answer = self.atm(args);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.stdout
    }

    /// Runs the binary with `--json`, which must succeed; gives its document.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let stdout = self.ok(&[args, &["--json"]].concat());
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }

    /// Runs the binary with something on stdin.
    pub(crate) fn pipe(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> Answer {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_ref()).unwrap();
        Answer::of(self, &child.wait_with_output().unwrap())
    }

    /// Starts the binary and leaves it running.
    pub(crate) fn start(&self, args: &[&str]) -> Started {
        Started::of(self.command(args).spawn().unwrap(), self)
    }

    /// Types lines into a shell whose `atm` is ours, and shows them with what came of each: stdout as it is, stderr behind
    /// `2>`, and the exit code unless it is 0. What differs from run to run is masked.
    pub(crate) fn session(&self, lines: &str) -> String {
        let mut shown = String::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let answer = Answer::of(self, &self.shell().args(["-c", line]).output().unwrap());
            let _ = writeln!(shown, "$ {line}");
            shown.push_str(&answer.shown());
        }
        shown
    }

    /// A shell in this world whose `atm` is ours.
    pub(crate) fn shell(&self) -> Command {
        self.program("sh")
    }

    /// Another program in this world whose `atm` is ours.
    pub(crate) fn program(&self, name: &str) -> Command {
        let path = env::var_os("PATH").unwrap_or_default();
        let ours = Path::new(ATM).parent().unwrap().to_owned();
        let mut program = self.env.atm(name);
        program.env("PATH", env::join_paths([ours].into_iter().chain(env::split_paths(&path))).unwrap());
        program
    }

    /// Whether a process of ours has its turn at a shared file of that name.
    pub(crate) fn has_its_turn(&self, name: &str) -> bool {
        let queues = tree(&self.state().join("queue")).into_iter();
        let mut queues = queues.filter(|path| path.is_file() && path.ends_with(name));
        queues.any(|path| File::open(path).unwrap().try_lock().is_err())
    }

    /// The queue of ours for the shared file of that name.
    pub(crate) fn queue_of(&self, name: &str) -> PathBuf {
        let mut queues = tree(&self.state().join("queue")).into_iter();
        queues.find(|path| path.is_file() && path.ends_with(name)).expect("somebody has written it")
    }

    /// How many letters the ledger has that are accepted and not written.
    pub(crate) fn waiting(&self) -> usize {
        let Ok(ledger) = atm_ledger::Ledger::open(&self.state().join("log.db")) else { return 0 };
        let root = atm_ledger::InboxKey::new(&self.root(), "", "").root;
        let inboxes = ledger.inboxes_with_waiting(&root).unwrap_or_default();
        inboxes.iter().filter_map(|inbox| ledger.waiting(inbox).ok()).map(|waiting| waiting.len()).sum()
    }

    /// A file's text with what differs from run to run masked.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in [(self.root(), "[ROOT]"), (self.state(), "[STATE]"), (self.home(), "[HOME]")] {
            text = text.replace(path.to_str().unwrap(), name);
        }
        mask_short_ids(&MASKS.iter().fold(text, |text, (pattern, name)| mask(&text, pattern, name)))
    }
}

/// Masks ids as people see them: eight hexadecimal digits that are a word of their own.
fn mask_short_ids(text: &str) -> String {
    let is_id = |word: &str| {
        word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let ends_a_word = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let shown = text.split_inclusive(ends_a_word).map(|word| {
        let bare = word.trim_end_matches(ends_a_word);
        if is_id(bare) { format!("[ID]{}", &word[bare.len()..]) } else { word.to_owned() }
    });
    shown.collect()
}

fn mask(text: &str, pattern: &str, name: &str) -> String {
    let fits = |rest: &str| {
        rest.len() >= pattern.len()
            && pattern.bytes().zip(rest.bytes()).all(|(wanted, there)| match wanted {
                b'0' => there.is_ascii_digit(),
                b'x' => there.is_ascii_hexdigit(),
                other => there == other,
            })
    };
    let mut masked = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if fits(rest) {
            masked.push_str(name);
            rest = &rest[pattern.len()..];
        } else {
            masked.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    masked
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    world: World,
}

impl Answer {
    pub(crate) fn of(world: &World, output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8 on the output");
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            world: world.clone(),
        }
    }

    /// All of it, for a snapshot.
    pub(crate) fn shown(&self) -> String {
        let mut shown = self.world.mask(&self.stdout);
        for line in self.world.mask(&self.stderr).lines() {
            let _ = writeln!(shown, "{}", format!("2> {line}").trim_end());
        }
        match self.code {
            Some(0) => {}
            Some(code) => {
                let _ = writeln!(shown, "[exit {code}]");
            }
            None => shown.push_str("[killed]\n"),
        }
        shown
    }

    /// The error document on stderr.
    pub(crate) fn error(&self) -> Value {
        let document: Value = serde_json::from_str(&self.stderr).unwrap_or_else(|_| panic!("{self:?}"));
        document["error"].clone()
    }
}

/// The binary at work; killed when it is dropped before its end.
#[derive(Debug)]
pub(crate) struct Started {
    child: Option<Child>,
    world: World,
}

impl Started {
    pub(crate) fn of(child: Child, world: &World) -> Self {
        Self { child: Some(child), world: world.clone() }
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it is taken at the end only")
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child().try_wait().unwrap().is_none()
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        let id = self.child().id();
        kill_process(Pid::from_raw(id.try_into().unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits until it is asleep on file events.
    pub(crate) fn wait_until_it_watches(&mut self) {
        let details = PathBuf::from(format!("/proc/{}/fdinfo", self.child().id()));
        wait_until("it watches for file events", || {
            assert!(self.is_running(), "it ended instead of waiting");
            let entries = fs::read_dir(&details).into_iter().flatten().filter_map(Result::ok);
            let mut texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
            // Where the system does not tell, we can only go on.
            cfg!(not(target_os = "linux")) || texts.any(|text| text.contains("inotify wd:"))
        });
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Answer {
        let child = self.child.take().expect("it is taken at the end only");
        Answer::of(&self.world, &child.wait_with_output().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Moments that differ, and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(start: u64) -> Self {
        Self(start)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A team `dev` whose files other programs made, and the world that it is in.
pub(crate) fn foreign_team(layout: Layout) -> (World, TestTeam) {
    let world = World::new();
    let team = world.team("dev", layout, &["team-lead", "alice", "bob"]);
    if layout == Layout::Array {
        team.write_inbox("bob", "[]");
    }
    (world, team)
}

/// Makes a file or folder as old as that, or as young.
pub(crate) fn set_modified(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// All files and folders below `folder`, sorted.
pub(crate) fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// The texts of messages in a `--json` answer.
pub(crate) fn texts(messages: &Value) -> Vec<String> {
    let messages = messages.as_array().expect("an array of messages");
    messages.iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}
