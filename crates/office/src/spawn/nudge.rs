//! Waking a member that waits: a short line, typed into its pane, once for each new mail.
//!
//! Who is typed at in the middle of something loses what it was doing, so a pane counts as idle only if its screen does
//! not move, nobody scrolls in it, and either the member's own last word is that it is idle, with nothing read or said
//! since, or what runs there is a shell at its prompt.

use std::time::Duration;

use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use super::SpawnError;
use crate::chores::wake::{Called, Ladder, Silence, TypedLine};
use crate::error::OfficeError;
use crate::office::Office;
use crate::pane::{Activity, Backend, PaneRef, Server, Tmux};

/// Between two looks at a screen.
const PAUSE: Duration = Duration::from_millis(400);

/// What a member says that waits.
const IDLE: &str = "idle_notification";

/// What came of a nudge.
#[derive(Debug, Clone, Serialize)]
pub struct Nudged {
    /// Its team.
    pub team: TeamName,
    /// Who.
    pub name: MemberName,
    /// Whether something was typed.
    pub nudged: bool,
    /// Why not.
    pub why: Option<String>,
    /// How many messages it has not read.
    pub unread: usize,
}

impl Office {
    /// Types a line into a member's pane, if it has new mail and waits.
    pub fn nudge(
        &self,
        team: &TeamName,
        name: &MemberName,
        text: Option<&str>,
    ) -> Result<Nudged, OfficeError> {
        self.notice_exits(team)?;
        let config = self.folder(team)?.load()?;
        let pane = self.pane_of(team, &config, name)?;
        self.complete_accepted(team, Some(name));
        let unread = || -> Result<usize, OfficeError> {
            let mail = self.mailbox(team, name).list()?.messages;
            Ok(mail.iter().filter(|message| !message.read).count())
        };
        let answer =
            |nudged, why, unread| Ok(Nudged { team: team.clone(), name: name.clone(), nudged, why, unread });
        let no = |why: &str, unread| answer(false, Some(why.to_owned()), unread);
        let way = TypedLine { office: self, team, name, pane };
        match self.call(team, name, &way, &Ladder::once(), text, false)? {
            Called::No(Silence::AllRead) => no("it has read all its mail", 0),
            Called::No(Silence::NotDue) => no("it was nudged for all of this mail already", unread()?),
            Called::No(Silence::JustRead) => no("it has just read its mail", unread()?),
            Called::Yes(_, unread) => answer(true, None, unread),
            Called::Would => answer(false, None, unread()?),
        }
    }

    /// Fails unless the member waits for something to do; says whether it is a shell that waits.
    pub(crate) fn wait_is_over(
        &self,
        team: &TeamName,
        name: &MemberName,
        pane: &PaneRef,
    ) -> Result<bool, OfficeError> {
        let busy = |why: &str| SpawnError::Busy { who: format!("{name}@{team}"), why: why.to_owned() };
        let Activity { screen_moves, in_mode, command, shell_waits } =
            tmux(pane).busy(pane, PAUSE).map_err(SpawnError::from)?;
        if screen_moves {
            return Err(busy("its screen moves").into());
        }
        if in_mode {
            return Err(busy("somebody scrolls in its pane").into());
        }
        if shell_waits || self.said_it_is_idle(team, name)? {
            return Ok(shell_waits);
        }
        Err(busy(&format!("{command} runs there, and it did not say that it is idle")).into())
    }

    /// Whether a member's last word was that it is idle, and it took no mail since.
    pub(crate) fn said_it_is_idle(&self, team: &TeamName, name: &MemberName) -> Result<bool, OfficeError> {
        self.look(team)?;
        let (root, inbox) = (self.root_key(), self.inbox_key(team, name));
        let last = self.books.with(|ledger| ledger.last_word(&root, team.as_str(), name.as_str()))?;
        let Some(idle) = last.filter(|last| last.kind == IDLE) else { return Ok(false) };
        Ok(!self.books.with(|ledger| ledger.took_since(&inbox, idle.sent_at))?)
    }
}

fn tmux(pane: &PaneRef) -> Tmux {
    Tmux::on(Server::Socket(pane.socket.clone()))
}

/// Types a line into a pane.
pub(crate) fn type_line(pane: &PaneRef, line: &str) -> Result<(), OfficeError> {
    Ok(tmux(pane).type_line(pane, line).map_err(SpawnError::from)?)
}
