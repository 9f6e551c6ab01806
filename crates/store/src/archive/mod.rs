//! Mail that was taken out of an inbox: in our state folder, where it outlives the team.
//!
//! Each inbox has its archive: `archive/<team>/<name>.jsonl`, which only grows, and the parts that were closed before,
//! `<name>.<first>-<last>.jsonl.zst`, named after the times of their messages. A line is a message with the bytes of
//! its entry ([`atm_wire::archive`]). A part is read in blocks; beside it a small index says which times each holds.
//!
//! What is in the archive and in the inbox counts as in the inbox: a message is written here, durably, before it leaves
//! the inbox, so after a crash in between nothing is archived. The next run finds it here and does not write it twice.

mod index;
mod pack;
mod view;
mod writer;

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use atm_wire::{MemberName, Stamp, TeamName};

use crate::error::{IoContext, StoreError};
use crate::lock::LockTimes;
use crate::paths::State;

pub use pack::Packed;
pub use view::{BlockRef, View};
pub use writer::{Whence, Writer};

/// All times.
pub const ALWAYS: RangeInclusive<i64> = i64::MIN..=i64::MAX;

const PLAIN: &str = ".jsonl";
const PACKED: &str = ".jsonl.zst";
const INDEX: &str = ".idx";

/// The archive of one inbox.
#[derive(Debug, Clone)]
pub struct Archive {
    folder: PathBuf,
    stem: String,
    state: State,
    times: LockTimes,
}

/// A file of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    path: PathBuf,
    is_packed: bool,
    /// What stands in its name between the inbox's name and the ending; the growing one has nothing there.
    label: Option<String>,
}

impl Archive {
    /// The archive of `name` in `team`, whether there is one or not.
    pub fn new(state: &State, team: &TeamName, name: &MemberName, times: LockTimes) -> Self {
        let folder = state.archives().join(team.file_stem());
        Self { folder, stem: name.file_stem(), state: state.clone(), times }
    }

    /// Every archive there is, whatever became of its team.
    pub fn all(state: &State, times: LockTimes) -> Result<Vec<Self>, StoreError> {
        let mut found = Vec::new();
        for folder in entries(&state.archives())?.into_iter().filter(|path| path.is_dir()) {
            found.extend(Self::in_folder(&folder, state, times)?);
        }
        Ok(found)
    }

    /// The archives in a folder that is not in its place.
    pub(crate) fn in_folder(folder: &Path, state: &State, times: LockTimes) -> Result<Vec<Self>, StoreError> {
        let archive = |stem| Self { folder: folder.to_owned(), stem, state: state.clone(), times };
        Ok(stems(folder)?.into_iter().map(archive).collect())
    }

    /// The name in its files' names.
    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    /// The file that grows.
    pub fn file(&self) -> PathBuf {
        self.folder.join(format!("{}{PLAIN}", self.stem))
    }

    /// Whether anything was ever archived.
    pub fn exists(&self) -> bool {
        self.parts().is_ok_and(|parts| !parts.is_empty())
    }

    /// The names in a team that have an archive.
    pub fn names(state: &State, team: &TeamName, times: LockTimes) -> Result<Vec<MemberName>, StoreError> {
        let folder = state.archives().join(team.file_stem());
        let all = Self::all(state, times)?.into_iter().filter(|archive| archive.folder == folder);
        Ok(all.filter_map(|archive| MemberName::parse(&archive.stem).ok()).collect())
    }

    /// All parts, oldest first. One that is being packed is there twice on the disk, and here once.
    fn parts(&self) -> Result<Vec<Part>, StoreError> {
        let mut parts: Vec<Part> =
            entries(&self.folder)?.into_iter().filter_map(|path| self.part(path)).collect();
        // Nothing sorts behind every label: the one that grows is the newest.
        parts.sort_by(|a, b| {
            (a.label.is_none(), &a.label, a.is_packed).cmp(&(b.label.is_none(), &b.label, b.is_packed))
        });
        parts.dedup_by(|later, earlier| later.label == earlier.label);
        Ok(parts)
    }

