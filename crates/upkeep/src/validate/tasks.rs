//! A team's tasks: each file, and what they say of each other.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use atm_wire::lint::{Finding, Findings, Format, Rule};
use atm_wire::task::Task;

use super::FileReport;
use super::read::{check, text_of};
use super::walk::{entries, is_json};

/// Everything in the folder of a team's tasks.
pub(super) fn check_all(folder: &Path) -> Vec<FileReport> {
    let mut reports = Vec::new();
    let mut waits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in entries(folder) {
        if path.is_dir() {
            let status = path.join("task-status.json");
            if status.symlink_metadata().is_ok() {
                reports.push(check(&status, Format::Status));
            }
        } else if is_json(&path) {
            reports.push(check(&path, Format::Task));
            if let Some(task) = load(&path) {
                waits.insert(
                    path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                    task.blocked_by,
                );
            }
        }
    }
    check_mark(folder, &mut reports);
    for report in reports.iter_mut().filter(|report| report.format == Format::Task) {
        let id = report.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut more = Findings::default();
        for other in waits.get(&id).into_iter().flatten().filter(|other| !waits.contains_key(*other)) {
            more.add(Rule::TaskReference, || {
                let message = format!("waits for task {other:?}, which is not there");
                Finding {
                    path: Some(".blockedBy".to_owned()),
                    ..Finding::of_file(Rule::TaskReference, message)
                }
            });
        }
        if waits_for_itself(&waits, &id) {
            more.add(Rule::TaskCycle, || {
                let message = "waits, over others, for itself";
                Finding { path: Some(".blockedBy".to_owned()), ..Finding::of_file(Rule::TaskCycle, message) }
            });
        }
        report.counts += more.counts();
        report.findings.extend(more.into_list());
    }
    reports
}

fn load(path: &Path) -> Option<Task> {
    Task::parse(&text_of(path)?).ok()
}

fn waits_for_itself(waits: &BTreeMap<String, Vec<String>>, id: &str) -> bool {
    let mut seen = HashSet::new();
    let mut next: Vec<&String> = waits.get(id).into_iter().flatten().collect();
    while let Some(other) = next.pop() {
        if other == id {
            return true;
        }
        if seen.insert(other) {
            next.extend(waits.get(other).into_iter().flatten());
        }
    }
    false
}

/// The highest id that clients gave.
fn check_mark(folder: &Path, reports: &mut Vec<FileReport>) {
    let path = folder.join(".highwatermark");
    let Some(text) = text_of(&path) else { return };
    if text.trim().parse::<u64>().is_err() {
        let mut findings = Findings::default();
        findings.add(Rule::TaskMark, || Finding::of_file(Rule::TaskMark, "holds no number"));
        // It is no task, and what is checked of tasks does not concern it.
        reports.push(FileReport::new(path, Format::Status, findings));
    }
}
