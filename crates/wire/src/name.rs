//! Names of members and teams, and the files and folders that clients make of them.
//!
//! There are two gates. [`MemberName::parse`] lets in every name that is safe to show and to look up, since
//! other programs chose it; [`MemberName::create`] holds what we make ourselves to the documented form.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::visible;

/// The longest name, in bytes. Real file systems end at 255, and suffixes such as `.json.lock` need room.
const LONGEST: usize = 64;

/// The shortest name that we create ourselves.
const SHORTEST_CREATED: usize = 3;

/// A name that cannot be used, with the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} \"{name}\": {rule}")]
pub struct NameError {
    what: &'static str,
    name: String,
    rule: &'static str,
}

impl NameError {
    pub(crate) fn new(what: &'static str, name: &str, rule: &'static str) -> Self {
        Self { what, name: excerpt(name), rule }
    }

    /// Which kind of name: `member name`, `team name` or `artifact name`.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The same about another kind of name, which has to follow the same rules.
    #[must_use]
    pub fn of(self, what: &'static str) -> Self {
        Self { what, ..self }
    }

    /// The offending name, escaped and shortened so that it can be shown anywhere.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rule that the name breaks, as a sentence without its subject.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

/// Escapes a foreign text for an error message, and cuts it where it would fill the screen.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 80;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// The rule that a name from elsewhere breaks, if any.
fn broken_rule(name: &str) -> Option<&'static str> {
    let broken = if name.is_empty() {
        "must not be empty"
    } else if name.len() > LONGEST {
        "must not be longer than 64 bytes"
    } else if name.contains('/') {
        "must not contain \"/\""
    } else if name.contains('\\') {
        "must not contain \"\\\""
    } else if name.contains('@') {
        "must not contain \"@\""
    } else if name.contains("..") {
        "must not contain \"..\""
    } else if name.starts_with('.') {
        "must not start with a dot"
    } else if name.chars().any(char::is_control) {
        "must not contain control characters"
    } else if name.chars().any(visible::is_invisible) {
        "must not contain invisible characters"
    } else if name.trim() != name {
        "must not start or end with white space"
    } else {
        return None;
    };
    Some(broken)
}

/// The rule that a name of our own making breaks, if any.
fn broken_rule_of_creation(name: &str) -> Option<&'static str> {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if let Some(rule) = broken_rule(name) {
        Some(rule)
    } else if name.chars().count() < SHORTEST_CREATED {
        Some("must have 3 to 64 characters")
    } else if !name.split('-').all(is_word) {
        Some("must be kebab-case: lower-case letters and digits, single hyphens between them")
    } else {
        None
    }
}

