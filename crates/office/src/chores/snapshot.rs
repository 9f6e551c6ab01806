//! What chores decide by: a team as it was found at one moment.

use std::collections::{BTreeMap, BTreeSet};

use atm_ledger::{HealthRow, Recorded, StageRecord};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{Draft, MemberName, Message, Stamp, TeamName};

use super::standing::{self, Standing};
use super::wake::{Memory, woken_as};
use crate::error::OfficeError;
use crate::mail::outbox::parse_draft;
use crate::office::Office;
use crate::people::exits::Ended;
use crate::people::presence::{Presence, judge};
use crate::reservations::Kept;
use crate::sessions::{self, Noted};
use crate::tasks::{LeaseView, TaskFilter, TaskView};
use crate::team::Team;
use crate::trail::pending::Why;
use crate::view::mute::Mute;
use atm_wire::task::Status;

/// Which parts of a snapshot are needed: the others stay empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
pub struct Parts {
    /// Mail that waits, with its stages.
    pub waiting: bool,
    /// What stands in the inboxes, and for which mail members were woken.
    pub inboxes: bool,
    /// Who is there, and how far a health sweep is with each.
    pub people: bool,
    /// The tasks.
    pub tasks: bool,
    /// Whose program has ended.
    pub exits: bool,
    /// What its members have reserved.
    pub reservations: bool,
    /// The register of sessions.
    pub sessions: bool,
    /// What people may have to know of each member, and of what they were told.
    pub standings: bool,
}

impl Parts {
    /// These and those.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            waiting: self.waiting || other.waiting,
            inboxes: self.inboxes || other.inboxes,
            people: self.people || other.people,
            tasks: self.tasks || other.tasks,
            exits: self.exits || other.exits,
            reservations: self.reservations || other.reservations,
            sessions: self.sessions || other.sessions,
            standings: self.standings || other.standings,
        }
    }
}

/// A team as it was found at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Which.
    pub team: Option<TeamName>,
    /// Its configuration.
    pub config: TeamConfig,
    /// Who leads it.
    pub lead: Option<MemberName>,
    /// The members that count as off.
    pub off: BTreeSet<String>,
    /// Mail that waits.
    pub waiting: Vec<Waited>,
    /// What stands in each member's inbox.
    pub inboxes: BTreeMap<MemberName, Vec<Message>>,
    /// For which mail each member was woken.
    pub(crate) wakes: BTreeMap<MemberName, Memory>,
    /// Who is there, without the lead.
    pub members: Vec<MemberNow>,
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// Whose program has ended.
    pub ended: Vec<Ended>,
    /// What its members have reserved.
    pub(crate) reservations: Vec<Kept>,
    /// The register of sessions, which is their own team's business.
    pub(crate) sessions: Vec<Noted>,
    /// What people may have to know of each member, the lead among them.
    pub standings: Vec<Standing>,
    /// Subjects and numbers of what people were told.
    pub told: BTreeSet<(String, i64)>,
    /// What people want to hear nothing of for a while, or did lately.
    pub mutes: Vec<Mute>,
}

/// A message that waits.
#[derive(Debug, Clone)]
pub struct Waited {
    /// The message.
    pub message: Recorded,
    /// What became of it so far.
    pub stages: Vec<StageRecord>,
    /// Why it counts as waiting.
    pub why: Why,
    /// As it was written, if we did.
    pub draft: Option<Draft>,
    /// Since when its recipient is there to act on it, if it is.
    pub back_since: Option<Stamp>,
    /// It stands in the inbox, unread: it is on offer.
    pub lies_unread: bool,
}

/// A member, for a health sweep.
#[derive(Debug, Clone)]
pub struct MemberNow {
    /// Who.
    pub name: MemberName,
    /// Whether it is there.
    pub presence: Presence,
    /// When it last said something.
    pub said: Option<Stamp>,
    /// When it was started.
    pub started: Option<Stamp>,
    /// How far a sweep is with it.
    pub row: Option<HealthRow>,
    /// Its claims.
    pub leases: Vec<LeaseView>,
    /// What it has not done yet.
    pub open_tasks: Vec<String>,
}

