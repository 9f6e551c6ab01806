//! Which sessions the register forgets. Mail is not kept there, so none is lost with a note; a session that goes on is noted
//! again at its next call. Aliases are a person's own words, and stay until that person takes them back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_store::SessionNote;
use atm_wire::Stamp;

use super::register::{Registered, parse};
use crate::error::OfficeError;
use crate::mail::digest::Digest;
use crate::office::Office;
use crate::trail::transcript::Transcript;

/// For so long after its last sign a session is known: until then its conversation may prove what it was shown.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A session of the register, with all that decides whether it stays there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) client: String,
    pub(crate) session: String,
    pub(crate) folder: PathBuf,
    pub(crate) is_running: bool,
    /// When it was last heard of: the note was written, or its conversation went on.
    pub(crate) last: Stamp,
    /// Mail for its folder lies unread.
    pub(crate) has_mail: bool,
    /// Its folder is there.
    pub(crate) has_folder: bool,
}

impl Noted {
    /// When it may be forgotten, if nothing happens until then; not while it runs, or mail for its folder waits.
    pub(crate) fn goes_at(&self) -> Option<Stamp> {
        (!self.is_running && !self.has_mail).then(|| self.last.saturating_add(KEPT))
    }
}

/// The sessions that the register forgets. The last one of a folder stays as long as there is the folder: it is what makes the
/// folder one that had a session.
pub(crate) fn forgettable(all: &[Noted], now: Stamp) -> Vec<&Noted> {
    let mut newest: HashMap<&Path, &Noted> = HashMap::new();
    for noted in all {
        let known = newest.entry(&noted.folder).or_insert(noted);
        if (known.last, &known.session) < (noted.last, &noted.session) {
            *known = noted;
        }
    }
    let is_last = |noted: &Noted| newest.get(noted.folder.as_path()).is_some_and(|last| *last == noted);
    let goes =
        |noted: &&Noted| noted.goes_at().is_some_and(|at| at <= now) && !(noted.has_folder && is_last(noted));
    all.iter().filter(goes).collect()
}

impl Office {
    /// All sessions of the register, with what decides whether they stay.
    pub(crate) fn noted_sessions(&self) -> Result<Vec<Noted>, OfficeError> {
        let register = SessionNote::register_with_times(&self.root, &self.state);
        let known: Vec<(Registered, i64)> =
            register.iter().filter_map(|(text, at)| Some((parse(Some(text))?, *at))).collect();
        let all: Vec<Registered> = known.iter().map(|(session, _)| session.clone()).collect();
        let mut folders: HashMap<PathBuf, (bool, bool)> = HashMap::new();
        let mut found = Vec::new();
        for (session, written) in known {
            if !folders.contains_key(&session.folder) {
                let facts = (self.folder_has_mail(&session.folder)?, session.folder.is_dir());
                folders.insert(session.folder.clone(), facts);
            }
            let (has_mail, has_folder) = folders[&session.folder];
            // A database is written for other sessions, too.
            let transcript = self.transcript_of_session(&session).filter(Transcript::is_file);
            let went_on = transcript.map_or(i64::MIN, |transcript| transcript.changed_at);
            found.push(Noted {
                is_running: self.process_running(&session, &all).is_some(),
                last: Stamp::from_millis(written.max(session.began).max(went_on)),
                has_mail,
                has_folder,
                client: session.client,
                session: session.session,
                folder: session.folder,
            });
        }
        Ok(found)
    }

    /// Forgets a session, if that is still due.
    pub(crate) fn forget_session(&self, session: &str) -> Result<bool, OfficeError> {
        let all = self.noted_sessions()?;
        let is_due = forgettable(&all, self.now()).iter().any(|noted| noted.session == session);
        if is_due {
            SessionNote::in_register(&self.root, session, &self.state).remove()?;
        }
        Ok(is_due)
    }

