//! Signals that would end us in the middle of something that can be reported instead.

use nix::sys::signal::{SigSet, Signal};

/// Makes a write beyond the limit on file sizes fail with an error, as one on a full disk does, instead of killing the
/// process with its temp files. To be called before there are threads, which inherit it; programs that we start do not.
pub(crate) fn report_too_large_files() {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGXFSZ);
    // If it cannot be had, the signal does what it always did.
    let _ = blocked.thread_block();
}
