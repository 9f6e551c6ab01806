//! What a member finds in its inbox when it is started: its backlog, tagged, and its prompt.

use atm_wire::message::Draft;
use atm_wire::{Address, Color, MemberName};

use super::address::Routes;
use super::send::{Letter, SendOptions};
use crate::error::OfficeError;
use crate::protocol::policy::content_of;
use crate::team::Team;

/// Who tells a member what it is for.
pub(super) const SYSTEM: &str = "system";
/// What kind of message that is.
const SYSTEM_INIT: &str = "system_init";

/// The prompt of a member that is about to be started.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// Its words.
    pub text: &'a str,
    /// The member had it when it was started before.
    pub is_known: bool,
}

/// An inbox that is ready for its reader.
#[derive(Debug, Default)]
pub struct FirstWords {
    /// How many unread messages of before carry a tag, or are named in a note that does, so that they are acted on.
    pub offered: usize,
    /// What happened beside it.
    pub warnings: Vec<String>,
}

impl Team<'_> {
    /// Makes a member's inbox, tags what waits there, and writes the prompt, unless it still lies there unread. One that
    /// returns to unread mail has that to act on: the prompt of before would come as new work, behind what is newer.
    pub fn write_first_words(
        &self,
        name: &MemberName,
        prompt: Option<Prompt>,
    ) -> Result<FirstWords, OfficeError> {
        let (office, team) = (self.office(), self.name());
        let mailbox = self.mailbox(name);
        mailbox.create()?;
        let mut words = FirstWords::default();
        for stale in office.set_aside_stale_shutdowns(team, name, office.now())? {
            let (id, kept) = (stale.id, stale.kept.display());
            words.warnings.push(format!(
                "shutdown request {id} was not for the one that starts now; it is kept in {kept}"
            ));
        }
        words.offered = office.offer_backlog(team, name)? + self.note_untagged(name)?;
        let Some(prompt) = prompt.filter(|prompt| !prompt.text.trim().is_empty()) else { return Ok(words) };
        let unread: Vec<_> = mailbox.list()?.messages.into_iter().filter(|message| !message.read).collect();
        let lies_there = unread
            .iter()
            .any(|message| message.outer_type.as_deref() == Some(SYSTEM_INIT) && message.text == prompt.text);
        let has_backlog = prompt.is_known && !unread.is_empty();
        if !lies_there && !has_backlog {
            words.warnings.extend(self.write_prompt(name, prompt.text)?);
        }
        Ok(words)
    }

    fn write_prompt(&self, name: &MemberName, prompt: &str) -> Result<Vec<String>, OfficeError> {
        let to = Address { name: name.clone(), team: None };
        let letter = Letter { summary: Some("Initial prompt".to_owned()), ..Letter::new(to, prompt) };
        self.write_as_system(&letter, Some(SYSTEM_INIT))
    }

    /// Writes a letter of whatever starts members, which is no member itself.
    pub(super) fn write_as_system(
        &self,
        letter: &Letter,
        kind: Option<&str>,
    ) -> Result<Vec<String>, OfficeError> {
        let office = self.office();
        let system = MemberName::parse(SYSTEM)?;
        let options = SendOptions::default();
        let mut addressed = Routes::from(self).address(&system, letter, content_of(letter), options)?;
        addressed.draft = Draft {
            color: Some(Color::System.to_string()),
            kind: kind.map(ToOwned::to_owned),
            ..addressed.draft
        };
        let mut warnings = Vec::new();
        for sent in office.deliver(vec![addressed], false) {
            warnings.extend(sent?.warnings.into_iter().filter(|warning| !warning.starts_with(SYSTEM)));
        }
        Ok(warnings)
    }
}
