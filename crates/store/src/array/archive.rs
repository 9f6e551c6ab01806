//! Taking entries out of an array into the archive.

use std::collections::BTreeSet;

use atm_wire::Message;
use atm_wire::archive::Form;
use atm_wire::json::{self, Patch};

use super::ArrayInbox;
use super::content::Entries;
use crate::archive::Writer;
use crate::error::StoreError;
use crate::points;
use crate::upkeep::{Choose, pick};

impl ArrayInbox {
    /// Moves messages into the archive: they are there, durably, before the file changes.
    pub(crate) fn archive(&self, writer: &mut Writer, choose: Choose) -> Result<Vec<Message>, StoreError> {
        let mut edit = |text: &str, entries: &Entries| {
            let (places, messages) = self.messages_of(entries);
            let chosen = choose(&messages);
            let batch: Vec<(&Message, &str)> =
                chosen.iter().map(|at| (&messages[*at], entries.raw[places[*at]].get())).collect();
            writer.put(Form::Array, &batch)?;
            let gone: BTreeSet<usize> = chosen.iter().map(|at| places[*at]).collect();
            let patch = if gone.is_empty() {
                Patch::default()
            } else {
                json::remove(text, text.trim(), &entries.raw, &gone)
            };
            Ok((patch, pick(messages, &chosen)))
        };
        // What does not parse is not for us to mend here: nothing is known of what was read.
        self.file.update(|look| self.plan(look, true, &mut edit)).map(|(moved, _)| {
            if !moved.is_empty() {
                points::reached("inbox_cut");
            }
            moved
        })
    }
}
