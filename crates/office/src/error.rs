//! What the office refuses or could not do: the kind of error, a stable code, and the data that it is about.

mod kind;

use std::time::Duration;

use atm_ledger::{LedgerError, Stage};
use atm_store::StoreError;
use atm_store::mend::UndoError;
use atm_wire::team::FieldError;
use atm_wire::{MachineName, MemberName, NameError, TeamName, counted};

use crate::chores::wake::WakeError;
use crate::mail::partly::Done;
use crate::mail::recall::WhyKept;
use crate::people::spawn_error::SpawnError;
use crate::reservations::ReservationError;
use crate::tasks::TaskError;
use crate::trail::track::LAST;

pub use kind::ErrorKind;

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
    /// None of several teams knows the name.
    #[error("none of the teams {} has a member {wanted:?}", listed(teams))]
    NoMemberAnywhere {
        /// Where was looked.
        teams: Vec<TeamName>,
        /// What was asked for.
        wanted: String,
        /// The most similar names of all of them.
        nearest: Vec<String>,
    },
    /// A name that is kept for somebody, or for the mailboxes of sessions.
    #[error("the name {name:?} is kept for {whom}")]
    ReservedName {
        /// The name.
        name: String,
        /// For whom.
        whom: &'static str,
    },
    /// No session is called so, nor a folder that one has worked in.
    #[error("no session is called {wanted:?}, and none has worked in a folder of that name")]
    NoSession {
        /// What was asked for.
        wanted: String,
        /// The most similar names.
        nearest: Vec<String>,
    },
    /// There is no such alias of a folder that sessions work in.
    #[error("no alias is called {wanted:?}")]
    NoAlias {
        /// What was asked for.
        wanted: String,
        /// The most similar ones.
        nearest: Vec<String>,
    },
    /// A name that fits several sessions or folders.
    #[error("{wanted:?} fits {} sessions or folders", choices.len())]
    WhichSession {
        /// What was asked for.
        wanted: String,
        /// What names each of them alone.
        choices: Vec<String>,
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
    #[error("{}", not_recorded(id))]
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
    #[error("team {team} has {}", counted(*unread, "unread message"))]
    UnreadMail {
        /// The team.
        team: TeamName,
        /// How many.
        unread: usize,
    },
    /// A member that still has unread mail is not removed just so.
    #[error("{name}@{team} has {}", counted(*unread, "unread message"))]
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
    /// A member's home is another machine, and this can be done only there, or was refused there.
    #[error("{name} is on machine {machine}: {why}")]
    Elsewhere {
        /// Who.
        name: String,
        /// Its home.
        machine: MachineName,
        /// Why not.
        why: String,
    },
    /// A request that cannot be answered.
    #[error("{who} may not: {why}")]
    NotOpen {
        /// Who tried.
        who: String,
        /// The request, if one was named.
        request: Option<String>,
        /// Why not.
        why: String,
        /// The requests of that kind that could be.
        open: Vec<String>,
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
    #[error("{who} did not answer within {within:?} (request {request})")]
    NoAnswer {
        /// Who was asked.
        who: String,
        /// The request's id.
        request: String,
        /// How long was waited.
        within: Duration,
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
    /// About a reservation.
    #[error(transparent)]
    Reservation(#[from] ReservationError),
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
    /// People could not be told something.
    #[error("nobody could be told: {why}")]
    NotTold {
        /// Which channels failed, and why.
        why: String,
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

fn not_recorded(id: &str) -> String {
    if id == LAST {
        return "there is no last message: nothing of yours was ever sent or seen here".to_owned();
    }
    format!("no message {id:?} was ever sent or seen here")
}

/// How many teams are named one by one.
const NAMED: usize = 5;

fn listed(teams: &[TeamName]) -> String {
    let names: Vec<&str> = teams.iter().take(NAMED).map(TeamName::as_str).collect();
    match teams.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
