//! Waking a member for which mail came, by its client's own way.
//!
//! A wake is remembered on disk before it is done, so that a member is woken at most once for each message and step of
//! the [`Ladder`], however many processes want to wake it and whichever of them dies. What is unread is looked at again right before.
//! Nobody is woken in the middle of a turn. The line says that mail waits and from whom, and nothing of what it says.

mod call;
mod chore;
mod command;
mod error;
mod ladder;
pub mod nudge;
mod server;
mod typed;
mod wait;
mod watch;
mod way;

use std::collections::BTreeSet;

use atm_clients::http::Local;
use atm_clients::wake::is_session;
use atm_ledger::{Evidence, Kind};
use atm_store::{Mailbox, Memo};
use atm_wire::team::Manner;
use atm_wire::{MemberName, Message, TeamName, counted};
use serde::{Deserialize, Serialize};

use call::{Called, Silence};
pub use chore::Waking;
pub use error::WakeError;
pub use ladder::Ladder;
pub(crate) use ladder::Memory;
pub use watch::WakeWatch;
pub(super) use way::woken_as;
pub use way::{Hearer, Way};

use crate::error::OfficeError;
use crate::mail::hook::unread;
use crate::office::Office;
use crate::people::spawn_error::SpawnError;
use crate::team::Team;

/// How many senders a line names.
const MOST_NAMES: usize = 5;

/// What came of waking a member.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Woken {
    /// Its team.
    pub team: TeamName,
    /// Who.
    pub name: MemberName,
    /// By which way it is woken, if that is known.
    pub way: Option<Manner>,
    /// Whether it was woken, or would be. That it heard is told by what becomes of its mail.
    pub woken: bool,
    /// Why not.
    pub why: Option<String>,
    /// What was done, as the messages' evidence has it.
    pub evidence: Option<String>,
    /// How many messages it has not read.
    pub unread: usize,
}

impl Woken {
    fn not(team: &TeamName, name: &MemberName, way: Option<Manner>, why: &str, unread: usize) -> Self {
        Self {
            team: team.clone(),
            name: name.clone(),
            way,
            woken: false,
            why: Some(why.to_owned()),
            evidence: None,
            unread,
        }
    }

    fn of(team: &TeamName, name: &MemberName, manner: Manner, called: Called, count: usize) -> Self {
        let not = |why: &str, unread| Self::not(team, name, Some(manner), why, unread);
        match called {
            Called::No(Silence::AllRead) => not("it has read all its mail", 0),
            Called::No(Silence::JustRead) => not("it has just read its mail", 0),
            Called::No(Silence::NotDue) => not("it was woken for this mail, or it is not time yet", count),
            Called::Would => Self { woken: true, why: None, ..not("", count) },
            Called::Yes(evidence, unread) => {
                Self { woken: true, why: None, evidence: Some(evidence), ..not("", unread) }
            }
            Called::Queued(evidence, unread) => {
                Self { why: None, evidence: Some(evidence), ..not("", unread) }
            }
        }
    }
}

impl Office {
    /// Wakes a member that has new mail and waits; with `dry_run` only says whether it would.
    pub fn wake(
        &self,
        team: &TeamName,
        name: &MemberName,
        ladder: &Ladder,
        dry_run: bool,
    ) -> Result<Woken, OfficeError> {
        self.wake_in(&self.team_with_exits(team)?, name, ladder, (dry_run, false))
    }

    /// The same, also for a member whose conversation nobody has open, where its client keeps lines until somebody does.
    pub fn wake_or_queue(
        &self,
        team: &TeamName,
        name: &MemberName,
        ladder: &Ladder,
        dry_run: bool,
    ) -> Result<Woken, OfficeError> {
        self.wake_in(&self.team_with_exits(team)?, name, ladder, (dry_run, true))
    }

    fn wake_in(
        &self,
        handle: &Team<'_>,
        name: &MemberName,
        ladder: &Ladder,
        (dry_run, may_queue): (bool, bool),
    ) -> Result<Woken, OfficeError> {
        let team = handle.name();
        self.with_way_in(handle, name, may_queue, |manner, way, unread| {
            let called = self.call(team, name, way, ladder, None, dry_run)?;
            Ok(Woken::of(team, name, manner, called, unread))
        })
    }

    /// Finds out how a member is woken, and lets `wake` do it; not if it wakes by itself. `wake` is told how much is
    /// unread.
    fn with_way(
        &self,
        team: &TeamName,
        name: &MemberName,
        wake: impl FnOnce(Manner, &dyn Way, usize) -> Result<Woken, OfficeError>,
    ) -> Result<Woken, OfficeError> {
        self.with_way_in(&self.team_with_exits(team)?, name, false, wake)
    }

