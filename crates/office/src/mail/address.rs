//! Who a letter goes to, and what is made of it: the draft that will be written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use atm_ledger::Stage;
use atm_store::{Appended, fresh_id};
use atm_wire::lint::payload_flaws;
use atm_wire::message::{Delivery, Ours};
use atm_wire::metadata;
use atm_wire::payload::Content;
use atm_wire::{Draft, MemberName, Stamp, TeamName};

use crate::error::OfficeError;
use crate::hint::Hint;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::mail::summary::summarize;
use crate::mail::tag::{self, Waited};
use crate::office::USER;
use crate::protocol::person::Person;
use crate::sessions;
use crate::team::Team;
use crate::trail::transcript::Remembered;

/// From this size on, the text of a message had better be a file, in bytes: a client shows it to its model at once.
const LARGE: usize = 32 * 1024;

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
        let (to, machine) = there.home_of(&letter.to.name);
        if let Some(machine) = machine.as_ref().filter(|_| target != team) {
            there.check_outsider((from, team), &to, machine)?;
        }
        // Whether it is there, its home knows.
        let delivery = match machine {
            Some(_) => Delivery::Delivered,
            None => whereabouts(there, &to, letter.session.as_deref(), options.create, &mut warnings)?,
        };
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
                tag::tagged(Waited::Queued { at: now }, &letter.text)
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
            to: to.to_string(),
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
                acted_by: letter.by.map(Person::words),
                session: letter.session.clone(),
                from_session: home.sending_session(from),
                machine: None,
            },
            kind: kind.map(|payload| payload.kind().to_owned()),
            recipients: letter.recipients.clone(),
            metadata: letter.metadata.clone(),
            home: machine,
        };
        Ok(Addressed {
            lead,
            created_at,
            team: target.clone(),
            draft,
            content,
            is_new: letter.id.is_none(),
            from: from.clone(),
            to,
            warnings,
            hint,
        })
    }
}

impl Addressed {
    /// A letter from another machine, whose sender and recipient were checked: what will be written is made of what came,
    /// as its recipient is now.
    pub(crate) fn from_elsewhere(
        team: &Team<'_>,
        draft: Draft,
        content: Content,
        from: MemberName,
        to: MemberName,
    ) -> Result<Self, OfficeError> {
        let (office, mut warnings) = (team.office(), Vec::new());
        let delivery = whereabouts(team, &to, draft.ours.session.as_deref(), false, &mut warnings)?;
        let content = if draft.text.starts_with('{') { content } else { Content::Text };
        let text = match delivery {
            Delivery::Queued if !content.is_protocol() => {
                tag::tagged(Waited::Queued { at: office.now() }, &draft.text)
            }
            _ => draft.text.clone(),
        };
        Ok(Self {
            lead: office.lead_to_remember(team.name(), team.config()),
            created_at: team.config().created_at,
            team: team.name().clone(),
            draft: Draft { text, delivery, ..draft },
            content,
            is_new: false,
            from,
            to,
            warnings,
            hint: None,
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
    session: Option<&str>,
    create: bool,
    warnings: &mut Vec<String>,
) -> Result<Delivery, OfficeError> {
    let name = team.name();
    match team.config().member(to.as_str()) {
        _ if to.as_str() == USER => Ok(Delivery::Delivered),
        Some(member) if sessions::is_team(name) => {
            Ok(team.office().session_delivery(member, session, warnings))
        }
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

impl Addressed {
    /// Who it is that sends: its sender, or the person who decides in that one's name.
    pub(crate) fn decided_by(&self) -> String {
        self.draft.ours.acted_by.clone().unwrap_or_else(|| self.from.to_string())
    }

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

    /// The answer for a letter to another machine that came as far as that one has told.
    pub(crate) fn told(self, stage: Stage, why: Option<String>) -> Result<Sent, OfficeError> {
        match (stage, self.draft.home.clone()) {
            (Stage::Accepted, _) => Ok(self.accepted()),
            (Stage::Failed, Some(machine)) => {
                let why = why.unwrap_or_else(|| "it failed there".to_owned());
                Err(OfficeError::Elsewhere { name: self.to.to_string(), machine, why })
            }
            (Stage::Queued, _) => Ok(self.sent(Delivery::Queued, stage)),
            _ => Ok(self.sent(Delivery::Delivered, stage)),
        }
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
