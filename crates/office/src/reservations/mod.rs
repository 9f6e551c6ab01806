//! Path reservations: who edits which files of a working tree for a while, so that two agents do not edit one file.
//!
//! A reservation is a lease on a path or a glob of one `tree`. It ends by the clock, when its holder releases it, and
//! with its holder: with the session, the process, the pane or the membership. One that is over is nobody's, whether
//! it was cleared away or not: every reader judges that anew. A client's hook asks [`Office::edit_conflict`] before an edit; that never
//! waits for a lock, and reading a file is nobody's business.

mod book;
pub mod error;
mod guard;
mod holder;
mod over;
mod pattern;
mod rules;
mod tree;

use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_wire::Stamp;
use serde::Serialize;

pub use error::ReservationError;
pub use guard::{Covered, EditConflict};
pub use holder::{Holder, HolderProcess};
use holder::{Names, SESSION};
pub(crate) use over::Kept;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use book::TreeBook;
use pattern::Pattern;
use rules::{MOST, Released, Reservation};
use tree::Place;

/// For how long a path is reserved, unless it is said.
pub const DEFAULT_SPAN: Duration = Duration::from_secs(30 * 60);
/// For how long at most: a forgotten reservation of somebody who never ends would stand for ever.
pub const LONGEST_SPAN: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// What is kept of a reason.
const LONGEST_REASON: usize = 200;

/// What somebody wants to reserve.
#[derive(Debug)]
pub struct Ask<'a> {
    /// Who.
    pub holder: &'a Holder,
    /// Where they are: paths are relative to it, and its tree is the one that is meant.
    pub cwd: &'a Path,
    /// Paths and globs.
    pub paths: &'a [String],
    /// For how long.
    pub span: Duration,
    /// Why.
    pub reason: Option<&'a str>,
}

/// What somebody gives back.
#[derive(Debug, Clone, Copy)]
pub enum Give<'a> {
    /// What is at these paths and below them.
    Paths(&'a [String]),
    /// All that they hold in the tree where they are.
    Tree,
    /// All that they hold.
    Everything,
}

/// A reservation as a front shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReservationView {
    /// The path or glob: relative to the tree, or from the root where there is no git.
    pub path: String,
    /// The top of the working tree.
    pub tree: PathBuf,
    /// Who holds it: a member's name, a session, a client's process, or the person at the keyboard.
    pub holder: String,
    /// In which team; nothing for who is in none.
    pub team: Option<String>,
    /// The session of a holder that is in no team, where it is known.
    pub session: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Since when.
    pub since: Stamp,
    /// Until when, unless it is extended or released.
    pub until: Stamp,
}

/// What is reserved in all working trees.
#[derive(Debug, Default)]
pub struct HeldEverywhere {
    /// What can be read of it.
    pub reservations: Vec<ReservationView>,
    /// Why the rest cannot: one error for each file.
    pub unreadable: Vec<OfficeError>,
}

impl ReservationView {
    fn of(reservation: &Reservation, top: &Path, names: &Names<'_>) -> Self {
        let (holder, session) = names.called(&reservation.holder);
        Self {
            path: shown(&reservation.pattern, top),
            tree: top.to_owned(),
            holder,
            team: reservation.holder.team.clone(),
            session,
            reason: reservation.reason.clone(),
            since: reservation.since,
            until: reservation.until,
        }
    }

    /// Its holder as people write it.
    pub fn address(&self) -> String {
        self.team.as_ref().map_or_else(|| self.holder.clone(), |team| format!("{}@{team}", self.holder))
    }

    /// Whom to write to about it, if the holder has mail.
    pub fn mail_address(&self) -> Option<String> {
        let session = || self.holder.strip_prefix(SESSION).filter(|_| self.session.is_some());
        self.team.as_ref().map(|_| self.address()).or_else(|| session().map(ToOwned::to_owned))
    }
}

/// A path as people see it: where there is no tree to be relative to, from the root.
fn shown(pattern: &Pattern, top: &Path) -> String {
    if top == Path::new("/") { format!("/{}", pattern.path) } else { pattern.path.clone() }
}

