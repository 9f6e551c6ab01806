//! Waking a member for which mail came, by its client's own way.
//!
//! A wake is remembered on disk before it is done, so that a member is woken at most once for each message and step of
//! the [`Ladder`], however many processes want to wake it and whoever dies. What is unread is looked at again right before.
//! Nobody is woken in the middle of a turn. The line says that mail waits and from whom, and nothing of what it says.

mod codex;
mod error;
mod http;
mod ladder;
mod opencode;
mod way;

use std::collections::BTreeSet;
use std::time::Instant;

use atm_ledger::{Evidence, Stage};
use atm_store::watch::FolderWatch;
use atm_store::{Mailbox, Memo};
use atm_wire::team::Manner;
use atm_wire::{MemberName, Message, TeamName};
use serde::Serialize;

pub use error::WakeError;
pub use ladder::Ladder;
pub(crate) use ladder::Memory;
pub use way::{Hearer, Way};

use crate::error::OfficeError;
use crate::office::Office;
use crate::spawn::SpawnError;

/// How many senders a line names.
const MOST_NAMES: usize = 5;

/// What came of waking a member.
#[derive(Debug, Clone, Serialize)]
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

/// What is decided about a wake before it is done.
enum Decision {
    No(String),
    Would,
    Wake(String, Vec<Message>),
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
        // If tmux or the ledger cannot be asked, what the files say stands.
        let _ = self.notice_exits(team);
        let config = self.folder(team)?.load()?;
        let member =
            config.member(name.as_str()).ok_or_else(|| self.no_member(team, &config, name.as_str()))?;
        let mailbox = self.mailbox(team, name);
        let count = unread(&mailbox)?.len();
        let answer = |way, woken, why: Option<String>, evidence| Woken {
            team: team.clone(),
            name: name.clone(),
            way,
            woken,
            why,
            evidence,
            unread: count,
        };
        if member.is_offline() {
            let why = "isActive is false in config.json".to_owned();
            return Err(SpawnError::Off { who: format!("{name}@{team}"), why }.into());
        }
        let (manner, way) = self.way_of(team, &config, member, name)?;
        if let Some(why) = way.by_itself() {
            return Ok(answer(Some(manner), false, Some(why.to_owned()), None));
        }
        match self.decide(&mailbox, way.as_ref(), ladder, dry_run)? {
            Decision::No(why) => Ok(answer(Some(manner), false, Some(why), None)),
            Decision::Would => Ok(answer(Some(manner), true, None, None)),
            Decision::Wake(line, mail) => {
                let done = way.wake(&line);
                let evidence = match &done {
                    Ok(way) => format!("woken by {way}; not confirmed"),
                    Err(error) => format!("not woken: {error}"),
                };
                self.note_wake(team, name, &mail, &evidence);
                done?;
                Ok(Woken { unread: mail.len(), ..answer(Some(manner), true, None, Some(evidence)) })
            }
        }
    }

    /// Wakes every member that has new mail and waits. What keeps one of them from being woken is its `why`.
    pub fn wake_all(
        &self,
        team: &TeamName,
        ladder: &Ladder,
        dry_run: bool,
    ) -> Result<Vec<Woken>, OfficeError> {
        let config = self.folder(team)?.load()?;
        let names = config.members.iter().filter_map(|member| member.checked_name().ok());
        Ok(names
            .map(|name| {
                self.wake(team, &name, ladder, dry_run).unwrap_or_else(|error| Woken {
                    team: team.clone(),
                    way: None,
                    woken: false,
                    why: Some(error.to_string()),
                    evidence: None,
                    unread: unread(&self.mailbox(team, &name)).map_or(0, |mail| mail.len()),
                    name,
                })
            })
            .collect())
    }

    /// Waits for mail that a member was not woken for yet, and gives the line for it: for a hook of its client that waits
    /// while the member is idle. `None` when `deadline` is over. Of several that wait, one gets the line.
    pub fn wait_to_wake(
        &self,
        team: &TeamName,
        name: &MemberName,
        deadline: Option<Instant>,
    ) -> Result<Option<String>, OfficeError> {
        let mailbox = self.known_mailbox(team, name)?;
        let mut watch = FolderWatch::new(mailbox.file().parent().map(ToOwned::to_owned));
        loop {
            if unread(&mailbox)?.iter().any(|message| !self.was_woken_for(&mailbox, message)) {
                let woken = self.memo(&mailbox).update(|before| {
                    let mut memory = Memory::parse(before);
                    let mail = unread(&mailbox)?;
                    if mail.iter().all(|message| memory.knows(&message.id)) {
                        return Ok::<_, OfficeError>((None, None));
                    }
                    memory.woke(&mail, &Ladder(Vec::new()), self.now());
                    Ok((Some(memory.render()), Some(mail)))
                })?;
                if let Some(mail) = woken {
                    self.note_wake(team, name, &mail, "woken by a hook of its client; not confirmed");
                    return Ok(Some(line(&mail, Hearer::Agent)));
                }
            }
            if !watch.wait(deadline) {
                return Ok(None);
            }
        }
    }

    /// In the turn of those who wake: whether it is time, whether it waits, and what to say. A wake is remembered here.
    fn decide(
        &self,
        mailbox: &Mailbox,
        way: &dyn Way,
        ladder: &Ladder,
        dry_run: bool,
    ) -> Result<Decision, OfficeError> {
        self.memo(mailbox).update(|before| {
            let mut memory = Memory::parse(before);
            let now = self.now();
            let no = |why: &str| Ok((None, Decision::No(why.to_owned())));
            let due = |mail: &[Message]| mail.iter().any(|message| memory.is_due(message, ladder, now));
            let mail = unread(mailbox)?;
            if mail.is_empty() {
                return no("it has read all its mail");
            }
            if !due(&mail) {
                return no("it was woken for this mail, or it is not time yet");
            }
            let hearer = way.check_idle()?;
            // It may have read meanwhile.
            let mail = unread(mailbox)?;
            if !due(&mail) {
                return no("it has just read its mail");
            }
            if dry_run {
                return Ok((None, Decision::Would));
            }
            memory.woke(&mail, ladder, now);
            Ok((Some(memory.render()), Decision::Wake(line(&mail, hearer), mail)))
        })
    }

    fn memo(&self, mailbox: &Mailbox) -> Memo {
        Memo::of_nudges(mailbox, &self.state, self.times)
    }

    fn was_woken_for(&self, mailbox: &Mailbox, message: &Message) -> bool {
        let before = self.memo(mailbox).read().ok().flatten();
        Memory::parse(before.as_deref()).knows(&message.id)
    }

    /// Puts down that a member was woken for these messages. It is no stage: what they are is what they were.
    fn note_wake(&self, team: &TeamName, name: &MemberName, mail: &[Message], what: &str) {
        if !self.books.exist() {
            return;
        }
        // So that mail of others is known too. Evidence that is lost is no reason to call the wake failed.
        let _ = self.reconcile(team);
        let (inbox, now) = (self.inbox_key(team, name), self.now().as_millis());
        let evidence = Evidence::likely(what);
        for message in mail {
            let _ =
                self.books.with(|ledger| ledger.advance(&inbox, &message.id, Stage::Written, now, &evidence));
        }
    }
}

