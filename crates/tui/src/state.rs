//! What the UI knows and shows.

use std::collections::VecDeque;

use atm_office::people::members::MemberView;
use atm_office::protocol::plan::PlanView;
use atm_office::tasks::TaskView;
use atm_office::trail::history::Remembered;
use atm_office::trail::pending::Waiting;
use atm_office::view::mute::Muted;
use atm_office::watch::EventView;
use atm_panes::Peek;
use atm_wire::task::{Status, TaskId};
use atm_wire::{MemberName, Stamp, TeamName};

use crate::edit::Edit;
use crate::event::{Act, MailKey, Opened, TeamKnown, Trouble};
use crate::keys::Place;
use crate::need::Need;
use crate::theme::Theme;

/// So many events are kept.
pub(crate) const LOG: usize = 1_000;

/// The parts of the UI, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Mail,
    Needs,
    Tasks,
    Log,
}

impl Tab {
    pub(crate) const ALL: [Self; 4] = [Self::Mail, Self::Needs, Self::Tasks, Self::Log];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Mail => "Mail",
            Self::Needs => "Needs you",
            Self::Tasks => "Tasks",
            Self::Log => "Log",
        }
    }
}

/// A team, with what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct TeamRow {
    pub(crate) name: TeamName,
    /// Nothing before the first look.
    pub(crate) known: Option<TeamKnown>,
    /// Why the last look failed; what is known is older then.
    pub(crate) trouble: Option<Trouble>,
}

/// The messages that are listed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mail {
    /// Which they are.
    pub(crate) of: MailKey,
    /// The newest first.
    pub(crate) rows: Vec<Remembered>,
    /// When they were looked up; nothing before that.
    pub(crate) as_of: Option<Stamp>,
    pub(crate) trouble: Option<Trouble>,
    /// The one that is meant; the newest, if none was chosen.
    pub(crate) chosen: Option<String>,
}

impl Mail {
    pub(crate) fn selected(&self) -> usize {
        let chosen = self.chosen.as_ref();
        chosen.and_then(|id| self.rows.iter().position(|row| row.id == *id)).unwrap_or(0)
    }
}

/// The message that is shown whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) id: String,
    pub(crate) opened: Option<Opened>,
    pub(crate) as_of: Option<Stamp>,
    pub(crate) trouble: Option<Trouble>,
}

/// Which part of a letter is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    To,
    Text,
}

/// A letter that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compose {
    pub(crate) team: TeamName,
    pub(crate) to: Edit,
    pub(crate) text: Edit,
    pub(crate) reply_to: Option<String>,
    pub(crate) field: Field,
}

/// What an answer is wanted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ask {
    Search,
    Reject(String),
    RejectShutdown(String),
    Shutdown(String),
    Assign(TaskId),
}

/// What lies above the rest, and has the keys.
#[derive(Debug, Clone)]
pub(crate) enum Dialog {
    Help(usize),
    Compose(Compose),
    Prompt(Ask, Edit),
    Confirm(Act),
    Peek(Peek, Stamp, usize),
}

/// What came of the last action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) words: String,
    /// The command that it was.
    pub(crate) command: Option<String>,
    pub(crate) is_bad: bool,
    pub(crate) at: Stamp,
}

/// Whether the ledger's events can be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// It was not tried yet.
    Opening,
    /// They are.
    Live,
    /// They are not, since then.
    Lost(Trouble, Stamp),
}