impl Office {
    /// Reserves paths, all or none; what the holder has already is extended. Refused if somebody else has one of them, or a
    /// part of it.
    pub fn reserve(&self, ask: &Ask<'_>) -> Result<Vec<ReservationView>, OfficeError> {
        let places = parse_all(ask.paths, ask.cwd)?;
        let Some(tree) = places.first().map(|place| place.tree.clone()) else { return Ok(Vec::new()) };
        let wanted: Vec<Pattern> = places.into_iter().map(|place| place.pattern).collect();
        let (now, case, names) = (self.now(), tree.case(), Names::of(self));
        // One line, whatever was given: others read it in the middle of a sentence.
        let one_line = |reason: &str| reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let reason = ask.reason.map(|reason| one_line(reason).chars().take(LONGEST_REASON).collect());
        let new = |pattern: &Pattern| Reservation {
            pattern: pattern.clone(),
            holder: ask.holder.clone(),
            reason: Option::clone(&reason),
            since: now,
            until: now.saturating_add(ask.span.min(LONGEST_SPAN)),
        };
        TreeBook::of(self, &tree).change(|all| {
            all.retain(|one| self.why_over(one, now).is_none());
            if let Some((path, held)) = rules::conflict(all, &wanted, ask.holder, case) {
                let by = held.iter().map(|one| ReservationView::of(one, &tree.top, &names)).collect();
                return Err(ReservationError::Held { path: shown(path, &tree.top), by }.into());
            }
            for pattern in &wanted {
                rules::add(all, &new(pattern));
            }
            if all.len() > MOST {
                return Err(ReservationError::TooMany { tree: tree.top.clone(), most: MOST }.into());
            }
            let is_ours =
                |one: &&Reservation| one.holder.is_same(ask.holder) && wanted.contains(&one.pattern);
            let ours = all.iter().filter(is_ours);
            let mut ours: Vec<_> = ours.map(|one| ReservationView::of(one, &tree.top, &names)).collect();
            ours.sort_by(|a, b| a.path.cmp(&b.path));
            Ok(ours)
        })
    }

    /// Releases what `who` holds; named paths of others too, if `who` leads their holders or is the person at the keyboard.
    pub fn release(
        &self,
        who: &Holder,
        cwd: &Path,
        what: Give<'_>,
    ) -> Result<Vec<ReservationView>, OfficeError> {
        match what {
            Give::Paths(paths) => self.release_paths(who, cwd, paths),
            Give::Tree => {
                let Some(here) = Place::of_folder(cwd) else { return Ok(Vec::new()) };
                let (book, case) = (TreeBook::of(self, &here.tree), here.tree.case());
                // Where there is no git, the tree is what is here and below.
                let is_here = |one: &Reservation| {
                    here.tree.top != Path::new("/") || one.pattern.is_within(&here.pattern, case)
                };
                book.take(self, |one| is_here(one) && one.holder.is_same(who))
            }
            Give::Everything => self.release_everywhere(|one| one.holder.is_same(who)),
        }
    }

    /// A session of `who` is over: what it had reserved is free.
    pub fn release_at_exit(&self, who: &Holder) -> Result<Vec<ReservationView>, OfficeError> {
        self.release_everywhere(|one| one.holder.ends_with(who))
    }

