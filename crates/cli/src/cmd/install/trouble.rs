//! Why a client's file cannot be edited.

use std::path::Path;

use atm_office::ExitCode;

use crate::failure::Failure;

/// What is wrong with it. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It is not what its client reads.
    #[error("is no JSON object: {0}")]
    NoJson(#[source] serde_json::Error),
    /// The same for TOML.
    #[error("is no TOML: {0}")]
    NoToml(String),
    /// Something stands where ours belongs, and is of another kind.
    #[error("{0} is not {1}")]
    OtherKind(String, &'static str),
    /// What we would write could not be read back.
    #[error("{0} is written in a way that we cannot add to")]
    Unusual(&'static str),
    /// Somebody else's file or server has our name.
    #[error("{0} is there already, and is not ours")]
    NotOurs(&'static str),
}

impl Trouble {
    /// As a failure of the command.
    pub(crate) fn with(self, path: &Path) -> Failure {
        let (exit, code, hint) = match self {
            Self::NotOurs(_) => {
                (ExitCode::Refused, "not_ours", "nothing was changed; rename or remove it first")
            }
            _ => (ExitCode::BadData, "bad_client_file", "nothing was changed; mend the file first"),
        };
        Failure::new(exit, code, format!("{}: {self}", path.display())).hint(hint)
    }
}

impl From<serde_json::Error> for Trouble {
    fn from(error: serde_json::Error) -> Self {
        Self::NoJson(error)
    }
}
