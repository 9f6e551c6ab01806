//! What a command does to the disk, in order, for power cuts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Seek;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use atm_ledger::faults::{Refusal, Step};
use atm_store::disk::Op;
use atm_store::disk::faults::Verdict;

/// A file, whatever its name is.
pub(crate) type Object = usize;

/// One change of the disk.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A name in this folder came, went or changed.
    Name(PathBuf, Naming),
    /// A file's content or length changed.
    Data(Object, Change),
    /// A file's content is on the disk.
    FileSynced(Object),
    /// A folder's names are on the disk.
    FolderSynced(PathBuf),
    /// The ledger has another version.
    Ledger,
    /// The ledger's version is on the disk.
    LedgerSynced,
}

#[derive(Debug, Clone)]
pub(crate) enum Naming {
    File(PathBuf, Object),
    Folder(PathBuf, u32),
    Renamed(PathBuf, PathBuf),
    Gone(PathBuf),
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

/// The files of a ledger between two commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) database: Option<Vec<u8>>,
    pub(crate) log: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) events: Vec<Event>,
    pub(crate) ledgers: Vec<Ledger>,
    /// The mode of each file, which is not lost.
    pub(crate) modes: HashMap<Object, u32>,
    objects: HashMap<u64, Object>,
    ledger: PathBuf,
    seen: [Option<(u64, SystemTime)>; 2],
    /// What stood at the path that is being opened.
    before: Option<(u64, u64)>,
    /// Which of the folders that are being made were not there, the outermost last.
    missing: Vec<PathBuf>,
    syncs_ledger: bool,
}

/// Records all that happens on this thread.
#[derive(Debug, Clone)]
pub(crate) struct Recorder(Rc<RefCell<Recording>>);

impl Recorder {
    /// A recorder that knows these files already, each by its place in the list.
    pub(crate) fn new(files: &[PathBuf], ledger: PathBuf) -> Self {
        let mut recording = Recording { ledger, ..Recording::default() };
        for (object, path) in files.iter().enumerate() {
            let found = fs::metadata(path).unwrap();
            recording.objects.insert(found.ino(), object);
            recording.modes.insert(object, found.mode() & 0o7777);
        }
        recording.look_at_ledger();
        recording.events.clear();
        Self(Rc::new(RefCell::new(recording)))
    }

    pub(crate) fn run<T>(self, work: impl FnOnce() -> T) -> (T, Recording) {
        let done =
            atm_store::disk::faults::with(self.clone(), || atm_ledger::faults::with(self.clone(), work));
        self.0.borrow_mut().look_at_ledger();
        (done, self.0.take())
    }
}

impl Recording {
    /// Keeps the ledger's files if they have changed.
    fn look_at_ledger(&mut self) {
        let mut log = self.ledger.clone().into_os_string();
        log.push("-wal");
        let paths = [self.ledger.clone(), PathBuf::from(log)];
        let look = |path: &PathBuf| {
            let found = fs::metadata(path).ok()?;
            Some((found.len(), found.modified().ok()?))
        };
        let now = [look(&paths[0]), look(&paths[1])];
        if self.ledgers.is_empty() || now != self.seen {
            self.seen = now;
            let [database, log] = paths.map(|path| fs::read(path).ok());
            self.ledgers.push(Ledger { database, log });
            self.events.push(Event::Ledger);
        }
        if std::mem::take(&mut self.syncs_ledger) {
            self.events.push(Event::LedgerSynced);
        }
    }

    fn object(&mut self, file: &File) -> Object {
        let inode = file.metadata().unwrap().ino();
        let next = self.modes.len();
        *self.objects.entry(inode).or_insert_with(|| {
            self.modes.insert(next, 0o600);
            next
        })
    }

    fn opened(&mut self, path: &Path) {
        let Ok(found) = fs::metadata(path) else { return };
        match self.before {
            Some((inode, length)) if inode == found.ino() => {
                if found.len() < length
                    && let Some(object) = self.objects.get(&inode)
                {
                    self.events.push(Event::Data(*object, Change::Length(found.len())));
                }
            }
            _ => {
                let object = self.modes.len();
                self.objects.insert(found.ino(), object);
                self.modes.insert(object, found.mode() & 0o7777);
                self.named(path, Naming::File(path.to_owned(), object));
            }
        }
    }

    fn named(&mut self, path: &Path, naming: Naming) {
        self.events.push(Event::Name(path.parent().unwrap().to_owned(), naming));
    }

    fn record(&mut self, op: Op) {
        match op {
            Op::Open(path) => self.opened(path),
            Op::Write(file, at, bytes) => {
                let end = { file }.stream_position().unwrap();
                let at = at.unwrap_or_else(|| end - bytes.len() as u64);
                let object = self.object(file);
                self.events.push(Event::Data(object, Change::Write(at, bytes.to_vec())));
            }
            Op::SetLength(file, length) => {
                let object = self.object(file);
                self.events.push(Event::Data(object, Change::Length(length)));
            }
            Op::Sync(file) if file.metadata().unwrap().is_dir() => {
                let path = fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)));
                self.events.push(Event::FolderSynced(path.unwrap()));
            }
            Op::Sync(file) => {
                let object = self.object(file);
                self.events.push(Event::FileSynced(object));
            }
            Op::Rename(from, to) | Op::RenameNew(from, to) => {
                self.named(to, Naming::Renamed(from.to_owned(), to.to_owned()));
            }
            Op::CreateFolder(path) => {
                let mode = fs::metadata(path).unwrap().mode() & 0o7777;
                self.named(path, Naming::Folder(path.to_owned(), mode));
            }
            Op::CreateFolders(_) => {
                for folder in std::mem::take(&mut self.missing).into_iter().rev() {
                    self.named(&folder, Naming::Folder(folder.clone(), 0o700));
                }
            }
            Op::RemoveFolder(path) | Op::RemoveTree(path) | Op::RemoveFile(path) => {
                self.named(path, Naming::Gone(path.to_owned()));
            }
            Op::SetFileAttributes(file) => {
                let (object, mode) = (self.object(file), file.metadata().unwrap().mode() & 0o7777);
                self.modes.insert(object, mode);
            }
            Op::OpenToRead(_) | Op::Read(_) | Op::SetAttributes(_) | Op::Lock(_) => {}
        }
    }
}

impl atm_store::disk::faults::Faults for Recorder {
    fn before(&mut self, op: Op) -> Verdict {
        let mut recording = self.0.borrow_mut();
        recording.look_at_ledger();
        if let Op::Open(path) = op {
            recording.before = fs::metadata(path).ok().map(|found| (found.ino(), found.len()));
        }
        if let Op::CreateFolders(path) = op {
            recording.missing =
                path.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        }
        Verdict::Pass
    }

    fn after(&mut self, op: Op) {
        self.0.borrow_mut().record(op);
    }
}

impl atm_ledger::faults::Faults for Recorder {
    fn before(&mut self, step: Step) -> Result<(), Refusal> {
        let mut recording = self.0.borrow_mut();
        recording.look_at_ledger();
        recording.syncs_ledger |= matches!(step, Step::Checkpoint | Step::Sync);
        Ok(())
    }
}
