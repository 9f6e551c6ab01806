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
        // What cannot be read now says nothing.
        let Some((transcript, shown)) = conversation.and_then(|found| {
            let shown = self.shown_by_id(&found).ok()?;
            Some((found, shown))
        }) else {
            return Ok(None);
        };
        let named: Vec<&str> = shown.iter().filter_map(frame_of).collect();
        let mut frames = Frames::new();
        if self.books.exist() && !named.is_empty() {
            frames = self.books.with(|ledger| ledger.frames(&self.inbox_key(team, who), &named))?;
        }
        let candidate = |message: &Message| {
            let sent_at = message.sent_at.map_or(i64::MIN, atm_wire::Stamp::as_millis);
            Candidate::new(&message.id, &message.from, &message.text, sent_at, true)
        };
        let mut open: Vec<Candidate> = messages.iter().map(candidate).collect();
        let times = (transcript.changed_at, self.now().as_millis());
        let verdict = judge_seen(&shown, &mut open, &mut Used::default(), &frames, times);
        let ids = verdict.seen.into_iter().map(|seen| seen.id).collect();
        Ok(Some(Standing { ids, answered_at: transcript.last_answer() }))
    }

    /// The entries of a whole conversation that show mail by its id.
    fn shown_by_id(&self, transcript: &Transcript) -> io::Result<Vec<Shown>> {
        let copies = self.state.copies();
        let (mut shown, mut from) = (Vec::new(), 0);
        loop {
            let gained = transcript.read_since(from, &copies)?;
            shown.extend(gained.shown.into_iter().filter(|shown| shown.shape != Shape::Framed));
            if gained.end == from {
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
