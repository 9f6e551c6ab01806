//! Names of machines and realms.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Long enough for hosts of cloud providers, and short enough to stand behind a member's name.
const LONGEST: usize = 32;

/// A name that cannot be used, with the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {name:?}: must be 1 to 32 lower-case letters, digits and hyphens")]
pub struct NameError {
    what: &'static str,
    name: String,
}

fn is_label(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_plain)
}

macro_rules! label {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// The name as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;

            fn from_str(name: &str) -> Result<Self, NameError> {
                if is_label(name) {
                    return Ok(Self(name.to_owned()));
                }
                Err(NameError { what: $what, name: name.chars().take(80).collect() })
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;

            fn try_from(name: String) -> Result<Self, NameError> {
                name.parse()
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> String {
                name.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

label! {
    /// The name of a machine: the first label of its host name, unless another was given.
    Machine, "machine name"
}

label! {
    /// The name of a realm: the machines that share teams, over one stream.
    Realm, "realm"
}

impl Machine {
    /// The name of the machine with this host name: its first label, in lower case.
    pub fn of_host(host: &str) -> Result<Self, NameError> {
        host.split('.').next().unwrap_or(host).to_ascii_lowercase().parse()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("laptop")]
    #[case("ip-10-0-0-1")]
    #[case("9")]
    fn host_labels_are_names(#[case] name: &str) {
        assert_eq!(name.parse::<Machine>().unwrap().as_str(), name);
    }

    #[rstest]
    #[case("")]
    #[case("box_2")]
    #[case("Laptop")]
    #[case("lap.top")]
    #[case("lap top")]
    #[case("lap*")]
    #[case("../x")]
    fn what_could_be_more_than_one_token_is_refused(#[case] name: &str) {
        assert!(name.parse::<Machine>().is_err());
        assert!(name.parse::<Realm>().is_err());
        assert!(serde_json::from_str::<Machine>(&format!("{name:?}")).is_err());
    }

    #[test]
    fn a_name_ends_at_32_bytes_and_its_error_shows_little() {
        assert!("a".repeat(32).parse::<Machine>().is_ok());
        let error = "a".repeat(10_000).parse::<Machine>().unwrap_err();
        assert!(error.to_string().len() < 250);
    }

    #[test]
    fn a_host_is_known_by_its_first_label() {
        assert_eq!(Machine::of_host("Laptop.example.org").unwrap().as_str(), "laptop");
        assert!(Machine::of_host("").is_err());
    }
}