/// How far a health sweep is with a member.
type HealthOf = (MemberName, Option<HealthRow>);

impl Snapshot {
    /// Looks at a team.
    pub(crate) fn take(handle: &mut Team<'_>, parts: Parts) -> Result<Self, OfficeError> {
        let (office, team) = (handle.office(), &handle.name().clone());
        if parts.waiting || parts.people || parts.standings {
            handle.look()?;
        } else {
            office.complete_accepted(team, None);
        }
        let is_off = |member: &&Member| handle.why_off(member).is_some();
        let off = handle.config().members.iter().filter(is_off).map(|member| member.name.clone()).collect();
        let (lead, config) = (handle.lead().ok().cloned(), handle.config().clone());
        let mut snapshot = Self { team: Some(team.clone()), config, lead, off, ..Self::default() };
        if parts.exits {
            // If tmux cannot be asked, what the configuration says stands.
            snapshot.ended = office.ended(&snapshot.config).unwrap_or_default();
        }
        // Before the tasks: after a stall a row is at its end, and with tasks of before it a check would be due again.
        let rows = if parts.people { snapshot.health_rows(office, team)? } else { Vec::new() };
        if parts.tasks || parts.people || parts.standings {
            snapshot.tasks = handle.tasks().list(&TaskFilter::default())?.tasks;
        }
        if parts.people {
            snapshot.members = snapshot.gather_members(handle, rows);
        }
        if parts.waiting {
            snapshot.waiting = snapshot.gather_waiting(handle)?;
        }
        if parts.inboxes {
            let here = handle.config().members.iter().filter(|member| member.machine.is_none());
            for name in here.filter_map(|member| member.checked_name().ok()) {
                let mailbox = office.mailbox(team, &name);
                // An inbox that cannot be read is reported by its readers.
                let messages = mailbox.list().map(|listing| listing.messages).unwrap_or_default();
                let remembered = office.memo(&mailbox).read()?;
                snapshot.wakes.insert(name.clone(), Memory::parse(remembered.as_deref()));
                snapshot.inboxes.insert(name, messages);
            }
            if sessions::is_team(team) {
                snapshot.wake_sessions(office);
            }
        }
        if parts.reservations {
            snapshot.reservations = office.kept_reservations(team)?;
        }
        if parts.sessions && sessions::is_team(team) {
            snapshot.sessions = office.noted_sessions()?;
        }
        if parts.standings {
            snapshot.standings = standing::gather(handle, &snapshot);
            snapshot.told = standing::told(handle)?;
            // What cannot be read mutes nothing.
            snapshot.mutes = handle.recent_mutes().unwrap_or_default();
        }
        Ok(snapshot)
    }

    /// Folders with unread mail are woken as the sessions that work there.
    fn wake_sessions(&mut self, office: &Office) {
        let has_unread = |name: &str| {
            let messages = self.inboxes.iter().find(|(known, _)| known.as_str() == name);
            messages.is_some_and(|(_, messages)| messages.iter().any(|message| !message.read))
        };
        let mut mailboxes: Vec<&mut Member> =
            self.config.members.iter_mut().filter(|member| has_unread(&member.name)).collect();
        if mailboxes.is_empty() {
            return;
        }
        let running = office.running_sessions();
        for mailbox in &mut mailboxes {
            if let Some(woken) = woken_as(mailbox, &running) {
                **mailbox = woken;
            }
        }
    }