    fn part(&self, path: PathBuf) -> Option<Part> {
        let rest = path.file_name()?.to_str()?.strip_prefix(&self.stem)?;
        let (label, is_packed) = match rest.strip_suffix(PACKED) {
            Some(label) => (label, true),
            None => (rest.strip_suffix(PLAIN)?, false),
        };
        let label = match label {
            "" if is_packed => return None,
            "" => None,
            label => Some(label.strip_prefix('.')?.to_owned()),
        };
        Some(Part { path, is_packed, label })
    }
}

impl Part {
    /// The times of its messages, as its name has them.
    fn span(&self) -> RangeInclusive<i64> {
        let read = || {
            let label = self.label.as_deref()?;
            Some(time_of(label.get(..19)?)?..=time_of(label.get(20..39)?)?)
        };
        read().unwrap_or(ALWAYS)
    }

    fn index(&self) -> PathBuf {
        crate::paths::with_suffix(&self.path, INDEX)
    }
}

/// `20261115-184229-139`, as [`Stamp::file_name`] spells it.
fn time_of(name: &str) -> Option<i64> {
    let part = |range: std::ops::Range<usize>| name.get(range);
    let spelled = format!(
        "{}-{}-{}T{}:{}:{}.{}Z",
        part(0..4)?,
        part(4..6)?,
        part(6..8)?,
        part(9..11)?,
        part(11..13)?,
        part(13..15)?,
        part(16..19)?
    );
    Stamp::parse(&spelled).ok().map(Stamp::as_millis)
}

/// Whose archives are in a folder.
fn stems(folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut stems: Vec<String> = entries(folder)?
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .filter(|name| name.ends_with(PLAIN) || name.ends_with(PACKED))
        // A name in a file name has no dot.
        .filter_map(|name| name.split_once('.').map(|(stem, _)| stem.to_owned()))
        .filter(|stem| !stem.is_empty())
        .collect();
    stems.sort();
    stems.dedup();
    Ok(stems)
}

fn overlaps(a: &RangeInclusive<i64>, b: &RangeInclusive<i64>) -> bool {
    a.start() <= b.end() && b.start() <= a.end()
}

/// The files and folders in a folder, which may be missing.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.filter_map(Result::ok).map(|entry| entry.path()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).doing("list", folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parts_name_tells_the_times_of_its_messages() {
        let (first, last) = (Stamp::from_millis(1_794_768_140_463), Stamp::from_millis(1_794_768_149_001));
        let label = format!("{}-{}", first.file_name(), last.file_name());
        let part = |label: String| Part { path: PathBuf::new(), is_packed: true, label: Some(label) };
        assert_eq!(part(label.clone()).span(), first.as_millis()..=last.as_millis());
        assert_eq!(part(format!("{label}.2")).span(), first.as_millis()..=last.as_millis());
        assert_eq!(part("äöü somebody's own name for it, of this length".into()).span(), ALWAYS);
    }

    #[test]
    fn parts_are_in_order_and_each_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path());
        let archive = Archive::new(
            &state,
            &TeamName::parse("dev").unwrap(),
            &MemberName::parse("bob").unwrap(),
            LockTimes::default(),
        );
        fs::create_dir_all(&archive.folder).unwrap();
        let b = "20260102-000000-000-20260103-000000-000";
        let a = "20260101-000000-000-20260102-000000-000";
        for name in [
            "bob.jsonl".into(),
            format!("bob.{b}.jsonl.zst"),
            format!("bob.{b}.jsonl"),
            format!("bob.{a}.jsonl.zst"),
        ] {
            fs::write(archive.folder.join(name), "").unwrap();
        }
        for other in ["bobby.jsonl", "bob.jsonl.idx", ".bob.jsonl.atm-1", "bob.jsonl.zst"] {
            fs::write(archive.folder.join(other), "").unwrap();
        }
        let names: Vec<_> = archive
            .parts()
            .unwrap()
            .iter()
            .map(|part| part.path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, [format!("bob.{a}.jsonl.zst"), format!("bob.{b}.jsonl"), "bob.jsonl".into()]);
        let stems: Vec<_> =
            Archive::all(&state, LockTimes::default()).unwrap().into_iter().map(|a| a.stem).collect();
        assert_eq!(stems, ["bob", "bobby"]);
    }
}
