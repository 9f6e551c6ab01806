//! Looking through a large inbox one message at a time: what a look costs does not grow with the inbox, but with what
//! the look keeps.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::Duration;

use atm_wire::Message;
use atm_wire::json::Splitter;
use serde_json::value::RawValue;

use super::ArrayInbox;
use crate::equal::Numbers;
use crate::error::{IoContext, StoreError};
use crate::files::{is_same_file, open, resolve};
use crate::mailbox::Warning;

/// Smaller files are cheaper to read whole.
const LARGE: u64 = 1 << 20;
const PIECE: usize = 1 << 17;
/// A file that somebody writes in place at this moment is looked at again after these waits.
const TORN_RETRY_MS: [u64; 4] = [2, 10, 20, 40];
/// More entries that are no messages need not be named one by one.
const MOST_WARNINGS: usize = 100;

impl ArrayInbox {
    /// Whether it is worth to look through it in pieces.
    pub fn is_large(&self) -> bool {
        self.path().metadata().is_ok_and(|metadata| metadata.len() >= LARGE)
    }

    /// The numbers of equal messages without ids of their own, for a walk through the file.
    pub(crate) fn numbers(&self) -> Result<Numbers, StoreError> {
        let (ids, _) = self.fold(&mut Vec::new, &mut |ids: &mut Vec<String>, message: Message| {
            if !message.id_given {
                ids.push(message.id);
            }
        })?;
        Ok(Numbers::of(ids.iter().map(String::as_str), self.past.as_ref()))
    }

    /// Gives every message to `each`, in reading order and under the id of the first of its equals, with what `empty` makes to begin with; without any lock. If the
    /// file turns out to be torn, it begins anew, with another empty one.
    pub fn fold<T>(
        &self,
        empty: &mut dyn FnMut() -> T,
        each: &mut dyn FnMut(&mut T, Message),
    ) -> Result<(T, Vec<Warning>), StoreError> {
        let target = resolve(self.path())?;
        for wait in TORN_RETRY_MS {
            let Some((file, metadata)) = open(&target)? else { return Ok((empty(), Vec::new())) };
            if metadata.len() < LARGE {
                break;
            }
            let mut folded = (empty(), Vec::new());
            let whole = self.read_pieces(&target, &file, &mut folded, each)?;
            if whole && is_same_file(&metadata, &file.metadata().doing("look at", &target)?) {
                return Ok(folded);
            }
            thread::sleep(Duration::from_millis(wait));
        }
        // Small, or no array: the other way makes the best of it.
        let listing = self.list()?;
        let mut all = empty();
        listing.messages.into_iter().for_each(|message| each(&mut all, message));
        Ok((all, listing.warnings))
    }

    /// Says whether all of it was one array.
    fn read_pieces<T>(
        &self,
        path: &Path,
        mut file: &File,
        (all, warnings): &mut (T, Vec<Warning>),
        each: &mut dyn FnMut(&mut T, Message),
    ) -> Result<bool, StoreError> {
        let mut splitter = Splitter::default();
        let mut piece = vec![0; PIECE];
        let (mut position, mut is_json) = (0, true);
        loop {
            let read = file.read(&mut piece).doing("read", path)?;
            if read == 0 {
                return Ok(is_json && splitter.finish().is_some());
            }
            splitter.feed(&piece[..read], |_, element| {
                position += 1;
                let text = std::str::from_utf8(element).ok();
                let Some(raw) = text.and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) else {
                    is_json = false;
                    return;
                };
                match self.message(position, raw) {
                    Ok(message) => each(all, message),
                    Err(warning) if warnings.len() < MOST_WARNINGS => warnings.push(warning),
                    Err(_) => {}
                }
            });
            if !is_json {
                return Ok(false);
            }
        }
    }
}