    /// How far a health sweep is with each member but the lead.
    fn health_rows(&self, office: &Office, team: &TeamName) -> Result<Vec<HealthOf>, OfficeError> {
        let leads = |member: &&Member| self.lead.as_ref().is_some_and(|lead| lead.as_str() == member.name);
        let mut rows = Vec::new();
        let others = self.config.members.iter().filter(|member| !leads(member) && member.machine.is_none());
        for member in others {
            let Ok(name) = member.checked_name() else { continue };
            let inbox = office.inbox_key(team, &name);
            rows.push((name, office.books.with(|ledger| ledger.health(&inbox))?));
        }
        Ok(rows)
    }

    fn gather_members(&self, team: &Team<'_>, rows: Vec<HealthOf>) -> Vec<MemberNow> {
        let (office, now) = (team.office(), team.office().now());
        let known = office.last_states(team.name());
        office.trace_all(team.name(), &team.around);
        let (mut members, mut judged) = (Vec::new(), Vec::new());
        for (name, row) in rows {
            let Some(member) = self.config.member(name.as_str()) else { continue };
            let signs = office.signs(team.name(), &self.config, member, &team.around);
            let presence = judge(&signs, now);
            let is_open = |task: &&TaskView| {
                task.owner.as_deref() == Some(name.as_str()) && task.status != Status::Completed
            };
            let open: Vec<&TaskView> = self.tasks.iter().filter(is_open).collect();
            members.push(MemberNow {
                presence: presence.state,
                said: signs.word.as_ref().map(|word| word.at),
                started: member.spawned_at.or(member.joined_at),
                row,
                leases: open.iter().filter_map(|task| task.lease.clone()).collect(),
                open_tasks: open.iter().map(|task| task.id.to_string()).collect(),
                name,
            });
            judged.push((member.name.as_str(), presence));
        }
        office.record_presence(team.name(), &known, judged.iter().map(|(name, judged)| (*name, judged)));
        members
    }

    fn gather_waiting(&self, team: &Team<'_>) -> Result<Vec<Waited>, OfficeError> {
        let (office, handle) = (team.office(), team);
        let team = handle.name();
        let mut open = office.open_mail(team, &self.config, &handle.around)?;
        // Mail for a member of another machine is that one's to offer again.
        if self.config.is_shared() {
            open.retain(|(message, ..)| self.config.machine_of(&message.inbox.name).is_none());
        }
        let recipients: BTreeSet<&str> =
            open.iter().map(|(message, ..)| message.inbox.name.as_str()).collect();
        let mut unread = BTreeSet::new();
        for name in recipients {
            let Ok(parsed) = MemberName::parse(name) else { continue };
            let messages = office.mailbox(team, &parsed).list().map(|listing| listing.messages);
            let of_this = messages.unwrap_or_default().into_iter().filter(|message| !message.read);
            unread.extend(of_this.map(|message| (name.to_owned(), message.id)));
        }
        let waited = |(message, stages, why): (Recorded, Vec<StageRecord>, Why)| -> Result<_, OfficeError> {
            let draft = office.books.with(|ledger| ledger.draft(&message.inbox, &message.id))?;
            Ok(Waited {
                draft: draft.as_deref().and_then(parse_draft),
                back_since: self.back_since(&message, &stages),
                lies_unread: unread.contains(&(message.inbox.name.clone(), message.id.clone())),
                message,
                stages,
                why,
            })
        };
        open.into_iter().map(waited).collect()
    }

    /// Since when the recipient is back; `None` while it is off.
    fn back_since(&self, message: &Recorded, stages: &[StageRecord]) -> Option<Stamp> {
        let member = self.config.member(&message.inbox.name)?;
        if self.off.contains(&member.name) {
            return None;
        }
        let sent = Stamp::from_millis(message.sent_at);
        let taken = stages.iter().find(|record| record.stage == atm_ledger::Stage::Taken);
        let taken = taken.map(|record| Stamp::from_millis(record.at));
        let spawned = member.spawned_at.or(member.joined_at).filter(|spawned| *spawned >= sent);
        Some([taken, spawned].into_iter().flatten().min().unwrap_or(sent))
    }
}
