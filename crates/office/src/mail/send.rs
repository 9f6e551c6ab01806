//! Sending: who it goes to, what is written, what the sender is told.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use atm_ledger::Stage;
use atm_store::mailbox::Turn;
use atm_store::{Appended, fresh_id};
use atm_wire::lint::payload_flaws;
use atm_wire::message::{Delivery, Ours, Priority};
use atm_wire::metadata::{self, Metadata};
use atm_wire::payload::Content;
use atm_wire::{Address, Draft, MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::hint::Hint;
use crate::mail::summary::summarize;
use crate::mail::tag;
use crate::office::{Office, USER};
use crate::protocol::policy;
use crate::team::Team;
use crate::trail::transcript::Remembered;

/// From this size on, the text of a message had better be a file, in bytes: a client shows it to its model at once.
const LARGE: usize = 32 * 1024;

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

/// A letter with its recipient found.
pub(crate) struct Addressed {
    pub(crate) team: TeamName,
    pub(crate) draft: Draft,
    /// What its text says, parsed once for the whole way.
    pub(crate) content: Content,
    /// Its id was made for it.
    pub(crate) is_new: bool,
    pub(crate) from: MemberName,
    pub(crate) to: MemberName,
    /// What is to be remembered of its team's lead once it is accepted.
    pub(crate) lead: Option<Remembered>,
    /// When its recipient's team was made.
    pub(crate) created_at: Option<Stamp>,
    warnings: Vec<String>,
    hint: Option<Hint>,
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

impl Routes<'_, '_> {
    /// Finds the recipient of a letter, and makes of it what will be written.
    pub(crate) fn address(
        &mut self,
        from: &MemberName,
        letter: &Letter,
        content: Content,
        options: SendOptions,
    ) -> Result<Addressed, OfficeError> {
        if letter.text.trim().is_empty() {
            return Err(OfficeError::EmptyMessage);
        }
        metadata::check(&letter.metadata)?;
        let (home, office) = (self.home, self.home.office());
        let team = home.name();
        let target = letter.to.team.as_ref().unwrap_or(team);
        let there = self.team(target)?;
        home.check_policy(from, there, &letter.to.name, &content)?;
        if !options.force {
            check_payload(&content)?;
        }
        let lead = office.lead_to_remember(target, there.config());
        let created_at = there.config().created_at;
        let mut warnings = Vec::new();
        let delivery = whereabouts(there, &letter.to.name, options.create, &mut warnings)?;
        let sender = home.config().member(from.as_str());
        if sender.is_none() && from.as_str() != USER {
            if options.known_sender {
                home.check_sender(from)?;
            }
            warnings.push(format!("{from} is not a member of team {team}"));
        }
        let hint =
            (letter.text.len() > LARGE).then_some(Hint::SendFile { kilobytes: letter.text.len() / 1024 });
        let now = office.now();
        // With white space before it, it is words to those that read the file.
        let content = if letter.text.starts_with('{') { content } else { Content::Text };
        let is_protocol = content.is_protocol();
        let text = match delivery {
            Delivery::Queued if !options.no_tag && !is_protocol => {
                tag::tagged(&format!("queued while offline at {now}"), &letter.text)
            }
            _ => letter.text.clone(),
        };
        let summary = match content.payload() {
            Some(payload) => payload.headline(),
            None => Some(letter.summary.clone().unwrap_or_else(|| summarize(&letter.text))),
        };
        let kind = content.payload().filter(|payload| payload.names_its_entry());
        let id = letter.id.clone().unwrap_or_else(|| fresh_id().to_string());
        let draft = Draft {
            ack_id: letter.ack_by.map(|_| id.clone()),
            id,
            from: from.to_string(),
            to: letter.to.name.to_string(),
            text,
            summary,
            timestamp: now,
            color: sender.and_then(|sender| sender.color.as_ref()).map(ToString::to_string),
            delivery,
            ours: Ours {
                reply_to: letter.reply_to.clone(),
                thread: letter.thread.clone(),
                priority: letter.priority,
                origin: (target != team).then(|| team.to_string()),
                ack_by: letter.ack_by.map(|time| now.saturating_add(time)),
                offer: None,
            },
            kind: kind.map(|payload| payload.kind().to_owned()),
            recipients: letter.recipients.clone(),
            metadata: letter.metadata.clone(),
        };
        Ok(Addressed {
            lead,
            created_at,
            team: target.clone(),
            draft,
            content,
            is_new: letter.id.is_none(),
            from: from.clone(),
            to: letter.to.name.clone(),
            warnings,
            hint,
        })
    }
}

/// Refuses a payload of a known type that lacks what its readers need.
fn check_payload(content: &Content) -> Result<(), OfficeError> {
    let Content::Protocol(parsed) = content else { return Ok(()) };
    let flaws = payload_flaws(parsed);
    if flaws.is_empty() {
        return Ok(());
    }
    Err(OfficeError::BadPayload { kind: parsed.payload.kind().to_owned(), flaws })
}

/// The teams that the letters of one call come from and go to, each loaded once.
#[derive(Debug)]
pub(crate) struct Routes<'t, 'a> {
    home: &'t Team<'a>,
    others: HashMap<TeamName, Team<'a>>,
}

impl<'t, 'a> Routes<'t, 'a> {
    /// From this team.
    pub(crate) fn from(home: &'t Team<'a>) -> Self {
        Self { home, others: HashMap::new() }
    }

    /// A team; another one than that of the sender is loaded when it is first asked for.
    fn team(&mut self, name: &TeamName) -> Result<&Team<'a>, OfficeError> {
        if name == self.home.name() {
            return Ok(self.home);
        }
        Ok(match self.others.entry(name.clone()) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(place) => place.insert(self.home.office().team(name)?),
        })
    }
}

