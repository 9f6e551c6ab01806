//! What stands in a conversation, wherever else it stands: asked where a conversation is taken up again, and where its client may have
//! dropped what a hook said.

use std::collections::HashSet;
use std::io;

use atm_ledger::Stage;
use atm_wire::{MemberName, Message, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::trail::seen::{Candidate, Frames, Used, judge_seen};
use crate::trail::transcript::{Shape, Shown, Transcript};

/// What stands in a conversation's own file.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// The ids of the messages that do, of those that were asked for.
    pub(crate) ids: HashSet<String>,
    /// When the model last answered, in milliseconds since the epoch: what it was shown before that is written.
    pub(crate) answered_at: Option<i64>,
}

impl Office {
    /// Which of these messages stand in the conversation `session` of `who`'s client. None where it has no file of its own: a database does
    /// not tell which of its sessions it was.
    pub(crate) fn standing_in(
        &self,
        team: &TeamName,
        (who, session): (&MemberName, &str),
        messages: &[Message],
    ) -> Result<Option<Standing>, OfficeError> {
        let conversation = self.conversation_of(team, (who, session)).filter(Transcript::is_file);
        // The answer first: what comes while the rest is read may be later than it, and is no more than that. What cannot be read now says
        // nothing.
        let Some((transcript, answered_at, shown)) = conversation.and_then(|found| {
            let answered_at = found.last_answer();
            let shown = self.shown_by_id(&found).ok()?;
            Some((found, answered_at, shown))
        }) else {
            return Ok(None);
        };
        let named: Vec<&str> = shown.iter().filter_map(frame_of).collect();
        let mut frames = Frames::new();
        if self.books.exist() && !named.is_empty() {
            frames = self.books.with(|ledger| ledger.frames(&self.inbox_key(team, who), &named))?;
        }
        // They were said here, whenever that was by the clock of the machine that sent them.
        let candidate =
            |message: &Message| Candidate::new(&message.id, &message.from, &message.text, i64::MIN, true);
        let mut open: Vec<Candidate> = messages.iter().map(candidate).collect();
        let times = (transcript.changed_at, self.now().as_millis());
        let verdict = judge_seen(&shown, &mut open, &mut Used::default(), &frames, times);
        let ids = verdict.seen.into_iter().map(|seen| seen.id).collect();
        Ok(Some(Standing { ids, answered_at }))
    }

    /// The entries of a whole conversation that show mail by its id.
    fn shown_by_id(&self, transcript: &Transcript) -> io::Result<Vec<Shown>> {
        let copies = self.state.copies();
        let (mut shown, mut from) = (Vec::new(), 0);
        loop {
            let gained = transcript.read_since(from, &copies)?;
            shown.extend(gained.shown.into_iter().filter(|shown| shown.shape != Shape::Framed));
            // It may have grown meanwhile: from behind its known end it would be read as another file.
            if gained.end <= from || gained.end >= transcript.length {
                return Ok(shown);
            }
            from = gained.end;
        }
    }

    /// Of these messages, which a hook said in a turn until `said_at`, those that the client dropped: the model has answered since then, and they
    /// are not in its conversation. Nothing is known of a client that keeps none, or has not written the answer yet.
    pub(crate) fn find_dropped(
        &self,
        team: &TeamName,
        (who, session): (&MemberName, &str),
        said_at: i64,
        messages: &[Message],
    ) -> Result<HashSet<String>, OfficeError> {
        let inbox = self.inbox_key(team, who);
        let mut unproved = Vec::new();
        for message in messages {
            let is_proved = self.books.exist()
                && self.books.with(|ledger| ledger.stage_of(&inbox, &message.id))? >= Some(Stage::Seen);
            if !is_proved {
                unproved.push(message.clone());
            }
        }
        if unproved.is_empty() {
            return Ok(HashSet::new());
        }
        let standing = self.standing_in(team, (who, session), &unproved)?;
        let Some(standing) = standing.filter(|standing| standing.answered_at > Some(said_at)) else {
            return Ok(HashSet::new());
        };
        Ok(unproved.into_iter().map(|message| message.id).filter(|id| !standing.ids.contains(id)).collect())
    }
}

fn frame_of(shown: &Shown) -> Option<&str> {
    match &shown.shape {
        Shape::Peer(frame) => Some(frame),
        Shape::Framed | Shape::Listed => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use atm_clients::AgentClient;
    use atm_store::{Root, State};
    use atm_wire::brief;

    use super::*;

    /// A file that grew between two looks was taken for another one, and read again from its beginning.
    #[test]
    fn a_conversation_that_grows_meanwhile_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
        let path = folder.path().join("0b7e.jsonl");
        let line = |id: &str| {
            let said =
                format!("{}\n{}\n{}", brief::OPENING, brief::heading("a", "", "12:00Z", id), brief::CLOSING);
            let attachment = serde_json::json!({ "type": "hook_additional_context", "content": [said] });
            format!("{}\n", serde_json::json!({ "type": "attachment", "attachment": attachment }))
        };
        fs::write(&path, line("11111111")).unwrap();
        let transcript = Transcript::of(AgentClient::Claude, &path, "").unwrap();
        assert_eq!(office.shown_by_id(&transcript).unwrap().len(), 1);
        fs::write(&path, line("11111111") + &line("22222222")).unwrap();
        assert_eq!(office.shown_by_id(&transcript).unwrap().len(), 2);
    }
}
