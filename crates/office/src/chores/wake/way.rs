//! The ways to wake a member, and which is whose.

use std::fmt;
use std::path::Path;

use atm_clients::AgentClient;
use atm_clients::conversations::Openness;
use atm_clients::wake::{WakeMethod, WakeWay};
use atm_wire::MemberName;
use atm_wire::team::{Manner, Member, TeamConfig};

use super::WakeError;
use super::command::ByCommand;
use super::server::ByServer;
use super::typed::TypedLine;
use crate::error::OfficeError;
use crate::people::pane::PaneRef;
use crate::sessions::{self, Live};
use crate::team::Team;
use crate::trail::transcript::Tie;

/// Who hears the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearer {
    /// A model.
    Agent,
    /// A shell at its prompt.
    Shell,
}

/// A way to wake a member.
pub trait Way: fmt::Debug {
    /// Why nothing has to be done, where the member wakes by itself.
    fn by_itself(&self) -> Option<&'static str> {
        None
    }

    /// Fails unless the member waits for something to do; says who would hear the line.
    fn check_idle(&self) -> Result<Hearer, OfficeError>;

    /// Whether the line is only stored, for when the member's conversation is opened again.
    fn is_queued(&self) -> bool {
        false
    }

    /// Says the line; gives the name of the way, for the evidence. That it was heard is not known then.
    fn wake(&self, line: &str) -> Result<&'static str, OfficeError>;
}

/// A client that looks by itself, or whose hook does.
#[derive(Debug)]
struct ByItself(&'static str);

impl Way for ByItself {
    fn by_itself(&self) -> Option<&'static str> {
        Some(self.0)
    }

    fn check_idle(&self) -> Result<Hearer, OfficeError> {
        Ok(Hearer::Agent)
    }

    fn wake(&self, _: &str) -> Result<&'static str, OfficeError> {
        Ok(self.0)
    }
}

impl Team<'_> {
    /// How a member is woken; where its client stores lines, also if nobody would hear it now, if the caller wants that.
    pub(super) fn way_of<'a>(
        &'a self,
        member: &'a Member,
        name: &'a MemberName,
        may_queue: bool,
    ) -> Result<(Manner, Box<dyn Way + 'a>), OfficeError> {
        let (office, team, config) = (self.office(), self.name(), self.config());
        let who = || format!("{name}@{team}");
        let waking = &member.waking;
        let manner = match waking.manner {
            Manner::Auto => told(config, member).ok_or_else(|| WakeError::NoWay { who: who() })?,
            said => said,
        };
        let known = |what: &'static str, value: &'a Option<String>| {
            value.as_deref().ok_or_else(|| WakeError::Unknown { who: who(), manner, what })
        };
        let way: Box<dyn Way + 'a> = match manner {
            Manner::Poll => {
                Box::new(ByItself("its client looks into the inbox by itself, every second or so"))
            }
            Manner::Rewake => Box::new(ByItself("a hook of its client does it, while that waits for mail")),
            Manner::None | Manner::Auto => Box::new(ByItself("it is not to be woken")),
            Manner::Pane => Box::new(TypedLine { office, team, name, pane: self.pane_of(name)? }),
            manner => {
                let method = WakeMethod::all().find(|method| method.manner == manner);
                let method = method.ok_or_else(|| WakeError::NoWay { who: who() })?;
                let (title, session) = (method.title, known("session", &waking.session)?);
                match &method.way {
                    WakeWay::Polls => Box::new(ByItself(title)),
                    WakeWay::Command(command) => {
                        let openness = self.openness_of(name, session);
                        let command = *command;
                        Box::new(ByCommand {
                            office,
                            team,
                            name,
                            session,
                            title,
                            command,
                            openness,
                            may_queue,
                        })
                    }
                    WakeWay::Server(api) => {
                        let server = known("server", &waking.server)?;
                        Box::new(ByServer { who: who(), session, server, title, api })
                    }
                }
            }
        };
        Ok((manner, way))
    }
}

impl Team<'_> {
    /// A folder's mailbox is woken as the one session is that works there, if its client has a command for that.
    pub(super) fn woken_session(&self, mailbox: &Member) -> Option<Member> {
        let is_session = sessions::is_team(self.name());
        is_session.then(|| woken_as(mailbox, &self.office().running_sessions())).flatten()
    }

    /// Whether a process has a conversation of a member open, as far as its client's hooks said where it is.
    fn openness_of(&self, name: &MemberName, session: &str) -> Openness {
        if sessions::is_team(self.name()) {
            let known = self.office().registered_session(session);
            return known.map_or(Openness::Unknown, |known| known.openness());
        }
        let ties = self.office().ties(self.name());
        let tie = ties.of(name.as_str()).iter().find(|tie| tie.session == session);
        tie.map_or(Openness::Unknown, Tie::openness)
    }
}