/// All of it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) me: MemberName,
    pub(crate) theme: Theme,
    pub(crate) now: Stamp,
    pub(crate) size: (u16, u16),
    pub(crate) tab: Tab,
    /// What has the keys in the first tab.
    pub(crate) focus: Place,
    /// Nothing before they were looked up.
    pub(crate) teams: Option<Vec<TeamRow>>,
    pub(crate) teams_trouble: Option<Trouble>,
    /// The team that is meant.
    pub(crate) team: Option<TeamName>,
    /// The member that is meant; everybody, if none is.
    pub(crate) member: Option<String>,
    pub(crate) mail: Mail,
    pub(crate) message: Shown,
    pub(crate) scroll: usize,
    pub(crate) need: usize,
    pub(crate) task: usize,
    /// The newest last.
    pub(crate) log: VecDeque<EventView>,
    /// How far the log is scrolled back.
    pub(crate) log_back: usize,
    pub(crate) dialog: Option<Dialog>,
    /// A letter that was left.
    pub(crate) draft: Option<Compose>,
    pub(crate) notice: Option<Notice>,
    pub(crate) link: Link,
    /// What is under way: shown until its answer comes.
    pub(crate) busy: Option<String>,
}

impl State {
    pub(crate) fn new(
        me: MemberName,
        team: Option<TeamName>,
        theme: Theme,
        now: Stamp,
        size: (u16, u16),
    ) -> Self {
        Self {
            me,
            theme,
            now,
            size,
            tab: Tab::Mail,
            focus: Place::Mail,
            teams: None,
            teams_trouble: None,
            mail: Mail { of: MailKey { team: team.clone(), ..MailKey::default() }, ..Mail::default() },
            team,
            member: None,
            message: Shown::default(),
            scroll: 0,
            need: 0,
            task: 0,
            log: VecDeque::new(),
            log_back: 0,
            dialog: None,
            draft: None,
            notice: None,
            link: Link::Opening,
            busy: None,
        }
    }

    /// What has the keys.
    pub(crate) fn place(&self) -> Place {
        match (&self.dialog, self.tab) {
            (Some(Dialog::Help(_)), _) => Place::Help,
            (Some(Dialog::Compose(_)), _) => Place::Compose,
            (Some(Dialog::Prompt(..)), _) => Place::Prompt,
            (Some(Dialog::Confirm(_)), _) => Place::Confirm,
            (Some(Dialog::Peek(..)), _) => Place::Peek,
            (None, Tab::Mail) => self.focus,
            (None, Tab::Needs) => Place::Needs,
            (None, Tab::Tasks) => Place::Tasks,
            (None, Tab::Log) => Place::Log,
        }
    }

    pub(crate) fn team_rows(&self) -> &[TeamRow] {
        self.teams.as_deref().unwrap_or_default()
    }

    pub(crate) fn team_row(&self) -> Option<&TeamRow> {
        let team = self.team.as_ref()?;
        self.team_rows().iter().find(|row| row.name == *team)
    }

    pub(crate) fn team_index(&self) -> usize {
        let is_meant = |row: &TeamRow| Some(&row.name) == self.team.as_ref();
        self.team_rows().iter().position(is_meant).unwrap_or(0)
    }

    /// What is known of the team that is meant.
    pub(crate) fn known(&self) -> Option<&TeamKnown> {
        self.team_row()?.known.as_ref()
    }

    pub(crate) fn members(&self) -> &[MemberView] {
        self.known().map_or(&[], |known| &known.picture.members)
    }

    /// Which row of the members is meant: the first stands for everybody.
    pub(crate) fn member_index(&self) -> usize {
        let is_meant = |member: &MemberView| Some(&member.name) == self.member.as_ref();
        self.members().iter().position(is_meant).map_or(0, |at| at + 1)
    }

    /// The lead's name, as far as it is known.
    pub(crate) fn lead(&self) -> &str {
        let lead = self.members().iter().find(|member| member.lead);
        lead.map_or("team-lead", |member| &member.name)
    }

    /// The message that is meant in the list.
    pub(crate) fn listed(&self) -> Option<&Remembered> {
        self.mail.rows.get(self.mail.selected())
    }

