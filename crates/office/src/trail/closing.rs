//! Teams whose folder is gone: clients delete it at a clean exit. The conversations stay.
//!
//! What is in one was seen. The rest will not be read any more, and has failed; its text is kept in the ledger. What is
//! needed to find the conversations was remembered while the team was there: see `transcript/remembered`.

use std::collections::HashSet;
use std::path::Path;

use atm_ledger::{Evidence, InboxKey, Stage};
use atm_wire::TeamName;

use crate::error::OfficeError;
use crate::office::{Office, USER};
use crate::trail::transcript::Transcript;

impl Office {
    /// The team that is meant, for a question about its history: one that is gone counts if the ledger knows it.
    pub fn choose_remembered_team(&self, wanted: &str, cwd: &Path) -> Result<TeamName, OfficeError> {
        let missing = match self.choose_team(Some(wanted), cwd) {
            Err(missing @ OfficeError::NoTeam { .. }) => missing,
            chosen => return chosen,
        };
        let team = TeamName::parse(wanted)?;
        let root = self.root_key();
        let is_known = self.books.exist() && self.books.with(|ledger| ledger.knows_team(&root, wanted))?;
        if is_known { Ok(team) } else { Err(missing) }
    }

    /// Finds out what became of the mail of all teams that are gone: these are there.
    pub(crate) fn close_teams_but(&self, there: &[TeamName]) -> Result<(), OfficeError> {
        if !self.books.exist() {
            return Ok(());
        }
        let root = self.root_key();
        let there: HashSet<&TeamName> = there.iter().collect();
        for team in self.books.with(|ledger| ledger.teams_not_closed(&root))? {
            if let Ok(team) = TeamName::parse(&team)
                && !there.contains(&team)
            {
                self.close_team(&team)?;
            }
        }
        Ok(())
    }

    /// Finds out what became of the mail of a team that is gone. Says whether there ever was one.
    pub(crate) fn close_team(&self, team: &TeamName) -> Result<bool, OfficeError> {
        // A tree that is not there at all may only not be mounted.
        if !self.books.exist() || !self.root.teams().is_dir() || self.folder_of(team).exists() {
            return Ok(false);
        }
        self.close_inboxes(team)
    }

    /// The same of a team that had a name, whether another one has it now or not.
    pub(super) fn close_inboxes(&self, team: &TeamName) -> Result<bool, OfficeError> {
        let root = self.root_key();
        let inboxes = self.books.with(|ledger| ledger.team_inboxes(&root, team.as_str()))?;
        let is_closed = |name: &str| name == USER || inboxes[name].is_closed();
        if inboxes.keys().all(|name| is_closed(name)) {
            return Ok(!inboxes.is_empty());
        }
        let conversations = self.conversations(team, None);
        for (name, _) in inboxes.iter().filter(|(name, inbox)| inbox.has_open && *name != USER) {
            let inbox = InboxKey { root: root.clone(), team: team.to_string(), name: name.clone() };
            self.close_inbox(team, &inbox, conversations.of(name))?;
        }
        self.books.with(|ledger| ledger.close_team(&root, team.as_str()))?;
        Ok(true)
    }

    fn close_inbox(
        &self,
        team: &TeamName,
        inbox: &InboxKey,
        transcripts: &[Transcript],
    ) -> Result<(), OfficeError> {
        let gains = self.read_conversations(inbox, transcripts)?;
        self.prove_seen(team, inbox, transcripts, gains)?;
        let now = self.now().as_millis();
        let deleted = Evidence::certain("the team's folder was deleted; the text is kept here");
        let not_shown =
            Evidence::certain("taken, and not in the conversation when the team's folder was deleted");
        // Where there is no conversation, what was taken may well have been seen.
        let end = if transcripts.is_empty() { Stage::Taken } else { Stage::Seen };
        Ok(self.books.with(|ledger| {
            for (from, to, evidence) in
                [(Stage::Accepted, Stage::Taken, &deleted), (Stage::Taken, end, &not_shown)]
            {
                let open = ledger.outlines(inbox, from, to)?;
                let ids = open.iter().filter(|message| to == Stage::Taken || !message.is_recalled);
                let ids: Vec<&str> = ids.map(|message| message.id.as_str()).collect();
                ledger.fail_all(inbox, &ids, now, evidence)?;
            }
            Ok(())
        })?)
    }
}
