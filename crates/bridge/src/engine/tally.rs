//! What the engine counts.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// The refusals that are shown one by one.
const SHOWN: usize = 20;
/// Machines and reasons that are counted apart: names come from outside, so there is a bound.
const KINDS: usize = 64;

/// What was counted since the bridge started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// Letters that were published.
    pub published: u64,
    /// Of these, again.
    pub published_again: u64,
    /// Envelopes for which the server did not answer.
    pub publish_failed: u64,
    /// Letters that were confirmed to us.
    pub confirmed: u64,
    /// Letters that were taken in.
    pub taken_in: u64,
    /// Letters that came again and were confirmed again.
    pub repeated: u64,
    /// Letters that came early and were held.
    pub held: u64,
    /// Letters for members that are not here.
    pub not_home: u64,
    /// Letters that were refused by the rules of mail.
    pub refused_letters: u64,
    /// Receipts of other machines that were recorded.
    pub receipts: u64,
    /// Envelopes that were refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// The last ones: reason and machine.
    pub last_refused: VecDeque<(String, String)>,
    /// Envelopes that went to the dead letters.
    pub dead: u64,
    /// Dead letters that were asked for again and are taken in.
    pub rescued: u64,
}

impl Tally {
    /// Counts an envelope that was refused.
    pub fn refuse(&mut self, why: &str, from: &str) {
        let why = if self.refused.len() < KINDS || self.refused.contains_key(why) { why } else { "other" };
        *self.refused.entry(why.to_owned()).or_default() += 1;
        self.last_refused.push_back((why.to_owned(), from.to_owned()));
        if self.last_refused.len() > SHOWN {
            self.last_refused.pop_front();
        }
    }

    /// All envelopes that were refused.
    pub fn all_refused(&self) -> u64 {
        self.refused.values().sum()
    }
}
