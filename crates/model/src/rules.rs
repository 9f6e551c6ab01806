//! The decisions under test, each with the ways to decide it that were rejected.

use crate::ids::{Entry, Id, Ids, ids};
use crate::state::{Row, Stage};

/// How `atm` decides.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one decision that a test turns round")]
pub struct Rules {
    /// When a message of ours that is gone was undone.
    pub undone: Undone,
    /// A message that is gone with all that stood before it is only likely to be taken.
    pub gone_is_only_likely: bool,
    /// Put-backs before a message is held.
    pub put_backs: u8,
    /// No row in the ledger says that nobody can have written it.
    pub no_row_is_not_written: bool,
    /// A message is taken back only by who holds the inbox's queue; else it stays accepted.
    pub take_back_in_queue: bool,
    /// A note of a commit whose record failed stays for the next process.
    pub keep_unrecorded_note: bool,
    /// Only what was shown is marked as read.
    pub mark_receipts_only: bool,
    /// Our processes take turns at an inbox.
    pub queue: bool,
    /// The file is compared under the locks before it is replaced.
    pub compare: bool,
    /// A message is in the ledger before it is written.
    pub accept_first: bool,
    /// A message is recalled only by who holds the inbox's queue.
    pub recall_in_queue: bool,
}

/// When a message of ours that is gone counts as undone, and is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// While something that stood before it is in the file, read or unread.
    StoodBefore,
    /// While an unread message is there that carries no newer time.
    NotNewer {
        /// Times are of one second: none is newer than another. Else they grow with each arrival.
        whole_seconds: bool,
    },
}

impl Rules {
    /// What is built.
    pub const BUILT: Self = Self {
        undone: Undone::StoodBefore,
        gone_is_only_likely: true,
        put_backs: 3,
        no_row_is_not_written: true,
        take_back_in_queue: true,
        keep_unrecorded_note: true,
        mark_receipts_only: true,
        queue: true,
        compare: true,
        accept_first: true,
        recall_in_queue: true,
    };
}

/// What is known of the recipient's client beside the file.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// It takes one message at a time, in any order.
    pub in_process: bool,
    /// Its conversation can be read: what was shown, and how many turns have ended.
    pub transcript: Option<(Ids, u8)>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing new.
    Unchanged,
    /// A writer without our lock undid it: it is put back.
    Undone,
    /// The stage that it reached.
    Reached(Stage),
    /// Its client lost it: it is offered again.
    Lost,
}

/// Judges one message by its row, the file and the client's conversation.
pub fn judge(rules: &Rules, id: Id, row: Row, file: &[Entry], client: Client) -> Verdict {
    let entry = file.iter().find(|entry| entry.id == id);
    let (shown, turns) = client.transcript.unwrap_or_default();
    let is_shown = shown.has(id);
    match (row.stage, entry) {
        (Stage::Written, Some(entry)) if entry.read => Verdict::Reached(taken(turns, false)),
        // What was recalled may have been brought back, or shown before.
        (Stage::Written | Stage::Taken { .. }, None) | (Stage::Recalled { .. }, _) if is_shown => {
            Verdict::Reached(Stage::Seen)
        }
        (Stage::Written, None) if is_undone(rules, row, file, client) => Verdict::Undone,
        (Stage::Written, None) => {
            let is_sure = !rules.gone_is_only_likely && !row.before.is_empty();
            Verdict::Reached(taken(turns, is_sure))
        }
        // A turn that began after the look ended without it.
        (Stage::Taken { sure: false, turn }, None) if client.transcript.is_some() && turns > turn + 1 => {
            Verdict::Lost
        }
        _ => Verdict::Unchanged,
    }
}

fn taken(turn: u8, sure: bool) -> Stage {
    Stage::Taken { sure, turn }
}

fn is_undone(rules: &Rules, row: Row, file: &[Entry], client: Client) -> bool {
    if client.in_process {
        return false;
    }
    let unread = || file.iter().filter(|entry| !entry.read).map(|entry| entry.id);
    match rules.undone {
        Undone::StoodBefore => !row.before.and(ids(file)).is_empty(),
        Undone::NotNewer { whole_seconds: true } => unread().next().is_some(),
        Undone::NotNewer { whole_seconds: false } => unread().any(|id| row.before.has(id)),
    }
}
