//! A session adopts a team whose lead is gone.

use std::path::PathBuf;

use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};
use serde::Serialize;
use serde_json::Value;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use crate::people::members::MemberPlan;
use crate::people::pane::{Life, PaneRef};
use crate::people::presence::ended;
use crate::people::process::{self, Fate};
use crate::people::spawn_error::SpawnError;

/// Who adopts a team.
#[derive(Debug, Clone)]
pub struct Adoption {
    /// The conversation that leads from now on.
    pub session: String,
    /// As whom; the lead of before, if it is not said.
    pub lead: Option<MemberName>,
    /// Its process, if that is to be recorded.
    pub pid: Option<u64>,
    /// Where it works.
    pub cwd: Option<PathBuf>,
    /// Even if the lead of before runs.
    pub force: bool,
}

/// What an adoption changed.
#[derive(Debug, Clone, Serialize)]
pub struct Adopted {
    /// The team.
    pub team: TeamName,
    /// Who leads it now.
    pub lead: MemberName,
    /// In which conversation.
    pub session: String,
    /// The conversation of before.
    pub before: Option<String>,
    /// What is known of the lead of before.
    pub evidence: String,
}

impl Office {
    /// Makes a session the lead of a team. Refused while the lead's recorded process, or its pane, runs.
    pub fn join_team(&self, team: &TeamName, adoption: &Adoption) -> Result<Adopted, OfficeError> {
        let folder = self.folder(team)?;
        let _turn = folder.turn(&self.state, self.times)?;
        let config = folder.load()?;
        let (runs, evidence) = self.lead_runs(&config)?;
        let joins_itself = config.lead_session_id.as_deref() == Some(adoption.session.as_str());
        if runs && !adoption.force && !joins_itself {
            return Err(OfficeError::LeadRuns { team: team.clone(), why: evidence });
        }
        let claim = match adoption.pid {
            None => None,
            Some(pid) => {
                Some(process::record(pid, self.now().as_millis()).ok_or(OfficeError::NoProcess { pid })?)
            }
        };
        let lead = match &adoption.lead {
            Some(lead) => lead.clone(),
            None => self.lead_name(team, &config)?,
        };
        if config.member(lead.as_str()).is_none() {
            let plan = MemberPlan { cwd: adoption.cwd.clone(), ..MemberPlan::lead(lead.as_str()) };
            let member = plan.resolve(team, &config, self.now())?;
            folder.add_member(lead.as_str(), &member.render())?;
            self.mailbox(team, &lead).create().after(|| Done::MemberAdded(lead.clone()))?;
        } else {
            let mut fields: Vec<(&str, Value)> = Vec::new();
            if config.member(lead.as_str()).is_some_and(|member| member.is_active.is_some()) {
                fields.push(("isActive", true.into()));
            }
            fields.extend(adoption.cwd.as_ref().map(|cwd| ("cwd", cwd.display().to_string().into())));
            folder.set_member(lead.as_str(), &fields)?;
        }
        let named = folder.set_team(&[
            ("leadAgentId", Some(format!("{lead}@{team}").into())),
            ("leadSessionId", Some(adoption.session.clone().into())),
            ("leadProcess", claim),
        ]);
        named.after(|| Done::MemberChanged(lead.clone()))?;
        Ok(Adopted {
            team: team.clone(),
            lead,
            session: adoption.session.clone(),
            before: config.lead_session_id,
            evidence,
        })
    }
}

impl Office {
    /// Whether a team's lead runs, as far as that is recorded, and how that is known.
    pub fn lead_runs(&self, config: &TeamConfig) -> Result<(bool, String), OfficeError> {
        if let Some(pane) = config.lead().filter(|lead| ended(lead).is_none()).and_then(PaneRef::of) {
            let life = self.panes.lives(std::slice::from_ref(&pane)).map_err(SpawnError::from)?;
            if matches!(life.as_slice(), [Life::Alive { .. }]) {
                return Ok((true, format!("{pane} runs")));
            }
        }
        let Some(recorded) = &config.lead_process else {
            return Ok((false, "no process of the lead is recorded".to_owned()));
        };
        let pid = recorded.pid.unwrap_or_default();
        Ok(match process::fate(recorded) {
            None => (false, "no process of the lead is recorded".to_owned()),
            Some(Fate::Runs) => (true, format!("its lead's process {pid} runs")),
            Some(Fate::Gone | Fate::Replaced) => (false, format!("its lead's process {pid} is gone")),
            Some(Fate::Elsewhere) => {
                let space = recorded.pid_space.as_deref().unwrap_or_default();
                (
                    true,
                    format!(
                        "its lead's process {pid} is recorded for {space}, which cannot be asked from here"
                    ),
                )
            }
        })
    }
}
