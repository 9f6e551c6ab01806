//! A client whose own command hands a line over to a conversation. The command also takes lines for a conversation that no
//! process has open, and keeps them until one does: that is done only for somebody who asked for it.

use std::time::Duration;

use atm_clients::command::{CommandError, CommandLine};
use atm_clients::conversations::Openness;
use atm_clients::wake::is_session;
use atm_wire::{MemberName, TeamName};

use super::WakeError;
use super::way::{Hearer, Way};
use crate::error::OfficeError;
use crate::office::Office;
use crate::people::spawn_error::SpawnError;

/// It hands a line over and ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A conversation of a member, and the client's command.
#[derive(Debug)]
pub(super) struct ByCommand<'a> {
    pub(super) office: &'a Office,
    pub(super) team: &'a TeamName,
    pub(super) name: &'a MemberName,
    pub(super) session: &'a str,
    pub(super) title: &'static str,
    pub(super) command: fn(&str, &str) -> CommandLine,
    /// Whether a process has the conversation open.
    pub(super) openness: Openness,
    /// Whether a line may be stored for one that nobody has open.
    pub(super) may_queue: bool,
}

impl Way for ByCommand<'_> {
    fn is_queued(&self) -> bool {
        self.openness == Openness::Closed
    }

    fn check_idle(&self) -> Result<Hearer, OfficeError> {
        if self.is_queued() {
            let who = format!("{}@{}", self.name, self.team);
            let refused = WakeError::NotOpen { who, way: self.title };
            return if self.may_queue { Ok(Hearer::Agent) } else { Err(refused.into()) };
        }
        let rests = self.office.conversation_rests(self.team, self.name, self.session);
        if rests || self.office.is_idle_by_its_word(self.team, self.name)? {
            return Ok(Hearer::Agent);
        }
        let why = "its last word was not that it is idle, nor do its client's hooks tell so".to_owned();
        Err(WakeError::Busy { who: format!("{}@{}", self.name, self.team), why }.into())
    }

    fn wake(&self, line: &str) -> Result<&'static str, OfficeError> {
        if !is_session(self.session) {
            return Err(WakeError::BadSession(self.session.to_owned()).into());
        }
        (self.command)(self.session, line).run(PATIENCE).map_err(|error| match error {
            CommandError::NoProgram(program) => {
                OfficeError::from(SpawnError::NoProgram { program: program.to_owned() })
            }
            error => {
                let who = format!("{}@{}", self.name, self.team);
                WakeError::Failed { who, way: self.title, why: error.to_string() }.into()
            }
        })?;
        Ok(self.title)
    }
}