/// Replaces each UTF-16 unit outside `keep` by a hyphen, as clients written in JavaScript do.
fn hyphenate(name: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if keep(c) {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n('-', c.len_utf16()));
        }
    }
    out
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// Accepts a name that exists somewhere: everything that is safe to show and to look up.
            pub fn parse(name: &str) -> Result<Self, NameError> {
                Self::checked(name, broken_rule(name))
            }

            /// Accepts a name for something new: kebab-case, 3 to 64 characters.
            pub fn create(name: &str) -> Result<Self, NameError> {
                Self::checked(name, broken_rule_of_creation(name))
            }

            fn checked(name: &str, broken: Option<&'static str>) -> Result<Self, NameError> {
                match broken {
                    Some(rule) => Err(NameError::new($what, name, rule)),
                    None => Ok(Self(name.to_owned())),
                }
            }

            /// The name as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as clients spell it in a file name: each UTF-16 unit outside `[A-Za-z0-9_-]` is a hyphen.
            pub fn file_stem(&self) -> String {
                hyphenate(&self.0, |c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $type {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $type {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl FromStr for $type {
            type Err = NameError;

            fn from_str(name: &str) -> Result<Self, NameError> {
                Self::parse(name)
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;

            fn try_from(name: String) -> Result<Self, NameError> {
                Self::parse(&name)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> String {
                name.0
            }
        }
    };
}

name_type! {
    /// The name of a member: what mail is routed by.
    MemberName, "member name"
}

name_type! {
    /// The name of a team.
    TeamName, "team name"
}

impl TeamName {
    /// The folder that clients make for a team: each UTF-16 unit outside `[A-Za-z0-9]` is a hyphen, lower case.
    pub fn folder(&self) -> String {
        hyphenate(&self.0, |c| c.is_ascii_alphanumeric()).to_ascii_lowercase()
    }
}

/// A member, and its team where that is said: `name` or `name@team`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The member.
    pub name: MemberName,
    /// The team, when the address names one.
    pub team: Option<TeamName>,
}

impl FromStr for Address {
    type Err = NameError;

    fn from_str(address: &str) -> Result<Self, NameError> {
        let (name, team) = match address.split_once('@') {
            Some((name, team)) => (name, Some(TeamName::parse(team)?)),
            None => (address, None),
        };
        Ok(Self { name: MemberName::parse(name)?, team })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.team {
            Some(team) => write!(f, "{}@{team}", self.name),
            None => self.name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", "must not be empty")]
    #[case("a/b", "must not contain \"/\"")]
    #[case("a\\b", "must not contain \"\\\"")]
    #[case("a..b", "must not contain \"..\"")]
    #[case(".hidden", "must not start with a dot")]
    #[case("a\0b", "must not contain control characters")]
    #[case("a\u{85}b", "must not contain control characters")]
    #[case("a\u{200B}b", "must not contain invisible characters")]
    #[case("a\u{202E}b", "must not contain invisible characters")]
    #[case("\u{FEFF}ab", "must not contain invisible characters")]
    #[case("bob\u{FE0F}", "must not contain invisible characters")]
    #[case("\u{2764}\u{FE0E}", "must not contain invisible characters")]
    #[case("bob\u{2800}", "must not contain invisible characters")]
    #[case(" ab", "must not start or end with white space")]
    #[case("ab\u{3000}", "must not start or end with white space")]
    #[case("a@b", "must not contain \"@\"")]
    fn unsafe_names_are_refused(#[case] name: &str, #[case] rule: &str) {
        assert_eq!(MemberName::parse(name).unwrap_err().rule(), rule);
        assert_eq!(TeamName::create(name).unwrap_err().rule(), rule);
    }

    #[rstest]
    #[case("team-lead")]
    #[case("Bob Smith")]
    #[case("x")]
    #[case("v1.2_final")]
    #[case("разработчик")]
    #[case("🦀")]
    fn names_in_the_wild_are_accepted(#[case] name: &str) {
        assert_eq!(MemberName::parse(name).unwrap(), name);
    }

    #[rstest]
    #[case("ab")]
    #[case("Bob")]
    #[case("-bob")]
    #[case("bob-")]
    #[case("bob--smith")]
    #[case("bob_smith")]
    #[case("bób")]
    fn new_names_are_kebab_case(#[case] name: &str) {
        assert!(MemberName::parse(name).is_ok());
        assert!(MemberName::create(name).is_err());
    }

    #[test]
    fn length_is_counted_in_bytes_and_ends_at_64() {
        assert!(MemberName::create(&"a".repeat(64)).is_ok());
        assert!(MemberName::parse(&"a".repeat(65)).is_err());
        assert!(MemberName::parse(&"é".repeat(33)).is_err());
    }

    #[test]
    fn an_error_says_field_and_rule_and_shows_nothing_raw() {
        let error = MemberName::parse("a/b").unwrap_err();
        assert_eq!(error.to_string(), "member name \"a/b\": must not contain \"/\"");
        let error = TeamName::parse("a\u{1b}[31m\u{202E}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "team name \"a\\u{1b}[31m\\u{202e}\": must not contain control characters"
        );
        assert!(MemberName::parse(&"a".repeat(10_000)).unwrap_err().to_string().len() < 200);
    }

    #[rstest]
    #[case("team-lead", "team-lead")]
    #[case("Bob Smith", "Bob-Smith")]
    #[case("a_b.c", "a_b-c")]
    #[case("é", "-")]
    #[case("🦀", "--")]
    fn file_stem_counts_utf16_units(#[case] name: &str, #[case] stem: &str) {
        assert_eq!(MemberName::parse(name).unwrap().file_stem(), stem);
    }

    #[test]
    fn folder_is_lower_case_without_underscores() {
        assert_eq!(TeamName::parse("My_Team 🦀É").unwrap().folder(), "my-team----");
    }

    #[test]
    fn addresses() {
        let address: Address = "bob@alpha".parse().unwrap();
        assert_eq!(address.name, "bob");
        assert_eq!(address.team.as_ref().unwrap(), &"alpha");
        assert_eq!(address.to_string(), "bob@alpha");
        assert_eq!("bob".parse::<Address>().unwrap().to_string(), "bob");
        assert!("bob@".parse::<Address>().is_err());
        assert!("@alpha".parse::<Address>().is_err());
        assert!("a@b@c".parse::<Address>().is_err());
    }

    #[test]
    fn serde_validates() {
        assert_eq!(serde_json::from_str::<MemberName>("\"bob\"").unwrap(), "bob");
        assert!(serde_json::from_str::<MemberName>("\"a/b\"").is_err());
        assert_eq!(serde_json::to_string(&TeamName::parse("alpha").unwrap()).unwrap(), "\"alpha\"");
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_safe_as_a_file(name in ".*") {
            let _ = name.parse::<Address>();
            if let Ok(name) = MemberName::parse(&name) {
                prop_assert!(!name.as_str().contains(['/', '\\', '\0', '@']));
                prop_assert!(!name.as_str().starts_with('.'));
                prop_assert!(name.file_stem().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            }
        }

        #[test]
        fn created_names_are_their_own_file_name(name in "[a-z0-9]{3,8}(-[a-z0-9]{1,8}){0,3}") {
            let team = TeamName::create(&name).unwrap();
            prop_assert_eq!(team.file_stem(), name.clone());
            prop_assert_eq!(team.folder(), name);
        }
    }
}