    /// The reservations that hold now in the tree of a folder.
    pub fn reservations(&self, cwd: &Path) -> Result<Vec<ReservationView>, OfficeError> {
        let Some(here) = Place::of_folder(cwd) else { return Ok(Vec::new()) };
        let case = here.tree.case();
        // Where there is no git, the tree is what is here and below.
        let is_here =
            |one: &Reservation| here.tree.top != Path::new("/") || one.pattern.overlaps(&here.pattern, case);
        let mut found = self.held_in(&TreeBook::of(self, &here.tree), &Names::of(self), is_here)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Those of all trees, as far as they can be read.
    pub fn all_reservations(&self) -> Result<HeldEverywhere, OfficeError> {
        let (names, mut found) = (Names::of(self), HeldEverywhere::default());
        for book in TreeBook::all(self)? {
            match self.held_in(&book, &names, |_| true) {
                Ok(held) => found.reservations.extend(held),
                Err(error) => found.unreadable.push(error),
            }
        }
        found.reservations.sort_by(|a, b| (&a.tree, &a.path).cmp(&(&b.tree, &b.path)));
        Ok(found)
    }

    fn held_in(
        &self,
        book: &TreeBook,
        names: &Names<'_>,
        is_meant: impl Fn(&Reservation) -> bool,
    ) -> Result<Vec<ReservationView>, OfficeError> {
        let Some((top, all)) = book.read()? else { return Ok(Vec::new()) };
        let now = self.now();
        let held = all.iter().filter(|one| is_meant(one) && self.why_over(one, now).is_none());
        Ok(held.map(|one| ReservationView::of(one, &top, names)).collect())
    }

    /// Whether anything is reserved anywhere, or was and is not cleared away.
    pub fn has_reservations(&self) -> bool {
        TreeBook::all(self).is_ok_and(|books| !books.is_empty())
    }

    fn release_paths(
        &self,
        who: &Holder,
        cwd: &Path,
        paths: &[String],
    ) -> Result<Vec<ReservationView>, OfficeError> {
        let places = parse_all(paths, cwd)?;
        let Some(tree) = places.first().map(|place| place.tree.clone()) else { return Ok(Vec::new()) };
        let (now, case, names) = (self.now(), tree.case(), Names::of(self));
        let leads = self.is_lead(who);
        let decides = |holder: &Holder| {
            who.is_person() || leads && (&holder.team, &holder.root) == (&who.team, &who.root)
        };
        let decide = |all: &mut Vec<Reservation>| {
            all.retain(|one| self.why_over(one, now).is_none());
            let mut released = Vec::new();
            for place in &places {
                let path = shown(&place.pattern, &tree.top);
                let view = |place: usize| ReservationView::of(&all[place], &tree.top, &names);
                match rules::release(all, &place.pattern, who, case, decides) {
                    Released::Places(places) => {
                        released.extend(places.iter().map(|place| view(*place)));
                        for place in places.into_iter().rev() {
                            all.remove(place);
                        }
                    }
                    Released::NotYours(place) => {
                        let by = Box::new(view(place));
                        return Err(ReservationError::NotYours { who: names.address_of(who), by }.into());
                    }
                    Released::None(within) => {
                        let within = within.map(|place| view(place).path);
                        return Err(ReservationError::NotReserved {
                            holder: names.address_of(who),
                            path,
                            within,
                        }
                        .into());
                    }
                }
            }
            Ok(released)
        };
        let book = TreeBook::of(self, &tree);
        // Who asks where nothing is reserved leaves no file.
        if book.exists() { book.change(decide) } else { decide(&mut Vec::new()) }
    }

    /// In every tree: what cannot be read in one keeps nobody out of the others. That is the error then, with what was released.
    fn release_everywhere(
        &self,
        ends: impl Fn(&Reservation) -> bool,
    ) -> Result<Vec<ReservationView>, OfficeError> {
        let (mut released, mut failed) = (Vec::new(), None);
        for book in TreeBook::all(self)? {
            match book.take(self, &ends) {
                Ok(taken) => released.extend(taken),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let Some(error) = failed else { return Ok(released) };
        if released.is_empty() {
            return Err(error);
        }
        let step = |one: &ReservationView| format!("released {} in {}", one.path, one.tree.display());
        Err(error).after(|| Done::Steps(released.iter().map(step).collect()))
    }

    /// Whether somebody leads its team.
    fn is_lead(&self, who: &Holder) -> bool {
        let names = who.team.as_ref().and_then(|team| Some((team.parse().ok()?, who.name.parse().ok()?)));
        names.is_some_and(|(team, name)| self.team(&team).is_ok_and(|team| team.is_led_by(&name)))
    }
}

fn parse_all(paths: &[String], cwd: &Path) -> Result<Vec<Place>, OfficeError> {
    Ok(paths.iter().map(|path| Place::parse(path, cwd)).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