/// Whether the recipient is there; an error if nobody knows that name. Processes are looked at only where the
/// configuration calls it inactive, or does not know it.
fn whereabouts(
    team: &Team<'_>,
    to: &MemberName,
    create: bool,
    warnings: &mut Vec<String>,
) -> Result<Delivery, OfficeError> {
    let name = team.name();
    match team.config().member(to.as_str()) {
        _ if to.as_str() == USER => Ok(Delivery::Delivered),
        Some(member) if team.why_off(member).is_some() => {
            warnings.push(format!("{to} is offline (isActive is false): the message is queued"));
            Ok(Delivery::Queued)
        }
        Some(_) => Ok(Delivery::Delivered),
        None if create || team.mailbox(to).exists() => {
            if let Some(pid) = team.agent_named(to) {
                warnings.push(format!("{to} is not a member of team {name}, and its process {pid} runs"));
                return Ok(Delivery::Delivered);
            }
            warnings.push(format!("{to} is not a member of team {name}: the message is queued"));
            Ok(Delivery::Queued)
        }
        None => Err(team.office().no_member(name, team.config(), to.as_str())),
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

impl Addressed {
    /// The answer for a letter that is in its inbox.
    pub(crate) fn written(self, appended: &Appended) -> Sent {
        let (status, stage) = match self.draft.delivery {
            Delivery::Delivered => (Delivery::Delivered, Stage::Written),
            Delivery::Queued => (Delivery::Queued, Stage::Queued),
        };
        let mut sent = self.sent(status, stage);
        sent.warnings.extend(appended.warnings.iter().map(ToString::to_string));
        if appended.known.contains(&sent.id) {
            sent.warnings
                .push("a message with this id is in the inbox already; it was not written again".to_owned());
        }
        sent
    }

    /// The answer for a letter that is accepted and not in its inbox yet.
    pub(crate) fn accepted(self) -> Sent {
        self.sent(Delivery::Queued, Stage::Accepted)
    }

    fn sent(self, status: Delivery, stage: Stage) -> Sent {
        Sent {
            id: self.draft.id,
            team: self.team,
            from: self.from,
            to: self.to,
            status,
            stage,
            timestamp: self.draft.timestamp,
            warnings: self.warnings,
            hint: self.hint,
        }
    }
}
