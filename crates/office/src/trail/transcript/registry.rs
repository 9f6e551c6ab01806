//! The register in which clients list their running sessions: `sessions/<pid>.json`.
//!
//! There is no contract for it: every key may be missing, an entry may be of a process that ended, and one that is being
//! written may be empty. Keys lie beside the entries and are never opened.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use atm_wire::json::{Object, integer};

use super::is_plain;

/// No entry is as long as this.
const LONGEST: u64 = 1 << 16;

/// A process and its present session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) pid: u64,
    /// When the process started, in the kernel's words: tells it from a later one with the same number.
    pub(super) start: Option<String>,
    pub(super) session: String,
}

/// All sessions that are listed below a root.
pub(super) fn registered(root: &Path) -> Vec<Registered> {
    let entries = fs::read_dir(root.join("sessions")).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_entry))
        .filter_map(|entry| read(&entry.path()))
        .collect()
}

fn is_entry(name: &str) -> bool {
    name.strip_suffix(".json")
        .is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read(path: &Path) -> Option<Registered> {
    // A pipe of that name would be waited for.
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let entry = Object::parse(&text).ok()?;
    Some(Registered {
        pid: u64::try_from(integer(entry.get("pid")?)?).ok()?,
        start: entry.string("procStart").map(std::borrow::Cow::into_owned),
        session: entry.string("sessionId").filter(|session| is_plain(session))?.into_owned(),
    })
}
