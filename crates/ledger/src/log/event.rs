//! What an event is.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::row::NewMessage;
use crate::stage::{Evidence, Stage};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The log began.
    Began,
    /// A message was accepted; the body has all of it, and all that it takes to write it.
    Accepted,
    /// A message was found in an inbox; the body has all of it.
    Noticed,
    /// A message with all that an older ledger knew of it.
    History,
    /// It is in the inbox file; the body says what stood before it there.
    Written,
    /// It is there, and its recipient is offline.
    Queued,
    /// It was undone by another program, and put back; the body says what stands before it now.
    Restored,
    /// Somebody else was notified that it waits.
    Escalated,
    /// The client consumed it.
    Taken,
    /// It was undone again and again, and is not put back any more.
    Held,
    /// It is in the recipient's conversation.
    Seen,
    /// Its recipient acknowledged it.
    Acked,
    /// It was answered, or the task that it is about was completed.
    Done,
    /// It will not be read.
    Failed,
    /// Nobody acted on it in time.
    Expired,
    /// It was taken back before it was written.
    Withdrawn,
    /// Its sender took it back: it is not in its inbox, and nobody will write it.
    Recalled,
    /// It was moved into the archive; the body names the stage that this shows.
    Archived,
    /// Its recipient was woken for it.
    Woken,
    /// It was offered again: it stands in the inbox with the tag of queued mail.
    Offered,
    /// It is in another inbox now, which the body names.
    Moved,
    /// We are about to take it out of its inbox ourselves.
    Removing,
    /// It is in its inbox after all.
    Kept,
    /// Its sender is about to take it out of its inbox.
    Recalling,
    /// Several messages were handed to their recipient; the body names them, and the evidence has the stages that each of
    /// them reached. Only the log has it: the feed gives these stages one by one.
    HandedOver,
    /// Several messages were put into a frame for the recipient's client; the body names the frame, the session and the
    /// messages. That is no stage: what the client shows later under the frame's id proves exactly these.
    Pushed,
    /// A fact about a member, which the body names, began to be so.
    FactNoted,
    /// A fact about a member, which the body names, is none any more.
    FactForgotten,
    /// A health sweep took a step with a member.
    Health,
    /// A member came, went, or changed what it does; the body has the state and the one before.
    Presence,
    /// A task was made, changed or removed; the body has both of its states.
    Task,
    /// Another team has the name from here on; the body has the time when it was created.
    TeamBegan,
    /// A kind that a newer version knows.
    Unknown,
}

/// The numbers are part of the format.
const CODES: [(Kind, i64); 32] = [
    (Kind::Began, 1),
    (Kind::Accepted, 2),
    (Kind::Noticed, 3),
    (Kind::History, 4),
    (Kind::Written, 10),
    (Kind::Queued, 11),
    (Kind::Restored, 12),
    (Kind::Escalated, 13),
    (Kind::Taken, 14),
    (Kind::Held, 15),
    (Kind::Seen, 16),
    (Kind::Acked, 17),
    (Kind::Done, 18),
    (Kind::Failed, 19),
    (Kind::Expired, 20),
    (Kind::Withdrawn, 21),
    (Kind::Recalled, 22),
    (Kind::Archived, 30),
    (Kind::Woken, 31),
    (Kind::Offered, 32),
    (Kind::Moved, 33),
    (Kind::Removing, 34),
    (Kind::Kept, 35),
    (Kind::Recalling, 36),
    (Kind::HandedOver, 37),
    (Kind::Pushed, 38),
    (Kind::FactNoted, 40),
    (Kind::FactForgotten, 41),
    (Kind::Health, 42),
    (Kind::Presence, 43),
    (Kind::Task, 50),
    (Kind::TeamBegan, 51),
];

impl Kind {
    pub(crate) fn code(self) -> i64 {
        CODES.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, code)| *code)
    }

    pub(crate) fn from_code(code: i64) -> Self {
        CODES.iter().find(|(_, known)| *known == code).map_or(Self::Unknown, |(kind, _)| *kind)
    }

    /// The stage that an event of this kind shows by itself.
    pub fn stage(self) -> Option<Stage> {
        Some(match self {
            Self::Accepted => Stage::Accepted,
            Self::Written | Self::Noticed => Stage::Written,
            Self::Queued | Self::Offered => Stage::Queued,
            Self::Restored => Stage::Restored,
            Self::Escalated => Stage::Escalated,
            Self::Taken => Stage::Taken,
            Self::Held => Stage::Held,
            Self::Seen => Stage::Seen,
            Self::Acked => Stage::Acked,
            Self::Done => Stage::Done,
            Self::Failed | Self::Withdrawn => Stage::Failed,
            Self::Expired => Stage::Expired,
            Self::Recalled => Stage::Recalled,
            _ => return None,
        })
    }
}

impl From<Stage> for Kind {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Accepted => Self::Accepted,
            Stage::Written => Self::Written,
            Stage::Queued => Self::Queued,
            Stage::Restored => Self::Restored,
            Stage::Escalated => Self::Escalated,
            Stage::Taken => Self::Taken,
            Stage::Held => Self::Held,
            Stage::Seen => Self::Seen,
            Stage::Acked => Self::Acked,
            Stage::Done => Self::Done,
            Stage::Failed => Self::Failed,
            Stage::Expired => Self::Expired,
            Stage::Recalled => Self::Recalled,
        }
    }
}

