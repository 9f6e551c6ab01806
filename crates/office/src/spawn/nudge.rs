//! Waking a member that waits: a short line, typed into its pane, once for each new mail.
//!
//! Who is typed at in the middle of something loses what it was doing, so a pane counts as idle only if its screen does
//! not move, nobody scrolls in it, and either the member's own last word is that it is idle, with nothing read or said
//! since, or what runs there is a shell at its prompt.

use std::time::Duration;

use atm_store::Memo;
use atm_wire::{MemberName, Message, TeamName};
use serde::Serialize;

use super::SpawnError;
use crate::error::OfficeError;
use crate::office::Office;
use crate::pane::{Activity, Backend, PaneRef, Server, Tmux};
use crate::wake::{self, Hearer, Ladder, Memory};

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
        let mailbox = self.mailbox(team, name);
        let memo = Memo::of_nudges(&mailbox, &self.state, self.times);
        memo.update(|before| {
            let mut memory = Memory::parse(before);
            let answer = |nudged, unread, why: Option<&str>| Nudged {
                team: team.clone(),
                name: name.clone(),
                nudged,
                why: why.map(ToOwned::to_owned),
                unread,
            };
            let unread = || -> Result<Vec<Message>, OfficeError> {
                Ok(mailbox.list()?.messages.into_iter().filter(|message| !message.read).collect())
            };
            let new = |unread: &[Message]| unread.iter().any(|message| !memory.knows(&message.id));
            let waiting = unread()?;
            if waiting.is_empty() {
                return Ok((None, answer(false, 0, Some("it has read all its mail"))));
            }
            if !new(&waiting) {
                let why = "it was nudged for all of this mail already";
                return Ok((None, answer(false, waiting.len(), Some(why))));
            }
            let shell = self.wait_is_over(team, name, &pane)?;
            // It may have read meanwhile.
            let waiting = unread()?;
            if !new(&waiting) {
                return Ok((None, answer(false, waiting.len(), Some("it has just read its mail"))));
            }
            let hearer = if shell { Hearer::Shell } else { Hearer::Agent };
            let line = text.map_or_else(|| wake::line(&waiting, hearer), ToOwned::to_owned);
            type_line(&pane, &line)?;
            memory.woke(&waiting, &Ladder(Vec::new()), self.now());
            Ok((Some(memory.render()), answer(true, waiting.len(), None)))
        })
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
        self.reconcile(team)?;
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
