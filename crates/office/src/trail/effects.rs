//! What a message says about earlier ones: acknowledged, answered, done.

use atm_ledger::{Evidence, InboxKey, Ledger, LedgerError, NewMessage, Recorded, Stage, StageRecord};
use atm_wire::Message;
use atm_wire::payload::{Content, Payload};

/// What the evidence of an acknowledgment says; the acknowledging message's id stands behind it.
const ACKNOWLEDGED: &str = "acknowledged: message ";

/// The id of the message that acknowledged the one with these stages, and when that was known.
pub(crate) fn acknowledgment(stages: &[StageRecord]) -> Option<(&str, i64)> {
    let acked = stages.iter().find(|record| record.stage == Stage::Acked)?;
    Some((acked.evidence.what.strip_prefix(ACKNOWLEDGED)?, acked.at))
}

/// What the ledger keeps of a message.
pub(crate) fn noticed(message: &Message, now: i64) -> NewMessage {
    noticed_with(message, &message.content(), now)
}

/// The same, for a caller that has parsed the text.
pub(crate) fn noticed_with(message: &Message, content: &Content, now: i64) -> NewMessage {
    let ours = message.ours();
    let payload = content.payload();
    NewMessage {
        id: message.id.clone(),
        sender: message.from.clone(),
        text: message.text.clone(),
        summary: message.summary.clone(),
        kind: message.kind_of(content).to_owned(),
        sent_at: message.sent_at.map_or(now, atm_wire::Stamp::as_millis),
        reply_to: ours.reply_to,
        thread: ours.thread,
        request_id: message.request_id_of(content),
        ack_id: message.ack_id(),
        ack_by: ours.ack_by.map(atm_wire::Stamp::as_millis),
        task: payload.and_then(task_of).map(ToOwned::to_owned),
        origin: ours.origin,
        machine: ours.machine,
        home: None,
    }
}

fn task_of(payload: &Payload) -> Option<&str> {
    match payload {
        Payload::TaskAssignment(assigned) => assigned.task_id.as_deref(),
        Payload::TaskCompletion(completed) => completed.task_id.as_deref(),
        _ => None,
    }
}

/// Takes new messages of an inbox in with `observe`, and records what they say about others.
///
/// That comes first: what is known is not asked again, so what a process had not recorded when it was killed would be
/// lost, while recording it twice does no harm. Only what the owner of the inbox sent itself may be about a message that
/// comes with it, which has to be known before.
pub(crate) fn record_beside(
    ledger: &mut Ledger,
    inbox: &InboxKey,
    new: &[&Message],
    now: i64,
    observe: impl FnOnce(&mut Ledger) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let (own, others): (Vec<&Message>, Vec<&Message>) =
        new.iter().partition(|message| message.from == inbox.name);
    others.iter().try_for_each(|message| record(ledger, inbox, message, now))?;
    observe(ledger)?;
    own.iter().try_for_each(|message| record(ledger, inbox, message, now))
}

/// Records what `message`, which came into `inbox`, tells about earlier messages to its sender.
pub(crate) fn record(
    ledger: &mut Ledger,
    inbox: &InboxKey,
    message: &Message,
    now: i64,
) -> Result<(), LedgerError> {
    let told = find(ledger, inbox, message, &message.content())?;
    ledger.advance_all(&told, now)
}

