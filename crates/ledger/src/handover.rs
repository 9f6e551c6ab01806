//! What we handed to its recipient ourselves.

use crate::error::LedgerError;
use crate::log::append::Appender;
use crate::log::event::{Body, Key, Kind, NewEvent, to_json};
use crate::open::Ledger;
use crate::record::append_stage;
use crate::row::{InboxKey, NewMessage};
use crate::stage::{Evidence, Stage};

/// So many have events of their own.
const FEW: usize = 3;
/// So many of more have one event together.
const PART: usize = 256;

/// What is the same for all messages that are handed over together.
#[derive(Debug)]
pub struct Handover<'a> {
    /// How we know of those that the ledger does not know yet.
    pub found: &'a Evidence,
    /// The stages that all of them reached.
    pub stages: &'a [(Stage, Evidence)],
    /// When.
    pub at: i64,
}

impl Ledger {
    /// Records that the messages with these ids were handed over. `new` is asked for those that the ledger does not know, by
    /// their places among the ids, one at a time: together they may be much.
    pub fn hand_over(
        &mut self,
        inbox: &InboxKey,
        ids: &[&str],
        handover: &Handover<'_>,
        mut new: impl FnMut(usize) -> NewMessage,
    ) -> Result<(), LedgerError> {
        if ids.is_empty() {
            return Ok(());
        }
        let unknown = self.unknown(inbox, ids)?;
        self.append(|log| {
            let key = inbox.make_key(log)?;
            let mut appender = Appender::new(log)?;
            for (place, id) in ids.iter().enumerate() {
                if unknown.contains(id) {
                    let body = Body { message: new(place), ..Body::default() }.to_json();
                    let event = NewEvent::of(Kind::Noticed, handover.at, key, id).body(Some(&body));
                    appender.append_with(&event, handover.found)?;
                }
            }
            for part in ids.chunks(PART) {
                if ids.len() > FEW {
                    append_together(&mut appender, key, part, handover)?;
                } else {
                    append_each(&mut appender, key, part, handover)?;
                }
            }
            Ok(())
        })
    }
}

fn append_each(
    log: &mut Appender<'_>,
    key: Key<'_>,
    ids: &[&str],
    handover: &Handover<'_>,
) -> rusqlite::Result<()> {
    for id in ids {
        for (stage, evidence) in handover.stages {
            append_stage(log, key, id, (*stage, evidence), handover.at)?;
        }
    }
    Ok(())
}

/// Two events for each message, with the same words in all of them, would be half of what is written for a large inbox.
fn append_together(
    log: &mut Appender<'_>,
    key: Key<'_>,
    ids: &[&str],
    handover: &Handover<'_>,
) -> rusqlite::Result<()> {
    let stages: Vec<_> =
        handover.stages.iter().map(|(stage, evidence)| (stage, handover.at, evidence)).collect();
    let (evidence, body) = (to_json(&stages), to_json(ids));
    let event = NewEvent { key: Some(key), ..NewEvent::new(Kind::HandedOver, handover.at) };
    log.append(None, &event.evidence(&evidence).body(Some(&body)))?;
    log.skip_ids((ids.len() * stages.len()).saturating_sub(1));
    Ok(())
}
