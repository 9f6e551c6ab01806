//! What happens to the UI, and what it wants done.

use std::ffi::OsString;

use atm_office::protocol::plan::PlanView;
use atm_office::tasks::TaskView;
use atm_office::trail::history::Remembered;
use atm_office::trail::track::Track;
use atm_office::view::TeamPicture;
use atm_office::view::mute::Muted;
use atm_office::watch::EventView;
use atm_panes::Peek;
use atm_wire::task::TaskId;
use atm_wire::{Stamp, TeamName};

use crate::keys::Key;

/// Something went wrong: in words, and what may help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
}

/// What happens to the UI.
#[derive(Debug)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// A click, at a column and a row.
    Click(u16, u16),
    /// The wheel was turned over a column and a row: down, or up.
    Wheel(u16, u16, bool),
    /// The terminal has another size.
    Resize(u16, u16),
    /// It is this time now.
    Tick(Stamp),
    /// These things happened in the teams.
    News(Vec<EventView>),
    /// The ledger's events can be followed, or why they cannot.
    Followed(Result<(), Trouble>),
    /// Something was looked up.
    Loaded(Box<Loaded>),
    /// Something was done, or not.
    Done(Act, Result<Outcome, Trouble>),
    /// The editor was closed: with a text, or why there is none.
    Edited(Result<String, Trouble>),
    /// The process was told to stop, or a part of it cannot go on.
    Over,
}

/// What is to be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Load {
    /// Which teams there are.
    Teams,
    /// One of them.
    Team(TeamName),
    /// Messages.
    Mail(MailKey),
    /// One of them.
    Message(TeamName, String),
}

/// Which messages are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MailKey {
    /// Of this team; a search is over all of them.
    pub(crate) team: Option<TeamName>,
    /// Sent or received by this member.
    pub(crate) with: Option<String>,
    /// With these words.
    pub(crate) words: Option<String>,
}

/// What was looked up, and when.
#[derive(Debug)]
pub(crate) enum Loaded {
    Teams(Result<Vec<TeamName>, Trouble>),
    Team(TeamName, Result<TeamKnown, Trouble>),
    Mail(MailKey, Stamp, Result<Vec<Remembered>, Trouble>),
    Message(String, Stamp, Result<Opened, Trouble>),
}

/// What is known of a team.
#[derive(Debug, Clone)]
pub(crate) struct TeamKnown {
    pub(crate) picture: TeamPicture,
    pub(crate) tasks: Vec<TaskView>,
    /// Those that nobody has decided.
    pub(crate) plans: Vec<PlanView>,
}

/// A message that is shown whole.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) track: Track,
    pub(crate) thread: Vec<Remembered>,
}

/// Something to be done in a team, as a command would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) team: TeamName,
    pub(crate) deed: Deed,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    Send { to: String, text: String },
    Reply { id: String, text: String },
    Acknowledge { id: String },
    MarkRead { id: String },
    Recall { id: String },
    Mute { kind: Muted, what: String },
    Unmute { kind: Muted, what: String },
    Wake { name: String },
    Peek { name: String },
    Attach { name: String },
    Approve { request: String },
    Reject { request: String, feedback: String },
    Shutdown { name: String, reason: String },
    ApproveShutdown { request: String },
    RejectShutdown { request: String, reason: String },
    Assign { task: TaskId, to: String },
    Release { task: TaskId },
}

/// What came of something that was done.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// It is done: in words.
    Said(String),
    /// A member's screen.
    Screen(Peek),
    /// The arguments of `tmux` that show a pane, and whether the terminal is in that server already.
    Pane(Vec<OsString>, bool),
}

/// What the UI wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Look something up.
    Load(Load),
    /// Do something.
    Do(Act),
    /// Open the editor with this text.
    Edit(String),
    /// Give the terminal to tmux, with these arguments, and whether it is in that server already.
    Tmux(Vec<OsString>, bool),
    /// Leave.
    Quit,
}
