//! Which operation fails, and how; and what happened.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::rc::Rc;

use atm_ledger::faults::{Refusal, Step};
use atm_store::disk::Op;
use atm_store::disk::faults::Verdict;

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With this number of the system.
    Errno(&'static str, i32),
    /// Only half of the bytes are written.
    Short,
    /// The ledger refuses.
    Ledger(Refusal),
    /// The process dies before it.
    CrashBefore,
    /// The process dies after it.
    CrashAfter,
}

/// Linux's numbers; others of the same meaning would do as well elsewhere.
const ERRNOS: [Kind; 6] = [
    Kind::Errno("EIO", 5),
    Kind::Errno("ENOSPC", 28),
    Kind::Errno("EDQUOT", 122),
    Kind::Errno("EMFILE", 24),
    Kind::Errno("EINTR", 4),
    Kind::Errno("EROFS", 30),
];
const REFUSALS: [Kind; 3] =
    [Kind::Ledger(Refusal::Busy), Kind::Ledger(Refusal::Full), Kind::Ledger(Refusal::Io)];
const CRASHES: [Kind; 2] = [Kind::CrashBefore, Kind::CrashAfter];

impl Kind {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Errno(name, _) => name.to_owned(),
            other => format!("{other:?}"),
        }
    }

    /// Whether what is done about it is like nothing else.
    pub(crate) fn is_distinct(self) -> bool {
        matches!(
            self,
            Self::Errno("ENOSPC", _) | Self::Ledger(Refusal::Full) | Self::Short | Self::CrashAfter
        )
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let all = ERRNOS.into_iter().chain(REFUSALS).chain(CRASHES).chain([Self::Short]);
        all.into_iter().find(|kind| kind.name() == name)
    }
}

/// An operation that took place, or was to.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    /// What it was, for reports.
    pub(crate) what: String,
    is_ledger: bool,
    is_write: bool,
}

impl Done {
    /// How it can fail by itself.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let short = if self.is_write { &[Kind::Short][..] } else { &[] };
        let errors = if self.is_ledger { &REFUSALS[..] } else { &ERRNOS[..] };
        errors.iter().chain(short).chain(&CRASHES).copied().collect()
    }

    /// How it and the next one can fail together: alike, and the second as a crash. Which number an error has makes no
    /// difference to what is done about the next one, so of those there are two.
    pub(crate) fn pairs(&self) -> Vec<[Kind; 2]> {
        let refusals = REFUSALS.map(|kind| [kind, kind]);
        let errors = [ERRNOS[0], ERRNOS[1]].map(|kind| [kind, kind]);
        let first = if self.is_ledger { Kind::Ledger(Refusal::Full) } else { Kind::Errno("ENOSPC", 28) };
        let second = if self.is_ledger { Kind::Errno("ENOSPC", 28) } else { Kind::Ledger(Refusal::Full) };
        let same = if self.is_ledger { &refusals[..] } else { &errors[..] };
        let mut pairs = same.to_vec();
        pairs.extend([[first, second], [first, Kind::CrashBefore], [first, Kind::CrashAfter]]);
        if self.is_write {
            pairs.push([Kind::Short, Kind::Short]);
            pairs.push([Kind::Short, Kind::Errno("ENOSPC", 28)]);
        }
        pairs
    }
}

#[derive(Debug, Default)]
struct State {
    faults: Vec<(usize, Kind)>,
    done: Vec<Done>,
    hit: usize,
    dies: bool,
    is_dead: bool,
}

/// A plan for one run, which all parts of it share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan(Rc<RefCell<State>>);

impl Plan {
    pub(crate) fn new(faults: &[(usize, Kind)]) -> Self {
        Self(Rc::new(RefCell::new(State { faults: faults.to_vec(), ..State::default() })))
    }

    /// Runs `work` with it.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        atm_store::disk::faults::with(self.clone(), || atm_ledger::faults::with(self.clone(), work))
    }

    pub(crate) fn done(&self) -> Vec<Done> {
        self.0.borrow().done.clone()
    }

    /// Whether every fault had an operation that it could happen to.
    pub(crate) fn has_hit(&self) -> bool {
        let state = self.0.borrow();
        state.hit == state.faults.len()
    }

    /// Whether the process died: nobody got an answer.
    pub(crate) fn is_dead(&self) -> bool {
        let state = self.0.borrow();
        state.is_dead || state.dies
    }

    fn next(&self, done: Done) -> Option<Kind> {
        let mut state = self.0.borrow_mut();
        state.is_dead |= state.dies;
        if state.is_dead {
            return Some(Kind::CrashBefore);
        }
        let number = state.done.len();
        let kind = state.faults.iter().find(|(at, _)| *at == number).map(|(_, kind)| *kind);
        let kind = kind.filter(|kind| match kind {
            Kind::Short => done.is_write,
            Kind::Errno(..) => !done.is_ledger,
            Kind::Ledger(_) => done.is_ledger,
            Kind::CrashBefore | Kind::CrashAfter => true,
        });
        state.done.push(done);
        state.hit += usize::from(kind.is_some());
        state.is_dead |= kind == Some(Kind::CrashBefore);
        state.dies |= kind == Some(Kind::CrashAfter);
        kind.filter(|kind| *kind != Kind::CrashAfter)
    }
}

impl atm_store::disk::faults::Faults for Plan {
    fn before(&mut self, op: Op) -> Verdict {
        let length = if let Op::Write(_, _, bytes) = op { bytes.len() } else { 0 };
        match self.next(Done { what: describe(op), is_ledger: false, is_write: length > 1 }) {
            None => Verdict::Pass,
            Some(Kind::Short) => Verdict::Short(length / 2),
            Some(Kind::Errno(_, number)) => Verdict::Fail(io::Error::from_raw_os_error(number)),
            Some(_) => Verdict::Fail(io::Error::other("this process is dead")),
        }
    }

    fn after(&mut self, _: Op) {}
}

impl atm_ledger::faults::Faults for Plan {
    fn before(&mut self, step: Step) -> Result<(), Refusal> {
        match self.next(Done { what: format!("ledger: {step:?}"), is_ledger: true, is_write: false }) {
            None => Ok(()),
            Some(Kind::Ledger(refusal)) => Err(refusal),
            Some(_) => Err(Refusal::Io),
        }
    }
}

fn describe(op: Op) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let of = |file: &fs::File| {
        let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        path.map_or_else(|_| "a file".to_owned(), |path| name(&path))
    };
    match op {
        Op::Open(path) => format!("open {}", name(path)),
        Op::OpenToRead(path) => format!("open {} to read", name(path)),
        Op::Read(path) => format!("read {}", name(path)),
        Op::Write(file, _, bytes) => format!("write {} bytes to {}", bytes.len(), of(file)),
        Op::SetLength(file, length) => format!("set the length of {} to {length}", of(file)),
        Op::Sync(file) => format!("sync {}", of(file)),
        Op::Rename(from, to) => format!("rename {} to {}", name(from), name(to)),
        Op::RenameNew(from, to) => format!("rename {} to {}, which is free", name(from), name(to)),
        Op::CreateFolder(path) | Op::CreateFolders(path) => format!("mkdir {}", name(path)),
        Op::RemoveFolder(path) => format!("rmdir {}", name(path)),
        Op::RemoveTree(path) => format!("remove the tree {}", name(path)),
        Op::RemoveFile(path) => format!("unlink {}", name(path)),
        Op::SetAttributes(path) => format!("set the mode or owner of {}", name(path)),
        Op::SetFileAttributes(file) => format!("set the mode or owner of {}", of(file)),
        Op::Lock(file) => format!("flock {}", of(file)),
    }
}
