//! Who is listed as a peer, and under which name: a pure function of who is there.

use std::collections::HashMap;
use std::path::PathBuf;

use atm_clients::AgentClient;
use atm_wire::{MachineName, MemberName, TeamName};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::people::presence::Presence;
use crate::sessions::short_id;

/// Each peer has a process of its own, so there are no more than this.
pub const AT_MOST: usize = 32;

/// Whom mail for a peer goes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerTarget {
    /// A member of a team.
    Member {
        /// The team.
        team: TeamName,
        /// The member.
        name: MemberName,
    },
    /// A session, by the folder that it works in.
    Session {
        /// The folder.
        folder: PathBuf,
        /// The client's id of the conversation.
        session: String,
    },
}

/// Somebody whom Claude Code's own list of agents is to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Whom mail for it goes to.
    pub to: PeerTarget,
    /// What it is called in the list: who it is, in which client or on which machine, and where.
    pub title: String,
    /// Its id, in the place of a session's: always the same for the same one.
    pub id: String,
    /// Where it works, if that is known.
    pub folder: Option<PathBuf>,
}

/// Somebody who may be one.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) to: PeerTarget,
    /// What people call it: the member's name, or the folder's.
    pub(super) name: String,
    pub(super) client: Option<AgentClient>,
    /// Its home, if that is another machine.
    pub(super) machine: Option<MachineName>,
    pub(super) state: Presence,
    pub(super) folder: Option<PathBuf>,
}

impl Candidate {
    /// Whether it runs on another machine, in whichever client, or here in another client than Claude Code, which shows its own.
    /// Of whom nothing is known, or who is not there, is not shown in a list of those who run: its mail would wait without
    /// anybody being told.
    fn is_peer(&self) -> bool {
        let is_there = matches!(self.state, Presence::Online | Presence::Idle | Presence::Stalled);
        let is_of_another_client = self.client.is_some_and(|client| client != AgentClient::Claude);
        is_there && (self.machine.is_some() || is_of_another_client)
    }

    fn title(&self) -> String {
        let client = self.client.map_or("unknown", AgentClient::as_str);
        match (&self.to, &self.machine) {
            (PeerTarget::Member { team, .. }, Some(machine)) => {
                format!("{} (machine {machine}, team {team})", self.name)
            }
            (PeerTarget::Member { team, .. }, None) => format!("{} ({client}, team {team})", self.name),
            (PeerTarget::Session { .. }, _) => format!("{} ({client} session)", self.name),
        }
    }

    /// The same, where others of these have that title.
    fn long_title(&self, all: &[&Self]) -> String {
        let client = self.client.map_or("unknown", AgentClient::as_str);
        match &self.to {
            PeerTarget::Member { .. } => self.title(),
            PeerTarget::Session { session, .. } => {
                let ids = all.iter().filter_map(|other| match &other.to {
                    PeerTarget::Session { session, .. } => Some(session.as_str()),
                    PeerTarget::Member { .. } => None,
                });
                let id = short_id(session, ids);
                format!("{} ({client} session {id})", self.name)
            }
        }
    }
}

/// The peers among these, by title; no more than `most`. `root` tells the same names of two trees apart.
pub(super) fn peers(candidates: &[Candidate], root: &str, most: usize) -> Vec<Peer> {
    let candidates: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.is_peer()).collect();
    let mut titles: HashMap<String, usize> = HashMap::new();
    for candidate in &candidates {
        *titles.entry(candidate.title()).or_default() += 1;
    }
    let mut peers: Vec<Peer> = candidates
        .iter()
        .map(|candidate| {
            let title = candidate.title();
            let is_alone = titles.get(&title) == Some(&1);
            Peer {
                title: if is_alone { title } else { candidate.long_title(&candidates) },
                id: id_of(root, &candidate.to),
                to: candidate.to.clone(),
                folder: candidate.folder.clone(),
            }
        })
        .collect();
    peers.sort_by(|a, b| (&a.title, &a.to).cmp(&(&b.title, &b.to)));
    peers.dedup_by(|a, b| a.to == b.to);
    peers.truncate(most);
    peers
}

