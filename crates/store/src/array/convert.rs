//! Making an array of other mail, and taking one apart.

use std::collections::HashSet;
use std::path::Path;

use atm_wire::Message;
use atm_wire::json::{self, Laid, Patch};

use super::ArrayInbox;
use super::content::{self, Entries, Reading};
use crate::carry::{Carried, Load, missing};
use crate::commit::{Content, Plan};
use crate::convert::Progress;
use crate::error::StoreError;
use crate::files::{Snapshot, ensure_folder};

impl ArrayInbox {
    /// Takes the file out of its place, when what `prepare` has made of its messages was `put` in place. It may be asked
    /// several times; the last time counts.
    pub(crate) fn take_out<T>(
        &self,
        out: &Path,
        mut prepare: impl FnMut(Load, &Snapshot) -> Result<T, StoreError>,
        put: impl Fn(&mut T) -> Result<(), StoreError>,
    ) -> Result<T, StoreError> {
        let prepare = |seen: &Snapshot, sure: bool| match content::read(Content::of(seen)) {
            Reading::Entries(_, entries) => {
                prepare(self.load(entries.raw.iter().map(|raw| raw.get())), seen).map(Some)
            }
            Reading::Missing => Err(StoreError::Moved { path: self.path().to_owned() }),
            Reading::Broken(broken) if sure => Err(StoreError::bad(self.path(), broken.text)),
            Reading::Broken(_) => Ok(None),
        };
        self.file.take_out(out, prepare, put)
    }

    /// Adds what `read` finds elsewhere and is not here, in one step; says how many came. `read` may be asked several
    /// times, and is told whether there is an array; the last time counts.
    pub(crate) fn bring_in(
        &self,
        to: &str,
        mut read: impl FnMut(bool) -> Result<Vec<Carried>, StoreError>,
        progress: Progress,
    ) -> Result<usize, StoreError> {
        ensure_folder(&self.folder)?;
        let is_there = self.path().is_file();
        let mut edit = |text: &str, entries: &Entries| {
            let there: Vec<Message> =
                entries.raw.iter().filter_map(|raw| Message::from_entry(raw).ok()).collect();
            let new = missing(&there, read(is_there)?, |carried| &carried.message);
            Ok((self.appended(text, entries, to, &new, progress)?, new.len()))
        };
        self.file
            .update(|look| match look.content {
                // An empty one is made where there is nothing to bring.
                Content::Missing => {
                    let (patch, value) = edit("[]", &Entries::default())?;
                    Ok(Plan::Replace(patch.apply("[]"), (value, None)))
                }
                _ => self.plan(look, true, &mut edit),
            })
            .map(|(added, _)| added)
    }

    /// Adds messages, but for those whose own id is here; says how many came.
    pub(crate) fn add(&self, to: &str, carried: &[Carried]) -> Result<usize, StoreError> {
        let mut edit = |text: &str, entries: &Entries| {
            let there = entries.raw.iter().filter_map(|raw| Message::from_entry(raw).ok());
            let ids: HashSet<String> = there.filter(|m| m.id_given).map(|message| message.id).collect();
            let is_new = |carried: &&Carried| !carried.message.id_given || !ids.contains(&carried.message.id);
            let new: Vec<Carried> = carried.iter().filter(is_new).cloned().collect();
            Ok((self.appended(text, entries, to, &new, &mut |_, _| ())?, new.len()))
        };
        self.file.update(|look| self.plan(look, true, &mut edit)).map(|(added, _)| added)
    }

    fn appended(
        &self,
        text: &str,
        entries: &Entries,
        to: &str,
        new: &[Carried],
        progress: Progress,
    ) -> Result<Patch, StoreError> {
        let mut texts = Vec::with_capacity(new.len());
        for carried in new {
            let entry = carried.as_entry(to);
            texts.push(entry.map_err(|flaw| StoreError::bad(self.path(), flaw.to_string()))?);
            progress(texts.len(), new.len());
        }
        let laid: Vec<Laid> = texts.iter().map(|text| Laid(text)).collect();
        json::append(text, text.trim(), &entries.raw, &laid).map_err(|error| self.bad(&error))
    }
}
