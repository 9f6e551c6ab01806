//! What it takes to find the conversations of a team's lead, kept beside the team: its folder may be deleted before
//! anybody looks, and after `/clear` the configuration names a session that is over.

use atm_store::Scratch;
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};
use serde::{Deserialize, Serialize};

use super::is_plain;
use super::registry::{Registered, registered};
use crate::office::Office;
use crate::people::ancestry::ClientProcess;

/// So many sessions of one lead are remembered, the newest.
const AT_MOST: usize = 32;

/// The lead of a team, and its sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Remembered {
    /// Who leads.
    pub(super) lead: Option<String>,
    /// The sessions that it had, the newest last.
    pub(super) sessions: Vec<String>,
    /// Its process: number, and start in the kernel's words.
    process: Option<(u64, Option<String>)>,
}

impl Remembered {
    /// What the configuration adds.
    fn learn(&mut self, config: &TeamConfig, lead: Option<MemberName>) {
        self.lead = lead.map(|lead| lead.to_string()).or(self.lead.take());
        if let Some(session) = &config.lead_session_id {
            self.add(session);
        }
        if let Some(process) = &config.lead_process
            && let Some(pid) = process.pid
        {
            self.process = Some((pid, process.proc_start.clone()));
        }
    }

    /// What the clients' register adds: the process of a session that is known, and the session that this process has now.
    fn follow(&mut self, register: &[Registered]) {
        if self.process.is_none() {
            let leads = |entry: &&Registered| self.sessions.contains(&entry.session);
            self.process = register.iter().find(leads).map(|entry| (entry.pid, entry.start.clone()));
        }
        let Some((pid, start)) = self.process.clone() else { return };
        // Where one of them does not say when it started, the number decides.
        let is_same = |entry: &&Registered| {
            entry.pid == pid
                && match (&entry.start, &start) {
                    (Some(listed), Some(known)) => listed == known,
                    _ => true,
                }
        };
        if let Some(entry) = register.iter().find(is_same) {
            self.add(&entry.session);
        }
    }

    /// Whether a session, or the process that a client runs in, is known as the lead's.
    fn knows(&self, session: &str, client: Option<&ClientProcess>) -> bool {
        let is_process = |(pid, start): &(u64, Option<String>)| {
            client.is_some_and(|client| {
                client.pid == *pid && start.as_deref().is_none_or(|start| start == client.start)
            })
        };
        self.sessions.iter().any(|known| known == session) || self.process.as_ref().is_some_and(is_process)
    }

    fn add(&mut self, session: &str) {
        if is_plain(session) && !self.sessions.iter().any(|known| known == session) {
            self.sessions.push(session.to_owned());
            let surplus = self.sessions.len().saturating_sub(AT_MOST);
            self.sessions.drain(..surplus);
        }
    }
}

impl Office {
    /// What the configuration says about the lead's conversations, unless that is remembered already.
    pub(crate) fn lead_to_remember(&self, team: &TeamName, config: &TeamConfig) -> Option<Remembered> {
        let before = self.remembered(team);
        let mut now = before.clone();
        now.learn(config, self.lead_of(team, config).ok());
        (now != before && !now.sessions.is_empty()).then_some(now)
    }

    /// Remembers it. If it cannot be kept, it is found out again while the team is there.
    pub(crate) fn remember_lead(&self, team: &TeamName, lead: &Remembered) {
        if let Ok(bytes) = serde_json::to_vec(lead) {
            let _ = Scratch::of_team(&self.root, team, &self.state).replace(&bytes);
        }
    }

    /// Whether a session of a team's lead is remembered, or the process that its client runs in.
    pub(crate) fn remembers_lead(
        &self,
        team: &TeamName,
        session: &str,
        client: Option<&ClientProcess>,
    ) -> bool {
        self.remembered(team).knows(session, client)
    }

    /// The process in which a team's lead was seen, if it runs.
    pub(crate) fn remembered_lead_process(&self, team: &TeamName) -> Option<u64> {
        let (pid, start) = self.remembered(team).process?;
        let now = self.probe.started(pid)?;
        start.is_none_or(|start| now.is_empty() || now == start).then_some(pid)
    }

    /// Remembers that a session is the lead's, and its client's process: after `/clear` only the process is the same.
    pub(crate) fn remember_session(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        session: &str,
        client: Option<&ClientProcess>,
    ) {
        let before = self.remembered(team);
        let mut now = before.clone();
        now.learn(config, self.lead_of(team, config).ok());
        now.add(session);
        if let Some(client) = client {
            now.process = Some((client.pid, Some(client.start.clone()).filter(|start| !start.is_empty())));
        }
        if now != before {
            self.remember_lead(team, &now);
        }
    }

    /// What is known about the lead's conversations, brought up to date. A team that is gone has no configuration.
    pub(super) fn follow_lead(&self, team: &TeamName, config: Option<&TeamConfig>) -> Remembered {
        let before = self.remembered(team);
        let mut now = before.clone();
        if let Some(config) = config {
            now.learn(config, self.lead_of(team, config).ok());
        }
        now.follow(&registered(self.root.path()));
        if now != before && !now.sessions.is_empty() {
            self.remember_lead(team, &now);
        }
        now
    }

    fn remembered(&self, team: &TeamName) -> Remembered {
        let kept = Scratch::of_team(&self.root, team, &self.state).read();
        kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(pid: u64, start: Option<&str>, session: &str) -> Registered {
        Registered { pid, start: start.map(ToOwned::to_owned), session: session.to_owned() }
    }

    #[test]
    fn a_session_after_clear_is_the_leads_by_its_process() {
        let known = || Remembered { sessions: vec!["s1".into()], ..Remembered::default() };
        // The register still had the session that the configuration names, and shows another one later.
        let mut lead = known();
        lead.follow(&[listed(7, Some("70"), "s1"), listed(8, Some("80"), "x")]);
        assert_eq!(lead.sessions, ["s1"]);
        lead.follow(&[listed(8, Some("80"), "x"), listed(7, Some("70"), "s2")]);
        assert_eq!(lead.sessions, ["s1", "s2"]);
        // Another process with that number.
        lead.follow(&[listed(7, Some("99"), "s3")]);
        assert_eq!(lead.sessions, ["s1", "s2"]);
        // Newest clients name the process in the configuration.
        let mut named = Remembered { process: Some((7, Some("70".into()))), ..known() };
        named.follow(&[listed(7, Some("70"), "s2")]);
        assert_eq!(named.sessions, ["s1", "s2"]);
        // Nobody is listed.
        let mut alone = known();
        alone.follow(&[listed(8, None, "x")]);
        assert_eq!(alone, known());
    }
}
