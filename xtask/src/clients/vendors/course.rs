//! The course of one client: mail before a turn, in a turn, in a turn in which the client is killed, and after that.

use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::model::VendorModel;
use super::recipient::Recipient;
use super::vendor::{Words, configure, turn};
use super::{Outcome, Tried};
use crate::clients::client::Client;
use crate::clients::home::Home;

/// Clients start slowly, and one of them fetches something first.
const PATIENCE: Duration = Duration::from_secs(180);
/// How many messages each state gets.
const EACH: usize = 3;

pub(super) struct Course<'a> {
    pub(super) client: Client,
    pub(super) recipient: Recipient,
    pub(super) home: &'a Home,
    pub(super) model: &'a VendorModel,
    pub(super) numbers: u32,
    sent: usize,
    /// Mail for the folder that a single run left there.
    pub(super) left: Vec<Mail>,
}

/// A message: its words and its id.
pub(super) struct Mail {
    pub(super) words: String,
    id: String,
}

impl<'a> Course<'a> {
    pub(super) fn new(
        client: Client,
        recipient: Recipient,
        home: &'a Home,
        model: &'a VendorModel,
    ) -> Result<Self> {
        let (name, text) = configure(client.name, &model.url);
        let file = home.file(name);
        fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
        fs::write(&file, text)?;
        recipient.atm(home, &["install", client.name])?;
        Ok(Self { client, recipient, home, model, numbers: 0, sent: 0, left: Vec::new() })
    }

    /// One state after the other. Without a first turn there is nothing to go on with.
    pub(super) fn run(&mut self) -> Result<Vec<Tried>> {
        self.introduce().context("the first turn")?;
        let mut tried = Vec::new();
        // A plain session is idle in its terminal alone: what runs without one takes only what names it.
        if self.recipient == Recipient::Member {
            tried.push(("idle: with the next turn", Ok(self.idle().context("idle")?)));
        }
        tried.push(("busy: behind the running tool", self.busy()));
        if self.recipient == Recipient::Member {
            let killed = self.killed();
            self.go_on(&mut tried, "killed in the turn", killed);
        }
        let killed = self.killed_behind_tool();
        self.go_on(&mut tried, "killed with mail from behind a tool", killed);
        if self.recipient == Recipient::Session {
            tried.extend(
                self.leave().err().map(|error| ("a single run leaves its folder's mail", Err(error))),
            );
        }
        tried.extend(self.in_terminal());
        Ok(tried)
    }

    /// A session is known from its first turn on: before that, its folder is no address.
    fn introduce(&self) -> Result<()> {
        if self.recipient == Recipient::Session {
            let mut child = self.start(&Words::first("good morning"))?;
            self.end(&mut child)?;
        }
        self.recipient.check_known(self.client, self.home, false)
    }

    /// Mail that waits when a turn begins.
    fn idle(&mut self) -> Result<Outcome> {
        let mail = self.send()?;
        let begun = Instant::now();
        let mut child = self.start(&Words::first("hello"))?;
        self.end(&mut child)?;
        self.outcome(&mail, begun)
    }

    /// Mail that comes while a tool runs.
    fn busy(&mut self) -> Result<Outcome> {
        self.numbers += 1;
        let number = self.numbers;
        let mut child = self.start(&Words::again(&format!("TOOL-{number}.")))?;
        self.until("the tool runs", &mut child, || self.model.is_holding(number))?;
        let mail = self.send_to_run("")?;
        let begun = Instant::now();
        self.model.release(number)?;
        self.end(&mut child)?;
        self.outcome(&mail, begun)
    }

    /// Mail for the folder, and a run of the client that ends: nothing of it is for such a run.
    fn leave(&mut self) -> Result<()> {
        let mail = self.send()?;
        let mut child = self.start(&Words::first("hello"))?;
        self.end(&mut child)?;
        let unread = self.recipient.unread(self.home)?;
        let is_left = |mail: &Mail| {
            self.model.count(&mail.words) == 0 && unread.iter().any(|one| one["id"] == mail.id.as_str())
        };
        ensure!(mail.iter().all(is_left), "it took the mail of its folder");
        self.left = mail;
        Ok(())
    }

    /// A client that is killed when its model has the mail, before the turn ends.
    fn killed(&mut self) -> Result<(Outcome, Vec<Mail>)> {
        let mail = self.send()?;
        self.numbers += 1;
        let number = self.numbers;
        let begun = Instant::now();
        let child = self.start(&Words::again(&format!("HOLD-{number}.")))?;
        self.kill_with(mail, begun, number, child)
    }

    /// The same with mail that comes while a tool runs, and makes the model hold its answer back.
    fn killed_behind_tool(&mut self) -> Result<(Outcome, Vec<Mail>)> {
        let (tool, answer) = (self.numbers + 1, self.numbers + 2);
        self.numbers += 2;
        let mut child = self.start(&Words::again(&format!("TOOL-{tool}.")))?;
        self.until("the tool runs", &mut child, || self.model.is_holding(tool))?;
        let mail = self.send_to_run(&format!(" HOLD-{answer}."))?;
        let begun = Instant::now();
        self.model.release(tool)?;
        self.kill_with(mail, begun, answer, child)
    }

