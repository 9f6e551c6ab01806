//! Older spellings in an array.

use atm_wire::json::{self, Patch};
use atm_wire::migrate::{self, Step};

use super::ArrayInbox;
use crate::error::StoreError;
use crate::migrate::Changes;

impl ArrayInbox {
    pub(crate) fn migrate(&self, dry_run: bool) -> Result<Changes, StoreError> {
        let (steps, _) = self.edit(|text, entries| {
            let (mut patch, mut steps) = (Patch::default(), Vec::new());
            for (index, raw) in entries.raw.iter().enumerate() {
                let migrated =
                    migrate::entry(raw).map_err(|error| StoreError::bad(self.path(), error.to_string()))?;
                if !migrated.steps.is_empty() {
                    patch.replace(json::span(text, raw.get()), migrated.text);
                }
                steps.extend(
                    migrated
                        .steps
                        .into_iter()
                        .map(|step| Step { place: format!("[{index}].{}", step.place), ..step }),
                );
            }
            Ok((if dry_run { Patch::default() } else { patch }, steps))
        })?;
        Ok(Changes { path: self.path().to_owned(), steps })
    }
}
