//! The course of one row: mail to an idle client, the same words twice, mail in the middle of turns, and a client
//! that is killed in a turn; with atm's answers compared to the model's requests all along.

use std::collections::HashSet;
use std::slice;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::findings::Findings;
use super::patience::{comes_true, wait_for};
use super::request::{own_words, write_directive};
use super::session::{Role, Session};
use super::tally::Group;

/// A separate process shows its first mail once it has started.
pub(super) const START: Duration = Duration::from_secs(90);
/// Mail reaches an idle client within a poll or two; on a busy machine, later.
const ARRIVAL: Duration = Duration::from_secs(60);
/// A send that fails is tried again for this long.
const SENDING: Duration = Duration::from_secs(10);
/// For how long atm is asked about mail that a turn holds up: several polls of the client.
const HELD: Duration = Duration::from_secs(4);
/// A client writes its transcript before it asks the model: this much ahead, `seen` is not false.
const AHEAD: Duration = Duration::from_secs(5);
/// How long atm may take to find what is in the conversation, or what is lost.
pub(super) const PROOF: Duration = Duration::from_secs(5);

pub(super) struct Course {
    pub(super) session: Session,
    /// How many messages each phase sends.
    each: usize,
    pub(super) mail: Vec<Mail>,
    /// Ids that atm called seen.
    pub(super) seen: HashSet<String>,
    numbers: u32,
    pub(super) findings: Findings,
}

/// Messages with the same words.
pub(super) struct Mail {
    pub(super) words: String,
    pub(super) group: Group,
}

impl Course {
    pub(super) fn new(session: Session, each: usize) -> Self {
        let (mail, seen) = (Vec::new(), HashSet::new());
        Self { session, each, mail, seen, numbers: 0, findings: Findings::default() }
    }

    /// Runs all phases; gives what became of the mail.
    pub(super) fn run(&mut self) -> Result<Vec<Group>> {
        match self.session.role {
            Role::LeadExit => self.exits()?,
            Role::Watched => self.exits_watched()?,
            _ => self.all_phases()?,
        }
        let groups = self.settle_accounts()?;
        if self.session.role == Role::Spawned {
            self.respawn()?;
        }
        Ok(groups)
    }

    fn all_phases(&mut self) -> Result<()> {
        self.first()?;
        self.idle()?;
        self.same_words()?;
        self.in_turn("slow answer", "hold")?;
        self.in_turn("tool call", "tool")?;
        self.killed()
    }

    /// The first message, which a separate process starts with.
    fn first(&mut self) -> Result<()> {
        self.send_new("first", "")?;
        let limit = if self.session.role.has_own_process() { START } else { ARRIVAL };
        let arrived = self.arrive("first", limit)?;
        ensure!(
            arrived,
            "the first mail did not come in {} s: {}",
            limit.as_secs(),
            self.session.terminal.screen()
        );
        self.prove("first")
    }

    fn idle(&mut self) -> Result<()> {
        for _ in 0..self.each {
            self.await_idle()?;
            self.send_new("idle, one by one", "")?;
            self.arrive("idle, one by one", ARRIVAL)?;
        }
        self.prove("idle, one by one")?;
        self.await_idle()?;
        for _ in 0..self.each {
            self.send_new("idle, at once", "")?;
        }
        self.arrive("idle, at once", ARRIVAL)?;
        self.prove("idle, at once")
    }

    fn same_words(&mut self) -> Result<()> {
        self.await_idle()?;
        let words = self.send_new("same words", "")?;
        self.arrive("same words", ARRIVAL)?;
        self.sample()?;
        self.await_idle()?;
        self.send("same words", &words)?;
        self.arrive("same words", ARRIVAL)?;
        self.prove("same words")?;
        self.await_idle()?;
        let words = self.send_new("same words at once", "")?;
        self.send("same words at once", &words)?;
        self.arrive("same words at once", ARRIVAL)?;
        self.prove("same words at once")
    }