    /// What needs a person first, then what waits, then what is muted.
    pub(crate) fn needs(&self) -> Vec<Need<'_>> {
        let Some(known) = self.known() else { return Vec::new() };
        let picture = &known.picture;
        let mut needs: Vec<Need> = known.plans.iter().map(Need::Plan).collect();
        let is_plan = |id: &str| known.plans.iter().any(|plan| plan.id == id);
        needs.extend(picture.for_you.iter().rev().filter(|message| !is_plan(&message.id)).map(Need::ForYou));
        needs.extend(picture.sessions_waiting.iter().map(Need::Session));
        needs.extend(picture.attention.iter().map(Need::Look));
        let is_told = |waiting: &&Waiting| {
            let id = Some(&waiting.message.id);
            picture.attention.iter().any(|attention| attention.message.as_ref() == id)
        };
        needs.extend(picture.pending.iter().filter(|waiting| !is_told(waiting)).map(Need::Waits));
        needs.extend(picture.muted.iter().map(Need::Muted));
        needs
    }

    /// The tasks in the order of the board: nobody's, somebody's, done.
    pub(crate) fn board(&self) -> [Vec<&TaskView>; 3] {
        let tasks = self.known().map_or(&[][..], |known| &known.tasks);
        let of = |column: usize| tasks.iter().filter(|task| column_of(task) == column).collect();
        [of(0), of(1), of(2)]
    }

    /// The task that is meant.
    pub(crate) fn meant_task(&self) -> Option<&TaskView> {
        self.board().iter().flatten().nth(self.task).copied()
    }

    /// The member that an action is about, in the place that has the keys.
    pub(crate) fn meant_member(&self) -> Option<String> {
        let other = |message: &Remembered| {
            if message.from == self.me.as_str() { message.to.clone() } else { message.from.clone() }
        };
        match self.place() {
            Place::Mail | Place::Message => self.listed().map(other).or_else(|| self.member.clone()),
            Place::Needs => self.needs().get(self.need).and_then(|need| need.who().map(ToOwned::to_owned)),
            Place::Tasks => self.meant_task().and_then(|task| task.owner.clone()),
            _ => self.member.clone(),
        }
    }

    /// The id of the message that an action is about, and the team that it is in.
    pub(crate) fn meant_message(&self) -> Option<(TeamName, String)> {
        match self.place() {
            Place::Mail | Place::Message => {
                let message = self.listed()?;
                Some((TeamName::parse(&message.team).ok()?, message.id.clone()))
            }
            Place::Needs => {
                let id = self.needs().get(self.need)?.message()?.to_owned();
                Some((self.team.clone()?, id))
            }
            _ => None,
        }
    }

    /// What can be muted where the keys are, and the team that it is in.
    pub(crate) fn meant_subject(&self) -> Option<(TeamName, Muted, String)> {
        let team = self.team.clone()?;
        match self.place() {
            Place::Needs => {
                let needs = self.needs();
                let (kind, what) = needs.get(self.need)?.subject()?;
                Some((team, kind, what.to_owned()))
            }
            Place::Members => Some((team, Muted::Member, self.member.clone()?)),
            Place::Tasks => Some((team, Muted::Task, self.meant_task()?.id.to_string())),
            _ => self.meant_message().map(|(team, id)| (team, Muted::Message, id)),
        }
    }

    /// Whether that is muted, as far as is known.
    pub(crate) fn is_muted(&self, team: &TeamName, kind: Muted, what: &str) -> bool {
        let row = self.team_rows().iter().find(|row| row.name == *team);
        let known = row.and_then(|row| row.known.as_ref());
        known.is_some_and(|known| {
            known.picture.muted.iter().any(|mute| (mute.kind, mute.what.as_str()) == (kind, what))
        })
    }

    /// The open plan that is meant.
    pub(crate) fn meant_plan(&self) -> Option<&PlanView> {
        let (_, id) = self.meant_message()?;
        self.known()?.plans.iter().find(|plan| plan.id == id)
    }
}

/// Where a task stands on the board.
pub(crate) fn column_of(task: &TaskView) -> usize {
    match task.status {
        Status::Completed => 2,
        Status::InProgress => 1,
        _ => 0,
    }
}
