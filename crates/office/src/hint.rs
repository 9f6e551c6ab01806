//! What may help after an error, as data: each front words it for its reader, as a command, a tool call or a button.

use std::io;

use atm_ledger::Stage;
use atm_store::StoreError;
use atm_store::mend::UndoError;
use atm_wire::TeamName;
use atm_wire::task::TaskId;

use crate::error::OfficeError;
use crate::mail::partly::Done;
use crate::office::USER;

/// What may help after an error. It says what can be done, not how: an agent may have tools and no shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Names like the one that was asked for, best first; never empty.
    NearestNames(Vec<String>),
    /// The teams can be listed.
    ListTeams,
    /// There is no team: one can be created, or another root is meant.
    CreateTeam,
    /// One of these teams has to be named.
    ChooseTeam(Vec<String>),
    /// An alias can be given to another team, or be forgotten.
    ChangeAlias {
        /// The alias.
        alias: String,
    },
    /// The members can be listed.
    ListMembers,
    /// The sessions can be listed.
    ListSessions,
    /// One of these sessions or folders has to be named.
    ChooseSession(Vec<String>),
    /// Somebody can be added to the team.
    AddMember,
    /// Who acts is nobody that the team knows: another name is meant, or they have to be a member first.
    BecomeMember {
        /// Who.
        name: String,
        /// Names like theirs, best first.
        nearest: Vec<String>,
    },
    /// The member that leads has to be there.
    ShowLead,
    /// Who asked is the user; one can act for somebody else.
    ActForMember,
    /// Somebody's mail can be listed, with its ids.
    ListMessages {
        /// Whose.
        who: String,
    },
    /// One of these messages has to be named.
    ChooseMessage(Vec<String>),
    /// What was sent and seen can be searched.
    SearchHistory,
    /// How far a message comes can be followed.
    FollowMessage {
        /// Which.
        id: String,
        /// Whether it is in its recipient's file; else it is accepted, and will be.
        is_written: bool,
    },
    /// The answer comes as mail, when it comes.
    AwaitAnswer {
        /// From whom.
        who: String,
    },
    /// A text has to be given.
    GiveText,
    /// The text is so long that it had better be a file.
    SendFile {
        /// How long it is.
        kilobytes: usize,
    },
    /// The payload can be completed, or be sent as it is by force.
    CompletePayload,
    /// The files that somebody left can be listed.
    ListArtifacts {
        /// Whose.
        who: String,
    },
    /// It can be forced; the team's files are kept in the state folder.
    ForceDelete,
    /// It can be said that the member is to go all the same, and it can be brought back.
    ConfirmRemoval,
    /// It can be forced once the client has ended, which would not see what is made a log.
    EndClient,
    /// It can be forced: then another takes the lead's place.
    TakeLead,
    /// What is wrong with the team can be listed and mended.
    RunRepair {
        /// Which team.
        team: TeamName,
    },
    /// A new ledger can be made from the files; mail goes without one.
    RebuildLedger,
    /// What was mended can be listed.
    ListMended,
    /// It can be forced: the journal then keeps what is there now.
    ForceUndo,
    /// The groups that one is in can be listed.
    ListGroups,

    /// Who has reserved a path can be asked for it, or one can wait or do something else.
    AskHolder {
        /// `NAME@TEAM` or a session's name; nothing for the person at the keyboard.
        holder: Option<String>,
        /// Which.
        path: String,
    },
    /// The folder that was reserved can be released, as a whole.
    ReleaseFolder {
        /// Which.
        folder: String,
    },
    /// The reservations can be listed.
    ListReservations,
    /// It can be reserved from inside its own tree.
    EnterTree,
    /// The tasks can be listed.
    ListTasks,
    /// The tasks can be listed, with who has what and what waits for what.
    ListHolders,
    /// Its owner or the lead can give it back.
    ReleaseTask {
        /// Which.
        id: TaskId,
        /// Whose it is.
        owner: String,
    },
    /// Another task can be claimed.
    ClaimAnother,
    /// The task can be shown.
    ShowTask {
        /// Which.
        id: TaskId,
    },
    /// What it waits for can be taken from it.
    UnblockTask {
        /// Which.
        id: TaskId,
    },
    /// Its owner or the lead can open it again.
    ReopenTask {
        /// Which.
        id: TaskId,
    },
    /// What waits for what can be shown.
    ShowTaskGraph,
    /// It can be given to somebody.
    AssignTask {
        /// Which.
        id: TaskId,
    },
    /// Claims are made and given back by their own operations.
    UseClaims,
    /// The bridge says whether other machines can be reached.
    ShowBridge,

    /// tmux has to be installed.
    InstallTmux,
    /// The tmux server hangs; nothing was changed.
    TmuxHangs,
    /// There is more room in a window of its own.
    UseWindow,
    /// A member that is off can be started again, and those that run can be listed.
    StartAgain {
        /// Who, if it is one.
        name: Option<String>,
    },
    /// The name is a member's, which can be started with its inbox.
    StartMember {
        /// Who.
        name: String,
    },
    /// A program is named by its path, or found on `PATH`.
    NameProgram,
    /// A folder has to be named that is there.
    NameFolder,
    /// The client or the command has to be given.
    GiveCommand,
    /// A permission mode is one word, and only some clients take one.
    NamePermissionMode,
    /// The member can be ended, or looked at.
    EndMember {
        /// Who.
        name: String,
    },
    /// Members that a client started are that client's; nothing was done.
    LeaveToClient,
    /// Its mail waits in its inbox; nothing was done.
    MailWaits,

    /// How the member is woken has to be set.
    SetWake {
        /// Whose.
        name: String,
    },
    /// Something that waking needs has to be set.
    SetWakeDetail {
        /// Whose.
        name: String,
        /// What: `session`, `server`.
        what: &'static str,
    },
    /// The line can be kept for when the member's conversation is opened.
    QueueWake {
        /// Whose.
        name: String,
    },
    /// Its mail waits in its inbox, and waking is tried again at the next step.
    WakeAgain,

    /// The operating system does not let one give files to a group that one is not in.
    JoinGroup,
    /// A link leads away from the tree; its maker has to be found.
    RemoveLink,
    /// Somebody holds a lock: it may be free soon, or a program hangs.
    TryAgain,
    /// The error says from when on it can be done; who has it meanwhile keeps it.
    TryThen,
    /// A program rewrites the file without its lock.
    StopWriter,
    /// The file has to be mended.
    MendFile,
    /// A newer version understands it.
    UseNewerVersion,
    /// The backup is none, or damaged.
    UseOtherBackup,
    /// The team or its folder may have been removed meanwhile.
    SeeWhetherRemoved,
    /// It is written, and the disk fails to sync.
    SeeToDisk,
    /// It was stopped, and has to be asked for again.
    AskAgain,
    /// Disk space and permissions.
    SeeSpaceAndPermissions,

    /// Steps that are done and stay so, and what helps with the rest.
    Partly {
        /// What is done, in its order.
        done: Vec<Done>,
        /// What helps with the step that failed.
        rest: Option<Box<Hint>>,
    },
}

