//! Which conversations are a member's by the word of its client: hooks are called in a session, and say where it is kept.
//!
//! That is the only tie to conversations of clients that have no teams: nothing in their files names a member. It is kept
//! beside the team, since a conversation is still there when its client has ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atm_clients::AgentClient;
use atm_clients::conversations::{Conversations, Openness};
use atm_clients::wake::is_session;
use atm_store::Scratch;
use atm_wire::{MemberName, TeamName};
use serde::{Deserialize, Serialize};

use super::Transcript;
use crate::office::Office;
use crate::people::members::MemberChange;

/// So many conversations of one member are remembered, the newest.
const AT_MOST: usize = 16;

/// A conversation of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tie {
    client: String,
    pub(crate) session: String,
    path: PathBuf,
    /// The client's process: number, and start in the system's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<(u64, String)>,
}

impl Tie {
    /// The client, if it is one that we know.
    pub(crate) fn client(&self) -> Option<AgentClient> {
        self.client.parse().ok()
    }

    /// Whether a process has it open.
    pub(crate) fn openness(&self) -> Openness {
        let conversations = self.client().and_then(|client| client.profile().conversations.as_ref());
        conversations.map_or(Openness::Unknown, |known| (known.openness)(&self.path, &self.session))
    }

    /// What there is of it.
    pub(crate) fn transcript(&self) -> Option<Transcript> {
        Transcript::of(self.client()?, &self.path, &self.session)
    }
}

/// The conversations of a team's members, the newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Ties(BTreeMap<String, Vec<Tie>>);

impl Ties {
    /// Those of one member.
    pub(crate) fn of(&self, member: &str) -> &[Tie] {
        self.0.get(member).map_or(&[], Vec::as_slice)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Vec<Tie>)> {
        self.0.iter()
    }

    /// Adds one, which is a member's from now on and nobody else's; says whether that is new. The newest is the last.
    fn add(&mut self, member: &str, tie: Tie) -> bool {
        if self.of(member).last() == Some(&tie) {
            return false;
        }
        for ties in self.0.values_mut() {
            ties.retain(|known| known.session != tie.session || known.client != tie.client);
        }
        let ties = self.0.entry(member.to_owned()).or_default();
        ties.push(tie);
        let surplus = ties.len().saturating_sub(AT_MOST);
        ties.drain(..surplus);
        self.0.retain(|_, ties| !ties.is_empty());
        true
    }
}

/// Where a conversation is, that its client says to be at `said` now. A client that takes one up again may first name the file of a new
/// one, which it does not write.
pub(crate) fn written<'a>(known: Option<&'a Path>, said: &'a Path) -> &'a Path {
    known.filter(|known| known.is_file() && !said.is_file()).unwrap_or(said)
}

impl Office {
    /// A hook was called in the conversation `session` of a client, which is `who`'s and is kept at `path` by the client's
    /// word; `parent` is the process that called. What cannot be one is passed over. Of a member that we started, the
    /// session is entered beside the rest of what we know of it.
    pub fn tie_conversation(
        &self,
        team: &TeamName,
        who: &MemberName,
        client: AgentClient,
        session: &str,
        (path, parent): (&Path, u64),
    ) {
        let is_of = |format: &Conversations| format.is_of(path, session);
        if !is_session(session) || !client.profile().conversations.as_ref().is_some_and(is_of) {
            return;
        }
        let mut ties = self.ties(team);
        let known = ties
            .of(who.as_str())
            .iter()
            .rev()
            .find(|tie| tie.session == session && tie.client == client.as_str());
        let path = written(known.map(|tie| tie.path.as_path()), path);
        let process = self.probe.client_above(parent).map(|process| (process.pid, process.start));
        let tie = Tie {
            client: client.as_str().to_owned(),
            session: session.to_owned(),
            path: path.to_owned(),
            process,
        };
        if !ties.add(who.as_str(), tie) {
            return;
        }
        if let Ok(bytes) = serde_json::to_vec(&ties) {
            // If it cannot be kept, the next hook does.
            let _ = Scratch::of_ties(&self.root, team, &self.state).replace(&bytes);
        }
        self.enter_session(team, who, client, session);
    }