    fn kill_with(
        &self,
        mail: Vec<Mail>,
        begun: Instant,
        answer: u32,
        mut child: Child,
    ) -> Result<(Outcome, Vec<Mail>)> {
        self.until("the model has the mail", &mut child, || self.model.is_holding(answer))?;
        kill(&mut child)?;
        self.model.release(answer)?;
        let outcome = self.outcome(&mail, begun)?;
        let unread = self.recipient.unread(self.home)?;
        ensure!(unread.len() == EACH, "marked without the turn's end");
        Ok((Outcome { is_killed: true, ..outcome }, mail))
    }

    /// What became of mail with which the client was killed, and what becomes of it when the conversation goes on.
    fn go_on(&self, tried: &mut Vec<Tried>, state: &'static str, killed: Result<(Outcome, Vec<Mail>)>) {
        match killed {
            Ok((outcome, mail)) => {
                tried.push((state, Ok(outcome)));
                tried.push(("resumed after that, the same mail", self.resumed(&mail)));
            }
            Err(error) => tried.push((state, Err(error))),
        }
    }

    /// The same conversation goes on: what the killed client was shown is unread, and is presented again.
    fn resumed(&self, mail: &[Mail]) -> Result<Outcome> {
        let begun = Instant::now();
        self.model.forget();
        let mut child = self.start(&Words::again("go on"))?;
        self.end(&mut child)?;
        self.outcome(mail, begun)
    }

    pub(super) fn send(&mut self) -> Result<Vec<Mail>> {
        self.send_to(self.recipient.address(), "")
    }

    /// To the recipient in the client that runs now, without a terminal.
    fn send_to_run(&mut self, more: &str) -> Result<Vec<Mail>> {
        let to = self.recipient.address_of_run(self.home)?;
        self.send_to(&to, more)
    }

    fn send_to(&mut self, to: &str, more: &str) -> Result<Vec<Mail>> {
        let mut mail = Vec::new();
        for _ in 0..EACH {
            self.sent += 1;
            let words = format!("mail number {:03} for this client{more}", self.sent);
            let answer = self.recipient.atm(self.home, &["send", to, &words])?;
            let id = answer["id"].as_str().context("send gave no id")?.to_owned();
            mail.push(Mail { words, id });
        }
        Ok(mail)
    }

    fn start(&self, words: &Words) -> Result<Child> {
        use std::os::unix::process::CommandExt;
        let mut command = self.home.command(self.client.name);
        turn(self.client.name, &mut command, &self.model.url, words);
        let log = fs::OpenOptions::new().create(true).append(true).open(self.home.file("client.log"))?;
        self.recipient.identify(&mut command);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        command.spawn().with_context(|| format!("cannot start {}", self.client.name))
    }

    fn until(&self, what: &str, child: &mut Child, is_so: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            if let Some(status) = child.try_wait()? {
                bail!("it ended before {what}: {status}\n{}", self.last_words());
            }
            if Instant::now() > deadline {
                kill(child)?;
                bail!("not within {} s: {what}\n{}", PATIENCE.as_secs(), self.last_words());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn end(&self, child: &mut Child) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait()? {
                ensure!(status.success(), "{status}\n{}", self.last_words());
                return Ok(());
            }
            if Instant::now() > deadline {
                kill(child)?;
                bail!("did not end within {} s\n{}", PATIENCE.as_secs(), self.last_words());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn last_words(&self) -> String {
        let said = fs::read_to_string(self.home.file("client.log")).unwrap_or_default();
        let lines: Vec<&str> = said.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    pub(super) fn outcome(&self, mail: &[Mail], begun: Instant) -> Result<Outcome> {
        let counts = mail.iter().map(|mail| self.model.count(&mail.words));
        let counts: Vec<usize> = counts.collect();
        let unread = self.recipient.unread(self.home)?;
        let is_unread = |id: &str| unread.iter().any(|one| one["id"] == id);
        let (mut proved, mut waiting) = (0, 0);
        for mail in mail {
            let is_proved = is_proved(&self.recipient.atm(self.home, &["track", &mail.id])?);
            proved += usize::from(is_proved);
            waiting += usize::from(!is_proved && is_unread(&mail.id));
        }
        let first = mail.iter().filter_map(|mail| self.model.first(&mail.words)).max();
        Ok(Outcome {
            sent: mail.len(),
            arrived: counts.iter().filter(|count| **count > 0).count(),
            proved,
            waiting,
            is_killed: false,
            doubled: counts.iter().filter(|count| **count > 1).count(),
            time: first.map(|first| first.saturating_duration_since(begun)),
        })
    }
}

/// Ends the client with all that it started, as a crash would.
fn kill(child: &mut Child) -> Result<()> {
    let group = Pid::from_raw(i32::try_from(child.id())?);
    // Gone already is what we want.
    let _ = killpg(group, Signal::SIGKILL);
    child.wait()?;
    Ok(())
}

/// Whether `atm track` points at the place in the conversation.
fn is_proved(track: &Value) -> bool {
    track["stages"].as_array().into_iter().flatten().any(|stage| {
        let what = stage["evidence"]["what"].as_str().unwrap_or_default();
        stage["stage"] == "seen" && what.starts_with("in the recipient's conversation")
    })
}
