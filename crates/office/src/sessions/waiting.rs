//! Sessions that wait for their user, and are no member's: they stand beside the pictures of teams.

use std::path::PathBuf;

use atm_clients::claude::sessions::Activity;
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;

use super::list::{Live, Takes};
use crate::error::OfficeError;
use crate::office::Office;
use crate::view::{Remedy, TeamPicture};

/// A session that waits for its user: for a permission, or an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingSession {
    /// One that it is written to by.
    pub name: String,
    /// The client's id of the conversation.
    pub session: String,
    /// The client.
    pub client: &'static str,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// What it waits for, where that is known.
    pub waits_for: Option<String>,
    /// Since when, where that is known.
    pub since: Option<Stamp>,
    /// In words.
    pub what: String,
    /// Whether its folder has a mailbox: then the picture of the team of sessions has it, too.
    #[serde(skip)]
    pub has_mailbox: bool,
}

impl WaitingSession {
    /// What may help.
    pub fn remedy(&self) -> Remedy {
        Remedy::Why(self.name.clone())
    }
}

impl Office {
    /// Puts the sessions that wait for their user beside the pictures of some teams: into the first, those that none of them has.
    pub fn put_sessions_beside(&self, pictures: &mut [TeamPicture]) {
        let found = self.sessions_beside(pictures);
        let Some(first) = pictures.first_mut() else { return };
        match found {
            Ok(waiting) => first.sessions_waiting = waiting,
            Err(error) => {
                first.warnings.push(format!("which sessions wait for their user is not known: {error}"));
            }
        }
    }

    /// The sessions that wait for their user, and that none of these pictures has.
    pub fn sessions_beside(&self, pictures: &[TeamPicture]) -> Result<Vec<WaitingSession>, OfficeError> {
        let has_sessions = pictures.iter().any(|picture| super::is_team(&picture.team));
        let mut waiting = self.sessions_that_wait()?;
        waiting.retain(|session| !(has_sessions && session.has_mailbox));
        Ok(waiting)
    }

    /// The sessions that wait for their user and are nobody's in a team.
    fn sessions_that_wait(&self) -> Result<Vec<WaitingSession>, OfficeError> {
        let registered = self.registered_sessions();
        let running = self.running_among(&registered);
        let mailboxes = self.session_mailboxes();
        let mut waiting: Vec<(&Live, Option<String>, String)> = running
            .iter()
            .filter(|live| live.takes != Takes::Nothing)
            .filter_map(|live| {
                let mailbox = mailboxes.get(&live.folder);
                let activity = live.activity.clone().or_else(|| self.asks(live, mailbox?))?;
                let doing = activity.describe();
                if let Activity::Waiting(what) = activity { Some((live, what, doing)) } else { None }
            })
            .collect();
        if waiting.is_empty() {
            return Ok(Vec::new());
        }
        let members = self.sessions_of_members()?;
        waiting.retain(|(live, ..)| !members.contains(&live.id));
        let names = self.session_names(&registered, &running)?;
        let view = |(live, waits_for, doing): (&Live, Option<String>, String)| {
            let name = names.name_of(&live.id, &live.folder);
            WaitingSession {
                what: format!("session {name} is {doing}"),
                name,
                session: live.id.clone(),
                client: live.client.as_str(),
                folder: live.folder.clone(),
                waits_for,
                since: live.since,
                has_mailbox: mailboxes.contains_key(&live.folder),
            }
        };
        let mut found: Vec<WaitingSession> = waiting.into_iter().map(view).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// What its client's hooks tell, where the note on its folder's mail has it.
    fn asks(&self, live: &Live, mailbox: &MemberName) -> Option<Activity> {
        self.hooked_activity(&super::team_name(), mailbox, &live.id, None)
    }

    /// The sessions in which members of teams run.
    fn sessions_of_members(&self) -> Result<Vec<String>, OfficeError> {
        let mut found = Vec::new();
        let is_team = |team: &TeamName| !super::is_team(team);
        for team in self.team_names()?.into_iter().filter(is_team) {
            // Of a team that cannot be read, its own commands tell.
            let Ok(config) = self.folder_of(&team).load() else { continue };
            let ties = self.ties(&team);
            found.extend(config.lead_session_id.clone());
            for member in &config.members {
                found.extend(member.waking.session.clone());
                found.extend(ties.of(&member.name).iter().map(|tie| tie.session.clone()));
            }
        }
        Ok(found)
    }
}