/// A folder's mailbox, woken as the one session that works there.
pub(in crate::chores) fn woken_as(mailbox: &Member, running: &[Live]) -> Option<Member> {
    let folder = Path::new(mailbox.cwd.as_deref().filter(|_| mailbox.waking.manner == Manner::Auto)?);
    let mut here = running.iter().filter(|session| session.works_in(folder));
    let (Some(only), None) = (here.next(), here.next()) else { return None };
    let method = only.client.profile().wake.as_ref()?;
    let mut mailbox = matches!(method.way, WakeWay::Command(_)).then(|| mailbox.clone())?;
    (mailbox.waking.manner, mailbox.waking.session) = (method.manner, Some(only.id.clone()));
    Some(mailbox)
}

/// Whether a member has to be called, since it does not look by itself.
pub(super) fn is_called(config: &TeamConfig, member: &Member) -> bool {
    let manner = match member.waking.manner {
        Manner::Auto => told(config, member),
        said => Some(said),
    };
    matches!(manner, Some(Manner::Codex | Manner::Opencode | Manner::Pane))
}

/// The way of a member of whom nobody has said it: by its client, and by what it runs in.
fn told(config: &TeamConfig, member: &Member) -> Option<Manner> {
    let spawned = member.spawned.as_ref();
    let client = spawned.and_then(|spawned| {
        let named = spawned.client.as_deref().and_then(|client| client.parse().ok());
        named.or_else(|| AgentClient::of_command(&spawned.command))
    });
    let (session, server) = (member.waking.session.is_some(), member.waking.server.is_some());
    let is_possible = |method: &&WakeMethod| method.is_possible(session, server);
    let own = client.and_then(|client: AgentClient| client.profile().wake.as_ref()).filter(is_possible);
    let pane = || PaneRef::of(member).map(|_| Manner::Pane);
    if let Some(manner) = own.map(|method| method.manner).or_else(pane) {
        return Some(manner);
    }
    if client.is_some() {
        return None;
    }
    // Where the client is not known, a server can only be that of one who is woken by it.
    let by_server = WakeMethod::all().find(|method| method.needs_server()).filter(is_possible);
    // Only a client leads by a conversation, and a team whose format has no version is not of our making.
    let is_of_a_client = config.lead_session_id.is_some() && config.schema_version.is_none();
    by_server.map(|method| method.manner).or(is_of_a_client.then_some(Manner::Poll))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(text: &str) -> Option<Manner> {
        let config = TeamConfig::parse(text).unwrap();
        told(&config, &config.members[0])
    }

    fn spawned(spawn: &str, more: &str) -> Option<Manner> {
        way(&format!(
            r#"{{"schemaVersion":"1.0.0","members":[{{"name":"bob","tmuxPaneId":"%1","backendType":"tmux",
                "metadata":{{"atm":{{"spawn":{spawn}{more}}}}}}}]}}"#
        ))
    }

    #[test]
    fn a_member_of_a_clients_own_team_polls() {
        assert_eq!(way(r#"{"leadSessionId":"s","members":[{"name":"bob"}]}"#), Some(Manner::Poll));
        assert_eq!(way(r#"{"members":[{"name":"bob"}]}"#), None);
        assert_eq!(way(r#"{"schemaVersion":"1.0.0","leadSessionId":"s","members":[{"name":"bob"}]}"#), None);
    }

    #[test]
    fn one_that_we_started_is_woken_as_its_client_is() {
        let of = |client: &str| {
            format!(r#"{{"socket":"/s","token":"t","command":["{client}"],"client":"{client}"}}"#)
        };
        let session = r#","session":"s1""#;
        let both = r#","session":"s1","server":"http://127.0.0.1:4096""#;
        for (client, more, expected) in [
            ("claude", "", Manner::Poll),
            ("codex", session, Manner::Codex),
            ("codex", "", Manner::Pane),
            ("opencode", both, Manner::Opencode),
            ("opencode", session, Manner::Pane),
            ("gemini", both, Manner::Pane),
            ("sh", "", Manner::Pane),
        ] {
            assert_eq!(spawned(&of(client), more), Some(expected), "{client} {more}");
        }
    }
}
