//! A test's hand on every operation of the store, on the thread that installs it.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::time::Duration;

use super::Op;

/// What is to become of an operation.
#[derive(Debug)]
pub enum Verdict {
    /// It happens.
    Pass,
    /// It does not happen, for this reason.
    Fail(io::Error),
    /// Of a write, so many bytes are written; anything else happens.
    Short(usize),
}

/// Decides about operations and observes them. Operations of its own go round the seam.
pub trait Faults {
    /// An operation is about to happen.
    fn before(&mut self, op: Op) -> Verdict;

    /// It has happened.
    fn after(&mut self, op: Op);
}

thread_local! {
    static INSTALLED: RefCell<Option<Box<dyn Faults>>> = const { RefCell::new(None) };
}

/// Lets `faults` decide about all operations of this thread while `work` runs.
pub fn with<T>(faults: impl Faults + 'static, work: impl FnOnce() -> T) -> T {
    struct Installed;
    impl Drop for Installed {
        fn drop(&mut self) {
            INSTALLED.take();
        }
    }
    INSTALLED.replace(Some(Box::new(faults)));
    let _installed = Installed;
    work()
}

fn before(op: Op) -> Verdict {
    INSTALLED
        .with_borrow_mut(|installed| installed.as_mut().map_or(Verdict::Pass, |faults| faults.before(op)))
}

fn after(op: Op) {
    INSTALLED.with_borrow_mut(|installed| {
        if let Some(faults) = installed {
            faults.after(op);
        }
    });
}

pub(crate) fn pause(time: Duration) {
    if INSTALLED.with_borrow(Option::is_none) {
        std::thread::sleep(time);
    }
}

pub(crate) fn run<T>(op: Op, real: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if let Verdict::Fail(error) = before(op) {
        return Err(error);
    }
    let done = real()?;
    after(op);
    Ok(done)
}

pub(super) fn write_as(
    file: &File,
    at: Option<u64>,
    bytes: &[u8],
    real: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let bytes = match before(Op::Write(file, at, bytes)) {
        Verdict::Fail(error) => return Err(error),
        Verdict::Short(length) => &bytes[..length.min(bytes.len())],
        Verdict::Pass => bytes,
    };
    let written = real(bytes)?;
    after(Op::Write(file, at, &bytes[..written]));
    Ok(written)
}
