//! What a member runs in, and what we remember of one that we started.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::Object;

/// What a member runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackendType {
    /// A part of its lead's process, or wherever somebody else put it.
    InProcess,
    /// A pane of tmux.
    Tmux,
}

/// Names that the format keeps for later.
const RESERVED: [&str; 2] = ["docker", "k8s"];

/// A backend that there is none of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The format has a name for it, and nobody has built it.
    #[error("the backend {0:?} is reserved and not built: members run in tmux")]
    Reserved(&'static str),
    /// Nobody knows it.
    #[error("there is no backend {0:?}: it is tmux or in-process")]
    Unknown(String),
}

impl BackendType {
    /// The spelling in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Tmux => "tmux",
        }
    }
}

impl fmt::Display for BackendType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for BackendType {
    type Err = BackendError;

    fn from_str(name: &str) -> Result<Self, BackendError> {
        match name {
            "in-process" => Ok(Self::InProcess),
            "tmux" => Ok(Self::Tmux),
            other => Err(match RESERVED.into_iter().find(|reserved| *reserved == other) {
                Some(reserved) => BackendError::Reserved(reserved),
                None => BackendError::Unknown(crate::name::excerpt(other)),
            }),
        }
    }
}

/// How we started a member, below `metadata.atm.spawn` of its entry: all that it takes to find its pane again, and to
/// start it once more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spawned {
    /// The tmux server's socket: a pane's number alone says nothing across servers.
    pub socket: String,
    /// What the pane itself is marked with: a restarted server gives the same numbers to others.
    pub token: String,
    /// The words that were given to run it, without those that its client gets from us.
    pub command: Vec<String>,
    /// Which kind of client that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The model that was chosen for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its client may do without asking, in the client's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Whether its client runs without a terminal UI.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
    /// `window` or `split`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// How it ended, if it did by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
}

impl Spawned {
    /// Where it stands in a member's entry.
    pub const PATH: [&'static str; 3] = ["metadata", "atm", "spawn"];

    /// What stands there, if we started this member.
    pub(super) fn read(member: &Object<'_>) -> Option<Self> {
        let [metadata, atm, spawn] = Self::PATH;
        let inner =
            |raw: &RawValue, key: &str| Some(Object::parse(raw.get()).ok()?.get(key)?.get().to_owned());
        let atm = inner(member.get(metadata)?, atm)?;
        let spawn = Object::parse(&atm).ok()?.get(spawn)?.get().to_owned();
        serde_json::from_str(&spawn).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::TeamConfig;

    #[test]
    fn backends_that_are_only_names_are_refused() {
        assert_eq!("tmux".parse(), Ok(BackendType::Tmux));
        assert_eq!("in-process".parse(), Ok(BackendType::InProcess));
        for reserved in RESERVED {
            let error = reserved.parse::<BackendType>().unwrap_err();
            assert_eq!(error, BackendError::Reserved(reserved));
            assert!(error.to_string().contains("not built"), "{error}");
        }
        let error = "scr\u{1b}een".parse::<BackendType>().unwrap_err();
        assert_eq!(error.to_string(), "there is no backend \"scr\\\\u{1b}een\": it is tmux or in-process");
    }

    #[test]
    fn what_we_remember_is_read_beside_what_others_keep_there() {
        let text = r#"{"members":[
            {"name":"ann","metadata":{"team":7,"atm":{"x":1,"spawn":{"socket":"/tmp/s","token":"t","command":["sh"],"later":1}}}},
            {"name":"bob","metadata":{"atm":{"spawn":"odd"}}},
            {"name":"eve","metadata":[]}]}"#;
        let config = TeamConfig::parse(text).unwrap();
        let ann = config.member("ann").unwrap().spawned.clone().unwrap();
        assert_eq!(
            (ann.socket.as_str(), ann.token.as_str(), ann.command.as_slice()),
            ("/tmp/s", "t", &["sh".to_owned()][..])
        );
        assert_eq!(config.member("bob").unwrap().spawned, None);
        assert_eq!(config.member("eve").unwrap().spawned, None);
    }
}