/// What `message`, which is for `inbox`, tells about earlier messages to its sender: the stages that they reach by it. Asks
/// the index, which is brought up to date for it; recording it needs the log alone.
pub(crate) fn find(
    ledger: &Ledger,
    inbox: &InboxKey,
    message: &Message,
    content: &Content,
) -> Result<Vec<(Recorded, Stage, Evidence)>, LedgerError> {
    let (root, from) = (inbox.root.as_str(), message.from.as_str());
    let ours = message.ours();
    let home = ours.origin.as_deref().unwrap_or(&inbox.team);
    // Only the one whom a message was for can acknowledge or answer it, not a namesake in another team.
    let to_sender = |found: Vec<Recorded>| -> Vec<Recorded> {
        found.into_iter().filter(|m| m.inbox.name == from && m.inbox.team == home).collect()
    };
    let mut reached: Vec<(Recorded, Stage, &str)> = Vec::new();
    let mut reach = |found: Vec<Recorded>, stage: Stage, what: &'static str| {
        reached.extend(found.into_iter().map(|m| (m, stage, what)));
    };
    if let Content::Protocol(parsed) = content {
        match &parsed.payload {
            Payload::Acknowledgment(ack) => {
                let named = ack.ack_id.as_deref().unwrap_or_default();
                reach(to_sender(ledger.acknowledged_by(root, named)?), Stage::Acked, "acknowledged");
            }
            Payload::TaskCompletion(completed) => {
                let mine = InboxKey { name: from.to_owned(), team: home.to_owned(), ..inbox.clone() };
                let task = completed.task_id.as_deref().unwrap_or_default();
                reach(ledger.assignments(&mine, task)?, Stage::Done, "its task was completed");
            }
            _ => {
                if let Some(request) = parsed.request_id() {
                    let asked = to_sender(ledger.request(root, &request)?);
                    let asked = asked.into_iter().filter(|m| m.id != message.id).collect();
                    reach(asked, Stage::Done, "answered by a response");
                }
            }
        }
    }
    if let Some(original) = ours.reply_to {
        reach(to_sender(ledger.find(root, &original, false)?), Stage::Done, "answered");
    }
    let evidence = |what: &str| Evidence::certain(format!("{what}: message {}", message.id)).by(from);
    Ok(reached.into_iter().map(|(m, stage, what)| (m, stage, evidence(what))).collect())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use atm_ledger::Observed;
    use serde_json::{json, value::to_raw_value};

    use super::*;

    fn inbox(name: &str) -> InboxKey {
        InboxKey { root: "/shared".into(), team: "demo".into(), name: name.into() }
    }

    fn message(id: &str, from: &str, reply_to: Option<&str>) -> Message {
        let ours = reply_to.map_or(json!({}), |id| json!({ "reply_to": id }));
        let entry = json!({
            "messageId": id, "from": from, "text": "words", "timestamp": "2026-01-01T00:00:00.000Z", "read": false,
            "metadata": { "atm": ours },
        });
        Message::from_entry(&to_raw_value(&entry).unwrap()).unwrap()
    }

    fn observed(messages: &[&Message]) -> Vec<Observed> {
        let observe = |message: &&Message| Observed {
            id: message.id.clone(),
            new: Some(Box::new((noticed(message, 1), Evidence::certain("found")))),
            stages: Vec::new(),
            at: None,
        };
        messages.iter().map(observe).collect()
    }

    fn stage(ledger: &Ledger, id: &str) -> Stage {
        ledger.find("/shared", id, false).unwrap()[0].stage
    }

    #[test]
    fn what_a_message_says_is_recorded_before_it_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
        let question = message("question", "alice", None);
        ledger.observe(&inbox("bob"), &observed(&[&question]), None, 1).unwrap();
        let answer = message("answer", "bob", Some("question"));
        // As if killed there.
        let dies = |_: &mut Ledger| {
            Err(LedgerError::NotDurable { path: PathBuf::new(), source: std::io::Error::other("killed") })
        };
        record_beside(&mut ledger, &inbox("alice"), &[&answer], 2, dies).unwrap_err();
        assert_eq!(stage(&ledger, "question"), Stage::Done);
    }

    #[test]
    fn what_somebody_answers_to_himself_may_come_with_the_question() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
        let (question, answer) =
            (message("question", "bob", None), message("answer", "bob", Some("question")));
        let new = [&question, &answer];
        let observe = |ledger: &mut Ledger| ledger.observe(&inbox("bob"), &observed(&new), None, 2);
        record_beside(&mut ledger, &inbox("bob"), &new, 2, observe).unwrap();
        assert_eq!(stage(&ledger, "question"), Stage::Done);
    }
}
