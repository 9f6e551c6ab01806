//! Which session of a folder wrote a letter, so that the answer goes to that one and not to the first that takes a turn there.
//!
//! Mail from a session names its folder's mailbox as its sender. Beside that stands the session. An answer is for it as a
//! letter is that names one: as long as it runs; after that, any that works in the folder may have it.

use atm_wire::message::Ours;
use atm_wire::{Address, MemberName};

use crate::team::Team;

impl Team<'_> {
    /// The session that sends in the name of a mailbox: the one that asks, if that is its folder's. Who is handed
    /// another folder's name writes for whoever works there.
    pub(crate) fn sending_session(&self, from: &MemberName) -> Option<String> {
        let session = self.session().filter(|_| super::is_team(self.name()))?;
        let own = self.office().known_mailbox_of_session(session);
        (own.as_ref() == Some(from)).then(|| session.to_owned())
    }

    /// The session that an answer to a message is for, if it goes to the mailbox that the session still has. One that works
    /// in another folder now would not see it there, and keep it from those that would.
    pub(crate) fn asking_session(&self, question: &Ours, to: &Address) -> Option<String> {
        if !super::is_team(to.team.as_ref().unwrap_or(self.name())) {
            return None;
        }
        let session = question.from_session.as_ref()?;
        let own = self.office().known_mailbox_of_session(session);
        (own.as_ref() == Some(&to.name)).then(|| session.clone())
    }

    /// The same for a message in somebody's inbox; nothing if it is not there any more.
    pub(crate) fn session_that_asked(&self, who: &MemberName, id: &str, to: &Address) -> Option<String> {
        if !super::is_team(to.team.as_ref().unwrap_or(self.name())) {
            return None;
        }
        let messages = self.mailbox(who).list().ok()?.messages;
        let question = messages.iter().find(|message| message.id == id)?;
        self.asking_session(&question.ours(), to)
    }
}
