//! The conversations of sessions that work in a mailbox's folder.

use std::path::Path;

use atm_clients::AgentClient;
use atm_wire::team::TeamConfig;

use super::register::Registered;
use crate::office::Office;
use crate::trail::transcript::{Conversations, Transcript, is_plain, listed};

impl Office {
    /// Those of each mailbox: of all sessions that have worked in its folder.
    pub(crate) fn conversations_of_sessions(&self, config: Option<&TeamConfig>) -> Conversations {
        let mut found = Conversations::default();
        let registered = self.registered_sessions();
        for member in config.into_iter().flat_map(|config| &config.members) {
            let Some(folder) = member.cwd.as_deref().map(Path::new) else { continue };
            for session in registered.iter().filter(|session| session.folder == folder) {
                if let Some(transcript) = self.transcript_of_session(session) {
                    found.add(&member.name, transcript);
                }
            }
        }
        found
    }

    /// Where a session's client keeps its conversation, if that can be read.
    pub(crate) fn transcript_of_session(&self, session: &Registered) -> Option<Transcript> {
        let client: AgentClient = session.client.parse().ok()?;
        // Said by the client: it leads to no other conversation.
        let is_its = |path: &&Path| {
            let conversations = client.profile().conversations.as_ref();
            conversations.is_some_and(|known| known.is_of(path, &session.session))
        };
        let said = session.transcript.as_deref().filter(is_its);
        let said = said.and_then(|path| Transcript::of(client, path, &session.session));
        said.or_else(|| {
            if client != AgentClient::Claude {
                return None;
            }
            let name = is_plain(&session.session).then(|| format!("{}.jsonl", session.session))?;
            let projects = listed(&self.root.path().join("projects"));
            projects.map(|project| project.join(&name)).find_map(|path| Transcript::at(&path))
        })
    }
}
