//! Answering a message.

use atm_wire::{Address, MemberName, Message, TeamName};

use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::team::Team;
use crate::trail::track::LAST;

/// The shortest part of an id, its start or its end, that may stand for the whole.
pub(crate) const SHORTEST_PART: usize = 6;

impl Team<'_> {
    /// Finds a message in somebody's inbox by its id, by the start or end of it, or the last one.
    pub fn find_message(&self, who: &MemberName, id: &str) -> Result<Message, OfficeError> {
        let mailbox = self.known_mailbox(who)?;
        self.look_for(who);
        let messages = mailbox.list()?.messages;
        let is_part =
            |whole: &str| id.len() >= SHORTEST_PART && (whole.starts_with(id) || whole.ends_with(id));
        if id == LAST
            && let Some(last) = messages.last()
        {
            return Ok(last.clone());
        }
        let fits = |message: &&Message| message.id == id || is_part(&message.id);
        let mut fitting: Vec<&Message> = messages.iter().filter(fits).collect();
        fitting.dedup_by_key(|message| message.id.clone());
        match fitting.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(OfficeError::NoMessage {
                team: self.name().clone(),
                who: who.to_string(),
                id: id.to_owned(),
            }),
            several => match several.iter().find(|message| message.id == id) {
                Some(exact) => Ok((**exact).clone()),
                None => Err(OfficeError::WhichMessage {
                    id: id.to_owned(),
                    choices: several.iter().map(|message| message.id.clone()).collect(),
                }),
            },
        }
    }

    /// Answers a message in `who`'s inbox: to its sender, in its thread.
    pub fn reply(
        &self,
        who: &MemberName,
        id: &str,
        letter: impl FnOnce(Address) -> Letter,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        let original = self.find_message(who, id)?;
        let ours = original.ours();
        let home = ours.origin.as_deref().map(TeamName::parse).transpose()?;
        let to = Address { name: MemberName::parse(&original.from)?, team: home };
        let asker = self.asking_session(&ours, &to);
        let mut answer = letter(to.clone());
        // Who answers may have said that it goes to somebody else, or to which session.
        if answer.to == to {
            answer.session = answer.session.or(asker);
        }
        answer.thread = Some(ours.thread.unwrap_or_else(|| original.id.clone()));
        answer.reply_to = Some(original.id);
        self.send(who, &answer, options)
    }
}
