//! How a member is woken when mail comes, as its entry says it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::Object;

/// A way to wake a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// Told from its client and from what it runs in.
    #[default]
    Auto,
    /// Its client looks into the inbox by itself.
    Poll,
    /// A hook of its client waits for mail.
    Rewake,
    /// `codex queue`.
    Codex,
    /// The server of `OpenCode`.
    Opencode,
    /// A line in its tmux pane.
    Pane,
    /// Not at all: it looks when it looks.
    None,
}

/// There is no such way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no such way to wake a member: it is auto, poll, rewake, codex, opencode, pane or none")]
pub struct UnknownManner;

impl Manner {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Auto, Self::Poll, Self::Rewake, Self::Codex, Self::Opencode, Self::Pane, Self::None];

    /// The spelling in files and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Poll => "poll",
            Self::Rewake => "rewake",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Pane => "pane",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Manner {
    type Err = UnknownManner;

    fn from_str(word: &str) -> Result<Self, UnknownManner> {
        Self::ALL.into_iter().find(|manner| manner.as_str() == word).ok_or(UnknownManner)
    }
}

/// What it takes to wake a member, below `metadata.atm` of its entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waking {
    /// The way.
    pub manner: Manner,
    /// Its client's conversation, where the way needs it.
    pub session: Option<String>,
    /// Its client's server, where the way needs it.
    pub server: Option<String>,
}

impl Waking {
    /// Where the way stands in a member's entry.
    pub const MANNER: [&'static str; 3] = ["metadata", "atm", "wake"];
    /// Where the conversation stands.
    pub const SESSION: [&'static str; 3] = ["metadata", "atm", "session"];
    /// Where the server stands.
    pub const SERVER: [&'static str; 3] = ["metadata", "atm", "server"];

    /// What stands there; what is missing or odd is as if nobody had said anything.
    pub(super) fn read(member: &Object<'_>) -> Self {
        let inner =
            |raw: &RawValue, key: &str| Some(Object::parse(raw.get()).ok()?.get(key)?.get().to_owned());
        let [metadata, atm, _] = Self::MANNER;
        let Some(atm) = member.get(metadata).and_then(|raw| inner(raw, atm)) else { return Self::default() };
        let Ok(atm) = Object::parse(&atm) else { return Self::default() };
        let text = |key: &str| atm.string(key).map(Into::<String>::into);
        Self {
            manner: text(Self::MANNER[2]).and_then(|word| word.parse().ok()).unwrap_or_default(),
            session: text(Self::SESSION[2]),
            server: text(Self::SERVER[2]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::TeamConfig;

    #[test]
    fn what_is_odd_is_as_if_nothing_was_said() {
        let text = r#"{"members":[
            {"name":"ann","metadata":{"atm":{"wake":"codex","session":"s1","server":7}}},
            {"name":"bob","metadata":{"atm":{"wake":"trumpet"}}},
            {"name":"eve","metadata":{"atm":[]}},{"name":"joe"}]}"#;
        let config = TeamConfig::parse(text).unwrap();
        let waking = |name| config.member(name).unwrap().waking.clone();
        let ann = Waking { manner: Manner::Codex, session: Some("s1".into()), server: None };
        assert_eq!(waking("ann"), ann);
        for name in ["bob", "eve", "joe"] {
            assert_eq!(waking(name), Waking::default(), "{name}");
        }
    }

    #[test]
    fn each_reads_back() {
        for manner in Manner::ALL {
            assert_eq!(manner.as_str().parse(), Ok(manner));
        }
        assert_eq!("trumpet".parse::<Manner>(), Err(UnknownManner));
    }
}
