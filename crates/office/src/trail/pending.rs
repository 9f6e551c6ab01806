//! What waits for whom, and why we think so.

use std::collections::HashSet;
use std::time::Duration;

use atm_ledger::{Recorded, Stage, StageRecord, StepState};
use atm_store::Listing;
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{MemberName, Message, Stamp, TeamName, counted};
use serde::Serialize;

use crate::chores::described;
use crate::error::OfficeError;
use crate::mail::digest::ROUTINE;
use crate::office::Office;
use crate::people::presence::{Presence, Surroundings};
use crate::team::Team;
use crate::trail::history::Remembered;
use crate::trail::turns::Turns;

mod why;

pub use why::Why;
use why::why;

/// What was taken longer ago is not looked for in conversations any more.
const LATELY_MS: i64 = 24 * 60 * 60 * 1_000;
/// More than this is not a list any more.
const AT_MOST: usize = 1_000;
/// How long mail may lie unread by a member that is there, unless the settings say otherwise.
pub const UNREAD_AFTER: Duration = Duration::from_secs(10 * 60);

/// A message that waits.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    /// The message.
    #[serde(flatten)]
    pub message: Remembered,
    /// Why.
    pub why: Why,
    /// For how long, in milliseconds.
    pub waited_ms: i64,
}

/// A step of a chore that a process died over, and that may have had an effect: it is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnknownStep {
    /// What was to be done.
    pub what: String,
    /// When that was noticed.
    pub at: Stamp,
}

impl UnknownStep {
    /// In words.
    pub fn words(&self) -> String {
        format!("outcome unknown: {}; a process died over it, and it is not repeated", self.what)
    }
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// How many members' inboxes.
    pub inboxes: usize,
    /// Those that could not be read, in words: of these nobody knows what waits.
    pub unreadable: Vec<String>,
    /// What lies unread for less than this does not count, in milliseconds.
    pub unread_after_ms: u64,
    /// Whether there is more: mail that was taken before the last day, or too much of it, and is in no conversation.
    pub cut: bool,
}

impl Looked {
    /// That nothing waits, and what that means.
    pub fn nothing(&self) -> String {
        let inboxes = counted(self.inboxes, "inbox");
        let unread = Duration::from_millis(self.unread_after_ms);
        let minutes = unread.as_secs().div_ceil(60);
        let nothing = match self.unreadable.len() {
            0 => "nothing waits".to_owned(),
            bad => format!("nothing waits as far as is known ({bad} could not be read)"),
        };
        let cut = if self.cut {
            "; mail that was taken over a day ago and never seen was not looked at"
        } else {
            ""
        };
        format!(
            "{nothing}: no mail is queued, unacknowledged, lost, unanswered, or unread for {minutes} min by somebody who \
             is not off ({inboxes} and the ledger){cut}"
        )
    }
}

/// What waits in a team, and what was looked at to find it.
#[derive(Debug, Clone)]
pub struct Pending {
    /// What waits, oldest first.
    pub waiting: Vec<Waiting>,
    /// Steps of chores whose outcome nobody knows.
    pub unknown: Vec<UnknownStep>,
    /// What was looked at.
    pub looked: Looked,
}

/// A message that lies unread in its inbox.
fn unread(message: &Message, team: &TeamName, to: &str, why: Why, now: Stamp) -> Waiting {
    let sent = message.sent_at.unwrap_or(now);
    let ours = message.ours();
    Waiting {
        message: Remembered {
            id: message.id.clone(),
            team: team.to_string(),
            from: message.from.clone(),
            to: to.to_owned(),
            timestamp: sent,
            stage: Stage::Written,
            unproved: false,
            r#type: message.kind(),
            text: message.text.clone(),
            summary: message.summary.clone(),
            reply_to: ours.reply_to.clone(),
            files: Vec::new(),
            origin: ours.origin.clone(),
            found: None,
        },
        why,
        waited_ms: now.as_millis() - sent.as_millis(),
    }
}

impl Office {
    /// What waits in a team, oldest first.
    pub fn pending(&self, team: &TeamName) -> Result<Vec<Waiting>, OfficeError> {
        Ok(self.look_for_pending(team)?.waiting)
    }

    /// What waits in a team, and what was looked at to find it.
    pub fn look_for_pending(&self, team: &TeamName) -> Result<Pending, OfficeError> {
        self.team_to_look_at(team)?.look_for_pending()
    }

    /// Steps of chores that a process died over and that are not repeated, of the last day.
    fn unknown_steps(&self, team: &TeamName) -> Result<Vec<UnknownStep>, OfficeError> {
        let root = self.root_key();
        let since = self.now().as_millis() - LATELY_MS;
        let open = self.books.with(|ledger| ledger.open_steps(&root, team.as_str()))?;
        let unknown = open.iter().filter(|row| row.state == StepState::Unknown);
        let unknown = unknown.filter_map(|row| Some((row, row.ended_at.filter(|at| *at >= since)?)));
        Ok(unknown
            .map(|(row, at)| UnknownStep { what: described(row).what, at: Stamp::from_millis(at) })
            .collect())
    }