/// The id of a shared tree.
pub(crate) type RootId = [u8; 16];

/// Which of the teams that had a name, one after the other, is meant: the one that was created at this time, in
/// milliseconds since the epoch. 0 where that is not known, as of all teams of logs from before it was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Incarnation(pub(crate) i64);

impl Incarnation {
    /// As events have it.
    pub(crate) fn text(self) -> Option<String> {
        (self.0 != 0).then(|| self.0.to_string())
    }

    pub(crate) fn from_text(text: Option<&str>) -> Self {
        Self(text.and_then(|text| text.parse().ok()).unwrap_or_default())
    }
}

/// A member in the log's own words: nothing in it depends on where a tree is on this machine. What concerns all of a team
/// has an empty name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    pub(crate) root: RootId,
    pub(crate) team: &'a str,
    pub(crate) incarnation: Incarnation,
    pub(crate) member: &'a str,
}

/// An event that is to be appended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewEvent<'a> {
    pub(crate) kind: Kind,
    pub(crate) at: i64,
    pub(crate) key: Option<Key<'a>>,
    pub(crate) message: Option<&'a str>,
    pub(crate) evidence: Option<&'a str>,
    pub(crate) body: Option<&'a str>,
    /// Of an event that another log saw happen: that log, and the id that the event has there.
    pub(crate) origin: Option<([u8; 16], Uuid)>,
}

impl<'a> NewEvent<'a> {
    pub(crate) fn new(kind: Kind, at: i64) -> Self {
        Self { kind, at, key: None, message: None, evidence: None, body: None, origin: None }
    }

    /// Something that happened to a message.
    pub(crate) fn of(kind: Kind, at: i64, key: Key<'a>, message: &'a str) -> Self {
        Self { key: Some(key), message: Some(message), ..Self::new(kind, at) }
    }

    pub(crate) fn evidence(self, evidence: &'a str) -> Self {
        Self { evidence: Some(evidence), ..self }
    }

    pub(crate) fn body(self, body: Option<&'a str>) -> Self {
        Self { body, ..self }
    }
}

/// The body of an event that brings a message. Its names are part of the format.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Body {
    pub(crate) message: NewMessage,
    /// All that it takes to write it, in the office's own words; where the text stands in it, it is cut in two there, so
    /// that the text is stored once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) draft: Vec<String>,
    /// When we first knew of it, where that is not the time of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) noticed_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) past: Option<Past>,
}

/// What an older ledger knew of a message.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Past {
    pub(crate) stage: Option<Stage>,
    pub(crate) ours: bool,
    pub(crate) unproved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) witnesses: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removing_since: Option<i64>,
}

impl Past {
    /// The rank that the message has here. In older ledgers, failed and expired outranked every proof. Where one had
    /// another stage, those that failed are of an attempt before.
    pub(crate) fn rank(&self, stages: impl FnOnce() -> Vec<PastStage>) -> i64 {
        let stage = self.stage.unwrap_or(Stage::Accepted);
        match stage {
            Stage::Failed | Stage::Expired => {
                stages().iter().map(|(stage, ..)| stage.rank()).fold(stage.rank(), i64::max)
            }
            _ => stage.rank(),
        }
    }
}

/// A stage in the evidence of [`Kind::History`] and [`Kind::HandedOver`].
pub(crate) type PastStage = (Stage, i64, Evidence);

impl Body {
    pub(crate) fn new(message: &NewMessage, draft: Option<&str>) -> Self {
        let draft = draft.map(|draft| cut(draft, &message.text)).unwrap_or_default();
        Self { message: message.clone(), draft, noticed_at: None, past: None }
    }

    pub(crate) fn draft(&self) -> Option<String> {
        match self.draft.as_slice() {
            [] => None,
            [whole] => Some(whole.clone()),
            parts => Some(parts.join(&in_json(&self.message.text))),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

fn in_json(text: &str) -> String {
    to_json(text)
}

pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The parts of a draft around the text, if the text stands in it once and in the usual spelling.
fn cut(draft: &str, text: &str) -> Vec<String> {
    let text = in_json(text);
    match draft.split_once(&text) {
        Some((before, after)) if !after.contains(&text) => vec![before.to_owned(), after.to_owned()],
        _ => vec![draft.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back() {
        for (kind, code) in CODES {
            assert_eq!(Kind::from_code(code), kind);
            assert_eq!(kind.code(), code);
        }
        assert_eq!(Kind::from_code(9_999), Kind::Unknown);
        for stage in Stage::ALL {
            assert_eq!(Kind::from(stage).stage(), Some(stage));
        }
    }

    #[test]
    fn a_text_is_stored_once_and_the_draft_comes_back_whole() {
        let message = NewMessage { text: "say \"hi\"\n".into(), ..NewMessage::default() };
        let whole = serde_json::json!({ "to": "bob", "text": message.text, "n": 1 }).to_string();
        let body = Body::new(&message, Some(&whole));
        assert_eq!(body.to_json().matches("say").count(), 1);
        assert_eq!(Body::from_json(&body.to_json()).unwrap().draft().unwrap(), whole);
        for odd in ["no text in it", "[\"say \\\"hi\\\"\\n\",\"say \\\"hi\\\"\\n\"]"] {
            assert_eq!(Body::new(&message, Some(odd)).draft().unwrap(), odd);
        }
        assert_eq!(Body::new(&message, None).draft(), None);
    }
}
