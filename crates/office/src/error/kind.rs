//! What sort of error each one is, and its stable code.

use atm_store::StoreError;
use atm_store::mend::UndoError;

use super::OfficeError;

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
            | Self::NoMemberAnywhere { .. }
            | Self::NoSession { .. }
            | Self::NoAlias { .. }
            | Self::WhichSession { .. }
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
            | Self::ReservedName { .. }
            | Self::Exists { .. }
            | Self::NotYours { .. }
            | Self::Elsewhere { .. }
            | Self::NotOpen { .. }
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
            Self::Reservation(error) => error.kind(),
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
            | Self::NotTold { .. }
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
            Self::NoMember { .. }
            | Self::NoMemberAnywhere { .. }
            | Self::Store(StoreError::NoMember { .. }) => "no_such_member",
            Self::ReservedName { .. } => "reserved_name",
            Self::NoSession { .. } => "no_such_session",
            Self::NoAlias { .. } => "no_such_alias",
            Self::WhichSession { .. } => "which_session",
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
            Self::NotYours { .. } | Self::NotOpen { .. } => "not_yours",
            Self::Elsewhere { .. } => "elsewhere",
            Self::NotRecallable { .. } => "not_recallable",
            Self::NoArtifact { .. } => "no_such_artifact",
            Self::Undo(UndoError::NoEntry { .. } | UndoError::Nothing) => "nothing_to_undo",
            Self::Undo(UndoError::Already { .. }) => "already_undone",
            Self::Undo(UndoError::Changed { .. }) => "changed_since",
            Self::Undo(UndoError::Store(_)) => "undo",
            Self::Reservation(error) => error.code(),
            Self::Task(error) => error.code(),
            Self::NotInTime { .. } => "not_in_time",
            Self::NoAnswer { .. } => "no_answer",
            Self::Spawn(error) => error.code(),
            Self::Wake(error) => error.code(),
            Self::NotTold { .. } => "not_told",
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
