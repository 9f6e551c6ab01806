//! Whom a message goes to: a member of a team, or a session by its name, its folder or an alias.

use std::env;
use std::os::unix::process::parent_id;

use atm_office::mail::send::SendOptions;
use atm_office::sessions::{self, Recipient, Route, Sender};
use atm_office::{Office, OfficeError};
use atm_wire::{MemberName, TeamName};

use crate::context::Context;
use crate::failure::Failure;

/// The way of a letter from this command line: to a member of the team that is meant, or to a session.
pub(super) fn route<'a>(
    office: &'a Office,
    context: &Context,
    to: Recipient,
    creates: bool,
) -> Result<(Route<'a>, MemberName), Failure> {
    if let (Recipient::Folder(folder), true) = (&to, creates) {
        // What is to be made has to be a name.
        return Err(MemberName::parse(folder).map_or_else(Failure::from, |name| {
            Failure::usage(format!("{name} is a folder, which --create does not make"))
        }));
    }
    let sender = Sender {
        team: context.chosen_team()?,
        names_team: !context.global.team.is_empty(),
        is_named: context.identity()?.is_some(),
        session: Some(&|| session_here(context)),
    };
    let said = to.to_string();
    let to = to.within(&context.cwd, env::home_dir().as_deref());
    let leads_nowhere = match &to {
        Recipient::Folder(folder) => is_path(&said) && !context.cwd.join(folder).is_dir(),
        Recipient::Address(_) => false,
    };
    let options = SendOptions { create: creates, ..SendOptions::default() };
    let route = office.route(sender, to, creates).map_err(|error| match error {
        OfficeError::NoSession { nearest, .. } if leads_nowhere => no_recipient(&said, &nearest),
        error => Failure::sending(error, options),
    })?;
    let from = route.from.clone().map_or_else(|| context.sender(), Ok)?;
    Ok((route, from))
}

/// Whether this is a path, and not the last parts of one.
fn is_path(said: &str) -> bool {
    let mut parts = said.split('/');
    matches!(parts.next(), Some("" | "." | ".." | "~")) || parts.any(|part| part == "..")
}

/// What is no folder, was none of a session's, and cannot be a name.
fn no_recipient(said: &str, nearest: &[String]) -> Failure {
    let failure = MemberName::parse(said)
        .map_or_else(Failure::from, |name| Failure::usage(format!("{name} is the path of no folder")));
    let hint = "there is no folder at that path either; `atm sessions` lists the sessions' folders";
    match nearest {
        [] => failure.hint(hint),
        nearest => failure.hint(format!("{hint}; did you mean {}?", nearest.join(", "))),
    }
}

/// Who answers or reads.
pub(super) struct Acting {
    pub(super) team: TeamName,
    pub(super) who: MemberName,
    /// The session that we are called in, where it is the one that acts.
    pub(super) session: Option<String>,
}

/// Who answers or reads, and in which team: the one that is named; where nobody is and no team, the session that we are
/// called in, if mail for it came; else the person at the keyboard.
pub(super) fn acting(
    context: &Context,
    otherwise: impl FnOnce(&Context) -> Result<(TeamName, MemberName), Failure>,
) -> Result<Acting, Failure> {
    let is_named = context.identity()?.is_some() || context.settings.team.value.is_some();
    let session = if is_named { None } else { session_here(context) };
    let own = session.as_ref().and_then(|session| context.office.known_mailbox_of_session(session));
    match own {
        Some(mailbox) => Ok(Acting { team: sessions::team_name(), who: mailbox, session }),
        None => otherwise(context).map(|(team, who)| Acting { team, who, session: None }),
    }
}

/// The session that this command was called in.
pub(crate) fn session_here(context: &Context) -> Option<String> {
    context.office.session_here(u64::from(parent_id()), |name| env::var(name).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_somewhere_or_climbs_and_the_end_of_one_does_neither() {
        for (said, expected) in [
            ("/home/me/shop", true),
            ("./shop", true),
            ("../shop", true),
            ("~/shop", true),
            (".", true),
            ("..", true),
            ("shop/../../x", true),
            ("src/shop", false),
            ("shop/", false),
            ("a..b/c", false),
        ] {
            assert_eq!(is_path(said), expected, "{said}");
        }
    }
}