    fn in_turn(&mut self, phase: &'static str, kind: &str) -> Result<()> {
        let number = self.hold_up(phase, kind)?;
        // What the client is still going to show must not be offered again.
        self.findings.ask(&self.session, phase, &["retry"])?;
        self.session.model.release(number)?;
        self.arrive(phase, ARRIVAL)?;
        self.prove(phase)
    }

    fn killed(&mut self) -> Result<()> {
        self.hold_up("killed", "hold")?;
        if self.session.role == Role::Spawned {
            self.findings.ask(&self.session, "killed", &["kill", "bob"])?;
            self.session.terminal.await_end()?;
        } else {
            self.session.terminal.kill()?;
        }
        self.sample()
    }

    /// Atm is not asked before the end: it has to find out afterwards, when the team may be gone.
    fn exits(&mut self) -> Result<()> {
        for _ in 0..self.each {
            self.await_idle()?;
            self.send_new("before the exit", "")?;
            self.arrive("before the exit", ARRIVAL)?;
        }
        self.await_idle()?;
        self.send_new("at the exit", "")?;
        self.session.terminal.enter("/exit")?;
        self.session.terminal.await_end()
    }

    /// The client writes mail to its member by its own tool, and exits. Only the daemon looks meanwhile: every message has
    /// to be found afterwards.
    fn exits_watched(&mut self) -> Result<()> {
        let phase = "its own mail";
        let numbers = 1..=u32::try_from(self.each)?;
        for number in numbers.clone() {
            let session = &self.session;
            wait_for("all are idle", ARRIVAL, || Ok(session.is_all_idle()))
                .with_context(|| session.terminal.screen())?;
            session.terminal.enter(&write_directive("say", number))?;
            let words = own_words(number);
            let is_shown = comes_true(ARRIVAL, || Ok(session.shown(&words) > 0))?;
            ensure!(is_shown, "\"{words}\" did not come to the member: {}", session.terminal.screen());
        }
        self.session.terminal.enter("/exit")?;
        self.session.terminal.await_end()?;
        for number in numbers {
            let words = own_words(number);
            let search = format!("\"{words}\"");
            let found = self.findings.ask(&self.session, phase, &["search", &search])?;
            let ids: Vec<String> = found
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|hit| hit["id"].as_str())
                .map(ToOwned::to_owned)
                .collect();
            if ids.len() != 1 {
                self.findings.add("not found once by search", phase, &ids, found.to_string());
            }
            self.mail.push(Mail { words, group: Group { phase, ids, ..Group::default() } });
        }
        Ok(())
    }

    /// Sends mail into a turn that does not end, and watches what atm says about it.
    fn hold_up(&mut self, phase: &'static str, kind: &str) -> Result<u32> {
        self.await_idle()?;
        self.numbers += 1;
        let number = self.numbers;
        self.send_new(phase, &write_directive(kind, number))?;
        let session = &self.session;
        wait_for(&format!("a turn that waits ({phase})"), ARRIVAL, || Ok(session.model.is_holding(number)))
            .with_context(|| session.terminal.screen())?;
        for _ in 1..self.each {
            self.send_new(phase, "")?;
        }
        let words = self.send_new(phase, "")?;
        self.send(phase, &words)?;
        let end = Instant::now() + HELD;
        while Instant::now() < end {
            self.sample()?;
        }
        self.check_presence(phase)?;
        if self.session.role == Role::Spawned {
            self.findings.ask(&self.session, phase, &["peek", "bob"])?;
        }
        Ok(number)
    }

    fn send_new(&mut self, phase: &'static str, directive: &str) -> Result<String> {
        let words = format!("mail number {:03} of this row", self.mail.len());
        let text = if directive.is_empty() { words.clone() } else { format!("{directive} {words}") };
        self.mail.push(Mail { words: words.clone(), group: Group { phase, ..Group::default() } });
        self.post(&words, &text)?;
        Ok(words)
    }

    fn send(&mut self, phase: &'static str, words: &str) -> Result<()> {
        debug_assert!(self.mail.iter().any(|mail| mail.words == words && mail.group.phase == phase));
        self.post(words, words)
    }

    fn post(&mut self, words: &str, text: &str) -> Result<()> {
        let (to, from) = self.session.role.names();
        let mail = self.mail.iter_mut().find(|mail| mail.words == words).context("unknown words")?;
        let phase = mail.group.phase;
        let mut answer = Value::Null;
        // The summary is shown beside the text: it must not have the same words.
        let send = ["send", to, text, "--summary", "mail", "--as", from];
        let is_sent = comes_true(SENDING, || {
            answer = self.findings.ask(&self.session, phase, &send)?;
            Ok(answer["id"].is_string())
        })?;
        ensure!(is_sent, "cannot send: {:?}", self.findings.wrong.last());
        let id = answer["id"].as_str().context("send gave no id")?.to_owned();
        let warned = answer["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty());
        if answer["status"] != "delivered" || warned {
            self.findings.called_offline += 1;
            let said = format!("{} {}", answer["status"], answer["warnings"]);
            self.findings.add("send warned of a client that runs", phase, slice::from_ref(&id), said);
        }
        mail.group.ids.push(id);
        Ok(())
    }

    /// Waits until all mail of the phase is in the conversation, or will not come any more, which counts as lost in
    /// the end.
    fn arrive(&self, phase: &str, limit: Duration) -> Result<bool> {
        let session = &self.session;
        let is_shown = |mail: &Mail| session.shown(&mail.words) >= mail.group.ids.len();
        let is_all = || self.mail.iter().filter(|mail| mail.group.phase == phase).all(is_shown);
        comes_true(limit, || Ok(is_all() || session.is_at_rest()))?;
        Ok(is_all())
    }

    fn await_idle(&mut self) -> Result<()> {
        let session = &self.session;
        wait_for("the client is idle", ARRIVAL, || Ok(session.is_idle()))
            .with_context(|| session.terminal.screen())
    }

    /// Gives atm time to find what is in the conversation.
    fn prove(&mut self, phase: &'static str) -> Result<()> {
        let end = Instant::now() + PROOF;
        loop {
            self.sample()?;
            let of_phase = self.mail.iter().filter(|mail| mail.group.phase == phase);
            let proved =
                |mail: &Mail| mail.group.seen >= self.session.shown(&mail.words).min(mail.group.ids.len());
            if of_phase.into_iter().all(proved) || Instant::now() >= end {
                break;
            }
        }
        self.check_presence(phase)
    }

    /// Asks atm about all mail, and compares each new `seen` with the conversation.
    pub(super) fn sample(&mut self) -> Result<()> {
        for mail in &mut self.mail {
            for id in &mail.group.ids {
                if self.seen.contains(id) {
                    continue;
                }
                let answer = self.findings.ask(&self.session, mail.group.phase, &["track", id])?;
                let Some(evidence) = seen(&answer) else { continue };
                self.seen.insert(id.clone());
                mail.group.seen += 1;
                let claimed = mail.group.seen;
                let session = &self.session;
                if !comes_true(AHEAD, || Ok(session.shown(&mail.words) >= claimed))? {
                    let ahead = claimed - session.shown(&mail.words);
                    mail.group.false_seen = mail.group.false_seen.max(ahead);
                    self.findings.add("falsely seen", mail.group.phase, slice::from_ref(id), evidence);
                }
            }
        }
        Ok(())
    }

    fn check_presence(&mut self, phase: &'static str) -> Result<()> {
        let state = self.state(phase)?;
        if state == "offline" {
            self.findings.called_offline += 1;
            self.findings.add("members called a client that runs offline", phase, &[], state);
        }
        Ok(())
    }

    pub(super) fn state(&mut self, phase: &'static str) -> Result<String> {
        let (to, _) = self.session.role.names();
        let members = self.findings.ask(&self.session, phase, &["members"])?;
        let member = members.as_array().into_iter().flatten().find(|member| member["name"] == to);
        Ok(member.and_then(|member| member["state"].as_str()).unwrap_or("not listed").to_owned())
    }
}

/// The evidence for `seen`, if atm says so.
fn seen(track: &Value) -> Option<String> {
    let stages = track["stages"].as_array()?;
    let stage = stages.iter().find(|stage| stage["stage"] == "seen")?;
    Some(stage["evidence"].to_string())
}