    /// Enters the session of a member that we started as this client.
    fn enter_session(&self, team: &TeamName, who: &MemberName, client: AgentClient, session: &str) {
        let Ok(config) = self.folder_of(team).load() else { return };
        let is_ours = config.member(who.as_str()).is_some_and(|member| {
            let started = member.spawned.as_ref().and_then(|spawned| spawned.client.as_deref());
            started == Some(client.as_str()) && member.waking.session.as_deref() != Some(session)
        });
        if is_ours {
            let change = MemberChange { session: Some(session.to_owned()), ..MemberChange::default() };
            // Without it, the tie tells.
            let _ = self.set_member(team, who, &change);
        }
    }

    /// The conversations that hooks were called in.
    pub(crate) fn ties(&self, team: &TeamName) -> Ties {
        let kept = Scratch::of_ties(&self.root, team, &self.state).read();
        kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tie(session: &str) -> Tie {
        Tie {
            client: "codex".into(),
            session: session.into(),
            path: format!("/s/{session}").into(),
            process: None,
        }
    }

    #[test]
    fn a_conversation_is_one_members_and_the_newest_is_the_last() {
        let mut ties = Ties::default();
        assert!(ties.add("bob", tie("s1")));
        assert!(!ties.add("bob", tie("s1")), "it is known");
        assert!(ties.add("bob", tie("s2")));
        assert!(ties.add("bob", tie("s1")), "it goes on");
        let sessions =
            |ties: &Ties, who| ties.of(who).iter().map(|tie| tie.session.clone()).collect::<Vec<_>>();
        assert_eq!(sessions(&ties, "bob"), ["s2", "s1"]);
        assert!(ties.add("ann", tie("s1")), "somebody else has it now");
        assert_eq!((sessions(&ties, "bob"), sessions(&ties, "ann")), (vec!["s2".into()], vec!["s1".into()]));
        for number in 0..40 {
            ties.add("bob", tie(&format!("n{number}")));
        }
        assert_eq!(ties.of("bob").len(), AT_MOST);
    }

    /// What a hook is told is another program's word: it leads to no other file.
    #[test]
    fn only_what_can_be_a_conversation_is_tied() {
        let team = atm_support::TestEnv::new().team("demo", atm_store::Layout::Array, &["lead", "bob"]);
        let office = Office::new(team.env().store_root(), team.env().store_state());
        let bob: MemberName = "bob".parse().unwrap();
        let thread = "0199a0b1-0000-7000-8000-000000000001";
        let rollout = format!("/h/sessions/rollout-2026-11-16T10-00-00-{thread}.jsonl");
        for (client, session, path) in [
            (AgentClient::Codex, thread, "/etc/passwd"),
            (AgentClient::Codex, thread, rollout.trim_start_matches('/')),
            (AgentClient::Codex, "../x", rollout.as_str()),
            (AgentClient::Codex, "0199a0b1-0000-7000-8000-000000000002", rollout.as_str()),
            (AgentClient::Cursor, thread, rollout.as_str()),
            (AgentClient::Claude, "s", "/h/s.jsonl"),
        ] {
            office.tie_conversation(team.name(), &bob, client, session, (Path::new(path), 1));
            assert_eq!(office.ties(team.name()), Ties::default(), "{client} {session} {path}");
        }
        office.tie_conversation(team.name(), &bob, AgentClient::Codex, thread, (Path::new(&rollout), 1));
        assert_eq!(office.ties(team.name()).of("bob").len(), 1);
    }

    /// A member was told again what stands in its turns: its client had named another file for the conversation that it took up.
    #[test]
    fn a_conversation_that_is_taken_up_stays_where_it_is_written() {
        let team = atm_support::TestEnv::new().team("demo", atm_store::Layout::Array, &["lead", "bob"]);
        let office = Office::new(team.env().store_root(), team.env().store_state());
        let (bob, session) = ("bob".parse::<MemberName>().unwrap(), "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a");
        let folder = tempfile::tempdir().unwrap();
        let [first, later] =
            ["session-2026-11-18T09-00-0b7e1c52.jsonl", "session-2026-11-18T10-00-0b7e1c52.jsonl"]
                .map(|name| folder.path().join(name));
        let tied = |path: &Path| {
            office.tie_conversation(team.name(), &bob, AgentClient::Gemini, session, (path, 1));
            office.ties(team.name()).of("bob").last().unwrap().path.clone()
        };
        assert_eq!(tied(&first), first, "not written yet");
        std::fs::write(&first, "").unwrap();
        assert_eq!(tied(&later), first);
        std::fs::write(&later, "").unwrap();
        assert_eq!(tied(&later), later);
    }
}
