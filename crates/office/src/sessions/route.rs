//! The way of a letter: to a member of a team, or to a session by its name, its folder or an alias.
//!
//! | the recipient is | it goes to |
//! |---|---|
//! | a path, or the last parts of one | a session |
//! | `NAME@sessions` | a session |
//! | `NAME@TEAM` | a member of that team |
//! | `NAME`, and a team was named | a member of that team |
//! | `NAME`, and the team that is meant has one of that name | that member |
//! | `NAME` otherwise | a session |

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use atm_wire::{Address, MemberName, NameError, TeamName};
use serde_json::{Map, Value};

use super::{is_team, team_name};
use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::office::{Office, USER};
use crate::people::presence::PresenceView;
use crate::team::Team;

/// The code of an error about a team that is not there.
const NO_TEAM: &str = "no_such_team";

/// A recipient, as somebody wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// A name, with or without a team.
    Address(Address),
    /// A folder: a path, or the last parts of one.
    Folder(String),
}

impl Recipient {
    /// A path that begins here or at home, whole. The last parts of one are left as they are.
    #[must_use]
    pub fn within(self, cwd: &Path, home: Option<&Path>) -> Self {
        let Self::Folder(folder) = self else { return self };
        let whole = match (folder.split('/').next().unwrap_or_default(), home) {
            ("." | "..", _) => cwd.join(&folder),
            ("~", Some(home)) => home.join(folder.trim_start_matches("~/")),
            _ if folder.bytes().all(|byte| byte == b'/') => return Self::Folder("/".to_owned()),
            _ => return Self::Folder(folder.trim_end_matches('/').to_owned()),
        };
        Self::Folder(whole.canonicalize().unwrap_or(whole).display().to_string())
    }
}

impl FromStr for Recipient {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let folder = || Self::Folder(text.to_owned());
        let may_be_folder = !text.chars().any(char::is_control);
        if may_be_folder && text.contains('/') && !text.contains('@') {
            return Ok(folder());
        }
        // No name begins with a dot, and none has a slash in it, but folders do: `.dotfiles`, `src/a@b`.
        let is_no_name = text.starts_with('.') || text.contains('/');
        match text.parse().map(Self::Address) {
            Err(_) if may_be_folder && is_no_name => Ok(folder()),
            parsed => parsed,
        }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Folder(folder) => f.write_str(folder),
        }
    }
}

/// How the session that a front was called in is found.
pub type FindSession<'a> = &'a dyn Fn() -> Option<String>;

/// Who sends, as far as a front knows it.
pub struct Sender<'a> {
    /// The team that is meant, or why none is.
    pub team: Result<TeamName, OfficeError>,
    /// Somebody named that team for this letter: no session is meant.
    pub names_team: bool,
    /// Somebody said in whose name it is sent.
    pub is_named: bool,
    /// How the session is found that the front was called in: that takes a look at the processes above, for which a letter to a
    /// member does not pay.
    pub session: Option<FindSession<'a>>,
}

/// Where a letter goes.
#[derive(Debug)]
pub struct Route<'a> {
    /// The sender's team; that of sessions in the session that sends, where that is known.
    pub team: Team<'a>,
    /// The mailbox of the session that sends, where nobody was named and it writes to another session.
    pub from: Option<MemberName>,
    /// The recipient.
    pub to: Address,
    /// The session that it is for, if one was named.
    pub session: Option<String>,
}

impl Route<'_> {
    /// A letter that goes there.
    pub fn letter(&self, text: impl Into<String>) -> Letter {
        Letter { session: self.session.clone(), ..Letter::new(self.to.clone(), text) }
    }

    /// Asks who is there: a payload of type `kind` with `data`, and an id that the answer will carry.
    pub fn request(
        &self,
        from: &MemberName,
        kind: &str,
        data: Map<String, Value>,
        options: SendOptions,
    ) -> Result<(String, Sent), OfficeError> {
        self.team.request_by(from, self.letter(""), (kind, data), options)
    }
}

