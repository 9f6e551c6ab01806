//! Sessions that wait for their user, and are no member's: no picture of a team has them.

use atm_clients::claude::sessions::Activity;
use atm_wire::{MemberName, TeamName};

use super::list::{Live, Takes};
use crate::error::OfficeError;
use crate::office::Office;
use crate::view::Attention;

/// A session that waits for its user: for a permission, or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingSession {
    /// What there is to look at. The name in it is one that the session is written to by.
    pub attention: Attention,
    /// Whether its folder has a mailbox: then the picture of the team of sessions has it, too.
    pub has_mailbox: bool,
}

impl Office {
    /// The sessions that wait for their user and are nobody's in a team.
    pub fn sessions_that_wait(&self) -> Result<Vec<WaitingSession>, OfficeError> {
        let registered = self.registered_sessions();
        let running = self.running_among(&registered);
        let mailboxes = self.session_mailboxes();
        let mut waiting: Vec<(&Live, String)> = running
            .iter()
            .filter(|live| live.takes != Takes::Nothing)
            .filter_map(|live| {
                let mailbox = mailboxes.get(&live.folder);
                let activity = live.activity.clone().or_else(|| self.asks(live, mailbox?))?;
                matches!(activity, Activity::Waiting(_)).then(|| (live, activity.describe()))
            })
            .collect();
        if waiting.is_empty() {
            return Ok(Vec::new());
        }
        let members = self.sessions_of_members()?;
        waiting.retain(|(live, _)| !members.contains(&live.id));
        let names = self.session_names(&registered, &running)?;
        let view = |(live, doing): (&Live, String)| WaitingSession {
            attention: Attention::of_session(&names.name_of(&live.id, &live.folder), &doing),
            has_mailbox: mailboxes.contains_key(&live.folder),
        };
        let mut found: Vec<WaitingSession> = waiting.into_iter().map(view).collect();
        found.sort_by(|a, b| a.attention.who.cmp(&b.attention.who));
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
