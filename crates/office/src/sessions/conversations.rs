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
        if session.client != AgentClient::Claude.as_str() {
            return None;
        }
        let said = session.transcript.as_deref().and_then(Transcript::at);
        said.or_else(|| {
            let name = is_plain(&session.session).then(|| format!("{}.jsonl", session.session))?;
            let projects = listed(&self.root.path().join("projects"));
            projects.map(|project| project.join(&name)).find_map(|path| Transcript::at(&path))
        })
    }
}
