//! Who leads a team: the one rule, which heartbeats, plans, escalations, hooks, permissions and displays all follow.
//!
//! | in this order | why |
//! |---|---|
//! | the member that `leadAgentId` names | the configuration's own word |
//! | the member called `team-lead` | clients give their leads this name |
//! | the first member whose `agentType` says lead | teams made by hand |
//! | the member called `coordinator` | the log layout's name for it |
//! | the name in `leadAgentId`, then `team-lead`, then `coordinator`, if that name has an inbox | teams of the log layout often have a lead that is no member |
//!
//! The first four rows are [`TeamConfig::lead`]; a lead among the members is never outvoted by an inbox.

use atm_wire::team::{LEAD_NAMES, TeamConfig, name_of_agent};
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::office::Office;

/// The name under which a team is led that has no lead yet: a session that adopts it gets this one.
pub const DEFAULT: &str = LEAD_NAMES[0];

/// Who leads a team. `has_inbox` is asked only if no member leads.
pub fn lead(config: &TeamConfig, has_inbox: impl Fn(&str) -> bool) -> Option<&str> {
    if let Some(member) = config.lead() {
        return Some(&member.name);
    }
    let named = config.lead_agent_id.as_deref().map(name_of_agent);
    named.into_iter().chain(LEAD_NAMES).find(|name| has_inbox(name))
}

impl Office {
    /// Who leads the team; an error if nobody does.
    pub fn lead_of(&self, team: &TeamName, config: &TeamConfig) -> Result<MemberName, OfficeError> {
        let has_inbox =
            |name: &str| MemberName::parse(name).is_ok_and(|name| self.mailbox(team, &name).exists());
        let lead = lead(config, has_inbox).ok_or_else(|| OfficeError::NoLead { team: team.clone() })?;
        Ok(MemberName::parse(lead)?)
    }

    /// The name that the lead of this team has, or would have: a team without one is led by [`DEFAULT`].
    pub fn lead_name(&self, team: &TeamName, config: &TeamConfig) -> Result<MemberName, OfficeError> {
        match self.lead_of(team, config) {
            Err(OfficeError::NoLead { .. }) => Ok(MemberName::parse(DEFAULT)?),
            lead => lead,
        }
    }

    /// Whether somebody leads the team.
    pub fn leads(&self, team: &TeamName, config: &TeamConfig, who: &MemberName) -> bool {
        self.lead_name(team, config).is_ok_and(|lead| lead == *who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule() {
        type Row = (&'static str, &'static str, &'static [&'static str], Option<&'static str>);
        let rows: &[Row] = &[
            ("nobody", "{}", &[], None),
            (
                "the configuration's word",
                r#"{"leadAgentId":"eve@x","members":[{"name":"team-lead"},{"name":"eve"}]}"#,
                &[],
                Some("eve"),
            ),
            (
                "the name that clients give",
                r#"{"members":[{"name":"ann","agentType":"leader"},{"name":"team-lead"}]}"#,
                &[],
                Some("team-lead"),
            ),
            (
                "the type",
                r#"{"members":[{"name":"coordinator"},{"name":"boss","agentType":"Team-Lead"}]}"#,
                &[],
                Some("boss"),
            ),
            (
                "the name of the log layout",
                r#"{"members":[{"name":"ann"},{"name":"coordinator"}]}"#,
                &[],
                Some("coordinator"),
            ),
            (
                "named, gone, and a member leads",
                r#"{"leadAgentId":"eve@x","members":[{"name":"team-lead"}]}"#,
                &["eve"],
                Some("team-lead"),
            ),
            (
                "named, and no member",
                r#"{"leadAgentId":"eve@x","members":[{"name":"bob"}]}"#,
                &["eve", "team-lead"],
                Some("eve"),
            ),
            (
                "named, without an inbox",
                r#"{"leadAgentId":"eve@x","members":[{"name":"bob"}]}"#,
                &["coordinator"],
                Some("coordinator"),
            ),
            ("two inboxes", r#"{"members":[]}"#, &["coordinator", "team-lead"], Some("team-lead")),
            (
                "a member before an inbox",
                r#"{"members":[{"name":"coordinator"}]}"#,
                &["team-lead"],
                Some("coordinator"),
            ),
            ("members, and nobody leads", r#"{"members":[{"name":"bob"}]}"#, &["bob", "user"], None),
        ];
        for (case, config, inboxes, expected) in rows {
            let config = TeamConfig::parse(config).unwrap();
            assert_eq!(lead(&config, |name| inboxes.contains(&name)), *expected, "{case}");
        }
    }
}