impl OfficeError {
    /// What may help.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NoTeam { nearest, wanted } => nearest_or(nearest, wanted, Hint::ListTeams),
            Self::NoTeams { .. } => Hint::CreateTeam,
            Self::WhichTeam { choices } => Hint::ChooseTeam(choices.clone()),
            Self::DeadAlias { alias, .. } => Hint::ChangeAlias { alias: alias.clone() },
            Self::NoMember { nearest, wanted, .. } | Self::NoMemberAnywhere { nearest, wanted, .. } => {
                nearest_or(nearest, wanted, Hint::ListMembers)
            }
            Self::NoSession { nearest, wanted } | Self::NoAlias { nearest, wanted } => {
                nearest_or(nearest, wanted, Hint::ListSessions)
            }
            Self::WhichSession { choices, .. } => Hint::ChooseSession(choices.clone()),
            Self::NoSender { nearest, wanted, .. } => {
                Hint::BecomeMember { name: wanted.clone(), nearest: nearest.clone() }
            }
            Self::NobodyElse { .. } | Self::NotRemoved { .. } => Hint::AddMember,
            Self::NoLead { .. } => Hint::ShowLead,
            Self::NotYours { who, .. } | Self::NotOpen { who, .. } if who == USER => Hint::ActForMember,
            Self::NoMessage { who, .. } => Hint::ListMessages { who: who.clone() },
            Self::NotOpen { open, .. } if !open.is_empty() => Hint::ChooseMessage(open.clone()),
            Self::WhichMessage { choices, .. } => Hint::ChooseMessage(choices.clone()),
            Self::NotRecorded { .. } => Hint::SearchHistory,
            Self::NotInTime { id, stage, .. } => {
                Hint::FollowMessage { id: id.clone(), is_written: *stage != Stage::Accepted }
            }
            Self::NotRecallable { id, .. } => Hint::FollowMessage { id: id.clone(), is_written: true },
            Self::NoAnswer { who, .. } => Hint::AwaitAnswer { who: who.clone() },
            Self::EmptyMessage => Hint::GiveText,
            Self::BadPayload { .. } => Hint::CompletePayload,
            Self::NoArtifact { who, .. } => Hint::ListArtifacts { who: who.clone() },
            Self::UnreadMail { .. } => Hint::ForceDelete,
            Self::MemberHasMail { .. } => Hint::ConfirmRemoval,
            Self::ClientRuns { .. } => Hint::EndClient,
            Self::LeadRuns { .. } => Hint::TakeLead,
            Self::NoPhantom { team, .. } => Hint::RunRepair { team: team.clone() },
            Self::Ledger(_) => Hint::RebuildLedger,
            Self::Undo(UndoError::Changed { .. }) => Hint::ForceUndo,
            Self::Undo(_) => Hint::ListMended,
            Self::NoGroup { .. } => Hint::ListGroups,
            Self::Reservation(error) => return error.hint(),
            Self::Task(error) => return error.hint(),
            Self::Spawn(error) => return error.hint(),
            Self::Wake(error) => return error.hint(),
            Self::Store(error) => return of_store(error),
            Self::Partly { done, source } => {
                Hint::Partly { done: done.clone(), rest: source.hint().map(Box::new) }
            }
            Self::NotYours { .. }
            | Self::Elsewhere { .. }
            | Self::NotOpen { .. }
            | Self::NoProcess { .. }
            | Self::RepeatedId { .. }
            | Self::Withdrawn { .. }
            | Self::Exists { .. }
            | Self::ReservedName { .. }
            | Self::NoConfig { .. }
            | Self::Name(_)
            | Self::NotTold { .. }
            | Self::Field(_) => return None,
        })
    }
}

