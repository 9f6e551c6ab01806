//! Those who are not of a shared team and write to its members on other machines: sessions, and members of other teams.
//!
//! Machines have teams in common and nothing else, so such a letter is carried within its recipient's team. In that team its
//! sender is `NAME.TEAM`, a name that no member has, and on the other machine `NAME.TEAM.MACHINE`, as everybody who is
//! announced by nobody. An answer comes to `NAME.TEAM`, and is for the one who is meant, in its own team.
//!
//! Nobody is reached in this way who has not written first: a machine shares a team, not its user's sessions.

use atm_wire::{MachineName, MemberName, TeamName};
use uuid::Uuid;

use super::Machines;
use crate::error::OfficeError;
use crate::sessions;
use crate::sessions::peers::UNKNOWN;
use crate::team::Team;

/// So long is the longest such name, in bytes: with the longest machine's name it is a member's name still.
const LONGEST: usize = 31;
/// As much of a name, and of its team's, as one that is too long has of them.
const CUT: (usize, usize) = (13, 8);
/// As much of a hash as tells names apart that begin alike.
const HASH: usize = 8;

/// What a member of `team` is called in another team that carries its mail: no two have the same name.
pub(super) fn carried_name(name: &str, team: &str) -> String {
    let whole = format!("{name}.{team}");
    // With a dot in the team's name, the last one would not part the two.
    let is_plain = !team.contains('.') && whole.len() <= LONGEST && MemberName::parse(&whole).is_ok();
    if is_plain {
        return whole;
    }
    let parts = format!("{name}\n{team}");
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, parts.as_bytes()).simple().to_string();
    format!("{}-{}.{}", cut(name, CUT.0), &hash[..HASH], cut(team, CUT.1))
}

/// The beginning of a name, that ends in no dot, space or hyphen.
fn cut(name: &str, most: usize) -> &str {
    let end = (0..=most.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name[..end].trim_end_matches(|c: char| c == '.' || c == '-' || c.is_whitespace())
}

impl Team<'_> {
    /// Refuses a letter of somebody of another team to a member of another machine if its sender's name there would mean
    /// somebody else.
    pub(crate) fn check_outsider(
        &self,
        (from, home): (&MemberName, &TeamName),
        to: &MemberName,
        machine: &MachineName,
    ) -> Result<(), OfficeError> {
        let called = carried_name(from.as_str(), home.as_str());
        let config = self.config();
        if config.member(&called).is_none() && config.machine_of(&called).is_none() {
            return Ok(());
        }
        let why = format!(
            "{from} of team {home} would be {called} there, which means another one in team {}",
            self.name()
        );
        Err(OfficeError::Elsewhere { name: to.to_string(), machine: machine.clone(), why })
    }
}

/// What the name of an outsider begins with, by what it is called: it may be cut, with a hash behind.
fn beginning_of(called: &str) -> &str {
    let name = called.rsplit_once('.').map_or(called, |(name, _)| name);
    let is_hash = |end: &str| end.len() == HASH && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.rsplit_once('-').filter(|(_, end)| is_hash(end)).map_or(name, |(beginning, _)| beginning)
}

impl<'a> Machines<'a> {
    /// Whom a name means that a letter for a shared team has, if that is somebody outside of the team: the one's own team and name.
    pub(super) fn outsider(
        &self,
        team: &TeamName,
        to: &str,
    ) -> Result<Option<(TeamName, MemberName)>, OfficeError> {
        let office = self.office;
        // Members come first; and only what has a dot is such a name.
        let is_member = || {
            let config = office.folder(team).and_then(|folder| Ok(folder.load()?));
            config.is_ok_and(|config| config.member(to).is_some())
        };
        if !to.contains('.') || is_member() {
            return Ok(None);
        }
        // The log knows who has written, also of those who left their team since, or whose team cannot be read now.
        let (root, beginning) = (office.root_key(), beginning_of(to));
        let writers =
            office.books.with(|ledger| ledger.writers_elsewhere(&root, team.as_str(), beginning))?;
        let meant = writers.into_iter().find(|(name, home)| carried_name(name, home) == to);
        Ok(meant
            .and_then(|(name, home)| Some((TeamName::parse(&home).ok()?, MemberName::parse(&name).ok()?))))
    }

