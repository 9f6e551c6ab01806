//! Whether an edit may be made: asked by clients' hooks before every edit, so the usual answer costs little and a refusal
//! is sure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::book::TreeBook;
use super::rules::Reservation;
use super::tree::Place;
use super::{Holder, Names, Office, ReservationView, shown};
use crate::error::OfficeError;

/// No call of a tool edits as many files.
const MOST_PATHS: usize = 1_000;

/// Reservations that cover paths which somebody is about to edit.
#[derive(Debug, Default)]
pub struct Covered {
    found: Vec<(String, PathBuf, Reservation)>,
}

impl Covered {
    /// Whether nothing is reserved there, so that it does not matter who asks.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// An edit that must wait, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditConflict {
    /// The path that was to be edited, as it is called in its tree.
    pub path: String,
    /// The reservation of somebody else.
    pub by: ReservationView,
}

impl Office {
    /// What is reserved of the files that somebody in `cwd` is about to edit. Takes no lock, and changes nothing.
    pub fn covering(&self, paths: &[String], cwd: &Path) -> Result<Covered, OfficeError> {
        let now = self.now();
        let mut books: HashMap<PathBuf, Vec<Reservation>> = HashMap::new();
        let mut covered = Covered::default();
        for place in paths.iter().take(MOST_PATHS).filter_map(|path| Place::of_file(path, cwd)) {
            let top = &place.tree.top;
            if !books.contains_key(top) {
                let all = TreeBook::of(self, &place.tree).read()?.map(|(_, all)| all).unwrap_or_default();
                books.insert(top.clone(), all.into_iter().filter(|one| !one.is_expired(now)).collect());
            }
            let Some(all) = books.get(top).filter(|all| !all.is_empty()) else { continue };
            let case = place.tree.case();
            let found = all.iter().filter(|one| one.pattern.covers(&place.pattern, case));
            let path = shown(&place.pattern, top);
            covered.found.extend(found.map(|one| (path.clone(), top.clone(), one.clone())));
        }
        Ok(covered)
    }

    /// The first of these that keeps `who` from its edit: it is somebody else's, and that one is still there.
    pub fn edit_conflict(&self, covered: Covered, who: &Holder) -> Option<EditConflict> {
        let now = self.now();
        let mut others = covered.found.into_iter().filter(|(.., one)| !one.holder.is_same(who));
        others.find(|(.., one)| self.why_over(one, now).is_none()).map(|(path, top, one)| EditConflict {
            path,
            by: ReservationView::of(&one, &top, &Names::of(self)),
        })
    }
}
