//! Sending: who it goes to, what is written, what the sender is told.

use atm_store::{Appended, Mailbox};
use atm_wire::message::{Delivery, Ours, Priority};
use atm_wire::payload::classify;
use atm_wire::team::TeamConfig;
use atm_wire::{Address, Draft, MemberName, Stamp, TeamName};
use serde::Serialize;
use uuid::Uuid;

use crate::error::OfficeError;
use crate::office::{Office, USER};
use crate::summary::summarize;

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
    /// The id to use; a new one is made when there is none. An id that is in the inbox is not written twice.
    pub id: Option<String>,
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
            id: None,
        }
    }
}

/// How to send.
#[derive(Debug, Clone, Copy, Default)]
pub struct SendOptions {
    /// Make an inbox for a name that is no member and has none.
    pub create: bool,
    /// Refuse an inbox that does not parse, instead of setting it aside.
    pub strict: bool,
    /// Leave the text of mail for somebody who is off as it is.
    pub no_tag: bool,
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
    pub stage: &'static str,
    /// When it was sent.
    pub timestamp: Stamp,
    /// What the sender should know.
    pub warnings: Vec<String>,
}

/// A letter with its recipient found.
pub(crate) struct Addressed {
    team: TeamName,
    mailbox: Mailbox,
    draft: Draft,
    from: MemberName,
    to: MemberName,
    warnings: Vec<String>,
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
        let addressed = self.address(team, from, letter, options)?;
        let mut sent = deliver(vec![addressed], options.strict);
        // One letter in, one answer out.
        sent.pop().unwrap_or(Err(OfficeError::EmptyMessage))
    }

    /// Sends many letters: all are checked before the first is written, and each inbox is written once.
    ///
    /// The outer error means that nothing was written; the answers stand in the order of the letters.
    pub fn send_all(
        &self,
        team: &TeamName,
        from: &MemberName,
        letters: &[Letter],
        options: SendOptions,
    ) -> Result<Vec<Result<Sent, OfficeError>>, (usize, OfficeError)> {
        let addressed = letters
            .iter()
            .enumerate()
            .map(|(index, letter)| self.address(team, from, letter, options).map_err(|error| (index, error)))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(deliver(addressed, options.strict))
    }

    pub(crate) fn address(
        &self,
        team: &TeamName,
        from: &MemberName,
        letter: &Letter,
        options: SendOptions,
    ) -> Result<Addressed, OfficeError> {
        if letter.text.trim().is_empty() {
            return Err(OfficeError::EmptyMessage);
        }
        let target = letter.to.team.as_ref().unwrap_or(team);
        let config = self.folder(target)?.load()?;
        let mailbox = self.mailbox(target, &letter.to.name);
        let mut warnings = Vec::new();
        let delivery =
            self.whereabouts(target, &config, &letter.to.name, &mailbox, options.create, &mut warnings)?;
        let home = if target == team { None } else { Some(self.folder(team)?.load()?) };
        let sender = home.as_ref().unwrap_or(&config).member(from.as_str());
        if sender.is_none() && from.as_str() != USER {
            warnings.push(format!("{from} is not a member of team {team}"));
        }
        let now = self.now();
        let is_protocol = classify(&letter.text, None).is_protocol();
        let text = match delivery {
            Delivery::Queued if !options.no_tag && !is_protocol => {
                format!("[PENDING ACTION - queued while offline at {now}] {}", letter.text)
            }
            _ => letter.text.clone(),
        };
        let summary =
            (!is_protocol).then(|| letter.summary.clone().unwrap_or_else(|| summarize(&letter.text)));
        let draft = Draft {
            id: letter.id.clone().unwrap_or_else(|| Uuid::now_v7().to_string()),
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
            },
        };
        Ok(Addressed {
            team: target.clone(),
            mailbox,
            draft,
            from: from.clone(),
            to: letter.to.name.clone(),
            warnings,
        })
    }

    /// Whether the recipient is there; an error if nobody knows that name.
    fn whereabouts(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        to: &MemberName,
        mailbox: &Mailbox,
        create: bool,
        warnings: &mut Vec<String>,
    ) -> Result<Delivery, OfficeError> {
        match config.member(to.as_str()) {
            _ if to.as_str() == USER => Ok(Delivery::Delivered),
            Some(member) if member.is_offline() => {
                warnings.push(format!("{to} is offline (isActive is false): the message is queued"));
                Ok(Delivery::Queued)
            }
            Some(_) => Ok(Delivery::Delivered),
            None if create || mailbox.exists() => {
                warnings.push(format!("{to} is not a member of team {team}: the message is queued"));
                Ok(Delivery::Queued)
            }
            None => Err(self.no_member(team, config, to.as_str())),
        }
    }
}

/// Writes letters, one write for each inbox; the answers stand in the order of the letters.
fn deliver(addressed: Vec<Addressed>, strict: bool) -> Vec<Result<Sent, OfficeError>> {
    let mut answers = Vec::new();
    let mut waiting: Vec<(usize, Addressed)> = addressed.into_iter().enumerate().collect();
    while let Some((_, first)) = waiting.first() {
        let file = first.mailbox.file();
        let (group, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, a)| a.mailbox.file() == file);
        waiting = rest;
        let drafts: Vec<Draft> = group.iter().map(|(_, addressed)| addressed.draft.clone()).collect();
        let written = group[0].1.mailbox.append(&drafts, strict);
        for (index, addressed) in group {
            let answer = match &written {
                Ok(appended) => Ok(addressed.sent(appended)),
                Err(error) => Err(OfficeError::from(error.clone())),
            };
            answers.push((index, answer));
        }
    }
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

impl Addressed {
    fn sent(self, appended: &Appended) -> Sent {
        let mut warnings = self.warnings;
        warnings.extend(appended.warnings.iter().map(ToString::to_string));
        if appended.known.contains(&self.draft.id) {
            warnings
                .push("a message with this id is in the inbox already; it was not written again".to_owned());
        }
        Sent {
            id: self.draft.id,
            team: self.team,
            from: self.from,
            to: self.to,
            status: self.draft.delivery,
            stage: "written",
            timestamp: self.draft.timestamp,
            warnings,
        }
    }
}