    /// A team of which those that ended are recorded as offline. If tmux or the ledger cannot be asked, what the files say
    /// stands.
    fn team_with_exits(&self, team: &TeamName) -> Result<Team<'_>, OfficeError> {
        let mut handle = self.team(team)?;
        let _ = handle.notice_exits();
        Ok(handle)
    }

    /// The same with a handle that was made for several members: what runs is looked at once for all of them.
    fn with_way_in(
        &self,
        handle: &Team<'_>,
        name: &MemberName,
        may_queue: bool,
        wake: impl FnOnce(Manner, &dyn Way, usize) -> Result<Woken, OfficeError>,
    ) -> Result<Woken, OfficeError> {
        let team = handle.name();
        let member = handle.member(name)?;
        handle.check_here(name, "it is woken there")?;
        self.complete_accepted(team, Some(name));
        let count = unread(&self.mailbox(team, name))?.len();
        if let Some(why) = handle.why_off(member).filter(|_| !may_queue) {
            return Err(SpawnError::Off { who: format!("{name}@{team}"), why }.into());
        }
        let session = handle.woken_session(member);
        let (manner, way) = handle.way_of(session.as_ref().unwrap_or(member), name, may_queue)?;
        match way.by_itself() {
            Some(why) => Ok(Woken::not(team, name, Some(manner), why, count)),
            None => wake(manner, way.as_ref(), count),
        }
    }

    /// Wakes every member that has new mail and waits. What keeps one of them from being woken is its `why`.
    pub fn wake_all(
        &self,
        team: &TeamName,
        ladder: &Ladder,
        dry_run: bool,
    ) -> Result<Vec<Woken>, OfficeError> {
        let handle = self.team_with_exits(team)?;
        let here = handle.config().members.iter().filter(|member| member.machine.is_none());
        let names: Vec<MemberName> = here.filter_map(|member| member.checked_name().ok()).collect();
        Ok(names.iter().map(|name| self.wake_or_say_why(&handle, name, ladder, dry_run)).collect())
    }

    fn wake_or_say_why(&self, handle: &Team<'_>, name: &MemberName, ladder: &Ladder, dry_run: bool) -> Woken {
        let team = handle.name();
        self.wake_in(handle, name, ladder, (dry_run, false)).unwrap_or_else(|error| {
            let unread = unread(&self.mailbox(team, name)).map_or(0, |mail| mail.len());
            Woken::not(team, name, None, &error.to_string(), unread)
        })
    }

    pub(crate) fn memo(&self, mailbox: &Mailbox) -> Memo {
        Memo::of_nudges(mailbox, &self.state, self.times)
    }

    /// Records what was done to wake a member for these messages. That it was woken is no stage: what they are is what they
    /// were.
    fn note_wake(&self, team: &TeamName, name: &MemberName, mail: &[Message], kind: Kind, what: &str) {
        if !self.books.exist() {
            return;
        }
        // So that mail of others is known too. Evidence that is lost is no reason to call the wake failed.
        let _ = self.look(team);
        let (inbox, now) = (self.inbox_key(team, name), self.now().as_millis());
        let evidence = Evidence::likely(what);
        for message in mail {
            let _ = self.books.with(|ledger| ledger.note(&inbox, &message.id, kind, now, &evidence));
        }
    }
}

/// Words for an agent, or a command for a shell. Only names that are plain are named.
fn line(mail: &[Message], hearer: Hearer) -> String {
    if hearer == Hearer::Shell {
        return "atm read".to_owned();
    }
    let unread = counted(mail.len(), "unread message");
    let senders: BTreeSet<&str> = mail.iter().map(|message| message.from.as_str()).collect();
    let plain: Vec<&str> = senders.iter().copied().filter(|name| MemberName::create(name).is_ok()).collect();
    let mut from = plain.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    if from.is_empty() {
        from.push_str("others");
    } else if from.split(", ").count() < senders.len() {
        from.push_str(" and others");
    }
    format!("You have {unread} from {from}. Read your mail, with `atm read` if it does not come by itself.")
}

/// Checks what is said of a member about waking it.
pub(crate) fn check(session: Option<&str>, server: Option<&str>) -> Result<(), WakeError> {
    if let Some(session) = session.filter(|session| !is_session(session)) {
        return Err(WakeError::BadSession(session.to_owned()));
    }
    match server.filter(|server| Local::parse(server).is_none()) {
        Some(server) => Err(WakeError::BadServer(server.to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(senders: &[&str]) -> Vec<Message> {
        let entry = |from: &&str| {
            let entry = serde_json::json!({
                "from": from, "text": "secret", "timestamp": "2026-11-15T06:00:00Z", "read": false,
            });
            Message::from_entry(&serde_json::value::to_raw_value(&entry).unwrap()).unwrap()
        };
        senders.iter().map(entry).collect()
    }

    #[test]
    fn the_line_says_from_whom_and_nothing_else() {
        let said = |senders: &[&str]| line(&mail(senders), Hearer::Agent);
        assert!(said(&["alice"]).starts_with("You have 1 unread message from alice. "));
        assert!(said(&["bob", "alice", "bob"]).starts_with("You have 3 unread messages from alice, bob. "));
        assert!(said(&["alice", "x; rm -rf ~"]).contains("from alice and others. "));
        assert!(said(&["$(reboot)"]).contains("from others. "));
        let many: Vec<String> = (0..9).map(|number| format!("bob-{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(said(&many).contains("bob-4 and others. "));
        assert!(!said(&["alice"]).contains("secret"));
        assert_eq!(line(&mail(&["alice"]), Hearer::Shell), "atm read");
    }
}
