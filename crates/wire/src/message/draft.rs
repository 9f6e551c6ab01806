//! A message that we write.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::Object;
use crate::machine::MachineName;
use crate::metadata::Metadata;
use crate::payload::{Content, classify};
use crate::stamp::Stamp;

/// How urgent a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Read first.
    High,
    /// Read after that.
    #[default]
    Normal,
    /// Read last.
    Low,
}

impl Priority {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

/// Whether the recipient was there when the message was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// The recipient is on.
    #[default]
    Delivered,
    /// The recipient was off: it waits.
    Queued,
}

impl Delivery {
    /// The spelling in files and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Queued => "queued",
        }
    }
}

/// What is ours in a message, below `metadata.atm`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ours {
    /// The message that this one answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The first message of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// How urgent it is.
    #[serde(skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// The sender's team, where it is not the recipient's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Until when it wants to be acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_by: Option<Stamp>,
    /// Which offer of the same message this is, where it is not the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer: Option<u32>,
    /// The person who decided in its sender's name, and at which front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acted_by: Option<String>,
    /// The session that it is for, among those that share a mailbox, as long as that one lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session that wrote it, among those that share a mailbox: an answer is for that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_session: Option<String>,
    /// The machine that it came from, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// The kind of most messages.
const PLAIN: &str = "message";
/// The kind of words to several, in a log.
const BROADCAST: &str = "team_broadcast";
/// Whom such a line names as its recipient.
const EVERYBODY: &str = "all";
/// The version of the protocol that entries and lines are written in.
const VERSION: u8 = 1;

/// A message to be written, in either layout.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Draft {
    /// A UUID of version 7.
    pub id: String,
    /// The sender.
    pub from: String,
    /// The recipient.
    pub to: String,
    /// Plain text, or a protocol message's JSON object as text.
    pub text: String,
    /// The short version; protocol messages have none.
    pub summary: Option<String>,
    /// When it was sent.
    pub timestamp: Stamp,
    /// The sender's colour.
    pub color: Option<String>,
    /// Whether the recipient was there.
    pub delivery: Delivery,
    /// By which name it wants to be acknowledged, if it does.
    pub ack_id: Option<String>,
    /// What is ours in it.
    pub ours: Ours,
    /// The entry's own type, where that is not just a message: the kind of its words, or of a payload whose type
    /// stands outside, too (see [`Payload::names_its_entry`](crate::payload::Payload::names_its_entry)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Everybody whom these words went to, if they were for several: a log has that in the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<String>,
    /// What its sender wants to have in it, beside ours.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// The machine that is its recipient's home, where that is another one: nobody writes it into a file here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<MachineName>,
}

#[derive(Serialize)]
struct Beside<'a> {
    #[serde(flatten)]
    others: &'a Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    atm: Option<&'a Ours>,
}

#[derive(Serialize)]
struct Entry<'a> {
    from: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    timestamp: Stamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<&'a str>,
    #[serde(rename = "messageId")]
    message_id: &'a str,
    #[serde(rename = "msgV")]
    version: u8,
    msg_id: &'a str,
    r#type: &'a str,
    #[serde(rename = "ackId", skip_serializing_if = "Option::is_none")]
    ack_id: Option<&'a str>,
    delivery_status: Delivery,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Beside<'a>>,
    read: bool,
}

#[derive(Serialize)]
struct Line<'a, C: Serialize> {
    r#type: &'a str,
    from: &'a str,
    to: &'a str,
    timestamp: Stamp,
    #[serde(rename = "messageId")]
    message_id: &'a str,
    #[serde(rename = "msgV")]
    version: u8,
    #[serde(rename = "requestId", skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(rename = "ackId", skip_serializing_if = "Option::is_none")]
    ack_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<&'a str>,
    delivery_status: Delivery,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Beside<'a>>,
    content: C,
}

#[derive(Serialize)]
struct PlainContent<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    recipients: &'a [String],
}

impl Draft {
    /// The entry for an array inbox: the superset that every generation of client accepts.
    pub fn entry(&self) -> impl Serialize + '_ {
        Entry {
            from: &self.from,
            text: &self.text,
            summary: self.summary.as_deref(),
            timestamp: self.timestamp,
            color: self.color.as_deref(),
            message_id: &self.id,
            version: VERSION,
            msg_id: &self.id,
            r#type: self.kind.as_deref().unwrap_or(PLAIN),
            ack_id: self.ack_id.as_deref(),
            delivery_status: self.delivery,
            metadata: self.metadata(),
            read: false,
        }
    }

    /// The line for a log inbox, with its newline.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        let mut line = match classify(&self.text, None) {
            Content::Text => {
                let plain = if self.recipients.is_empty() { PLAIN } else { BROADCAST };
                let kind = self.kind.as_deref().unwrap_or(plain);
                let content = PlainContent { text: &self.text, recipients: &self.recipients };
                serde_json::to_string(&self.as_line(kind, None, content))?
            }
            Content::Protocol(parsed) => {
                let content = without_type(parsed.raw())?;
                let request = parsed.request_id();
                serde_json::to_string(&self.as_line(parsed.payload.kind(), request.as_deref(), content))?
            }
        };
        line.push('\n');
        Ok(line)
    }

    fn as_line<'a, C: Serialize>(
        &'a self,
        kind: &'a str,
        request_id: Option<&'a str>,
        content: C,
    ) -> Line<'a, C> {
        Line {
            r#type: kind,
            from: &self.from,
            to: if kind == BROADCAST { EVERYBODY } else { &self.to },
            timestamp: self.timestamp,
            message_id: &self.id,
            version: VERSION,
            request_id,
            ack_id: self.ack_id.as_deref(),
            summary: self.summary.as_deref(),
            color: self.color.as_deref(),
            delivery_status: self.delivery,
            metadata: self.metadata(),
            content,
        }
    }

    fn metadata(&self) -> Option<Beside<'_>> {
        let atm = (self.ours != Ours::default()).then_some(&self.ours);
        (atm.is_some() || !self.metadata.is_empty()).then_some(Beside { others: &self.metadata, atm })
    }
}

