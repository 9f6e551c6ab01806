//! Peers: members and sessions of other clients, and members of other machines, in Claude Code's own list of agents, reached
//! by its own send tool.
//!
//! `list` decides who is one, `receive` what a frame becomes, `left` what a dead daemon left behind. Listening and writing
//! entries is the daemon's.

mod left;
mod list;
mod receive;

use atm_clients::AgentClient;
use atm_clients::claude::peer;
use atm_wire::TeamName;
use atm_wire::team::Member;

use crate::error::OfficeError;
use crate::office::Office;
use crate::people::presence::Presence;
use crate::trail::transcript::Tie;

pub use left::LeftPeer;
use list::Candidate;
pub use list::{AT_MOST, Peer, PeerTarget};
pub(crate) use receive::UNKNOWN;

impl Office {
    /// The peers that Claude Code's list of agents is to show now: none while no session runs that could show them.
    pub fn peers(&self) -> Result<Vec<Peer>, OfficeError> {
        if !peer::has_readers(self.root.path(), |pid| self.probe.started(pid)) {
            return Ok(Vec::new());
        }
        let mut candidates = self.sessions_of_others()?;
        for team in self.team_names()?.into_iter().filter(|team| !super::is_team(team)) {
            // A team that cannot be read now is looked at again.
            candidates.extend(self.members_of_others(&team).unwrap_or_default());
        }
        Ok(list::peers(&candidates, &self.root_key(), AT_MOST))
    }

    fn members_of_others(&self, name: &TeamName) -> Result<Vec<Candidate>, OfficeError> {
        let team = self.team(name)?;
        let ties = self.ties(name);
        let mut found = Vec::new();
        for member in &team.config().members {
            let client = client_of(member, ties.of(&member.name).last());
            let Ok(checked) = member.checked_name() else { continue };
            // Whether it is there is asked only of those it matters for.
            let is_here = member.machine.is_none();
            if is_here && client.is_none_or(|client| client == AgentClient::Claude) {
                continue;
            }
            found.push(Candidate {
                name: checked.to_string(),
                to: PeerTarget::Member { team: name.clone(), name: checked },
                client,
                machine: member.machine.clone(),
                state: team.judge(member).state,
                folder: member.cwd.as_ref().map(Into::into),
            });
        }
        Ok(found)
    }

    fn sessions_of_others(&self) -> Result<Vec<Candidate>, OfficeError> {
        let registered = self.registered_sessions();
        let running = self.running_among(&registered);
        let names = self.session_names(&registered, &running)?;
        let candidate = |live: super::list::Live| Candidate {
            name: names.tail(&live.folder),
            client: Some(live.client),
            machine: None,
            state: Presence::Online,
            folder: Some(live.folder.clone()),
            to: PeerTarget::Session { folder: live.folder, session: live.id },
        };
        Ok(running.into_iter().map(candidate).collect())
    }
}

/// The client of a member: the one whose hooks were called for it last, else the one that it was started as.
fn client_of(member: &Member, tie: Option<&Tie>) -> Option<AgentClient> {
    let started = || {
        let spawned = member.spawned.as_ref()?;
        let named = spawned.client.as_deref().and_then(|client| client.parse().ok());
        named.or_else(|| AgentClient::of_command(&spawned.command))
    };
    tie.and_then(Tie::client).or_else(started)
}
