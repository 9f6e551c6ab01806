//! A send of which one system call fails, or which is killed at it; SQLite's own calls among them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};

use super::case::Case;
use super::oracle::judge;
use super::report::Report;
use super::world::{self, World};
use super::{Trial, in_pairs};
use crate::repo;

/// Kinds of calls that change or sync something, with the errors that make sense for each.
const KINDS: [(&str, &[&str]); 14] = [
    ("openat", &["EIO", "ENOSPC", "EDQUOT", "EMFILE", "EINTR"]),
    ("write", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("pwrite64", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("fsync", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("fdatasync", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("rename", &["EIO", "ENOSPC", "EDQUOT"]),
    ("renameat", &["EIO", "ENOSPC", "EDQUOT"]),
    ("renameat2", &["EIO", "ENOSPC", "EDQUOT"]),
    ("mkdir", &["EIO", "ENOSPC", "EDQUOT"]),
    ("rmdir", &["EIO"]),
    ("unlink", &["EIO"]),
    ("ftruncate", &["EIO", "ENOSPC", "EINTR"]),
    ("close", &["EIO", "EINTR"]),
    ("flock", &["EIO", "EINTR"]),
];

/// One or two faults, as the tracer spells them.
struct Injected(Vec<String>);

impl Injected {
    fn one(kind: &str, fault: &str, when: &str) -> Self {
        Self(vec![format!("{kind}:{fault}:when={when}")])
    }

    fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn label(&self) -> String {
        self.0.join(" and ")
    }

    fn tracer(&self) -> Vec<String> {
        let options = self.0.iter().flat_map(|fault| ["-e".to_owned(), format!("inject={fault}")]);
        ["strace", "-f", "-qqq", "-o", "/dev/null"]
            .map(ToOwned::to_owned)
            .into_iter()
            .chain(options)
            .collect()
    }
}

pub(super) fn run(trial: &Trial) -> Result<Report> {
    if !repo::has_program("strace") {
        return Ok(Report::skipped("strace is not installed (cargo xtask setup)"));
    }
    let prepare = |worker: usize| -> Result<World> {
        let world = World::create(trial.atm, &trial.scratch.join(format!("syscalls-{worker}")))?;
        world.save(&world.folder().with_extension("template"))?;
        Ok(world)
    };
    let mut cases = plan(&prepare(2)?)?;
    cases.retain(|case| trial.wants(&case.label()));
    in_pairs(&cases, prepare, |world, injected, report| {
        world.reset(&world.folder().with_extension("template"))?;
        let case = Case::send("injected message");
        let answer = world::finish(world.command(&injected.tracer(), case.who, &case.args()), None, |_| ())?;
        report.add(&injected.label(), answer.code, judge(world, &case, &answer)?);
        Ok(())
    })
}

/// Counts the calls of a plain send, thread by thread, as the tracer does.
fn plan(world: &World) -> Result<Vec<Injected>> {
    let log = world.folder().join("trace");
    let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    let trace = format!("trace={}", kinds.join(","));
    let path = log.display().to_string();
    let tracer = ["strace", "-f", "-qqq", "-o", &path, "-e", &trace].map(ToOwned::to_owned);
    let case = Case::send("counted message");
    let answer = world::finish(world.command(&tracer, case.who, &case.args()), None, |_| ())?;
    ensure!(answer.code == Some(0), "a traced send fails: {}", answer.stderr);
    let trace = fs::read_to_string(&log).context("no trace")?;
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut most: BTreeMap<&str, usize> = BTreeMap::new();
    // Output is no part of the promise: a caller that closes it gets no answer.
    let mut outputs: Vec<(&str, usize)> = Vec::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((kind, rest)) = call.trim_start().split_once('(') else { continue };
        let count = counts.entry((thread, kind)).or_default();
        *count += 1;
        let highest = most.entry(kind).or_default();
        *highest = (*highest).max(*count);
        if kind == "write" && (rest.starts_with("1,") || rest.starts_with("2,")) {
            outputs.push((kind, *count));
        }
    }
    let calls = |kind: &'static str| {
        let numbers = 1..=most.get(kind).copied().unwrap_or_default();
        numbers.map(move |number| (kind, number)).filter(|call| !outputs.contains(call))
    };
    let mut cases = Vec::new();
    for (kind, errors) in KINDS {
        for number in 1..=most.get(kind).copied().unwrap_or_default() {
            cases.push(Injected::one(kind, "signal=KILL", &number.to_string()));
        }
        for ((kind, number), error) in
            calls(kind).flat_map(|call| errors.iter().map(move |error| (call, *error)))
        {
            let fault = format!("error={error}");
            cases.push(Injected::one(kind, &fault, &number.to_string()));
            // From then on, as on a disk that fails. A call that is always interrupted would be tried for ever, and who can
            // write nothing gives no answer.
            if error != "EINTR" && kind != "write" {
                cases.push(Injected::one(kind, &fault, &format!("{number}+")));
            }
        }
    }
    // The file cannot be written, and the ledger cannot say so.
    for (kind, number) in ["write", "fsync", "rename"].into_iter().flat_map(calls) {
        for (_, from) in calls("pwrite64") {
            let file = Injected::one(kind, "error=ENOSPC", &number.to_string());
            cases.push(file.and(Injected::one("pwrite64", "error=ENOSPC", &format!("{from}+"))));
        }
    }
    Ok(cases)
}
