//! Whom a message goes to: a member of a team, or a session by its name, its folder or an alias.

use std::env;
use std::fmt;
use std::str::FromStr;

use atm_clients::AgentClient;
use atm_office::mail::send::SendOptions;
use atm_office::{OfficeError, sessions};
use atm_wire::{Address, MemberName, NameError, TeamName};

use crate::context::Context;
use crate::failure::Failure;

/// As it was typed.
#[derive(Debug, Clone)]
pub(super) enum Recipient {
    /// A name, with or without a team.
    Address(Address),
    /// A folder: a path, or the last parts of one.
    Folder(String),
}

impl FromStr for Recipient {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_path = text.contains('/') && !text.contains('@') || matches!(text, "." | "..");
        if is_path && !text.chars().any(char::is_control) {
            return Ok(Self::Folder(text.to_owned()));
        }
        text.parse().map(Self::Address)
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

/// The way of a letter: the sender's team, the sender, and the recipient.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) team: TeamName,
    pub(super) from: MemberName,
    pub(super) to: Address,
    /// The session that it is for, if one was named.
    pub(super) session: Option<String>,
    /// Whether it goes to a session if the team has nobody of that name.
    may_be_session: bool,
}

impl Route {
    /// Where a letter goes: to a member of the team that is meant or, where no team is, to a session.
    pub(super) fn find(context: &Context, to: Recipient, creates: bool) -> Result<Self, Failure> {
        let to = match to {
            // What is to be made has to be a name.
            Recipient::Folder(folder) if creates => {
                return Err(MemberName::parse(&folder).map_or_else(Failure::from, |name| {
                    Failure::usage(format!("{name} is a folder, which --create does not make"))
                }));
            }
            Recipient::Folder(folder) => return to_session(context, &absolute(context, &folder)),
            Recipient::Address(to) if to.team.as_ref().is_some_and(sessions::is_team) => {
                return to_session(context, to.name.as_str());
            }
            Recipient::Address(to) => context.resolve(to)?,
        };
        let may_be_session = to.team.is_none() && context.global.team.is_empty() && !creates;
        let team = match context.team_towards(&to) {
            Err(failure) if may_be_session && failure.is_about_no_team() => {
                let has_sessions = context.office.knows_sessions();
                return if has_sessions { to_session(context, to.name.as_str()) } else { Err(failure) };
            }
            team => team?,
        };
        Ok(Self { team, from: context.sender()?, to, session: None, may_be_session })
    }

    /// Another way after an error: to a session, if there is one of that name and nobody in the team.
    pub(super) fn otherwise(
        &self,
        context: &Context,
        error: OfficeError,
        options: SendOptions,
    ) -> Result<Self, Failure> {
        let (wanted, nearest, team) = match error {
            OfficeError::NoMember { wanted, nearest, team } if self.may_be_session => (wanted, nearest, team),
            error => return Err(Failure::sending(error, options)),
        };
        match context.office.session_address(self.to.name.as_str()) {
            Ok(found) => from_here(context, found),
            Err(OfficeError::NoSession { nearest: sessions, .. }) => {
                let nearest = nearest.into_iter().chain(sessions).collect();
                let none = OfficeError::NoMember { wanted, nearest, team };
                Err(Failure::sending(none, options))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn to_session(context: &Context, wanted: &str) -> Result<Route, Failure> {
    from_here(context, context.office.session_address(wanted)?)
}

/// From who sends: the one that is named, the session that we are called in, or the person at the keyboard.
fn from_here(context: &Context, (to, session): (Address, Option<String>)) -> Result<Route, Failure> {
    let sessions = sessions::team_name();
    let (team, from) = match context.identity()? {
        Some(_) => (context.team_towards(&to)?, context.sender()?),
        None => (sessions, own_mailbox(context)?.map_or_else(|| context.sender(), Ok)?),
    };
    Ok(Route { team, from, to, session, may_be_session: false })
}

/// The mailbox of the session that we are called in, if its client called us there before; made if there is none.
fn own_mailbox(context: &Context) -> Result<Option<MemberName>, Failure> {
    Ok(session_here().map(|session| context.office.mailbox_of_session(&session)).transpose()?.flatten())
}

/// Who answers or reads, and in which team: the one that is named; where nobody is and no team, the session that we are
/// called in, if mail for it came; else the person at the keyboard.
pub(super) fn acting(
    context: &Context,
    otherwise: impl FnOnce(&Context) -> Result<(TeamName, MemberName), Failure>,
) -> Result<(TeamName, MemberName), Failure> {
    let is_named = context.identity()?.is_some() || context.settings.team.value.is_some();
    let own = session_here()
        .filter(|_| !is_named)
        .and_then(|session| context.office.known_mailbox_of_session(&session));
    match own {
        Some(mailbox) => Ok((sessions::team_name(), mailbox)),
        None => otherwise(context),
    }
}

/// The session that a client's variable names.
fn session_here() -> Option<String> {
    let mut variables = AgentClient::ALL.iter().filter_map(|client| client.profile().session_variable);
    variables.find_map(|name| env::var(name).ok()).filter(|session| !session.is_empty())
}

/// A path that begins here or at home, whole. The last parts of one are left as they are.
fn absolute(context: &Context, folder: &str) -> String {
    let first = folder.split('/').next().unwrap_or_default();
    let whole = match first {
        "." | ".." => context.cwd.join(folder),
        "~" => match env::home_dir() {
            Some(home) => home.join(folder.trim_start_matches("~/")),
            None => return folder.to_owned(),
        },
        _ => return folder.trim_end_matches('/').to_owned(),
    };
    whole.canonicalize().unwrap_or(whole).display().to_string()
}
