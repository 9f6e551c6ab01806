//! Names of the files that members leave for others: `tasks/<team>/<name>/artifacts/<file>`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::name::NameError;
use crate::visible;

/// The longest name, in bytes: file systems end at 255, and a temp file's name has 38 more.
const LONGEST: usize = 200;

/// The name of an artifact: one part of a path, safe to open and to show.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ArtifactName(String);

impl ArtifactName {
    /// Accepts a file's name that leads nowhere else and hides nothing.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let rule = if name.is_empty() {
            "must not be empty"
        } else if name.len() > LONGEST {
            "must not be longer than 200 bytes"
        } else if name.contains(['/', '\\']) {
            "must be a file's name, not a path"
        } else if name.starts_with('.') {
            "must not start with a dot"
        } else if name.chars().any(visible::is_unsafe) {
            "must not contain control or invisible characters"
        } else if name.trim() != name {
            "must not start or end with white space"
        } else {
            return Ok(Self(name.to_owned()));
        };
        Err(NameError::new("artifact name", name, rule))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for ArtifactName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        Self::parse(name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_plain_file_names_are_taken() {
        for name in ["report.md", "a b@c.tar.gz", "é", "-rf", "1"] {
            assert_eq!(ArtifactName::parse(name).unwrap().as_str(), name);
        }
        for name in
            ["", ".", "..", ".hidden", "a/b", "/etc/passwd", "a\\b", "a\nb", "\u{202e}x", " a", "a ", "\0"]
        {
            assert!(ArtifactName::parse(name).is_err(), "{name:?}");
        }
        assert!(ArtifactName::parse(&"x".repeat(201)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_one_part_of_a_path(name in ".*") {
            if let Ok(name) = ArtifactName::parse(&name) {
                let parts: Vec<_> = std::path::Path::new(name.as_str()).components().collect();
                prop_assert!(matches!(parts.as_slice(), [std::path::Component::Normal(_)]));
            }
        }
    }
}
