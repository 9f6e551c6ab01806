//! Who holds a reservation: a member of a team, the person at the keyboard, or a session that is nobody in a team.

use std::cell::OnceCell;

use atm_wire::{MemberName, TeamName};
use serde::{Deserialize, Serialize};

use crate::office::{Office, USER};
use crate::people::ancestry::ClientProcess;
use crate::sessions::{Live, short_id};

/// Who holds a reservation, or wants to. Its form is part of the file's format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// The member's name, or `user`.
    #[serde(rename = "holder")]
    pub name: String,
    /// Its team; the person at the keyboard has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The shared tree in which the team is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// The client's name for the conversation in which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The client's process in which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<HolderProcess>,
}

/// A client's process. When it has ended, so have its reservations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HolderProcess {
    /// Its number.
    pub pid: u64,
    /// When it started, as the system spells it; empty where nothing says.
    pub start: String,
    /// Where the number means something.
    pub space: String,
}

impl Office {
    /// Somebody who reserves, releases or edits: a member, or by what it runs in; without any of these, the person at the
    /// keyboard.
    pub fn holder(
        &self,
        member: Option<(&TeamName, &MemberName)>,
        session: Option<&str>,
        client: Option<&ClientProcess>,
    ) -> Holder {
        Holder {
            name: member.map_or(USER, |(_, name)| name.as_str()).to_owned(),
            team: member.map(|(team, _)| team.to_string()),
            root: member.map(|_| self.root_key()).unwrap_or_default(),
            session: session.filter(|session| !session.is_empty()).map(ToOwned::to_owned),
            process: client.map(|client| HolderProcess {
                pid: client.pid,
                start: client.start.clone(),
                space: self.probe.pid_space(),
            }),
        }
    }
}

/// How a session is called that is in no team, before its id.
pub(super) const SESSION: &str = "session ";

/// What holders are called, with the sessions that run: they are asked for once, and only for a holder that is in no team.
pub(super) struct Names<'a> {
    office: &'a Office,
    running: OnceCell<Vec<Live>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(office: &'a Office) -> Self {
        Self { office, running: OnceCell::new() }
    }

    /// How people call a holder that is in no team, and its session; of a member, its name.
    pub(super) fn called(&self, holder: &Holder) -> (String, Option<String>) {
        if holder.is_member() || holder.is_person() {
            return (holder.name.clone(), None);
        }
        let running = self.running.get_or_init(|| self.office.running_sessions());
        // A server knows its client's process alone, which may have another session by now.
        let is_here = |process: &&HolderProcess| process.space == self.office.probe.pid_space();
        let process = holder.process.as_ref();
        let in_process = |process: &HolderProcess| running.iter().find(|live| live.pid == process.pid);
        let session = holder
            .session
            .clone()
            .or_else(|| process.filter(is_here).and_then(in_process).map(|live| live.id.clone()));
        let called = match (&session, process) {
            (Some(id), _) => {
                let ids = running.iter().map(|live| live.id.as_str());
                format!("{SESSION}{}", short_id(id, ids))
            }
            (None, Some(process)) => format!("process {}", process.pid),
            (None, None) => holder.name.clone(),
        };
        (called, session)
    }

    /// A holder as people write it.
    pub(super) fn address_of(&self, holder: &Holder) -> String {
        if holder.is_member() { holder.address() } else { self.called(holder).0 }
    }
}

impl Holder {
    /// As people write it.
    pub fn address(&self) -> String {
        self.team.as_ref().map_or_else(|| self.name.clone(), |team| format!("{}@{team}", self.name))
    }

    /// Whether it is the person at the keyboard, and no session of an agent.
    pub fn is_person(&self) -> bool {
        self.name == USER && !self.has_evidence()
    }

    /// Whether both are the same. Members are told by their names: several can run in one process. Who has no name in a team
    /// is told by the session or the process.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        if self.is_member() && other.is_member() {
            return (&self.name, &self.team, &self.root) == (&other.name, &other.team, &other.root);
        }
        self.shares_session(other) || self.is_person() && other.is_person()
    }

    /// Whether a reservation of this holder ends with a session of `other`.
    pub(crate) fn ends_with(&self, other: &Self) -> bool {
        let other_session = self.session.is_some() && self.session != other.session;
        self.is_same(other) && !other_session
    }

    fn is_member(&self) -> bool {
        self.team.is_some()
    }

    fn has_evidence(&self) -> bool {
        self.session.is_some() || self.process.is_some()
    }

    /// One process may run several sessions, so the process counts only where a session is not known.
    fn shares_session(&self, other: &Self) -> bool {
        match (&self.session, &other.session) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => self.process.is_some() && self.process == other.process,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, session: Option<&str>) -> Holder {
        Holder {
            name: name.to_owned(),
            team: Some("dev".to_owned()),
            session: session.map(ToOwned::to_owned),
            ..Holder::default()
        }
    }

    fn nameless(session: Option<&str>, pid: u64) -> Holder {
        let process = HolderProcess { pid, start: "7".to_owned(), space: "here".to_owned() };
        let process = (pid > 0).then_some(process);
        Holder {
            name: USER.to_owned(),
            session: session.map(ToOwned::to_owned),
            process,
            ..Holder::default()
        }
    }

    #[test]
    fn members_are_told_by_name_and_sessions_by_what_they_run_in() {
        let person = nameless(None, 0);
        for (a, b, same) in [
            (member("bob", Some("s")), member("bob", Some("t")), true),
            // Two members inside one client.
            (member("bob", Some("s")), member("alice", Some("s")), false),
            (member("bob", Some("s")), Holder { root: "/other".into(), ..member("bob", Some("s")) }, false),
            (member("bob", Some("s")), nameless(Some("s"), 0), true),
            (member("bob", Some("s")), nameless(Some("t"), 0), false),
            (nameless(Some("s"), 1), nameless(Some("t"), 1), false),
            (nameless(None, 1), nameless(Some("t"), 1), true),
            (nameless(Some("s"), 1), nameless(Some("t"), 2), false),
            (person.clone(), person.clone(), true),
            (person.clone(), nameless(Some("s"), 0), false),
            // A hook's caller of whom nothing is known is nobody, and not the person.
            (person, Holder::default(), false),
        ] {
            assert_eq!((a.is_same(&b), b.is_same(&a)), (same, same), "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_session_ends_what_it_reserved_and_not_what_another_did() {
        assert!(member("bob", Some("s")).ends_with(&member("bob", Some("s"))));
        assert!(member("bob", None).ends_with(&member("bob", Some("s"))));
        assert!(!member("bob", Some("t")).ends_with(&member("bob", Some("s"))));
        assert!(!member("alice", None).ends_with(&member("bob", Some("s"))));
    }
}
