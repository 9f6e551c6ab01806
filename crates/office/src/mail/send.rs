//! Sending: what somebody wants sent, and what the sender is told.

use std::collections::HashSet;
use std::time::Duration;

use atm_ledger::Stage;
use atm_store::mailbox::Turn;
use atm_wire::message::{Delivery, Priority};
use atm_wire::metadata::Metadata;
use atm_wire::payload::Content;
use atm_wire::{Address, MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::hint::Hint;
use crate::mail::address::Routes;
use crate::office::Office;
use crate::protocol::person::Person;
use crate::protocol::policy;
use crate::team::Team;

/// A message that somebody wants sent.
#[derive(Debug, Clone)]
pub struct Letter {
    /// To whom.
    pub to: Address,
    /// Plain text, or a protocol message's JSON object as text.
    pub text: String,
    /// The short version; made from the first words when there is none.
    pub summary: Option<String>,
    /// How urgent it is.
    pub priority: Priority,
    /// The message that this one answers.
    pub reply_to: Option<String>,
    /// The first message of the conversation.
    pub thread: Option<String>,
    /// How long it may take to be acknowledged, if it has to be.
    pub ack_by: Option<Duration>,
    /// Everybody whom it goes to, if it is for several.
    pub recipients: Vec<String>,
    /// The id to use; a new one is made when there is none. An id that is in the inbox is not written twice.
    pub id: Option<String>,
    /// What its sender wants to have in its `metadata`, beside ours.
    pub metadata: Metadata,
    /// The person who decides in the sender's name.
    pub by: Option<Person>,
    /// The session that it is for, among those that work in one folder; only for the team of sessions.
    pub session: Option<String>,
}

impl Letter {
    /// A plain letter.
    pub fn new(to: Address, text: impl Into<String>) -> Self {
        Self {
            to,
            text: text.into(),
            summary: None,
            priority: Priority::Normal,
            reply_to: None,
            thread: None,
            ack_by: None,
            recipients: Vec::new(),
            id: None,
            metadata: Metadata::new(),
            by: None,
            session: None,
        }
    }
}

/// How to send.
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
#[derive(Debug, Clone, Copy, Default)]
pub struct SendOptions {
    /// Make an inbox for a name that is no member and has none.
    pub create: bool,
    /// Refuse an inbox that does not parse, instead of setting it aside.
    pub strict: bool,
    /// Send a payload of a known type that lacks what its readers need.
    pub force: bool,
    /// Leave the text of mail for somebody who is off as it is.
    pub no_tag: bool,
    /// Refuse a sender that nobody knows, as a recipient that nobody knows.
    pub known_sender: bool,
}

/// What became of a letter.
#[derive(Debug, Clone, Serialize)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// The recipient's team.
    pub team: TeamName,
    /// The sender.
    pub from: MemberName,
    /// The recipient.
    pub to: MemberName,
    /// Whether the recipient is there.
    pub status: Delivery,
    /// How far it came.
    pub stage: Stage,
    /// When it was sent.
    pub timestamp: Stamp,
    /// What the sender should know.
    pub warnings: Vec<String>,
    /// What may help with it.
    #[serde(skip)]
    pub hint: Option<Hint>,
}

impl Sent {
    /// How far it came, in a word: `delivered` for what is only written.
    pub fn stage_words(&self) -> &'static str {
        match self.stage {
            Stage::Written | Stage::Queued => self.status.as_str(),
            stage => stage.as_str(),
        }
    }

    /// It came this far since it was answered.
    pub fn reach(&mut self, stage: Stage) {
        if self.is_only_accepted() && stage == Stage::Written {
            self.status = Delivery::Delivered;
        }
        self.stage = stage;
    }

    /// Whether it is accepted and not written yet: the next command that looks at the inbox writes it.
    pub fn is_only_accepted(&self) -> bool {
        self.stage == Stage::Accepted
    }
}

impl Office {
    /// Sends one letter from `from`, a member of `team` or somebody outside.
    pub fn send(
        &self,
        team: &TeamName,
        from: &MemberName,
        letter: &Letter,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        self.team(team)?.send(from, letter, options)
    }
}

impl Team<'_> {
    /// Sends one letter from `from`, a member or somebody outside.
    pub fn send(
        &self,
        from: &MemberName,
        letter: &Letter,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        let content = policy::content_of(letter);
        let _turn = self.deciding(from, std::slice::from_ref(&content))?;
        self.send_one(from, letter, content, options)
    }

    /// The same, for a caller that has the sender's turn to decide, or needs none.
    pub(crate) fn send_in_turn(
        &self,
        from: &MemberName,
        letter: &Letter,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        self.send_one(from, letter, policy::content_of(letter), options)
    }

    fn send_one(
        &self,
        from: &MemberName,
        letter: &Letter,
        content: Content,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        let addressed = Routes::from(self).address(from, letter, content, options)?;
        let mut sent = self.office().deliver(vec![addressed], options.strict);
        // One letter in, one answer out.
        sent.pop().unwrap_or(Err(OfficeError::EmptyMessage))
    }

    /// Sends many letters: all are checked before the first is written, and each inbox is written once.
    ///
    /// The outer error means that nothing was written; the answers stand in the order of the letters.
    pub fn send_all(
        &self,
        from: &MemberName,
        letters: &[Letter],
        options: SendOptions,
    ) -> Result<Vec<Result<Sent, OfficeError>>, (usize, OfficeError)> {
        if let Some(index) = repeated_id(self.name(), letters) {
            let id = letters[index].id.clone().unwrap_or_default();
            return Err((index, OfficeError::RepeatedId { id }));
        }
        let contents: Vec<Content> = letters.iter().map(policy::content_of).collect();
        if let Some((index, request)) = policy::decided_twice(&contents) {
            let why = format!("request {request} is decided twice");
            return Err((index, OfficeError::NotYours { who: from.to_string(), why }));
        }
        let _turn = self.deciding(from, &contents).map_err(|error| (0, error))?;
        let mut routes = Routes::from(self);
        let addressed = letters
            .iter()
            .zip(contents)
            .enumerate()
            .map(|(index, (letter, content))| {
                routes.address(from, letter, content, options).map_err(|error| (index, error))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(self.office().deliver(addressed, options.strict))
    }

    /// The sender's turn to decide, if one of these letters is a decision: two at once must not both find the request
    /// open.
    fn deciding(&self, from: &MemberName, contents: &[Content]) -> Result<Option<Turn>, OfficeError> {
        if !policy::has_decision(contents) {
            return Ok(None);
        }
        Ok(Some(self.mailbox(from).deciding()?))
    }
}

/// The first letter whose id another one to the same recipient has before it.
fn repeated_id(team: &TeamName, letters: &[Letter]) -> Option<usize> {
    let mut ids = HashSet::new();
    letters.iter().position(|letter| {
        let to = (letter.to.team.as_ref().unwrap_or(team), &letter.to.name);
        letter.id.as_ref().is_some_and(|id| !ids.insert((to, id)))
    })
}
