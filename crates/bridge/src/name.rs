//! Names of machines and realms.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use atm_wire::MachineName as Machine;

/// A name that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("realm {0:?}: must be 1 to 32 lower-case letters, digits and hyphens")]
pub struct RealmError(String);

/// The name of a realm: the machines that share teams, over one stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Realm(String);

impl FromStr for Realm {
    type Err = RealmError;

    fn from_str(name: &str) -> Result<Self, RealmError> {
        // The same characters, so that both are one token of a subject and part of a bucket's name.
        match Machine::parse(name) {
            Ok(_) => Ok(Self(name.to_owned())),
            Err(_) => Err(RealmError(name.chars().take(80).collect())),
        }
    }
}

impl TryFrom<String> for Realm {
    type Error = RealmError;

    fn try_from(name: String) -> Result<Self, RealmError> {
        name.parse()
    }
}

impl From<Realm> for String {
    fn from(name: Realm) -> String {
        name.0
    }
}

impl fmt::Display for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("")]
    #[case("Home")]
    #[case("a.b")]
    #[case("a b")]
    #[case("a*")]
    #[case("../x")]
    #[case("a_b")]
    fn what_could_be_more_than_one_token_is_refused(#[case] name: &str) {
        assert!(name.parse::<Realm>().is_err());
        assert!(serde_json::from_str::<Realm>(&format!("{name:?}")).is_err());
    }

    #[test]
    fn an_error_shows_little() {
        assert!("a".repeat(32).parse::<Realm>().is_ok());
        assert!("a".repeat(10_000).parse::<Realm>().unwrap_err().to_string().len() < 250);
    }
}
