//! Copying a team's files while others write them.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use atm_wire::backup::{FORMAT, FileEntry, FolderEntry, Manifest, Mode, Place, VERSION};

use super::places::{Kind, kind};
use super::spool::{Piece, Spool};
use super::{Order, Progress, Site};
use crate::archive::Archive;
use crate::commit::SharedFile;
use crate::convert::mark::is_of_conversion;
use crate::error::{IoContext, StoreError};
use crate::files::{Snapshot, is_temp_of_ours, open, resolve};
use crate::group::Group;
use crate::paths::with_suffix;

/// How often a log with its cursor is copied again when the cursor moved meanwhile.
const TRIES: usize = 20;
/// How often a file that nobody locks is copied when it changes under the copy.
const LOOKS: usize = 3;

/// Everything that goes into a backup.
pub(super) struct Collected {
    pub(super) manifest: Manifest,
    /// The copy of each file, in the manifest's order, and when it was modified.
    pub(super) pieces: Vec<(Piece, u64)>,
    pub(super) spool: Spool,
    pub(super) left_out: Vec<String>,
}

/// A file that was copied.
struct Taken {
    entry: FileEntry,
    piece: Piece,
    modified: u64,
    /// When it changed last. Of two at one time, a cursor is the earlier: what is rotated then counts as rotated since.
    changed: ((i64, i64), bool),
}

struct Collector<'a> {
    site: Site<'a>,
    spool: Spool,
    folders: Vec<FolderEntry>,
    taken: Vec<Taken>,
    left_out: Vec<String>,
    progress: Progress<'a>,
    of: u64,
}

pub(super) fn collect<'a>(
    site: Site<'a>,
    order: &Order,
    progress: Progress<'a>,
) -> Result<Collected, StoreError> {
    let team = site.root.team(site.team);
    let tasks = site.root.tasks(site.team);
    let archives = site.state.archives().join(site.team.file_stem());
    let of = [&team, &tasks, &archives].map(|folder| size_of(folder)).iter().sum();
    let mut collector = Collector {
        site,
        spool: Spool::new(&order.out)?,
        folders: Vec::new(),
        taken: Vec::new(),
        left_out: Vec::new(),
        progress,
        of,
    };
    if order.config_only {
        collector.config_alone(&team)?;
    } else {
        collector.folder(&team, b"team")?;
        if tasks.is_dir() {
            collector.folder(&tasks, b"tasks")?;
        }
        // Last: what is archived meanwhile is then in both, and in neither the other way round.
        collector.archives(&archives)?;
    }
    let Collector { spool, folders, mut taken, left_out, .. } = collector;
    taken.sort_by(|a, b| (a.changed, &a.entry.path).cmp(&(b.changed, &b.entry.path)));
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        team: team.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        root: site.root_key.to_owned(),
        created_at: order.now,
        atm: order.atm.clone(),
        config_only: order.config_only,
        group: Group::of_folder(&team).map(|group| group.name),
        folders,
        files: taken.iter().map(|taken| taken.entry.clone()).collect(),
    };
    let pieces = taken.into_iter().map(|taken| (taken.piece, taken.modified)).collect();
    Ok(Collected { manifest, pieces, spool, left_out })
}