fn id_of(root: &str, to: &PeerTarget) -> String {
    let who = match to {
        PeerTarget::Member { team, name } => format!("member\n{team}\n{name}"),
        PeerTarget::Session { session, .. } => format!("session\n{session}"),
    };
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{root}\npeer\n{who}").as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, team: &str, client: Option<AgentClient>, state: Presence) -> Candidate {
        let to = PeerTarget::Member { team: team.parse().unwrap(), name: name.parse().unwrap() };
        Candidate { to, name: name.to_owned(), client, machine: None, state, folder: None }
    }

    fn elsewhere(name: &str, machine: &str, state: Presence) -> Candidate {
        Candidate { machine: Some(machine.parse().unwrap()), ..member(name, "shop", None, state) }
    }

    fn session(folder: &str, id: &str, client: AgentClient) -> Candidate {
        let to = PeerTarget::Session { folder: folder.into(), session: id.to_owned() };
        let name = folder.rsplit('/').next().unwrap_or_default().to_owned();
        let (state, folder) = (Presence::Online, Some(folder.into()));
        Candidate { to, name, client: Some(client), machine: None, state, folder }
    }

    fn titles(candidates: &[Candidate]) -> Vec<String> {
        peers(candidates, "/r", AT_MOST).into_iter().map(|peer| peer.title).collect()
    }

    #[test]
    fn those_of_other_clients_and_machines_that_are_there_are_listed_under_names_that_say_what_they_are() {
        use AgentClient::{Claude, Codex, Gemini, Opencode, Qwen};
        use Presence::{Idle, Offline, Online, Stalled, Unknown};
        assert_eq!(
            titles(&[
                member("bob", "shop", Some(Codex), Online),
                member("ann", "shop", Some(Gemini), Idle),
                member("eve", "api", Some(Qwen), Stalled),
                // Claude Code shows its own.
                member("lead", "shop", Some(Claude), Online),
                // Nobody knows what it is, or it is not there.
                member("who", "shop", None, Online),
                member("off", "shop", Some(Codex), Offline),
                member("mist", "shop", Some(Codex), Unknown),
                session("/w/front", "0b7e1c52-1", Opencode),
                session("/w/front", "1c1c1c52-2", Claude),
                // Whichever client it has there: the list shows this machine's alone.
                elsewhere("sam", "desk", Idle),
                elsewhere("boss.desk", "desk", Online),
                elsewhere("late", "desk", Offline),
                elsewhere("dim", "desk", Unknown),
            ]),
            [
                "ann (gemini, team shop)",
                "bob (codex, team shop)",
                "boss.desk (machine desk, team shop)",
                "eve (qwen, team api)",
                "front (opencode session)",
                "sam (machine desk, team shop)"
            ]
        );
    }

    #[test]
    fn two_of_one_name_are_told_apart_and_there_are_not_too_many() {
        let two = [
            session("/w/front", "0b7e1c52-1", AgentClient::Codex),
            session("/w/front", "1c1c1c52-2", AgentClient::Codex),
            session("/w/front", "1c1c1c52-2", AgentClient::Codex),
        ];
        assert_eq!(titles(&two), ["front (codex session 0b7e1c52)", "front (codex session 1c1c1c52)"]);
        let many: Vec<Candidate> = (0..100)
            .map(|number| {
                member(&format!("m{number:03}"), "shop", Some(AgentClient::Codex), Presence::Online)
            })
            .collect();
        assert_eq!(titles(&many).len(), AT_MOST);
        assert_eq!(titles(&many)[0], "m000 (codex, team shop)", "always the same ones");
    }

    #[test]
    fn an_id_is_one_peers_of_one_tree_and_stays() {
        let bob = [member("bob", "shop", Some(AgentClient::Codex), Presence::Online)];
        let id = |candidates: &[Candidate], root: &str| peers(candidates, root, 9)[0].id.clone();
        assert_eq!(id(&bob, "/r"), id(&bob, "/r"));
        assert_ne!(id(&bob, "/r"), id(&bob, "/q"));
        let other = [member("bob", "shop2", Some(AgentClient::Codex), Presence::Online)];
        assert_ne!(id(&bob, "/r"), id(&other, "/r"));
        assert!(Uuid::parse_str(&id(&bob, "/r")).is_ok());
    }
}
