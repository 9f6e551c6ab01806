//! Reading a file in pieces and checking it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use atm_store::StoreError;
use atm_store::files::open_to_read;
use atm_wire::lint::{ArrayLint, Finding, Findings, Format, LARGEST, LogLint, Rule, check_document};

use super::FileReport;

const PIECE: usize = 1 << 16;
/// Some clients write in place: a file that was changed just now and is broken is looked at again after these waits.
const TORN_RETRY_MS: [u64; 5] = [2, 5, 10, 20, 40];
/// How long "just now" is.
const YOUNG: Duration = Duration::from_secs(2);
/// What a write that is under way looks like.
const TORN: [Rule; 5] = [Rule::Empty, Rule::NotJson, Rule::ZeroBytes, Rule::NotUtf8, Rule::LineTorn];

/// Checks a file.
pub(super) fn check(path: &Path, format: Format) -> FileReport {
    check_and_keep(path, format, &mut |_| {})
}

/// The same; `keep` gets the bytes of a document that was checked.
pub(super) fn check_and_keep(path: &Path, format: Format, keep: &mut dyn FnMut(&[u8])) -> FileReport {
    let mut findings = look(path, format, keep);
    for wait in TORN_RETRY_MS {
        if !findings.has_any(&TORN) || !is_young(path) {
            break;
        }
        thread::sleep(Duration::from_millis(wait));
        findings = look(path, format, keep);
    }
    FileReport::new(path.to_owned(), format, findings)
}

fn is_young(path: &Path) -> bool {
    let changed = path.metadata().and_then(|found| found.modified()).ok();
    changed.is_some_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < YOUNG))
}

fn look(path: &Path, format: Format, keep: &mut dyn FnMut(&[u8])) -> Findings {
    let one = |rule, message: String| {
        let mut findings = Findings::default();
        findings.add(rule, || Finding::of_file(rule, message));
        findings
    };
    match open_to_read(path) {
        Ok(Some(file)) => examine(path, file, format, keep)
            .unwrap_or_else(|error| one(Rule::Unreadable, format!("cannot be read: {error}"))),
        // A link that leads nowhere, or it went away while we looked.
        Ok(None) if path.is_symlink() => one(Rule::NotAFile, "is a link that leads nowhere".to_owned()),
        Ok(None) => Findings::default(),
        Err(StoreError::BadContent { why, .. }) => one(Rule::NotAFile, why),
        Err(error) => one(Rule::Unreadable, error.to_string()),
    }
}

fn examine(path: &Path, mut file: File, format: Format, keep: &mut dyn FnMut(&[u8])) -> io::Result<Findings> {
    let part = |at: usize| path.iter().rev().nth(at).map(|part| part.to_string_lossy().into_owned());
    match format {
        Format::Array => {
            let mut lint = ArrayLint::default();
            pieces(&mut file, |piece| lint.feed(piece))?;
            Ok(lint.finish())
        }
        Format::Log => {
            let owner = part(1).filter(|_| part(2).as_deref() == Some("members"));
            let mut lint = LogLint::new(owner);
            pieces(&mut file, |piece| lint.feed(piece))?;
            Ok(lint.finish())
        }
        Format::Settings => Ok(Findings::default()),
        Format::Team | Format::Cursor | Format::Task | Format::Status => {
            let mut bytes = Vec::new();
            file.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
            if bytes.len() > LARGEST {
                let message = format!("is larger than {} MiB", LARGEST >> 20);
                let mut findings = Findings::default();
                findings.add(Rule::TooLarge, || Finding::of_file(Rule::TooLarge, message));
                return Ok(findings);
            }
            let owner = match format {
                Format::Task => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
                Format::Team => part(1).filter(|_| part(2).as_deref() == Some("teams")),
                _ => part(1),
            };
            keep(&bytes);
            Ok(check_document(format, &bytes, owner.as_deref()))
        }
    }
}

/// Reads a file to its end, piece by piece.
pub(super) fn pieces(file: &mut File, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => each(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The text of a small file; nothing where it is none, or too large.
pub(super) fn text_of(path: &Path) -> Option<String> {
    let mut text = String::new();
    let read = open_to_read(path).ok()??.take(LARGEST as u64 + 1).read_to_string(&mut text).ok()?;
    (read <= LARGEST).then_some(text)
}
