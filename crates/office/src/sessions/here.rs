//! The session that a command, a hook or a server of ours was called in.
//!
//! A client says which in a variable, if it has one. What it starts inherits the variable: a client that runs in a tool of another
//! would be taken for the outer one. So the variable counts only while no other client is nearer to us than the process of
//! the session that it names. A client without a variable is known by its process.

use atm_clients::AgentClient;
use atm_clients::claude::sessions;

use crate::office::Office;
use crate::people::ancestry::ClientProcess;

impl Office {
    /// The session that a process whose parent is `parent` was called in; `variable` reads its environment.
    pub fn session_here(
        &self,
        parent: u64,
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> Option<String> {
        let mut variables = AgentClient::ALL.iter().filter_map(|client| client.profile().session_variable);
        let said = variables.find_map(variable).filter(|session| !session.is_empty());
        let nearest = self.probe.named_client_above(parent);
        let own = |session: &String| self.is_nearest(session, nearest.as_ref());
        said.filter(own).or_else(|| self.session_in_client(nearest.as_ref()?))
    }

    /// Whether a process whose parent is `parent` was started by the session that its environment names, and not by another
    /// client within that one.
    pub fn is_started_by(&self, session: &str, parent: u64) -> bool {
        self.is_nearest(session, self.probe.named_client_above(parent).as_ref())
    }

    fn is_nearest(&self, session: &str, nearest: Option<&ClientProcess>) -> bool {
        let (Some(nearest), Some(process)) = (nearest, self.process_of(session)) else { return true };
        self.probe.is_above(process, nearest.pid)
    }

    /// The process that a session runs in, if that is known. What was noted of one that ended says nothing: a conversation may be
    /// taken up in another process, which its client notes a moment later.
    fn process_of(&self, session: &str) -> Option<u64> {
        let live = sessions::live(self.root.path(), |pid| self.probe.started(pid));
        let listed = live.iter().find(|live| live.id == session).map(|live| live.pid);
        let noted = || {
            let known = self.registered_session(session)?;
            self.process_running(&known, &[])
        };
        listed.or_else(noted)
    }

    /// The session in the process of a client by its name. Below an editor there are terminals in which people type.
    fn session_in_client(&self, client: &ClientProcess) -> Option<String> {
        let running = self.running_sessions();
        let here = running.into_iter().find(|live| live.pid == client.pid);
        here.filter(|live| live.client != AgentClient::Cursor).map(|live| live.id)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use atm_store::{Root, State};

    use super::*;
    use crate::mail::push::Push;
    use crate::people::probe::{Agent, Nameless, ProcessProbe};
    use crate::sessions::Arrival;

    const CLAUDE: u64 = 10;
    const GEMINI: u64 = 30;
    const CURSOR: u64 = 40;

    /// A tool of Claude Code (20, below 10) that runs Gemini (30), whose tool is 31; a terminal (41) in an editor (40); and a
    /// client (50) without a known name in that terminal.
    #[derive(Debug)]
    struct Nested;

    fn parent_of(pid: u64) -> Option<u64> {
        [(20, CLAUDE), (GEMINI, 20), (31, GEMINI), (41, CURSOR), (50, 41)]
            .into_iter()
            .find_map(|(child, parent)| (child == pid).then_some(parent))
    }

    fn upwards(parent: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(parent), |pid| parent_of(*pid))
    }

    impl ProcessProbe for Nested {
        fn started(&self, pid: u64) -> Option<String> {
            Some(pid.to_string())
        }

        fn pid_space(&self) -> String {
            String::new()
        }

        fn agents(&self) -> Vec<Agent> {
            Vec::new()
        }

        fn nameless(&self) -> Vec<Nameless> {
            Vec::new()
        }

        fn client_above(&self, parent: u64) -> Option<ClientProcess> {
            Some(ClientProcess {
                pid: parent,
                start: parent.to_string(),
                agent_id: None,
                invocation: atm_clients::Invocation::default(),
            })
        }

        fn is_above(&self, parent: u64, pid: u64) -> bool {
            upwards(parent).any(|above| above == pid)
        }

        fn named_client_above(&self, parent: u64) -> Option<ClientProcess> {
            let pid = upwards(parent).find(|pid| [CLAUDE, GEMINI, CURSOR].contains(pid))?;
            self.client_above(pid)
        }
    }

    fn office(folder: &Path) -> Office {
        Office::new(Root::new(folder.join("root")), State::new(folder.join("state"))).with_probe(Nested)
    }

    fn note(office: &Office, client: AgentClient, session: &str, parent: u64, cwd: &Path) {
        let (transcript, begins, has_socket) = (None, true, false);
        let arrival = Arrival { client, session, cwd, transcript, parent, begins, has_socket };
        office.register_session(&arrival).unwrap();
    }

    #[test]
    fn a_client_within_another_is_not_taken_for_the_outer_one() {
        let folder = tempfile::tempdir().unwrap();
        let office = office(folder.path());
        let here = |parent, said: &str| {
            let variable = |_: &str| (!said.is_empty()).then(|| said.to_owned());
            office.session_here(parent, variable).unwrap_or_default()
        };
        assert_eq!(here(20, "outer"), "outer", "nothing is known of it yet");
        assert_eq!(here(31, ""), "", "nobody has called us from there");
        let note = |client, session, parent| note(&office, client, session, parent, folder.path());
        note(AgentClient::Claude, "outer", CLAUDE);
        assert_eq!(here(31, "outer"), "", "a client that is not known is not the outer one");
        note(AgentClient::Gemini, "inner", GEMINI);
        note(AgentClient::Cursor, "editor", CURSOR);
        note(AgentClient::Claude, "unnamed", 50);
        for (parent, said, expected) in [
            (CLAUDE, "outer", "outer"),
            (20, "outer", "outer"),
            (20, "", "outer"),
            (GEMINI, "outer", "inner"),
            (31, "outer", "inner"),
            (31, "", "inner"),
            // A person types there, or a client that has no known name.
            (41, "", ""),
            (50, "unnamed", "unnamed"),
            (99, "outer", "outer"),
            (99, "", ""),
        ] {
            assert_eq!(here(parent, said), expected, "below {parent} with {said:?}");
        }
        assert!(office.is_started_by("outer", 20) && !office.is_started_by("outer", GEMINI));
    }

    /// The server of a client within another was handed the outer one's variables, and noted the outer session as its own client's.
    #[test]
    fn a_server_of_a_client_within_another_does_not_push_into_the_outer_one() {
        let folder = tempfile::tempdir().unwrap();
        let office = office(folder.path());
        note(&office, AgentClient::Claude, "outer", CLAUDE, folder.path());
        let push = |parent| Push {
            socket: folder.path().join("socket"),
            session: "outer".to_owned(),
            cwd: folder.path().to_owned(),
            parent,
            budget: 1000,
        };
        assert!(push(GEMINI).client(&office).unwrap().is_none());
        assert_eq!(office.registered_session("outer").unwrap().pid, Some(CLAUDE));
        assert!(push(CLAUDE).client(&office).unwrap().is_some());
    }
}