    fn folder_has_mail(&self, folder: &Path) -> Result<bool, OfficeError> {
        let Some(name) = self.mailbox_of_folder(folder) else { return Ok(false) };
        Ok(Digest::of(&self.mailbox(&super::team_name(), &name))?.unread > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 60 * 60 * 1_000;

    fn noted(session: &str, folder: &str, last_day: i64) -> Noted {
        Noted {
            client: "codex".to_owned(),
            session: session.to_owned(),
            folder: folder.into(),
            is_running: false,
            last: Stamp::from_millis(last_day * DAY),
            has_mail: false,
            has_folder: true,
        }
    }

    #[test]
    fn a_session_goes_that_is_long_over_without_mail_and_is_not_the_last_of_its_folder() {
        let now = Stamp::from_millis(100 * DAY);
        let old = || noted("old", "/a", 70);
        let gone = |noted: Noted| Noted { has_folder: false, ..noted };
        for (what, all, expected) in [
            ("the last of a folder", vec![old()], vec![]),
            ("an older one", vec![old(), noted("new", "/a", 71)], vec!["old"]),
            ("one of two at once", vec![old(), noted("twin", "/a", 70)], vec!["old"]),
            ("one of another folder", vec![old(), noted("new", "/b", 99)], vec![]),
            ("too young", vec![noted("young", "/a", 71), noted("new", "/a", 99)], vec![]),
            ("runs", vec![Noted { is_running: true, ..old() }, noted("new", "/a", 99)], vec![]),
            ("mail waits", vec![Noted { has_mail: true, ..old() }, noted("new", "/a", 99)], vec![]),
            ("the folder is gone", vec![gone(old())], vec!["old"]),
            ("the folder is gone, and mail waits", vec![Noted { has_mail: true, ..gone(old()) }], vec![]),
            ("the folder is gone, not for long", vec![gone(noted("young", "/a", 71))], vec![]),
            (
                "all but the last",
                vec![noted("1", "/a", 1), noted("3", "/a", 3), noted("2", "/a", 2)],
                vec!["1", "2"],
            ),
        ] {
            let found: Vec<&str> =
                forgettable(&all, now).into_iter().map(|noted| noted.session.as_str()).collect();
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn a_folder_that_had_a_session_is_known_when_its_older_sessions_are_forgotten() {
        let env = atm_support::TestEnv::new();
        let office = Office::new(env.store_root(), env.store_state());
        let late = Stamp::from_millis(office.now().as_millis() + 40 * DAY);
        let folder = env.root().join("shop");
        std::fs::create_dir_all(&folder).unwrap();
        let arrive = |session: &str| {
            let arrival = crate::sessions::Arrival {
                client: atm_clients::AgentClient::Codex,
                session,
                cwd: &folder,
                transcript: None,
                parent: 0,
                begins: true,
                has_socket: false,
            };
            office.register_session(&arrival).unwrap();
        };
        arrive("first");
        arrive("second");
        let later = office.clone().with_clock(crate::clock::FixedClock(late));
        let due: Vec<String> = forgettable(&later.noted_sessions().unwrap(), late)
            .into_iter()
            .map(|noted| noted.session.clone())
            .collect();
        assert_eq!(due.len(), 1, "{due:?}");
        assert!(later.forget_session(&due[0]).unwrap());
        assert!(!later.forget_session(&due[0]).unwrap(), "once");
        assert_eq!(office.registered_sessions().len(), 1);
        // Somebody writes to it: it is known, and as long as that waits nothing goes.
        let (to, _) = office.session_address("shop").unwrap();
        assert_eq!(to.name.as_str(), "shop");
        std::fs::remove_dir(&folder).unwrap();
        let team = office.team(&crate::sessions::team_name()).unwrap();
        let letter = crate::mail::send::Letter::new(to, "for the next one");
        let user = crate::office::USER.parse().unwrap();
        let sent = team.send(&user, &letter, crate::mail::send::SendOptions::default()).unwrap();
        assert_eq!(forgettable(&later.noted_sessions().unwrap(), late), [] as [&Noted; 0]);
        let read = team.mailbox(&"shop".parse().unwrap()).list().unwrap();
        assert_eq!(read.messages[0].id, sent.id);
    }
}