/// A payload's members without `type`, which a log line has outside.
fn without_type(payload: &str) -> Result<Members<'_>, serde_json::Error> {
    Ok(Members(Object::parse(payload)?))
}

struct Members<'a>(Object<'a>);

impl Serialize for Members<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.0.iter().filter(|(key, _)| *key != "type");
        serializer.collect_map(members.map(|(key, raw): (&str, &RawValue)| (key, raw)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Style;
    use crate::message::Message;

    fn draft(text: &str) -> Draft {
        Draft {
            id: "019a8b7e-0000-7000-8000-000000000001".into(),
            from: "team-lead".into(),
            to: "bob".into(),
            text: text.into(),
            summary: Some("s".into()),
            timestamp: Stamp::from_millis(1_794_768_140_463),
            color: Some("yellow".into()),
            delivery: Delivery::Delivered,
            ack_id: None,
            ours: Ours { reply_to: Some("m-1".into()), ..Ours::default() },
            kind: None,
            recipients: Vec::new(),
            metadata: Metadata::new(),
            home: None,
        }
    }

    #[test]
    fn a_senders_metadata_stands_beside_ours_in_both_layouts() {
        let mut draft = draft("hi");
        draft.metadata.insert("ticket".into(), "OPS-7".into());
        let wanted = r#""metadata":{"ticket":"OPS-7","atm":{"reply_to":"m-1"}}"#;
        assert!(draft.line().unwrap().contains(wanted), "{}", draft.line().unwrap());
        assert!(serde_json::to_string(&draft.entry()).unwrap().contains(wanted));
        let without = Draft { ours: Ours::default(), ..draft };
        assert!(without.line().unwrap().contains(r#""metadata":{"ticket":"OPS-7"}"#));
        assert_eq!(Message::from_line(without.line().unwrap().trim_end()).unwrap().ours(), Ours::default());
    }

    #[test]
    fn a_broadcast_line_names_its_recipients_and_keeps_them() {
        let draft = Draft { recipients: vec!["bob".into(), "eve".into()], ..draft("meet at ten") };
        let line = draft.line().unwrap();
        assert!(line.contains(r#""type":"team_broadcast","from":"team-lead","to":"all""#), "{line}");
        assert!(line.contains(r#""content":{"text":"meet at ten","recipients":["bob","eve"]}"#), "{line}");
        let back = Message::from_line(line.trim_end()).unwrap();
        assert_eq!((back.kind().as_str(), back.text.as_str()), ("team_broadcast", "meet at ten"));
        let kept = back.extra.iter().find(|(key, _)| key == "recipients").map(|(_, raw)| raw.get());
        assert_eq!(kept, Some(r#"["bob","eve"]"#));
        let entry = serde_json::to_value(draft.entry()).unwrap();
        assert_eq!(entry["type"], "message", "an array's entry has one recipient");
    }

    #[test]
    fn a_line_says_which_version_of_the_protocol_it_is_in() {
        let line = draft("hi").line().unwrap();
        assert!(line.contains(r#""msgV":1"#), "{line}");
    }

    #[test]
    fn the_keys_of_an_entry_stand_in_the_agreed_order() {
        let text = Style::Compact.render(&draft("hi").entry()).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"from":"team-lead","text":"hi","summary":"s","timestamp":"2026-11-15T18:42:20.463Z","color":"yellow","#,
                r#""messageId":"019a8b7e-0000-7000-8000-000000000001","msgV":1,"msg_id":"019a8b7e-0000-7000-8000-000000000001","#,
                r#""type":"message","delivery_status":"delivered","metadata":{"atm":{"reply_to":"m-1"}},"read":false}"#
            )
        );
    }

    #[test]
    fn words_of_a_kind_stay_words() {
        let draft = Draft { kind: Some("system_init".into()), ..draft("You test.") };
        let entry = serde_json::to_string(&draft.entry()).unwrap();
        let back = Message::from_entry(&RawValue::from_string(entry).unwrap()).unwrap();
        assert_eq!((back.kind().as_str(), back.text.as_str()), ("system_init", "You test."));
        assert!(!back.content().is_protocol());
        let back = Message::from_line(draft.line().unwrap().trim_end()).unwrap();
        assert_eq!(back.kind(), "system_init");
    }

    #[test]
    fn a_log_line_reads_back_as_the_same_message() {
        for text in ["hi\nthere", r#"{"type":"task_status_request","requestId":"r1","taskId":"7"}"#] {
            let line = draft(text).line().unwrap();
            assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
            let back = Message::from_line(line.trim_end()).unwrap();
            assert_eq!(back.id, draft(text).id);
            assert_eq!(back.ours().reply_to.as_deref(), Some("m-1"));
            assert_eq!(back.content().is_protocol(), text.starts_with('{'));
            if !back.content().is_protocol() {
                assert_eq!(back.text, text);
            }
        }
    }
}
