//! Older spellings in a log and its cursor.

use atm_wire::message::Priority;
use atm_wire::migrate::{self, Step};

use super::rewrite::split_end;
use super::{LogInbox, QUEUES};
use crate::commit::{Content, Plan};
use crate::error::StoreError;
use crate::files::Snapshot;
use crate::migrate::{Changes, plan};

impl LogInbox {
    /// Rotated files stay as they are: when they were changed last tells recipes' numbers apart.
    pub(crate) fn migrate(&self, dry_run: bool) -> Result<Vec<Changes>, StoreError> {
        let mut all = vec![self.migrate_cursor(dry_run)?];
        for queue in QUEUES {
            all.push(self.migrate_lines(queue, dry_run)?);
        }
        Ok(all)
    }

    fn migrate_cursor(&self, dry_run: bool) -> Result<Changes, StoreError> {
        let file = self.cursor_file();
        let steps = file.update(|look| match look.content {
            Content::Text(text) => match migrate::cursor(text) {
                Ok(migrated) => Ok(plan(migrated, dry_run)),
                Err(_) if !look.sure => Ok(Plan::Unsure),
                Err(error) => Err(StoreError::bad(file.path(), error.to_string())),
            },
            _ => Ok(Plan::Keep(Vec::new())),
        })?;
        Ok(Changes { path: file.path().to_owned(), steps })
    }

    /// The number of lines stays, and what a line is recognised by: the cursor holds.
    fn migrate_lines(&self, queue: Priority, dry_run: bool) -> Result<Changes, StoreError> {
        let path = self.file(queue);
        let steps = if dry_run {
            Snapshot::read(&path)?.bytes().map(|bytes| migrated(bytes).1).unwrap_or_default()
        } else {
            self.rewrite(queue, &path, |bytes| {
                let (text, steps) = migrated(bytes);
                ((!steps.is_empty()).then_some(text), steps)
            })?
        };
        Ok(Changes { path, steps })
    }
}

/// The lines in our spelling. Half a line, and what is no text, stays.
fn migrated(bytes: &[u8]) -> (Vec<u8>, Vec<Step>) {
    let (mut text, mut steps) = (Vec::with_capacity(bytes.len()), Vec::new());
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (old, end) = split_end(line);
        let new = std::str::from_utf8(old).ok().filter(|_| !end.is_empty());
        let Some(new) = new.and_then(|text| migrate::line(text).ok()).filter(|new| !new.steps.is_empty())
        else {
            text.extend_from_slice(line);
            continue;
        };
        text.extend_from_slice(new.text.as_bytes());
        text.extend_from_slice(end);
        let named = |step: Step| Step { place: format!("line {}: {}", index + 1, step.place), ..step };
        steps.extend(new.steps.into_iter().map(named));
    }
    (text, steps)
}
