//! The states of a client that only its terminal has: permissions are bypassed, the conversation was cleared, a permission is
//! asked for.

use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::course::{Course, Mail};
use super::vendor::{Interactive, configure, interactive, provide, settle};
use super::{Outcome, Tried};
use crate::clients::delivery::patience::{comes_true, wait_for};
use crate::clients::delivery::terminal::Terminal;

/// Clients start slowly on a busy machine.
const START: Duration = Duration::from_secs(120);
/// A turn takes no longer.
const TURN: Duration = Duration::from_secs(60);
/// What a client writes after its turn is written by then.
const WRITTEN: Duration = Duration::from_secs(30);

/// Words that a client took are before its model by then.
const HEARD: Duration = Duration::from_secs(10);
/// The first words after a conversation was cleared.
const SINCE_THEN: &str = "Tell me what came since then.";

/// A screen that did not change for so long is drawn.
const QUIET: Duration = Duration::from_millis(500);

impl Course<'_> {
    /// All of them; none for a client that has a part of its own.
    pub(super) fn in_terminal(&mut self) -> Vec<Tried> {
        let Some(open) = interactive(self.client.name, false) else { return Vec::new() };
        let mut tried = Vec::new();
        match self.open(&open, false) {
            Ok(terminal) => {
                let bypass = self.bypass(&terminal).with_context(|| terminal.screen());
                let is_open = bypass.is_ok();
                tried.push(("bypasses permissions, idle: with the user's next words", bypass));
                if is_open {
                    let cleared = self.cleared(&terminal, open.clear).with_context(|| terminal.screen());
                    tried.push(("cleared: with the first words after it", cleared));
                }
            }
            Err(error) => tried.push(("bypasses permissions, idle", Err(error))),
        }
        let dialog = interactive(self.client.name, true).context("no such client").and_then(|asking| {
            let terminal = self.open(&asking, true)?;
            self.dialog(&terminal, asking.asks).with_context(|| terminal.screen())
        });
        tried.push(("permission dialog open: behind the tool that is let run", dialog));
        tried
    }

    fn open(&self, open: &Interactive, asks: bool) -> Result<Terminal> {
        let (file, _) = configure(self.client.name, &self.model.url);
        let file = self.home.file(file);
        let work = self.home.work().canonicalize()?;
        fs::write(&file, settle(self.client.name, &fs::read_to_string(&file)?, asks, &work))?;
        let mut command = self.home.command(self.client.name);
        provide(self.client.name, &mut command, &self.model.url);
        self.recipient.identify(&mut command);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        let set = command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_owned())));
        let variables: Vec<(&str, OsString)> = set.collect();
        let mut words: Vec<OsString> = vec![self.client.name.into()];
        words.extend(open.options.iter().map(OsString::from));
        let name = format!("{}-{}", self.client.name, if asks { "asks" } else { "bypasses" });
        let terminal = Terminal::start(&name, &work, &variables, &words)?;
        wait_for("it takes words", START, || {
            ensure!(terminal.is_running(), "the client ended");
            Ok(terminal.screen().contains(open.is_ready))
        })
        .with_context(|| terminal.screen())?;
        self.model.forget();
        Ok(terminal)
    }

    /// With what a single run has left in the folder.
    fn bypass(&mut self, terminal: &Terminal) -> Result<Outcome> {
        let mut mail = std::mem::take(&mut self.left);
        mail.extend(self.send()?);
        let begun = Instant::now();
        terminal.enter("Tell me what is new.")?;
        let outcome = self.followed(&mail, begun)?;
        self.recipient.check_known(self.client, self.home, true)?;
        Ok(outcome)
    }

    fn cleared(&mut self, terminal: &Terminal, clear: &str) -> Result<Outcome> {
        terminal.enter(clear)?;
        // What is typed while a client draws its screen anew is lost. Some leave the words of before in sight.
        let (mut drawn, mut since) = (String::new(), Instant::now());
        comes_true(WRITTEN, || {
            let screen = terminal.screen();
            if screen != drawn {
                (drawn, since) = (screen, Instant::now());
            }
            Ok(!drawn.contains("Tell me what is new.") && since.elapsed() >= QUIET)
        })?;
        self.model.forget();
        let mail = self.send()?;
        let begun = Instant::now();
        // Some take no words for a while after that, whatever their screen says.
        for _ in 0..3 {
            terminal.enter(SINCE_THEN)?;
            if comes_true(HEARD, || Ok(self.model.count(SINCE_THEN) > 0))? {
                break;
            }
        }
        let outcome = self.followed(&mail, begun)?;
        ensure!(!self.model.has_both("Tell me what is new.", SINCE_THEN), "the conversation goes on");
        self.recipient.check_known(self.client, self.home, true)?;
        Ok(outcome)
    }

    fn dialog(&mut self, terminal: &Terminal, asks: &str) -> Result<Outcome> {
        self.numbers += 1;
        let number = self.numbers;
        terminal.enter(&format!("ASK-{number}."))?;
        wait_for("the dialog is open", TURN, || Ok(terminal.screen().contains(asks)))?;
        let mail = self.send()?;
        wait_for("atm says that it waits for a permission", TURN, || {
            self.recipient.waits_for_permission(self.home)
        })?;
        ensure!(!self.model.is_holding(number), "the dialog was answered by mail");
        let begun = Instant::now();
        terminal.press("Enter")?;
        wait_for("the tool runs", TURN, || Ok(self.model.is_holding(number)))?;
        self.model.release(number)?;
        self.followed(&mail, begun)
    }

    /// Waits until the model has all of it, and until that is proved.
    fn followed(&self, mail: &[Mail], begun: Instant) -> Result<Outcome> {
        comes_true(TURN, || Ok(mail.iter().all(|mail| self.model.count(&mail.words) > 0)))?;
        let mut outcome = self.outcome(mail, begun)?;
        comes_true(WRITTEN, || {
            outcome = self.outcome(mail, begun)?;
            Ok(outcome.proved == outcome.sent)
        })?;
        Ok(outcome)
    }
}
