//! What the office refuses or could not do: the kind of error, a stable code, and the data that it is about.

use atm_ledger::{LedgerError, Stage};
use atm_store::StoreError;
use atm_store::mend::UndoError;
use atm_wire::team::FieldError;
use atm_wire::{MemberName, NameError, TeamName};

use crate::chores::wake::WakeError;
use crate::mail::partly::Done;
use crate::mail::recall::WhyKept;
use crate::people::spawn_error::SpawnError;
use crate::tasks::TaskError;

/// What sort of error it is. Each front has its own way to end with it: an exit code, an answer, a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// What was asked for makes no sense.
    Invalid,
    /// There is no such team, member or message.
    NotFound,
    /// It is refused by policy or for want of authority.
    Refused,
    /// A lock could not be had; nothing was written.
    Busy,
    /// The data is bad; nothing was changed.
    BadData,
    /// Input or output failed.
    Io,
    /// It is written, but the awaited stage did not come in time.
    TimedOut,
    /// The process was stopped, and everything was taken back.
    Interrupted,
}

/// An error of the office.
#[derive(Debug, thiserror::Error)]
pub enum OfficeError {
    /// There is no team of that name.
    #[error("there is no team {wanted:?}")]
    NoTeam {
        /// What was asked for.
        wanted: String,
        /// The most similar names.
        nearest: Vec<String>,
    },
    /// An alias of a team that is gone.
    #[error("{alias:?} stands for the team {team:?}, which is gone")]
    DeadAlias {
        /// What was asked for.
        alias: String,
        /// What it stands for.
        team: String,
    },
    /// A client of the team runs that reads arrays alone.
    #[error("team {team} is at work in the array layout: {why}")]
    ClientRuns {
        /// The team.
        team: TeamName,
        /// How that is known.
        why: String,
    },
    /// The team's lead runs, so nobody else takes its place.
    #[error("team {team} has a lead: {why}")]
    LeadRuns {
        /// The team.
        team: TeamName,
        /// How we know.
        why: String,
    },
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// Its number.
        pid: u64,
    },
    /// There is no inbox of that name, or it is a member's.
    #[error("{name} is no phantom in team {team}")]
    NoPhantom {
        /// The team.
        team: TeamName,
        /// The name.
        name: String,
    },
    /// There is no team at all.
    #[error("there is no team below {root}")]
    NoTeams {
        /// Where was looked.
        root: String,
    },
    /// There are several teams, and nothing says which.
    #[error("there are several teams, and nothing says which one is meant")]
    WhichTeam {
        /// All of them.
        choices: Vec<String>,
    },
    /// There is no member of that name, and no inbox.
    #[error("team {team} has no member {wanted:?}")]
    NoMember {
        /// Where was looked.
        team: TeamName,
        /// What was asked for.
        wanted: String,
        /// The most similar names.
        nearest: Vec<String>,
    },
    /// Who wants to send is nobody that the team knows.
    #[error("team {team} has no member {wanted:?}, who would be the sender")]
    NoSender {
        /// Where was looked.
        team: TeamName,
        /// Who was named.
        wanted: String,
        /// The most similar names.
        nearest: Vec<String>,
    },
    /// There is no message with that id.
    #[error("{who} has no message {id:?} in team {team}")]
    NoMessage {
        /// Where was looked.
        team: TeamName,
        /// In whose inbox.
        who: String,
        /// What was asked for.
        id: String,
    },
    /// The ledger has never seen such a message.
    #[error("no message {id:?} was ever sent or seen here")]
    NotRecorded {
        /// What was asked for.
        id: String,
    },
    /// A part of an id that fits several messages.
    #[error("{id:?} fits {} messages' ids", choices.len())]
    WhichMessage {
        /// What was asked for.
        id: String,
        /// The ids that fit.
        choices: Vec<String>,
    },
    /// A message that is read, or gone, is not taken back.
    #[error("message {id} cannot be recalled: {why}")]
    NotRecallable {
        /// Which.
        id: String,
        /// Why.
        why: WhyKept,
    },
    /// There is nothing in the message.
    #[error("the message is empty")]
    EmptyMessage,
    /// A payload of a known type that its readers could not use.
    #[error("this {kind} is not fit to be sent: {}", flaws.join("; "))]
    BadPayload {
        /// Its type.
        kind: String,
        /// What is wrong with it, each in words; never empty.
        flaws: Vec<String>,
    },
    /// An id names one message.
    #[error("the id {id:?} is given to two messages for the same recipient")]
    RepeatedId {
        /// Which.
        id: String,
    },
    /// It was accepted, and somebody took it back before it was written.
    #[error("message {id} was taken back before it was written")]
    Withdrawn {
        /// Which.
        id: String,
    },
    /// There is nobody to send to.
    #[error("team {team} has nobody else to send to")]
    NobodyElse {
        /// The team.
        team: TeamName,
    },
    /// Nobody leads the team.
    #[error("team {team} has no lead")]
    NoLead {
        /// The team.
        team: TeamName,
    },
    /// A team that still has unread mail is not deleted just so.
    #[error("team {team} has {unread} unread message{}", if *unread == 1 { "" } else { "s" })]
    UnreadMail {
        /// The team.
        team: TeamName,
        /// How many.
        unread: usize,
    },
    /// A member that still has unread mail is not removed just so.
    #[error("{name}@{team} has {unread} unread message{}", if *unread == 1 { "" } else { "s" })]
    MemberHasMail {
        /// The team.
        team: TeamName,
        /// The member.
        name: MemberName,
        /// How many.
        unread: usize,
    },
    /// Who is to come back was not removed by us.
    #[error("no member {name} was removed from team {team}")]
    NotRemoved {
        /// The team.
        team: TeamName,
        /// The name.
        name: MemberName,
    },
    /// There is a team or member of that name already.
    #[error("{what} exists already")]
    Exists {
        /// Which.
        what: String,
    },
    /// There is no such group of users.
    #[error("there is no group called {name:?} on this machine")]
    NoGroup {
        /// What was asked for.
        name: String,
    },
    /// The team has mail and no `config.json`.
    #[error("team {team} has no config.json")]
    NoConfig {
        /// The team.
        team: TeamName,
    },
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A field of something new breaks a rule.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// Only a message's recipient, or the member that was asked, may do that.
    #[error("{who} may not: {why}")]
    NotYours {
        /// Who tried.
        who: String,
        /// Why not.
        why: String,
    },
    /// An awaited stage did not come.
    #[error("message {id} was {stage} and not {wanted} in time")]
    NotInTime {
        /// Which message.
        id: String,
        /// How far it came.
        stage: Stage,
        /// How far it was to come.
        wanted: Stage,
    },
    /// No answer came.
    #[error("no answer to {request} came in time")]
    NoAnswer {
        /// Which request.
        request: String,
    },
    /// A member left no such file.
    #[error("{who} of team {team} left no file {name:?}")]
    NoArtifact {
        /// Where was looked.
        team: TeamName,
        /// Whose.
        who: String,
        /// Which.
        name: String,
    },
    /// About a task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Members that are started, ended and woken.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Members that are woken.
    #[error(transparent)]
    Wake(#[from] WakeError),
    /// What was mended could not be undone.
    #[error(transparent)]
    Undo(UndoError),
    /// The files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A later step failed of an operation whose earlier ones are done and stay so.
    #[error("{source}")]
    Partly {
        /// What is done, in its order; never empty.
        done: Vec<Done>,
        /// Why the rest is not.
        source: Box<OfficeError>,
    },
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<UndoError> for OfficeError {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::Store(error) => Self::Store(error),
            error => Self::Undo(error),
        }
    }
}