impl Office {
    /// Where a letter goes; an error with the nearest names, or with those that may be meant. `creates` says that an inbox is
    /// made for a name that nobody has: then no session is meant.
    pub fn route(&self, sender: Sender<'_>, to: Recipient, creates: bool) -> Result<Route<'_>, OfficeError> {
        let to = match to {
            Recipient::Folder(folder) => return self.route_to_session(sender, &folder),
            Recipient::Address(to) => match self.called_team(to.team.clone()) {
                Ok(team) => Address { team, ..to },
                // A folder may be called so.
                Err(error) if error.code() == NO_TEAM => {
                    let routed = self.route_to_session(sender, &to.to_string());
                    return routed.map_err(|_| error);
                }
                Err(error) => return Err(error),
            },
        };
        let is_user = to.name.as_str() == USER;
        let is_session = |team: Option<&TeamName>| team.is_some_and(is_team) && !is_user && !creates;
        if is_session(to.team.as_ref()) {
            return self.route_to_session(sender, to.name.as_str());
        }
        let may_be_session = to.team.is_none() && !sender.names_team && !is_user && !creates;
        let team = match (sender.team, &to.team) {
            (Err(OfficeError::WhichTeam { .. }), Some(team)) => team.clone(),
            (Err(error), None) if may_be_session && is_about_no_team(&error) => {
                if !self.knows_sessions() {
                    return Err(error);
                }
                return self.route_to_session(Sender { team: Err(error), ..sender }, to.name.as_str());
            }
            // The mailboxes alone: each is a session's, by whichever name.
            (Ok(team), None) if is_session(Some(&team)) => {
                let sender = Sender { team: Ok(team), ..sender };
                return self.route_to_session(sender, to.name.as_str());
            }
            (team, _) => team?,
        };
        let handle = self.team(&team)?;
        let is_member = || {
            handle.config().member(to.name.as_str()).is_some()
                || handle.mailbox(&to.name).exists()
                || handle.home_of(&to.name).1.is_some()
        };
        if !may_be_session || is_member() {
            return Ok(Route { team: handle, from: None, to, session: None });
        }
        let sender = Sender { team: Ok(team), ..sender };
        self.route_to_session(sender, to.name.as_str()).map_err(|error| match error {
            OfficeError::NoSession { nearest: sessions, .. } => {
                let none = self.no_member(handle.name(), handle.config(), to.name.as_str());
                with_nearest(none, sessions)
            }
            error => error,
        })
    }

    /// From the one that is named, from the session that sends, or from the person at the keyboard.
    fn route_to_session(&self, sender: Sender<'_>, wanted: &str) -> Result<Route<'_>, OfficeError> {
        let (to, session) = self.session_address(wanted)?;
        if sender.is_named {
            let team = match sender.team {
                Err(error) if is_about_no_team(&error) => team_name(),
                team => team?,
            };
            return Ok(Route { team: self.team(&team)?, from: None, to, session });
        }
        let own = sender.session.and_then(|find| find());
        let from = own.as_ref().map(|own| self.mailbox_of_session(own)).transpose()?.flatten();
        Ok(Route { team: self.team(&team_name())?.in_session(own), from, to, session })
    }

    /// Whether somebody is there: a member of the team that is meant or, where none has that name and no team was named, a session.
    pub fn presence_of(
        &self,
        team: Result<TeamName, OfficeError>,
        names_team: bool,
        whom: Recipient,
    ) -> Result<PresenceView, OfficeError> {
        let whom = match whom {
            Recipient::Folder(folder) => return self.session_presence(&folder),
            Recipient::Address(whom) if whom.team.as_ref().is_some_and(is_team) => {
                return self.session_presence(whom.name.as_str());
            }
            Recipient::Address(whom) => whom,
        };
        let named = match self.called_team(whom.team.clone()) {
            // A folder may be called so.
            Err(error) if error.code() == NO_TEAM => {
                return self.session_presence(&whom.to_string()).map_err(|_| error);
            }
            named => named?,
        };
        let (names_team, name) = (names_team || named.is_some(), &whom.name);
        let found = named.map_or(team, Ok).and_then(|team| self.presence(&team, name));
        let Err(error) = found else { return found };
        let is_no_member = matches!(error, OfficeError::NoMember { .. });
        if names_team || !is_no_member && !is_about_no_team(&error) {
            return Err(error);
        }
        self.session_presence(name.as_str()).map_err(|session| match (session, &error) {
            (OfficeError::NoSession { .. }, _) if !is_no_member && !self.knows_sessions() => error,
            (OfficeError::NoSession { nearest, .. }, OfficeError::NoMember { team, .. })
                if !is_team(team) =>
            {
                with_nearest(error, nearest)
            }
            (session, _) => session,
        })
    }

    /// A recipient's team, which may be called as other commands call it.
    fn called_team(&self, team: Option<TeamName>) -> Result<Option<TeamName>, OfficeError> {
        let choose = |team: TeamName| {
            if is_team(&team) { Ok(team) } else { self.choose_team(Some(team.as_str()), Path::new("")) }
        };
        team.map(choose).transpose()
    }
}

fn is_about_no_team(error: &OfficeError) -> bool {
    matches!(error, OfficeError::NoTeams { .. } | OfficeError::WhichTeam { .. })
}

/// The same error with more names that may be meant.
fn with_nearest(error: OfficeError, more: Vec<String>) -> OfficeError {
    match error {
        OfficeError::NoMember { team, wanted, mut nearest } => {
            nearest.extend(more);
            OfficeError::NoMember { team, wanted, nearest }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::members::MemberPlan;
    use crate::people::teams::TeamPlan;

    /// As whom a letter goes where: `from>to@team`, or the error's code and the names in it.
    fn way(office: &Office, team: Option<&str>, to: &str, creates: bool) -> String {
        let chosen = office.choose_team(team, Path::new("/"));
        let sender = Sender { team: chosen, names_team: team.is_some(), is_named: false, session: None };
        match to.parse().map_err(Into::into).and_then(|to| office.route(sender, to, creates)) {
            Ok(Route { team, to, .. }) => {
                format!("{}>{}@{}", team.name(), to.name, to.team.as_ref().unwrap_or(team.name()))
            }
            Err(error) => match &error {
                OfficeError::NoMember { nearest, .. } | OfficeError::NoSession { nearest, .. } => {
                    format!("{} {}", error.code(), nearest.join(" "))
                }
                _ => error.code().to_owned(),
            },
        }
    }

    #[test]
    fn a_letter_goes_to_a_member_where_one_is_meant_and_else_to_a_session() {
        let env = atm_support::TestEnv::new();
        let office = Office::new(env.store_root(), env.store_state());
        let folder = |name: &str| {
            let folder = env.root().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            folder.canonicalize().unwrap()
        };
        assert_eq!(way(&office, None, "shop", false), "no_teams", "nobody ever wrote to anybody");
        for name in ["a/shop", "b/bob"] {
            office.set_session_alias(&name.replace('/', "-"), &folder(name)).unwrap();
        }
        let shop = folder("a/shop").display().to_string();
        for (to, expected) in [
            ("a-shop", "sessions>shop@sessions"),
            ("shop", "sessions>shop@sessions"),
            (&shop, "sessions>shop@sessions"),
            ("shop@sessions", "sessions>shop@sessions"),
            ("shopp", "no_such_session shop a-shop"),
            ("user", "sessions>user@sessions"),
            ("bob@dev", "no_such_team"),
        ] {
            assert_eq!(way(&office, None, to, false), expected, "{to}");
        }
        let dev = office.create_team(&TeamPlan::new("dev", "dev")).unwrap();
        office.add_member(&dev, &MemberPlan::new("bob")).unwrap();
        for (team, to, creates, expected) in [
            (None, "bob", false, "dev>bob@dev"),
            (None, "bob@dev", false, "dev>bob@dev"),
            (None, "bob@sessions", false, "sessions>bob@sessions"),
            (None, "b/bob", false, "sessions>bob@sessions"),
            (None, "shop", false, "sessions>shop@sessions"),
            (None, "shop@dev", false, "dev>shop@dev"),
            (None, "shop", true, "dev>shop@dev"),
            (None, "user", false, "dev>user@dev"),
            (None, "shopp", false, "no_such_member shop a-shop"),
            (Some("dev"), "bob", false, "dev>bob@dev"),
            // Who is meant by a name in a named team is the team's to say.
            (Some("dev"), "shop", false, "dev>shop@dev"),
            (Some("dev"), "a/shop", false, "sessions>shop@sessions"),
            (Some("sessions"), "shop", false, "sessions>shop@sessions"),
        ] {
            assert_eq!(way(&office, team, to, creates), expected, "{team:?} {to} {creates}");
        }
        office.create_team(&TeamPlan::new("ops", "ops")).unwrap();
        assert_eq!(way(&office, None, "shop", false), "sessions>shop@sessions", "no team is meant");
        assert_eq!(way(&office, None, "bob@dev", false), "dev>bob@dev");
        assert_eq!(way(&office, None, "zzz", false), "no_such_session ");
    }

    /// A folder was listed by a name that nobody could write to.
    #[test]
    fn every_folder_can_be_written_to_by_the_name_that_it_is_listed_by() {
        let env = atm_support::TestEnv::new();
        let office = Office::new(env.store_root(), env.store_state());
        for (number, name) in [".dotfiles", "a@b", "My Shop", "Büro"].into_iter().enumerate() {
            let folder = env.root().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            office.set_session_alias(&format!("alias-{number}"), &folder).unwrap();
        }
        office.set_session_alias("top", Path::new("/")).unwrap();
        for listed in office.sessions().unwrap() {
            for name in [listed.name, listed.folder.display().to_string()] {
                let to = name.parse::<Recipient>().unwrap().within(Path::new("/"), None);
                let sender = Sender {
                    team: office.choose_team(None, Path::new("/")),
                    names_team: false,
                    is_named: false,
                    session: None,
                };
                let routed = office.route(sender, to.clone(), false);
                assert!(routed.is_ok(), "{name}: {}", routed.unwrap_err());
                let there = office.presence_of(office.choose_team(None, Path::new("/")), false, to);
                assert!(there.is_ok(), "{name}: {}", there.unwrap_err());
            }
        }
    }

    #[test]
    fn the_session_that_sends_is_looked_for_only_if_a_session_is_written_to() {
        let env = atm_support::TestEnv::new();
        let office = Office::new(env.store_root(), env.store_state());
        office.create_team(&TeamPlan::new("dev", "a team")).unwrap();
        office.add_member(&"dev".parse().unwrap(), &MemberPlan::new("bob")).unwrap();
        let folder = env.root().join("shop");
        std::fs::create_dir_all(&folder).unwrap();
        office.set_session_alias("front", &folder).unwrap();
        for (to, is_named, looks) in
            [("bob", false, 0), ("bob@dev", true, 0), ("front", true, 0), ("front", false, 1)]
        {
            let looked = std::cell::Cell::new(0);
            let find = || {
                looked.set(looked.get() + 1);
                None
            };
            let team = Ok("dev".parse().unwrap());
            let sender = Sender { team, names_team: false, is_named, session: Some(&find) };
            office.route(sender, to.parse().unwrap(), false).unwrap();
            assert_eq!(looked.get(), looks, "{to} {is_named}");
        }
    }

    /// `user` is the person at the keyboard in any case, so the alias would stand for nothing.
    #[test]
    fn an_alias_is_not_called_as_the_person_at_the_keyboard() {
        let env = atm_support::TestEnv::new();
        let office = Office::new(env.store_root(), env.store_state());
        let refused = office.set_session_alias(USER, &env.root()).unwrap_err();
        assert_eq!(refused.code(), "reserved_name");
        assert!(office.session_aliases().unwrap().is_empty());
    }
}
