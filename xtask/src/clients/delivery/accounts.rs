//! The end of a course: what is lost, whether atm knows, and whether a member that is started again gets it.

use std::collections::HashSet;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::course::{Course, Mail, PROOF, START};
use super::patience::comes_true;
use super::session::{Role, SPAWN_PROMPT};
use super::tally::Group;

/// The time after the client's end.
const END: &str = "afterwards";
const AGAIN: &str = "respawned";

impl Course {
    /// After the end of the client: what is lost, and does atm know?
    pub(super) fn settle_accounts(&mut self) -> Result<Vec<Group>> {
        self.findings.state_at_end =
            if self.session.has_team() { self.state(END)? } else { "no team".to_owned() };
        if self.session.role == Role::Spawned && self.findings.state_at_end != "offline" {
            let said = self.findings.state_at_end.clone();
            self.findings.add("members did not call a member offline that atm killed", END, &[], said);
        }
        let start = Instant::now();
        while !self.lost_is_pending()? && start.elapsed() < PROOF {}
        self.findings.noticed_after = self.lost_is_pending()?.then(|| start.elapsed());
        self.sample()?;
        for mail in &self.mail {
            let (tally, phase) = (mail.group.tally(), mail.group.phase);
            let wrong =
                [("in the conversation, not seen", tally.missed), ("lost, not pending", tally.unnoticed)];
            for (what, _) in wrong.into_iter().filter(|(_, count)| *count > 0) {
                let last = mail.group.ids.last().context("a group has mail")?;
                let track = self.findings.ask(&self.session, phase, &["track", last])?;
                self.findings.add(what, phase, &mail.group.ids, track["stages"].to_string());
            }
        }
        Ok(self.mail.iter().map(|mail| mail.group.clone()).collect())
    }

    fn pending(&mut self) -> Result<HashSet<String>> {
        Ok(ids(&self.findings.ask(&self.session, END, &["pending"])?, "id", |_| true))
    }

    /// What atm has given up, which is how it notices the loss of mail in a team that is deleted.
    fn failed(&mut self) -> Result<HashSet<String>> {
        let mut failed = HashSet::new();
        for id in self.mail.iter().flat_map(|mail| &mail.group.ids) {
            if self.findings.ask(&self.session, END, &["track", id])?["stage"] == "failed" {
                failed.insert(id.clone());
            }
        }
        Ok(failed)
    }

    /// Counts what is shown, unread and pending; says whether everything that is lost is pending.
    fn lost_is_pending(&mut self) -> Result<bool> {
        let pending = if self.session.has_team() { self.pending()? } else { self.failed()? };
        let inbox = Value::Array(self.session.inbox()?);
        let unread = ids(&inbox, "messageId", |entry| entry["read"] == false);
        for mail in &mut self.mail {
            let group = &mut mail.group;
            group.shown = self.session.shown(&mail.words);
            group.unread = group.ids.iter().filter(|id| unread.contains(*id)).count();
            let is_gone = |id: &&String| !unread.contains(*id) && !self.seen.contains(*id);
            group.pending = group.ids.iter().filter(is_gone).filter(|id| pending.contains(*id)).count();
        }
        Ok(self.mail.iter().all(|mail| mail.group.tally().unnoticed == 0))
    }

    /// Starts the member again: it has to get what it lost, nothing twice, and no first prompt in place of that.
    pub(super) fn respawn(&mut self) -> Result<()> {
        let start = self.session.model.mark();
        let answer = self.findings.ask(&self.session, AGAIN, &["respawn", "bob"])?;
        self.session.terminal.adopt(&answer)?;
        let session = &self.session;
        let again = |mail: &Mail| session.model.count_since(&start, session.role.speaker(), &mail.words);
        let missing = |mail: &Mail| mail.group.ids.len().saturating_sub(mail.group.shown);
        comes_true(START, || {
            let is_started = session.model.mark() != start;
            let is_all = || self.mail.iter().all(|mail| again(mail) >= missing(mail));
            Ok(is_started && (is_all() || session.is_at_rest()))
        })?;
        let came = self.mail.iter().map(|mail| again(mail).min(missing(mail))).sum();
        let lost = self.mail.iter().map(missing).sum();
        self.findings.came_back = Some((came, lost));
        let mut wrong = Vec::new();
        for mail in &self.mail {
            if again(mail) < missing(mail) {
                wrong.push(("not offered again to a member that was started again", &mail.group.ids));
            } else if missing(mail) == 0 && again(mail) > 0 {
                wrong.push(("offered again although it was shown before", &mail.group.ids));
            }
        }
        for (what, ids) in wrong {
            self.findings.add(what, AGAIN, ids, String::new());
        }
        let prompts = session.model.count_since(&start, session.role.speaker(), SPAWN_PROMPT);
        if lost > 0 && prompts > 0 {
            self.findings.add("the first prompt was sent again after a backlog", AGAIN, &[], String::new());
        }
        Ok(())
    }
}

fn ids(list: &Value, key: &str, is_wanted: impl Fn(&Value) -> bool) -> HashSet<String> {
    let wanted = list.as_array().into_iter().flatten().filter(|entry| is_wanted(entry));
    wanted.filter_map(|entry| entry[key].as_str()).map(ToOwned::to_owned).collect()
}
