//! Why a client's settings cannot be edited.

/// What is wrong with a settings file. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It is not what its client reads.
    #[error("is no JSON object: {0}")]
    NoJson(#[from] serde_json::Error),
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
