//! Writing down what a look found, and putting back what was undone.

use std::collections::HashSet;
use std::path::Path;

use atm_ledger::{Evidence, Look, Observed, Recording, Stage};
use atm_wire::{MemberName, Message, TeamName};

use super::gather::GatheredInbox;
use super::judge::Findings;
use crate::error::OfficeError;
use crate::mail::equals;
use crate::office::Office;
use crate::trail::effects;
use crate::trail::intake::Outline;
use crate::trail::putback::{AT_MOST, put_back};

/// How a message is before its reader comes by.
pub(crate) const UNREAD: &str = "in the inbox, unread";
/// And after.
pub(crate) const READ: &str = "in the inbox, read";

impl Office {
    /// Records a look at an inbox, unless another one was recorded since. Says whether it found anything new.
    pub(super) fn record_inbox(
        &self,
        team: &TeamName,
        name: &MemberName,
        gathered: &GatheredInbox,
        findings: &Findings,
    ) -> Result<(Recording, bool), OfficeError> {
        let (inbox, mailbox) = (&gathered.key, self.mailbox(team, name));
        let now = self.now().as_millis();
        let ids: Vec<&str> = gathered.messages.iter().map(Outline::id).collect();
        let unknown = self.books.with(|ledger| ledger.unknown(inbox, &ids))?;
        let unknown: HashSet<String> = unknown.into_iter().map(ToOwned::to_owned).collect();
        self.take_in(inbox, &mailbox, &unknown, now)?;
        let mut observed = gathered.archived.clone();
        observed.extend(findings.observed(gathered));
        let counts = equals::counted(&gathered.messages);
        // Last, with what the inbox looked like before all this: if it is not reached, all is looked at again.
        let recording = self.books.with(|ledger| {
            let first_ids: Vec<&str> = counts.keys().map(String::as_str).collect();
            let equals = equals::renumbered(&counts, &ledger.equals(inbox, &first_ids)?, &ids);
            // What has to be put back is looked at again, also if we do not come to it.
            let is_settled = gathered.is_whole && findings.undone.is_empty() && findings.recalls.is_empty();
            let look = Look {
                known: gathered.known_signature.as_deref(),
                observed: &observed,
                signature: is_settled.then_some(gathered.signature.as_str()),
                equals: &equals,
                now,
            };
            let recording = ledger.record_look(inbox, &look)?;
            let kept: Vec<&str> = findings.not_removed.iter().map(String::as_str).collect();
            if recording == Recording::Done && !kept.is_empty() {
                ledger.not_removed(inbox, &kept)?;
            }
            Ok(recording)
        })?;
        if recording == Recording::Done && !findings.undone.is_empty() {
            // An inbox that cannot be written now is for the next look.
            let _ = put_back(self, inbox, &self.hurried().mailbox(team, name), &findings.undone);
        }
        if recording == Recording::Done && !findings.recalls.is_empty() {
            self.settle_recalls(team, name, &findings.recalls);
        }
        Ok((recording, !unknown.is_empty() || !observed.is_empty()))
    }
}

impl Findings {
    /// The stages that these reached. They did so when the inbox was last written, as far as that can be.
    fn observed(&self, gathered: &GatheredInbox) -> Vec<Observed> {
        let (file, others) = (&gathered.file, others(gathered.messages.len()));
        let held = Evidence::certain(format!(
            "put back {AT_MOST} times, and gone again while one that stood before it was there"
        ));
        let unproved = "gone from the inbox; nothing that stood before it shows whether it was taken";
        let rows = [
            (&self.marked, taken("marked as read", UNREAD, READ, file)),
            (&self.taken, taken("gone from the inbox with all that stood before it", UNREAD, &others, file)),
            (
                &self.unproved,
                (Stage::Taken, Evidence::unproved(unproved).changed(UNREAD, &others).in_file(file)),
            ),
            (&self.taken_again, taken("taken again after it was offered", UNREAD, &others, file)),
            (&self.held, (Stage::Held, held.changed(UNREAD, &others).in_file(file))),
        ];
        let observed = |id: &String, reached: &(Stage, Evidence)| Observed {
            id: id.clone(),
            new: None,
            stages: vec![reached.clone()],
            at: self.happened_at.get(id).copied(),
        };
        rows.iter().flat_map(|(ids, reached)| ids.iter().map(move |id| observed(id, reached))).collect()
    }
}

/// What the inbox holds instead of a message that is gone.
fn others(count: usize) -> String {
    format!("not in the inbox, which has {}", atm_wire::counted(count, "other"))
}

fn taken(what: &str, before: &str, after: &str, file: &Path) -> (Stage, Evidence) {
    let what = format!("{what}, by its reader's client");
    (Stage::Taken, Evidence::likely(what).changed(before, after).in_file(file))
}

/// How we know of a message that nobody accepted.
pub(crate) fn in_inbox(file: &Path) -> Evidence {
    Evidence::certain("found in the inbox").in_file(file)
}

/// A message of a file that the ledger may not know.
pub(crate) fn found(message: &Message, now: i64, file: &Path) -> Observed {
    let new = Some(Box::new((effects::noticed(message, now), in_inbox(file))));
    let read = message.read.then(|| taken("found marked as read", "not known", READ, file));
    Observed { id: message.id.clone(), new, stages: read.into_iter().collect(), at: None }
}

/// The same of a file that was last written at `changed_at`. What nobody had looked at happened some time before: it was
/// written when it was sent, and taken no later than the file was written.
pub(crate) fn found_late(message: &Message, now: i64, changed_at: Option<i64>, file: &Path) -> Observed {
    let sent_at = message.sent_at.map_or(i64::MIN, atm_wire::Stamp::as_millis);
    let mut observed = found(message, now, file);
    for (_, evidence) in &mut observed.stages {
        evidence.no_later_than = true;
    }
    observed.at = Some(changed_at.map_or(now, |changed| changed.max(sent_at).min(now)));
    observed
}
