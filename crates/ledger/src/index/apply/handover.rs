//! What an event about several messages changes.

use rusqlite::params;

use super::{Applier, Reached, Stored};
use crate::push::Frame;
use crate::stage::Stage;

impl Applier<'_> {
    pub(super) fn apply_handover(&mut self, event: &Stored) -> rusqlite::Result<()> {
        let (Some(root), Some(team), Some(member)) = (event.root, &event.team, &event.member) else {
            return Ok(());
        };
        let inbox = self.inbox((root, team, event.incarnation), member)?;
        let stages = event.past_stages();
        let highest = stages.iter().map(|(stage, ..)| stage.rank()).max().unwrap_or_default();
        let is_unproved = stages.iter().any(|(.., evidence)| evidence.unproved);
        let ids: Vec<String> =
            serde_json::from_str(event.body.as_deref().unwrap_or_default()).unwrap_or_default();
        for (number, id) in ids.iter().enumerate() {
            let Some(message) = self.number_of(inbox.number, id)? else { continue };
            for (part, (stage, at, evidence)) in (0..).zip(&stages) {
                let reached = Reached {
                    message,
                    inbox: inbox.number,
                    rank: stage.rank(),
                    at: *at,
                    event: event.seq,
                    part: Some(part),
                    is_bound: evidence.no_later_than,
                    is_frame: false,
                };
                self.put(&reached)?;
                // It is about the inbox, and the same for all.
                if number == 0 {
                    self.note_taking(&reached, evidence)?;
                }
            }
            self.index
                .prepare_cached(
                    "UPDATE messages SET rank = max(rank, ?2), unproved = unproved OR ?3 WHERE seq = ?1",
                )?
                .execute(params![message, highest, is_unproved])?;
        }
        Ok(())
    }

    /// A frame is found by its id, and shown beside the stages of each message in it.
    pub(super) fn apply_push(&mut self, event: &Stored) -> rusqlite::Result<()> {
        let (Some(root), Some(team), Some(member)) = (event.root, &event.team, &event.member) else {
            return Ok(());
        };
        let Some(pushed) = event.body.as_deref().and_then(Frame::from_json) else { return Ok(()) };
        self.index
            .prepare_cached("INSERT OR IGNORE INTO frames (frame, event) VALUES (?1, ?2)")?
            .execute(params![pushed.frame, event.seq])?;
        let inbox = self.inbox((root, team, event.incarnation), member)?;
        for id in &pushed.messages {
            if let Some(message) = self.number_of(inbox.number, id)? {
                let reached = Reached::new(event, inbox, message, Stage::Written.rank());
                self.put(&Reached { is_frame: true, ..reached })?;
            }
        }
        Ok(())
    }
}
