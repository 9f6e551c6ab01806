//! One picture of a team, computed once and rendered by every front.

use atm_wire::task::Status;
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;

use super::attention::{self, Attention};
use super::message::MessageView;
use super::mute::{self, Mute};
use crate::error::OfficeError;
use crate::mail::inbox::Filter;
use crate::office::Office;
use crate::people::members::MemberView;
use crate::people::presence::Presence;
use crate::sessions::WaitingSession;
use crate::tasks::{TaskFilter, TaskView};
use crate::team::Team;
use crate::trail::pending::{Looked, Waiting};

/// A team in one look.
#[derive(Debug, Clone, Serialize)]
pub struct TeamPicture {
    /// The team.
    pub team: TeamName,
    /// When it was looked at.
    pub as_of: Stamp,
    /// The place in the log that it was taken at, for [`follow`](Office::follow): events after it may be in the picture, none
    /// before it is missing.
    pub cursor: String,
    /// Its members, with their presence and the reasons for it.
    pub members: Vec<MemberView>,
    /// What waits for whom.
    pub pending: Vec<Waiting>,
    /// What somebody should look at, the most urgent first.
    pub attention: Vec<Attention>,
    /// Unread mail for the one who looks, in reading order.
    pub for_you: Vec<MessageView>,
    /// What is left out of both for a while, since a person said so.
    pub muted: Vec<Mute>,
    /// How far the tasks are.
    pub tasks: TaskCounts,
    /// Whether its lead signs what it sends.
    pub lead_signs: bool,
    /// What was looked at: "nothing waits" means nothing of this.
    pub looked: Looked,
    /// Beside the team: sessions that wait for their user and are nobody's in a team, where somebody
    /// [asked for them](Office::put_sessions_beside).
    pub sessions_waiting: Vec<WaitingSession>,
    /// What else one should know.
    pub warnings: Vec<String>,
}

/// How many tasks there are, by how far they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// Nobody works on them.
    pub pending: usize,
    /// Of these, those that anybody could claim now.
    pub ready: usize,
    /// Somebody works on them.
    pub in_progress: usize,
    /// Done.
    pub completed: usize,
}

impl TaskCounts {
    fn of(tasks: &[TaskView]) -> Self {
        let count = |status: &Status| tasks.iter().filter(|task| task.status == *status).count();
        Self {
            pending: count(&Status::Pending),
            ready: tasks.iter().filter(|task| task.ready).count(),
            in_progress: count(&Status::InProgress),
            completed: count(&Status::Completed),
        }
    }
}

impl Office {
    /// Takes a picture of a team, as `who` sees it.
    pub fn picture(&self, team: &TeamName, who: &MemberName) -> Result<TeamPicture, OfficeError> {
        self.team_to_look_at(team)?.picture(who)
    }
}

impl Team<'_> {
    /// Takes a picture of the team, as `who` sees it.
    pub fn picture(&mut self, who: &MemberName) -> Result<TeamPicture, OfficeError> {
        // If tmux cannot be asked, or nothing written, what the configuration says stands.
        let _ = self.notice_exits();
        let cursor = self.office().books.with(|ledger| ledger.cursor())?.to_string();
        let look = self.look_for_pending()?;
        let members = self.members();
        // Who has no inbox has no mail.
        let unread = Filter { unread: true, ..Filter::default() };
        let mut for_you = self.inbox(who, &unread).map(|look| look.messages).unwrap_or_default();
        let listed = self.tasks().list(&TaskFilter::default())?;
        let mut attention = attention::gather(&look, &members, &listed.tasks);
        // What cannot be read mutes nothing.
        let muted = self.mutes().unwrap_or_default();
        attention.retain(|attention| !mute::hide(&muted, attention));
        for_you.retain(|message| !mute::hide_message(&muted, &message.id));
        Ok(TeamPicture {
            team: self.name().clone(),
            as_of: self.office().now(),
            cursor,
            attention,
            members,
            pending: look.waiting,
            for_you,
            muted,
            tasks: TaskCounts::of(&listed.tasks),
            lead_signs: self.lead_signs(),
            looked: look.looked,
            sessions_waiting: Vec::new(),
            warnings: listed.warnings,
        })
    }
}

impl TeamPicture {
    /// What needs a look, one for each member, the most urgent first; what is about nobody stands for itself.
    pub fn needs_a_look(&self) -> Vec<&Attention> {
        let mut found: Vec<&Attention> = Vec::new();
        for attention in &self.attention {
            if attention.who.is_none() || found.iter().all(|known| known.who != attention.who) {
                found.push(attention);
            }
        }
        found
    }

    /// Whether the team has members and all of them are off: what waits for them waits for the next start.
    pub fn is_deserted(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(|member| member.state == Presence::Offline)
    }

    /// Whether a person wants to hear nothing of a message for a while.
    pub fn mutes_message(&self, id: &str) -> bool {
        mute::hide_message(&self.muted, id)
    }

    /// What makes two pictures different: all but the time, and how long something waits.
    pub fn essence(&self) -> String {
        let waiting: Vec<_> = self.pending.iter().map(|waiting| (&waiting.message, waiting.why)).collect();
        let for_you: Vec<_> = self.for_you.iter().map(|message| &message.id).collect();
        let rest = (&self.attention, &self.muted, for_you, self.tasks, self.lead_signs, &self.warnings);
        serde_json::to_string(&(&self.members, waiting, rest, &self.sessions_waiting)).unwrap_or_default()
    }
}
