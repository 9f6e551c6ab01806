//! Names of machines, and what their members are called on others.
//!
//! An ordinary member has one name on every machine of its team. A name that every machine has of its own (its lead's,
//! the user's), or that two machines have, is `NAME.MACHINE` on the others: a machine's name has no dot, so the last one
//! parts them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::NameError;

/// The longest name of a machine, in bytes: with a member's name before it, it has to fit into one.
const LONGEST: usize = 32;

/// The name of a machine that shares teams with others: lower-case letters, digits and hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MachineName(String);

impl MachineName {
    /// A name as it was given; an error that says which rule it breaks.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let rule = if name.is_empty() || name.len() > LONGEST {
            "must have 1 to 32 characters"
        } else if !name.bytes().all(fits) || name.starts_with('-') || name.ends_with('-') {
            "must be lower-case letters and digits, hyphens between them"
        } else {
            return Ok(Self(name.to_owned()));
        };
        Err(NameError::new("machine name", name, rule))
    }

    /// The name that a machine gets from its host's: the part before the first dot, in lower case.
    pub fn of_host(host: &str) -> Result<Self, NameError> {
        let first = host.trim().split('.').next().unwrap_or_default().to_ascii_lowercase();
        let plain: String = first.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let cut: String = plain.trim_matches('-').chars().take(LONGEST).collect();
        Self::parse(cut.trim_end_matches('-'))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a member of this machine is called on others if its name alone does not tell it: `NAME.MACHINE`.
    pub fn qualify(&self, member: &str) -> String {
        format!("{member}.{self}")
    }

    /// What a member of this machine is called there, by what it is called here.
    pub fn unqualify<'a>(&self, name: &'a str) -> &'a str {
        let bare = name.strip_suffix(self.as_str()).and_then(|name| name.strip_suffix('.'));
        bare.filter(|bare| !bare.is_empty()).unwrap_or(name)
    }
}

impl fmt::Display for MachineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for MachineName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::parse(name)
    }
}

impl TryFrom<String> for MachineName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        Self::parse(&name)
    }
}

impl From<MachineName> for String {
    fn from(name: MachineName) -> String {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("laptop", true)]
    #[case("build-7", true)]
    #[case("", false)]
    #[case("a.b", false)]
    #[case("Laptop", false)]
    #[case("-a", false)]
    #[case("../x", false)]
    #[case("a\u{1b}b", false)]
    #[case("123456789012345678901234567890123", false)]
    fn names_are_plain(#[case] name: &str, #[case] is_fit: bool) {
        assert_eq!(MachineName::parse(name).is_ok(), is_fit);
    }

    #[rstest]
    #[case("Ann's-Laptop.local", Some("ann-s-laptop"))]
    #[case("build_7", Some("build-7"))]
    #[case(" box\n", Some("box"))]
    #[case("...", None)]
    fn hosts_have_names(#[case] host: &str, #[case] name: Option<&str>) {
        assert_eq!(MachineName::of_host(host).ok().as_ref().map(MachineName::as_str), name);
    }

    #[test]
    fn a_qualified_name_reads_back() {
        let laptop = MachineName::parse("laptop").unwrap();
        assert_eq!(laptop.qualify("team-lead"), "team-lead.laptop");
        for (name, bare) in
            [("team-lead.laptop", "team-lead"), ("bob", "bob"), (".laptop", ".laptop"), ("laptop", "laptop")]
        {
            assert_eq!(laptop.unqualify(name), bare);
        }
    }
}
