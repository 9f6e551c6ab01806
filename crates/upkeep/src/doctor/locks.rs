//! Locks whose owners are gone, things in their place, and temp files that nobody finished.

use std::fs;
use std::path::Path;
use std::time::Duration;

use atm_office::Office;
use atm_wire::TeamName;

use super::{Ailment, Finding, Remedy, age_of, entries, name_of};

/// Younger than this, a temp file may still be somebody's.
const UNFINISHED: Duration = Duration::from_secs(600);

pub(super) fn examine(office: &Office, team: &TeamName, findings: &mut Vec<Finding>) {
    let folder = office.folder_of(team).path().to_owned();
    let tasks = office.root().tasks(team);
    let members = entries(&folder.join("members"));
    let folders = [folder.clone(), folder.join("inboxes"), tasks].into_iter().chain(members);
    for path in folders.flat_map(|folder| entries(&folder)) {
        let name = name_of(&path);
        if is_temp(&name) {
            leftover(office, team, &path, findings);
        } else if is_directory_lock(&name) {
            directory_lock(office, team, &path, findings);
        } else if is_file_lock(&name) && path.is_dir() {
            findings.push(
                Finding::new(
                    Ailment::WrongLock,
                    team,
                    &path,
                    "a folder stands where programs expect a file to lock",
                )
                .because("it is a folder")
                .mended_by(Remedy::RemoveFolder(path)),
            );
        }
    }
}

fn leftover(office: &Office, team: &TeamName, path: &Path, findings: &mut Vec<Finding>) {
    let Some(age) = age_of(office, path).filter(|age| *age > UNFINISHED && path.is_file()) else { return };
    findings.push(
        Finding::new(Ailment::Leftover, team, path, "a temp file was left behind")
            .because(format!("it was last written {} ago", span(age)))
            .mended_by(Remedy::RemoveFile(path.to_owned())),
    );
}

fn directory_lock(office: &Office, team: &TeamName, path: &Path, findings: &mut Vec<Finding>) {
    let stale = office.lock_times().stale;
    let Some(age) = age_of(office, path).filter(|age| *age > stale) else { return };
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let since = format!("it is {} old; clients take a lock for stale after {}", span(age), span(stale));
    if !found.is_dir() {
        findings.push(
            Finding::new(
                Ailment::WrongLock,
                team,
                path,
                "a file stands where clients make a directory to lock",
            )
            .because(since)
            .mended_by(Remedy::RemoveFile(path.to_owned())),
        );
    } else if entries(path).is_empty() {
        findings.push(
            Finding::new(Ailment::StaleLock, team, path, "a lock was left behind")
                .because(since)
                .mended_by(Remedy::RemoveFolder(path.to_owned())),
        );
    } else {
        findings.push(
            Finding::new(
                Ailment::WrongLock,
                team,
                path,
                "a lock has files in it, so that no client can remove it",
            )
            .because(since)
            .because("move them away if no program uses them"),
        );
    }
}

/// Ours, `.<file>.atm-<32 hex>`, and the clients', `<file>.tmp.<8 hex>`.
fn is_temp(name: &str) -> bool {
    let is_hex =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    let ours = name.starts_with('.') && name.rsplit_once(".atm-").is_some_and(|(_, id)| is_hex(id, 32));
    ours || name.rsplit_once(".tmp.").is_some_and(|(file, id)| !file.is_empty() && is_hex(id, 8))
}

/// What clients lock by making a directory.
fn is_directory_lock(name: &str) -> bool {
    name.ends_with(".json.lock") || name == ".lock.lock"
}

/// What others lock by `flock`.
fn is_file_lock(name: &str) -> bool {
    name == ".lock" || name.strip_suffix(".lock").is_some_and(|file| file.starts_with("inbox"))
}

/// A span in one unit, for people.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temp_files_are_told_by_their_names() {
        assert!(is_temp("bob.json.tmp.0123abcd"));
        assert!(is_temp(".bob.json.atm-0123456789abcdef0123456789abcdef"));
        for name in [
            "bob.json",
            "bob.json.tmp",
            "bob.json.tmp.xyz",
            ".tmp.0123abcd",
            "notes.atm-0123",
            "tmp.01234567",
        ] {
            assert!(!is_temp(name), "{name}");
        }
    }

    #[test]
    fn spans_are_in_one_unit() {
        assert_eq!(
            [10, 600, 7200, 400_000].map(|s| span(Duration::from_secs(s))),
            ["10 s", "10 min", "2 h", "4 days"]
        );
    }
}