    /// Whether mail that may wait was not looked at, since it was taken long ago or there is too much of it.
    fn has_cut(&self, team: &TeamName) -> Result<bool, OfficeError> {
        let root = self.root_key();
        let lately = self.now().as_millis() - LATELY_MS;
        Ok(self.books.with(|ledger| ledger.has_more_pending(&root, team.as_str(), lately, AT_MOST))?)
    }

    /// What the ledger has that waits, with its stages, oldest first.
    pub(crate) fn open_mail(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        around: &Surroundings,
    ) -> Result<Vec<(Recorded, Vec<StageRecord>, Why)>, OfficeError> {
        let root = self.root_key();
        let lately = self.now().as_millis() - LATELY_MS;
        let found = self.books.with(|ledger| ledger.pending(&root, team.as_str(), lately, AT_MOST))?;
        let (turns, now) = (Turns::new(self, team, config, around), self.now().as_millis());
        let mut open = Vec::new();
        for message in found {
            let stages = self.books.with(|ledger| ledger.stages(&message))?;
            let fate = || turns.fate(&message.inbox.name, &message.id, &stages);
            let why = why((message.stage, message.ack_by), &stages, now, fate);
            if let Some(why) = why {
                open.push((message, stages, why));
            }
        }
        Ok(open)
    }
}

impl Team<'_> {
    /// What waits in the team, and what was looked at to find it.
    pub fn look_for_pending(&mut self) -> Result<Pending, OfficeError> {
        self.look()?;
        let (office, now) = (self.office(), self.office().now());
        office.trace_all(self.name(), &self.around);
        let waiting = office.open_mail(self.name(), self.config(), &self.around)?.into_iter().map(
            |(message, _, why)| {
                let waited_ms = now.as_millis() - message.sent_at;
                Waiting { message: message.into(), why, waited_ms }
            },
        );
        let mut waiting: Vec<Waiting> = waiting.collect();
        let unread_after_ms = u64::try_from(office.unread_after.as_millis()).unwrap_or(u64::MAX);
        let mut looked =
            Looked { inboxes: 0, unreadable: Vec::new(), unread_after_ms, cut: office.has_cut(self.name())? };
        self.add_unread(&mut waiting, &mut looked);
        waiting.sort_by_key(|waiting| waiting.message.timestamp);
        Ok(Pending { waiting, unknown: office.unknown_steps(self.name())?, looked })
    }

    /// Adds what lies unread: for long, in the inboxes of members that are there or may be; at all, in those of readers that are
    /// off.
    /// That is mail of others too, who do not say that they queue it.
    fn add_unread(&self, waiting: &mut Vec<Waiting>, looked: &mut Looked) {
        let now = self.office().now();
        let before = now.saturating_sub(self.office().unread_after);
        let known: HashSet<(String, String)> =
            waiting.iter().map(|waiting| (waiting.message.to.clone(), waiting.message.id.clone())).collect();
        let is_known = |to: &str, id: &str| known.contains(&(to.to_owned(), id.to_owned()));
        let without_entry = self.names_without_entry();
        let members = self.config().members.iter().map(|member| (member.name.as_str(), Some(member)));
        for (name, member) in members.chain(without_entry.iter().map(|name| (name.as_str(), None))) {
            let digest = match self.digests().get(name) {
                Some(Ok(digest)) => digest,
                Some(Err(error)) => {
                    looked.unreadable.push(error.to_string());
                    continue;
                }
                // A name that is fit for no path has no inbox.
                None => continue,
            };
            looked.inboxes += 1;
            if digest.waiting == 0
                || digest.waiting_ids().is_some_and(|ids| ids.iter().all(|id| is_known(name, id)))
            {
                continue;
            }
            let has_old = digest.oldest_unread.is_some_and(|sent| sent <= before.as_millis());
            let why = match self.state_of(name, member) {
                Presence::Offline => Why::UnreadOffline,
                // Also where nothing says whether somebody is there: it waits all the same.
                _ if has_old => Why::UnreadLong,
                _ => continue,
            };
            let listing = match self.listing_of(name) {
                Ok(listing) => listing,
                Err(error) => {
                    looked.unreadable.push(error.to_string());
                    continue;
                }
            };
            // Heartbeats are read with the rest, and nobody waits for that.
            let waits = |message: &&Message| {
                !message.read && message.kind() != ROUTINE && !is_known(name, &message.id)
            };
            let is_due = |message: &&Message| {
                why == Why::UnreadOffline || message.sent_at.is_some_and(|sent| sent <= before)
            };
            let unread_now = listing.messages.iter().filter(waits).take(AT_MOST).filter(is_due);
            waiting.extend(unread_now.map(|message| unread(message, self.name(), name, why, now)));
        }
    }

    fn listing_of(&self, name: &str) -> Result<Listing, OfficeError> {
        Ok(self.mailbox(&MemberName::parse(name)?).list()?)
    }

    /// Whether somebody is there who may have no entry.
    fn state_of(&self, name: &str, member: Option<&Member>) -> Presence {
        match member {
            Some(member) => self.judge(member).state,
            None if MemberName::parse(name).is_ok_and(|name| self.agent_named(&name).is_some()) => {
                Presence::Online
            }
            None => Presence::Offline,
        }
    }
}