/// The name in `name@team`.
pub(crate) fn name_in(who: &str) -> String {
    who.split('@').next().unwrap_or(who).to_owned()
}

/// Somebody who is no member but has an inbox is no help to who asked for a member of that name.
fn nearest_or(nearest: &[String], wanted: &str, otherwise: Hint) -> Hint {
    let others: Vec<String> = nearest.iter().filter(|name| *name != wanted).cloned().collect();
    if others.is_empty() { otherwise } else { Hint::NearestNames(others) }
}

fn of_store(error: &StoreError) -> Option<Hint> {
    Some(match error {
        StoreError::NotInGroup { .. } => Hint::JoinGroup,
        StoreError::LinkedAway { .. } => Hint::RemoveLink,
        StoreError::Busy { .. } => Hint::TryAgain,
        StoreError::Unsettled { .. } => Hint::StopWriter,
        StoreError::BadContent { .. } => Hint::MendFile,
        StoreError::Newer { .. } => Hint::UseNewerVersion,
        StoreError::BadBackup { .. } => Hint::UseOtherBackup,
        StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Hint::SeeWhetherRemoved,
        StoreError::Io { .. } => Hint::SeeSpaceAndPermissions,
        StoreError::Unsynced { .. } => Hint::SeeToDisk,
        StoreError::Interrupted { .. } => Hint::AskAgain,
        StoreError::LockBlocked { .. }
        | StoreError::Moved { .. }
        | StoreError::Exists { .. }
        | StoreError::NoMember { .. } => return None,
    })
}
