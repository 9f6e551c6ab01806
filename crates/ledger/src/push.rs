//! Frames: several messages in one text for a client, under an id that the client keeps.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::log::append::append;
use crate::log::event::{Kind, NewEvent, to_json};
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::stage::Evidence;

/// A frame, as its event lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frame {
    /// Its id, which the client keeps beside the text.
    pub frame: String,
    /// The session that it is for.
    pub session: String,
    /// The messages in it, in their order.
    pub messages: Vec<String>,
}

impl Frame {
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl Ledger {
    /// Records that a frame is about to be given to a client: before it is, so that whatever is shown later is known.
    pub fn push(
        &mut self,
        inbox: &InboxKey,
        frame: &Frame,
        evidence: &Evidence,
        at: i64,
    ) -> Result<(), LedgerError> {
        self.append(|log| {
            let key = inbox.make_key(log)?;
            let (evidence, body) = (evidence.to_json(), to_json(frame));
            let event = NewEvent { key: Some(key), ..NewEvent::new(Kind::Pushed, at) };
            append(log, &event.evidence(&evidence).body(Some(&body))).map(drop)
        })
    }

    /// The messages that each of these frames for somebody has, as their events list them. What no event names is no frame
    /// of ours.
    pub fn frames(
        &self,
        inbox: &InboxKey,
        frames: &[&str],
    ) -> Result<HashMap<String, Vec<String>>, LedgerError> {
        if frames.is_empty() {
            return Ok(HashMap::new());
        }
        self.read(|view| {
            let Some(key) = inbox.key(view.log)? else { return Ok(HashMap::new()) };
            let mut found = HashMap::new();
            for frame in frames {
                let event: Option<i64> = view
                    .index
                    .prepare_cached("SELECT event FROM frames WHERE frame = ?1")?
                    .query_row([frame], |row| row.get(0))
                    .optional()?;
                let Some(event) = event else { continue };
                let body: Option<String> = view
                    .log
                    .prepare_cached(
                        "SELECT body FROM events WHERE seq = ?1 AND root = ?2 AND team = ?3 AND member = ?4",
                    )?
                    .query_row(params![event, key.root, key.team, key.member], |row| row.get(0))
                    .optional()?;
                if let Some(listed) = body.as_deref().and_then(Frame::from_json) {
                    found.insert((*frame).to_owned(), listed.messages);
                }
            }
            Ok(found)
        })
    }
}