    /// The team in which somebody outside of a shared team gets an answer, or why there is none any more. A team that cannot be read
    /// now is an error: that is no verdict.
    pub(super) fn team_of_outsider(
        &self,
        home: &TeamName,
        name: &MemberName,
    ) -> Result<Result<Team<'a>, String>, OfficeError> {
        if sessions::is_team(home) {
            self.office.restore_mailbox(name)?;
        }
        let team = match self.office.team(home) {
            Err(OfficeError::NoTeam { .. }) => {
                return Ok(Err(format!("the team {home} of {name} is not here any more")));
            }
            team => team?,
        };
        Ok(match team.config().machine_of(name.as_str()) {
            Some(machine) => Err(format!("{name} of team {home} is on machine {machine} now")),
            None => Ok(team),
        })
    }

    /// The team that has the mailbox of a letter's recipient, where that is another one than the letter's.
    pub fn team_of_recipient(&self, team: &TeamName, to: &str) -> Result<Option<TeamName>, OfficeError> {
        Ok(self.outsider(team, to)?.map(|(home, _)| home))
    }

    /// The teams, other than a shared one, in which somebody has not seen mail that came from it.
    pub fn teams_with_unseen_mail_of(&self, team: &TeamName) -> Result<Vec<TeamName>, OfficeError> {
        let root = self.office.root_key();
        let names =
            self.office.books.with(|ledger| ledger.teams_with_unseen_mail_of(&root, team.as_str()))?;
        Ok(names.iter().filter_map(|name| TeamName::parse(name).ok()).filter(|name| name != team).collect())
    }

    /// Whether somebody of a team here has not seen all mail.
    pub fn has_unseen_mail(&self, team: &TeamName) -> Result<bool, OfficeError> {
        let root = self.office.root_key();
        let inboxes = self.office.books.with(|ledger| ledger.team_inboxes(&root, team.as_str()))?;
        Ok(inboxes.values().any(|inbox| inbox.has_open))
    }

    /// Why a name that no member has cannot be reached, if it is one outside of the team: such a letter has failed, while a member
    /// that is not here may have moved.
    pub(super) fn why_unreachable(&self, team: &TeamName, to: &str) -> Result<Option<String>, OfficeError> {
        if UNKNOWN.contains(&to) {
            return Ok(Some("a sender that could not be identified cannot be answered".to_owned()));
        }
        let is_of = |team: &str| to.strip_suffix(team).is_some_and(|name| name.ends_with('.'));
        let is_outside = |team: &TeamName| is_of(team.as_str()) || is_of(cut(team.as_str(), CUT.1));
        if !is_of(sessions::TEAM) && !self.office.team_names()?.iter().any(is_outside) {
            return Ok(None);
        }
        let why = format!(
            "{to} is not of team {team} here, and nobody of that name has written to its members elsewhere"
        );
        Ok(Some(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_team_and_room_for_the_longest_machines() {
        for (name, team, expected) in [
            ("front", "sessions", Some("front.sessions")),
            ("shop-1a2b3c4d", "sessions", Some("shop-1a2b3c4d.sessions")),
            ("eve", "session-0b7e1c52", Some("eve.session-0b7e1c52")),
            ("the-frontend-of-the-shop", "sessions", None),
            ("eve", "a-team-with-a-very-long-name", None),
            ("odd.", "ops", None),
            ("日本日本日本日本日本", "日本日本日本日本", None),
        ] {
            let called = carried_name(name, team);
            assert!(called.len() <= LONGEST, "{called}");
            assert!(MemberName::parse(&format!("{called}.{}", "m".repeat(32))).is_ok(), "{called}");
            assert_eq!(expected.is_some(), called == format!("{name}.{team}"), "{called}");
        }
        // Two that would have one name.
        assert_ne!(carried_name("a.b", "c"), carried_name("a", "b.c"));
        let long = "the-frontend-of-the-shop";
        let called = carried_name(long, "sessions");
        assert!(called.starts_with("the-frontend-") && called.ends_with(".sessions"), "{called}");
        assert_ne!(called, carried_name("the-frontend-of-the-house", "sessions"));
        for (name, team) in [
            ("front", "sessions"),
            ("a.b", "ops"),
            (long, "sessions"),
            ("日本日本日本日本日本", "日本"),
            ("odd.", "ops"),
        ] {
            let beginning = beginning_of(&carried_name(name, team)).to_owned();
            assert!(name.starts_with(&beginning) && !beginning.is_empty(), "{beginning}");
        }
        assert_eq!(["", ".", ".x", "a-1.b", "-12345678.b"].map(beginning_of), ["", "", "", "a-1", ""]);
    }
}
