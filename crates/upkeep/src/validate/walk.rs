//! Which files a team has.

use std::fs;
use std::path::{Path, PathBuf};

use atm_store::files::open_to_read;
use atm_wire::cursor::Cursor;
use atm_wire::lint::{Finding, Findings, Format, Rule};
use atm_wire::team::TeamConfig;

use super::read::{check, check_and_keep, pieces, text_of};
use super::{FileReport, tasks};

/// Everything in a team's folder and in the folder of its tasks.
pub(super) fn team(folder: &Path, task_folder: Option<&Path>) -> Vec<FileReport> {
    let mut reports = Vec::new();
    let config = folder.join("config.json");
    // What a bridge reads for another machine's member is judged there.
    let mut members = TeamConfig::default();
    let mut keep = |bytes: &[u8]| {
        members = TeamConfig::parse(&String::from_utf8_lossy(bytes)).unwrap_or_default();
    };
    if config.symlink_metadata().is_ok() {
        reports.push(check_and_keep(&config, Format::Team, &mut keep));
    } else {
        let mut findings = Findings::default();
        findings.add(Rule::NoConfig, || Finding::of_file(Rule::NoConfig, "is not there"));
        reports.push(FileReport::new(config, Format::Team, findings));
    }
    let is_here = |path: &Path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        members.machine_of(&stem).is_none()
    };
    for inbox in entries(&folder.join("inboxes")) {
        if is_json(&inbox) && is_here(&inbox) {
            reports.push(check(&inbox, Format::Array));
        }
    }
    for member in entries(&folder.join("members")).into_iter().filter(|path| path.is_dir() && is_here(path)) {
        log_inbox(&member, &mut reports);
    }
    if let Some(folder) = task_folder {
        reports.extend(tasks::check_all(folder));
    }
    reports
}

/// The files of one member's log inbox.
fn log_inbox(member: &Path, reports: &mut Vec<FileReport>) {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let logs = entries(member).into_iter().filter(|path| is_log(&name(path)) && !path.is_dir());
    reports.extend(logs.map(|log| check(&log, Format::Log)));
    let cursor = member.join("state.json");
    if cursor.symlink_metadata().is_err() {
        return;
    }
    let mut report = check(&cursor, Format::Cursor);
    if let Some((line, lines)) = beyond(member, &cursor) {
        let message = format!("is at line {line}, and the inbox has {lines}");
        report.findings.push(Finding::of_file(Rule::CursorBeyond, message));
        report.counts.warning += 1;
    }
    reports.push(report);
}

/// Where the cursor is and how long the inbox, if no file of it is so long.
fn beyond(member: &Path, cursor: &Path) -> Option<(u64, u64)> {
    let line = Cursor::parse(&text_of(cursor)?).ok()?.last_processed_line;
    let files = entries(member).into_iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name == "inbox" || name.starts_with("inbox.")
    });
    let longest = files.filter_map(|path| lines_of(&path)).max().unwrap_or(0);
    (line > longest).then_some((line, longest))
}

fn lines_of(path: &Path) -> Option<u64> {
    let mut lines = 0;
    let mut file = open_to_read(path).ok()??;
    pieces(&mut file, |piece| lines += memchr::memchr_iter(b'\n', piece).count() as u64).ok()?;
    Some(lines)
}

/// `inbox`, `inbox-high`, `inbox-low`, `inbox-archive`, and their rotated files; not their locks.
fn is_log(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("inbox") else { return false };
    let rest = ["-high", "-low", "-archive"].iter().find_map(|kind| rest.strip_prefix(kind)).unwrap_or(rest);
    rest.is_empty()
        || rest.strip_prefix('.').is_some_and(|time| {
            time.len() == 15 && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        })
}

pub(super) fn is_json(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden && path.extension().is_some_and(|extension| extension == "json")
}

/// What is in a folder, sorted; nothing if there is no such folder.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_told_from_what_stands_beside_them() {
        for name in
            ["inbox", "inbox-high", "inbox-low.20261115-184229", "inbox-archive", "inbox.20261115-184229"]
        {
            assert!(is_log(name), "{name}");
        }
        for name in ["inbox.lock", "inbox-high.lock", "state.json", "inbox.tmp", "inboxes", ".inbox.atm-0"] {
            assert!(!is_log(name), "{name}");
        }
    }
}