fn unread(mailbox: &Mailbox) -> Result<Vec<Message>, OfficeError> {
    Ok(mailbox.list()?.messages.into_iter().filter(|message| !message.read).collect())
}

/// Words for an agent, or a command for a shell. Only names that are plain are named.
pub(crate) fn line(mail: &[Message], hearer: Hearer) -> String {
    if hearer == Hearer::Shell {
        return "atm read".to_owned();
    }
    let (count, s) = (mail.len(), if mail.len() == 1 { "" } else { "s" });
    let senders: BTreeSet<&str> = mail.iter().map(|message| message.from.as_str()).collect();
    let plain: Vec<&str> = senders.iter().copied().filter(|name| MemberName::create(name).is_ok()).collect();
    let mut from = plain.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    if from.is_empty() {
        from.push_str("others");
    } else if from.split(", ").count() < senders.len() {
        from.push_str(" and others");
    }
    format!(
        "You have {count} unread message{s} from {from}. Read your mail, with `atm read` if it does not come by itself."
    )
}

/// Whether a conversation's id is plain enough to stand in a command line and in a path.
pub(crate) fn is_session(session: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&session.len()) && session.bytes().all(plain) && !session.starts_with(['-', '.'])
}

/// Checks what is said of a member about waking it.
pub(crate) fn check(session: Option<&str>, server: Option<&str>) -> Result<(), WakeError> {
    if let Some(session) = session.filter(|session| !is_session(session)) {
        return Err(WakeError::BadSession(session.to_owned()));
    }
    match server.filter(|server| http::Local::parse(server).is_none()) {
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

    #[test]
    fn sessions_are_plain() {
        for good in ["ses_01", "0c8f1d8e-0000-4000-8000-000000000000"] {
            assert!(is_session(good), "{good}");
        }
        for bad in ["", "--help", "../x", "a/b", "a b", "a\nb", &"x".repeat(129)] {
            assert!(!is_session(bad), "{bad:?}");
        }
    }
}
