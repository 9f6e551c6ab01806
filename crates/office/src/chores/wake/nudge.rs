//! Waking a member by a line in its pane, once for each new mail, whatever its own way of waking is.

use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use super::typed::TypedLine;
use super::{Called, Ladder, Silence};
use crate::error::OfficeError;
use crate::office::Office;

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
        let mut handle = self.team(team)?;
        handle.notice_exits()?;
        let pane = handle.pane_of(name)?;
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
            Called::Yes(_, unread) | Called::Queued(_, unread) => answer(true, None, unread),
            Called::Would => answer(false, None, unread()?),
        }
    }
}