impl Collector<'_> {
    /// The configuration, and the folder by which the team's layout shows.
    fn config_alone(&mut self, team: &Path) -> Result<(), StoreError> {
        self.note_folder(team, b"team")?;
        for layout in ["inboxes", "members"] {
            if team.join(layout).is_dir() {
                self.note_folder(&team.join(layout), format!("team/{layout}").as_bytes())?;
            }
        }
        self.file(&team.join("config.json"), b"team/config.json")
    }

    fn note_folder(&mut self, path: &Path, place: &[u8]) -> Result<(), StoreError> {
        let mode = fs::metadata(path).doing("look at", path)?.mode();
        let entry = FolderEntry { path: checked(path, place)?, mode: Mode::of_folder(mode) };
        self.folders.push(entry);
        Ok(())
    }

    /// A folder with all that is in it. A log is copied again as a whole when its cursor moved meanwhile: the two have to
    /// fit each other.
    fn folder(&mut self, path: &Path, place: &[u8]) -> Result<(), StoreError> {
        self.note_folder(path, place)?;
        let cursor = path.join("state.json");
        if !is_member_of_log(place) {
            return self.content(path, place);
        }
        let start = (self.spool.length(), self.taken.len(), self.folders.len(), self.left_out.len());
        for _ in 0..TRIES {
            let before = Snapshot::read(&resolve(&cursor)?)?;
            let names = log_files(path)?;
            self.content(path, place)?;
            if before.is_current(&resolve(&cursor)?)? && log_files(path)? == names {
                return Ok(());
            }
            self.spool.truncate(start.0);
            self.taken.truncate(start.1);
            self.folders.truncate(start.2);
            self.left_out.truncate(start.3);
        }
        Err(StoreError::Unsettled { path: cursor })
    }

    fn content(&mut self, path: &Path, place: &[u8]) -> Result<(), StoreError> {
        let mut entries: Vec<_> =
            fs::read_dir(path).doing("list", path)?.collect::<Result<_, _>>().doing("list", path)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let place = [place, b"/", entry.file_name().as_bytes()].concat();
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error).doing("look at", &path),
            };
            if kind.is_dir() && !is_lock(&path) {
                match self.folder(&path, &place) {
                    // Somebody removed it meanwhile.
                    Err(StoreError::Io { source, .. })
                        if source.kind() == io::ErrorKind::NotFound && !path.exists() => {}
                    done => done?,
                }
            } else if kind.is_file() && (is_temp_of_ours(&path) || is_of_conversion(&path)) {
                // Of a process that is at work, or that died.
            } else if kind.is_file() {
                self.file(&path, &place)?;
            } else if kind.is_symlink() && self.shared(&path, &place).is_some() {
                // Everybody follows a link there.
                self.file(&path, &place)?;
            } else if !kind.is_dir() && !kind.is_file() {
                let what = if kind.is_symlink() { "a link" } else { "no regular file" };
                self.left_out.push(format!("{} is {what}: left out", path.display()));
            }
        }
        Ok(())
    }

    /// A file as it was at one moment, unless it is gone.
    fn file(&mut self, path: &Path, place: &[u8]) -> Result<(), StoreError> {
        let start = self.spool.length();
        let shared = self.shared(path, place);
        let spool = &mut self.spool;
        let mut copy = |target: &Path| {
            spool.truncate(start);
            let now = SystemTime::now();
            let Some((file, metadata)) = open(target)? else { return Ok((Snapshot::missing(), None)) };
            let piece = spool.take(&file, target, metadata.len())?;
            let copied = Some((piece, metadata.clone()));
            Ok((Snapshot::copied(target, (file, metadata), now, spool.handle()?, 0, start)?, copied))
        };
        let copied = match shared {
            Some(shared) => shared.copy(copy),
            None => (1..LOOKS)
                .try_fold(copy(path)?, |(seen, last), _| {
                    // One that grows all the time, an output perhaps, is as it was at the last look.
                    if seen.is_current(path)? { Ok((seen, last)) } else { copy(path) }
                })
                .map(|(_, copied)| copied),
        }?;
        let Some((piece, metadata)) = copied else { return Ok(()) };
        self.take(path, place, piece, &metadata)
    }

    fn take(
        &mut self,
        path: &Path,
        place: &[u8],
        piece: Piece,
        metadata: &Metadata,
    ) -> Result<(), StoreError> {
        let is_cursor = kind(place) == Kind::Cursor;
        let (mtime, ctime) =
            ((metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec()));
        self.taken.push(Taken {
            entry: FileEntry {
                path: checked(path, place)?,
                size: piece.size,
                mode: Mode::of_file(metadata.mode()),
                sha256: piece.sha256.clone(),
            },
            piece,
            modified: u64::try_from(mtime.0).unwrap_or(0),
            changed: if is_cursor { (mtime, false) } else { (ctime, true) },
        });
        (self.progress)(self.spool.length(), self.of.saturating_mul(2));
        Ok(())
    }

    /// The archives. Their parts only grow, or stay as they are until they are packed: what was opened can be read in
    /// peace. Their indexes are made anew.
    fn archives(&mut self, folder: &Path) -> Result<(), StoreError> {
        let all = Archive::all(self.site.state, self.site.times)?;
        let mut ours = all.into_iter().filter(|archive| archive.file().parent() == Some(folder)).peekable();
        if ours.peek().is_some() {
            self.note_folder(folder, b"archive")?;
        }
        for archive in ours {
            for (path, file, length) in archive.open_parts()? {
                self.part(&path, &file, length)?;
            }
        }
        Ok(())
    }

    fn part(&mut self, path: &Path, file: &File, length: u64) -> Result<(), StoreError> {
        let metadata = file.metadata().doing("look at", path)?;
        let piece = self.spool.take(file, path, length)?;
        let name = path.file_name().unwrap_or_default().as_bytes();
        self.take(path, &[b"archive/", name].concat(), piece, &metadata)
    }

    /// The locks of a file that others write.
    fn shared(&self, path: &Path, place: &[u8]) -> Option<SharedFile> {
        let file = SharedFile::new(path.to_owned(), self.site.state, self.site.times);
        let beside = |name: &str| path.with_file_name(name);
        Some(match kind(place) {
            Kind::Config => file.with_directory_lock(),
            Kind::Array | Kind::Task(_) => file.with_flock(beside(".lock")).with_directory_lock(),
            Kind::LastTask => file.with_flock(beside(".lock")).with_directory(beside(".lock.lock")),
            Kind::Log => file.with_flock(with_suffix(path, ".lock")),
            _ => return None,
        })
    }
}

fn checked(path: &Path, place: &[u8]) -> Result<Place, StoreError> {
    Place::parse(place).map_err(|why| StoreError::bad(path, why))
}

/// `team/members/<name>`
fn is_member_of_log(place: &[u8]) -> bool {
    place.strip_prefix(b"team/members/").is_some_and(|name| !name.is_empty() && !name.contains(&b'/'))
}

/// The names in a member's folder that mail is in.
fn log_files(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = fs::read_dir(folder).doing("list", folder)?.filter_map(Result::ok);
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        name.starts_with(b"inbox") && !name.ends_with(b".lock")
    };
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_log).collect();
    names.sort();
    Ok(names)
}

/// Whether a folder is somebody's lock.
fn is_lock(folder: &Path) -> bool {
    folder.extension() == Some(OsStr::new("lock"))
        && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// About how many bytes there are.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