impl OfficeError {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::EmptyMessage | Self::RepeatedId { .. } | Self::Name(_) | Self::Field(_) => {
                ErrorKind::Invalid
            }
            Self::NoTeam { .. }
            | Self::NoTeams { .. }
            | Self::WhichTeam { .. }
            | Self::NoMember { .. }
            | Self::NoMessage { .. }
            | Self::NotRecorded { .. }
            | Self::WhichMessage { .. }
            | Self::NobodyElse { .. }
            | Self::NoLead { .. }
            | Self::NoArtifact { .. }
            | Self::NoSender { .. }
            | Self::NotRemoved { .. }
            | Self::DeadAlias { .. }
            | Self::NoProcess { .. }
            | Self::NoPhantom { .. }
            | Self::NoConfig { .. }
            | Self::NoGroup { .. }
            | Self::Store(StoreError::NoMember { .. }) => ErrorKind::NotFound,
            Self::UnreadMail { .. }
            | Self::MemberHasMail { .. }
            | Self::Exists { .. }
            | Self::NotYours { .. }
            | Self::NotRecallable { .. }
            | Self::LeadRuns { .. }
            | Self::ClientRuns { .. }
            | Self::Store(
                StoreError::Exists { .. } | StoreError::NotInGroup { .. } | StoreError::LinkedAway { .. },
            ) => ErrorKind::Refused,
            Self::Store(
                StoreError::Busy { .. }
                | StoreError::LockBlocked { .. }
                | StoreError::Unsettled { .. }
                | StoreError::Moved { .. },
            ) => ErrorKind::Busy,
            Self::Undo(error) => kind_of_undo(error),
            Self::Task(error) => error.kind(),
            Self::Spawn(error) => error.kind(),
            Self::Wake(error) => error.kind(),
            Self::NotInTime { .. } | Self::NoAnswer { .. } => ErrorKind::TimedOut,
            Self::Store(
                StoreError::BadContent { .. } | StoreError::BadBackup { .. } | StoreError::Newer { .. },
            )
            | Self::BadPayload { .. } => ErrorKind::BadData,
            Self::Store(StoreError::Interrupted { .. }) => ErrorKind::Interrupted,
            Self::Store(StoreError::Io { .. } | StoreError::Unsynced { .. })
            | Self::Withdrawn { .. }
            | Self::Ledger(_) => ErrorKind::Io,
            // Those two promise that nothing was changed.
            Self::Partly { source, .. } => match source.kind() {
                ErrorKind::Busy | ErrorKind::BadData => ErrorKind::Io,
                code => code,
            },
        }
    }

    /// A short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoTeam { .. } => "no_such_team",
            Self::NoTeams { .. } => "no_teams",
            Self::WhichTeam { .. } => "which_team",
            Self::NoMember { .. } | Self::Store(StoreError::NoMember { .. }) => "no_such_member",
            Self::NoSender { .. } => "no_such_sender",
            Self::NoMessage { .. } | Self::NotRecorded { .. } => "no_such_message",
            Self::WhichMessage { .. } => "which_message",
            Self::NobodyElse { .. } => "nobody_else",
            Self::NoLead { .. } => "no_lead",
            Self::DeadAlias { .. } => "dead_alias",
            Self::LeadRuns { .. } => "lead_runs",
            Self::ClientRuns { .. } => "client_runs",
            Self::NoProcess { .. } => "no_such_process",
            Self::NoPhantom { .. } => "no_phantom",
            Self::NoConfig { .. } => "no_config",
            Self::NoGroup { .. } => "no_such_group",
            Self::Store(StoreError::NotInGroup { .. }) => "not_in_group",
            Self::Store(StoreError::LinkedAway { .. }) => "linked_away",
            Self::EmptyMessage => "empty_message",
            Self::BadPayload { .. } => "bad_payload",
            Self::RepeatedId { .. } => "repeated_id",
            Self::UnreadMail { .. } | Self::MemberHasMail { .. } => "unread_mail",
            Self::NotRemoved { .. } => "not_removed",
            Self::Exists { .. } | Self::Store(StoreError::Exists { .. }) => "exists",
            Self::Name(_) => "bad_name",
            Self::Field(_) => "bad_field",
            Self::Store(StoreError::Busy { .. }) => "busy",
            Self::Store(StoreError::LockBlocked { .. }) => "lock_blocked",
            Self::Store(StoreError::Unsettled { .. } | StoreError::Moved { .. }) => "unsettled",
            Self::Store(StoreError::BadContent { .. }) => "bad_data",
            Self::Store(StoreError::BadBackup { .. }) => "bad_backup",
            Self::Store(StoreError::Newer { .. }) => "newer_format",
            Self::Store(StoreError::Io { .. }) => "io",
            Self::Store(StoreError::Unsynced { .. }) => "unsynced",
            Self::Store(StoreError::Interrupted { .. }) => "interrupted",
            Self::Withdrawn { .. } => "withdrawn",
            Self::NotYours { .. } => "not_yours",
            Self::NotRecallable { .. } => "not_recallable",
            Self::NoArtifact { .. } => "no_such_artifact",
            Self::Undo(UndoError::NoEntry { .. } | UndoError::Nothing) => "nothing_to_undo",
            Self::Undo(UndoError::Already { .. }) => "already_undone",
            Self::Undo(UndoError::Changed { .. }) => "changed_since",
            Self::Undo(UndoError::Store(_)) => "undo",
            Self::Task(error) => error.code(),
            Self::NotInTime { .. } => "not_in_time",
            Self::NoAnswer { .. } => "no_answer",
            Self::Spawn(error) => error.code(),
            Self::Wake(error) => error.code(),
            Self::Ledger(_) => "ledger",
            Self::Partly { source, .. } => source.code(),
        }
    }
}

fn kind_of_undo(error: &UndoError) -> ErrorKind {
    match error {
        UndoError::NoEntry { .. } | UndoError::Nothing => ErrorKind::NotFound,
        UndoError::Already { .. } | UndoError::Changed { .. } => ErrorKind::Refused,
        UndoError::Store(StoreError::Newer { .. }) => ErrorKind::BadData,
        UndoError::Store(_) => ErrorKind::Io,
    }
}
