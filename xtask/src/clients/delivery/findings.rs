//! What atm said that is not true, or did not say at all.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::patience::check_interrupt;
use super::session::Session;

/// An answer of atm that is not true.
#[derive(Debug, Clone)]
pub(super) struct Wrong {
    pub(super) what: &'static str,
    pub(super) phase: &'static str,
    pub(super) ids: Vec<String>,
    /// What atm said.
    pub(super) said: String,
}

/// What was found beside the numbers.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) wrong: Vec<Wrong>,
    /// How often a client that runs was called offline, or mail to it queued.
    pub(super) called_offline: usize,
    /// Commands that failed at least once.
    pub(super) failed: HashSet<String>,
    /// How many of the lost messages a member got that was started again.
    pub(super) came_back: Option<(usize, usize)>,
    /// What atm says of the recipient after the end of its client.
    pub(super) state_at_end: String,
    /// How long it took to list the mail that died with the client; nothing if it was not listed.
    pub(super) noticed_after: Option<Duration>,
}

impl Findings {
    pub(super) fn add(&mut self, what: &'static str, phase: &'static str, ids: &[String], said: String) {
        self.wrong.push(Wrong { what, phase, ids: ids.to_vec(), said });
    }

    /// Runs a command of ours. One that fails is a finding and has no answer: the course goes on.
    pub(super) fn ask(&mut self, session: &Session, phase: &'static str, args: &[&str]) -> Result<Value> {
        check_interrupt()?;
        session.home.atm_in(&session.team, args).or_else(|error| {
            // Killed by the same Ctrl-C, perhaps.
            check_interrupt()?;
            let said = format!("{error:#}");
            // First comes the command as one would type it.
            let said = said.split_once('\n').map_or(said.as_str(), |(_, said)| said).trim();
            let command = format!("atm {}", args.join(" "));
            if self.failed.insert(command.clone()) {
                self.add("a command failed", phase, &[], format!("{command}: {said}"));
            }
            Ok(Value::Null)
        })
    }
}
