//! The file of one working tree's reservations, in our state folder.

use std::path::{Path, PathBuf};

use atm_store::{Memo, StoreError};
use serde::{Deserialize, Serialize};

use super::rules::Reservation;
use super::tree::Tree;
use super::{Names, Office, ReservationView};
use crate::error::OfficeError;

/// The version of the format that we write.
const VERSION: u64 = 1;

/// The file's form.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    version: u64,
    tree: PathBuf,
    reservations: Vec<Reservation>,
}

/// What every version of the format has.
#[derive(Debug, Deserialize)]
struct Versioned {
    version: u64,
}

/// A tree's reservations on disk.
#[derive(Debug)]
pub(super) struct TreeBook {
    memo: Memo,
    /// The tree's top, where we know it; else the file says it.
    top: Option<PathBuf>,
}

impl TreeBook {
    pub(super) fn of(office: &Office, tree: &Tree) -> Self {
        let memo = Memo::of_reservations(&tree.top, &office.state, office.times);
        Self { memo, top: Some(tree.top.clone()) }
    }

    /// Those of all trees.
    pub(super) fn all(office: &Office) -> Result<Vec<Self>, OfficeError> {
        let memos = Memo::all_reservations(&office.state, office.times)?;
        Ok(memos.into_iter().map(|memo| Self { memo, top: None }).collect())
    }

    pub(super) fn exists(&self) -> bool {
        self.memo.path().symlink_metadata().is_ok()
    }

    /// The tree's top and its reservations; nothing if there are none. Takes no lock: the file is replaced whole.
    pub(super) fn read(&self) -> Result<Option<(PathBuf, Vec<Reservation>)>, OfficeError> {
        let Some(text) = self.memo.read()? else { return Ok(None) };
        let content = self.parse(&text)?;
        Ok(Some((self.top.clone().unwrap_or(content.tree), content.reservations)))
    }

    /// Changes the list, in our turn; if `change` refuses, nothing is written.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Reservation>) -> Result<T, OfficeError>,
    ) -> Result<T, OfficeError> {
        let mut is_empty = false;
        let changed = self.memo.update(|text| -> Result<_, OfficeError> {
            let mut content = match text {
                Some(text) => self.parse(text)?,
                None => self.empty(),
            };
            if content.version > VERSION {
                let version = content.version.to_string();
                return Err(StoreError::Newer { path: self.memo.path().to_owned(), version }.into());
            }
            let before = content.reservations.clone();
            let value = change(&mut content.reservations)?;
            is_empty = content.reservations.is_empty();
            // Strings, numbers and a path that was UTF-8 or is left out: that cannot fail.
            let text = serde_json::to_string(&content).unwrap_or_default();
            Ok(((content.reservations != before).then_some(text), value))
        })?;
        if is_empty {
            // A tree that may be gone tomorrow leaves nothing behind. One that is in use again meanwhile keeps its file.
            let is_over = |text: &str| self.parse(text).is_ok_and(|content| content.reservations.is_empty());
            self.memo.remove_if(is_over)?;
        }
        Ok(changed)
    }

    /// Takes out those that `ends` names; gives them.
    pub(super) fn take(
        &self,
        office: &Office,
        ends: impl Fn(&Reservation) -> bool,
    ) -> Result<Vec<ReservationView>, OfficeError> {
        let Some((top, all)) = self.read()? else { return Ok(Vec::new()) };
        if !all.iter().any(&ends) {
            return Ok(Vec::new());
        }
        let names = Names::of(office);
        self.change(|all| {
            let taken = all
                .iter()
                .filter(|one| ends(one))
                .map(|one| ReservationView::of(one, &top, &names))
                .collect();
            all.retain(|one| !ends(one));
            Ok(taken)
        })
    }

    fn empty(&self) -> Content {
        let tree = self.top.as_deref().unwrap_or(Path::new(""));
        let tree = PathBuf::from(tree.to_string_lossy().into_owned());
        Content { version: VERSION, tree, reservations: Vec::new() }
    }

    fn parse(&self, text: &str) -> Result<Content, OfficeError> {
        serde_json::from_str(text).map_err(|error| {
            let path = self.memo.path().to_owned();
            if let Ok(Versioned { version }) = serde_json::from_str(text)
                && version > VERSION
            {
                return StoreError::Newer { path, version: version.to_string() }.into();
            }
            let why = format!("holds no reservations ({error}); removing it releases them");
            StoreError::BadContent { path, why }.into()
        })
    }
}
