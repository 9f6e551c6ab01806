//! Entries on their way into an array, and out of it.

use atm_wire::Message;
use atm_wire::json::{self, Laid};

use super::content::{self, Entries, Reading};
use super::{ArrayInbox, salvage};
use crate::carry::{Carried, Load, TakenIn, missing};
use crate::commit::Content;
use crate::error::StoreError;
use crate::files::{ensure_folder, read_patiently, resolve};
use crate::mailbox::Warning;

impl ArrayInbox {
    pub(crate) fn carry(&self) -> Result<Load, StoreError> {
        let target = resolve(self.path())?;
        let load = read_patiently(&target, |seen, is_last| match content::read(Content::of(seen)) {
            Reading::Missing => Some(Load::default()),
            Reading::Entries(_, entries) => Some(self.load(entries.raw.iter().map(|raw| raw.get()))),
            Reading::Broken(_) if !is_last => None,
            Reading::Broken(broken) => {
                let saved = salvage::salvage(&String::from_utf8_lossy(broken.bytes));
                let mut load = self.load(saved.iter().map(|raw| raw.get()));
                load.warnings.push(Warning::Unparsable { path: self.path().to_owned(), why: broken.text });
                Some(load)
            }
        })?;
        Ok(load.unwrap_or_default())
    }

    pub(super) fn load<'a>(&self, entries: impl Iterator<Item = &'a str>) -> Load {
        let mut load = Load::default();
        for (index, entry) in entries.enumerate() {
            match Carried::from_entry(entry) {
                Ok(carried) => load.messages.push(carried),
                Err(flaw) => {
                    let path = self.path().to_owned();
                    load.warnings.push(Warning::SkippedEntry { path, position: index + 1, flaw });
                }
            }
        }
        load
    }

    pub(crate) fn take_in(&self, to: &str, carried: &[Carried]) -> Result<TakenIn, StoreError> {
        ensure_folder(&self.folder)?;
        let (taken, _) = self.edit(|text, entries: &Entries| {
            let there: Vec<Message> =
                entries.raw.iter().filter_map(|raw| Message::from_entry(raw).ok()).collect();
            let new = missing(&there, carried, |carried| &carried.message);
            let texts: Vec<String> = new
                .iter()
                .map(|carried| carried.as_entry(to))
                .collect::<Result<_, _>>()
                .map_err(|flaw| StoreError::bad(self.path(), flaw.to_string()))?;
            let laid: Vec<Laid> = texts.iter().map(|text| Laid(text)).collect();
            let patch =
                json::append(text, text.trim(), &entries.raw, &laid).map_err(|error| self.bad(&error))?;
            let known = carried.len() - new.len();
            let added = new.iter().map(|carried| carried.message.clone()).collect();
            Ok((patch, TakenIn { added, known, read: Vec::new() }))
        })?;
        Ok(taken)
    }
}
