//! Taking a message back out of an array.

use std::cell::RefCell;
use std::collections::BTreeSet;

use atm_wire::json::{self, Patch};

use super::ArrayInbox;
use super::content::Entries;
use crate::commit::{Desk, Step, Unwritten};
use crate::error::StoreError;
use crate::recall::{Recall, Recaller, TAKEN_OUT, tell_left};

impl ArrayInbox {
    /// Takes one message out, if it is there and unread. A file that does not parse is an error.
    pub(crate) fn recall(
        &self,
        id: &str,
        keeps: bool,
        recaller: &mut dyn Recaller,
    ) -> Result<Recall, StoreError> {
        let recaller = RefCell::new(recaller);
        let prepare = |desk: &Desk| {
            let left = desk.left();
            if !left.is_empty() && tell_left(&left, &mut **recaller.borrow_mut()) {
                desk.left_is_told();
            }
            let mut copy = String::new();
            let mut edit = |text: &str, entries: &Entries| {
                let (places, messages) = self.messages_of(entries);
                let named = || places.iter().zip(&messages).filter(|(_, message)| message.id == id);
                if let Some(outcome) = Recall::without_change(named().map(|(_, message)| message.read)) {
                    return Ok((Patch::default(), outcome));
                }
                let gone: BTreeSet<usize> = named().map(|(place, _)| *place).collect();
                let raw: Vec<&str> = gone.iter().map(|place| entries.raw[*place].get()).collect();
                copy = format!("[{}]", raw.join(","));
                Ok((json::remove(text, text.trim(), &entries.raw, &gone), Recall::TakenOut))
            };
            let mut step = desk.plan(&mut |look| {
                let plan = self.plan(look, true, &mut edit)?;
                Ok(plan.map(|(outcome, _)| outcome))
            })?;
            if let Step::Ready(prepared) = &mut step {
                if keeps {
                    self.quarantine.keep(self.path(), copy.as_bytes(), "recalled")?;
                }
                prepared.ids = vec![format!("{TAKEN_OUT}{id}")];
            }
            Ok(step)
        };
        let conclude = |outcome: Result<&Recall, Unwritten>| {
            let mut recaller = recaller.borrow_mut();
            match outcome {
                Ok(outcome) => recaller.conclude(*outcome),
                Err(Unwritten { left, .. }) => {
                    if !left.is_empty() {
                        tell_left(&left, &mut **recaller);
                    }
                    true
                }
            }
        };
        // One that a power cut could bring back is gone all the same, and the ledger knows.
        let (outcome, _unsynced) = self.file.commit(prepare, conclude)?;
        Ok(outcome)
    }
}
