//! What people are told.

use atm_wire::{Stamp, visible};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of the JSON that receivers get. Fields are added without another one.
const VERSION: u32 = 1;
/// A text is cut after this many characters: names and reasons are foreign.
const LONGEST: usize = 500;

/// What sort of event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Mail waits, and somebody else was told so.
    Escalation,
    /// An agent waits for leave to do something.
    Permission,
    /// A member died and left work.
    Death,
    /// A disk is nearly full.
    Disk,
    /// The ledger is damaged.
    Ledger,
    /// Nothing: somebody tries the channels.
    Test,
}

impl Kind {
    /// All that happen.
    pub const ALL: [Self; 5] = [Self::Escalation, Self::Permission, Self::Death, Self::Disk, Self::Ledger];

    /// The spelling in settings and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Escalation => "escalation",
            Self::Permission => "permission",
            Self::Death => "death",
            Self::Disk => "disk",
            Self::Ledger => "ledger",
            Self::Test => "test",
        }
    }

    /// The kind of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Something that people are told: one line of our own words, with names and reasons in it that are made visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The version of this form.
    pub version: u32,
    /// The same each time that a receiver gets it.
    pub id: String,
    /// What sort of event.
    pub kind: Kind,
    /// The team, if it is one team's.
    pub team: Option<String>,
    /// Whom it is about.
    pub member: Option<String>,
    /// In a few words: what sort of event, whose and where.
    pub title: String,
    /// What happened, for people.
    pub text: String,
    /// When it began.
    pub since: Stamp,
}

impl Event {
    /// An event about `subject`, which says with `since` which of its kind it is.
    pub fn new(kind: Kind, team: Option<&str>, subject: &str, since: Stamp, text: &str) -> Self {
        let whole = format!("{} {} {subject} {}", kind.as_str(), team.unwrap_or_default(), since.as_millis());
        let id = hex(&Sha256::digest(whole.as_bytes())[..16]);
        let event = Self {
            version: VERSION,
            id,
            kind,
            team: team.map(ToOwned::to_owned),
            member: None,
            title: String::new(),
            text: one_line(text),
            since,
        };
        Self { title: event.make_title(), ..event }
    }

    /// The same about a member.
    #[must_use]
    pub fn about(mut self, member: &str) -> Self {
        self.member = Some(one_line(member));
        self.title = self.make_title();
        self
    }

    /// One that nothing is behind, to try the channels.
    pub fn test(now: Stamp) -> Self {
        Self::new(Kind::Test, None, "test", now, "This is a test of atm's notifications.")
    }

    fn make_title(&self) -> String {
        let place = match (&self.member, &self.team) {
            (Some(member), Some(team)) => format!(": {member}@{team}"),
            (None, Some(team)) => format!(": {team}"),
            (Some(member), None) => format!(": {member}"),
            (None, None) => String::new(),
        };
        one_line(&format!("atm {}{place}", self.kind.as_str()))
    }

    /// As receivers get it, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Without what would act on a terminal or be seen by nobody, and not endless.
fn one_line(text: &str) -> String {
    let text = visible::line(text);
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_receivers_get_has_a_version_and_no_control_characters() {
        let at = Stamp::from_millis(0);
        let event = Event::new(Kind::Death, Some("dev"), "x", at, "a\nb\x1b[2J\0\u{202e}; rm -rf /");
        let event = event.about("bo\x07b");
        for text in [&event.text, &event.title, &event.to_json()] {
            assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
        assert!(event.text.ends_with("; rm -rf /"), "{}", event.text);
        let json: serde_json::Value = serde_json::from_str(&event.to_json()).unwrap();
        assert_eq!((json["version"].as_i64(), json["kind"].as_str()), (Some(1), Some("death")));
        assert_eq!(json["since"], "1970-01-01T00:00:00.000Z");
        let long = Event::new(Kind::Disk, None, "x", at, &"é".repeat(9_999)).text;
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
