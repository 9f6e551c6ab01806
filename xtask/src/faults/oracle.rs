//! Compares what a command answered with what is there.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::case::{Case, Delivery, Does};
use super::world::{Answer, LEAD, TEAM, World};

/// A way in which an answer was not true, or the files are not as they have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrong {
    /// It was answered as there.
    Nowhere,
    /// It was answered as accepted.
    NotCompleted,
    /// It was answered as not there.
    ThereAfterAll,
    Twice,
    /// Marked as read, and not printed.
    NotShown,
    /// An exit code that says something else than the answers.
    Code,
    Torn,
    Litter,
    /// The next command does not work.
    NextFails,
    Hangs,
}

impl Wrong {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Nowhere => "answered as there, and nowhere",
            Self::NotCompleted => "answered as accepted, and not written by the next command",
            Self::ThereAfterAll => "answered as not there, and there",
            Self::Twice => "there more than once",
            Self::NotShown => "marked as read without having been shown",
            Self::Code => "exit code and answer differ",
            Self::Torn => "a file that does not parse",
            Self::Litter => "left behind",
            Self::NextFails => "the next command fails",
            Self::Hangs => "hangs",
        }
    }
}

/// What was said about one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    There,
    Later,
    Never,
    /// It was killed before it said anything.
    Nothing,
}

pub(super) type Found = Vec<(Wrong, String)>;

/// Everything that can be found wrong about a command, once nothing keeps the next one from working.
pub(super) fn judge(world: &World, case: &Case, answer: &Answer) -> Result<Found> {
    let mut found = judge_answer(world, case, answer)?;
    probe(world, &mut found)?;
    check_files(world, &mut found);
    Ok(found)
}

/// Only whether the answer was true: for many commands in one world.
pub(super) fn judge_answer(world: &World, case: &Case, answer: &Answer) -> Result<Found> {
    let mut found = Vec::new();
    if answer.hangs {
        found.push((Wrong::Hangs, brief(answer)));
    }
    match &case.does {
        Does::Deliver(deliveries) => judge_deliveries(world, deliveries, answer, &mut found)?,
        Does::Read(text) => judge_read(world, text, answer, &mut found)?,
        Does::Task(subject) => judge_task(world, subject, answer, &mut found),
    }
    Ok(found)
}

fn judge_deliveries(
    world: &World,
    deliveries: &[Delivery],
    answer: &Answer,
    found: &mut Found,
) -> Result<()> {
    let said = said(answer, deliveries.len());
    let all = |wanted: Said| said.iter().all(|said| *said == wanted);
    let is_consistent = match answer.code {
        Some(0) => all(Said::There),
        Some(9) => said.contains(&Said::Later),
        Some(130 | 143) => all(Said::Never),
        _ => true,
    };
    if !is_consistent {
        found.push((Wrong::Code, format!("{:?} with {said:?}: {}", answer.code, brief(answer))));
    }
    let count = |delivery: &Delivery| world.count(delivery.to, &delivery.text);
    let Ok(before) = deliveries.iter().map(count).collect::<Result<Vec<_>>>() else {
        found.push((Wrong::Torn, "an inbox, right after the answer".to_owned()));
        return Ok(());
    };
    next_command(world, found)?;
    for ((delivery, said), before) in deliveries.iter().zip(said).zip(before) {
        let after = count(delivery).unwrap_or_default();
        let wrong = match said {
            _ if before > 1 || after > 1 => Wrong::Twice,
            Said::There if before != 1 || after != 1 => Wrong::Nowhere,
            Said::Later if after != 1 => Wrong::NotCompleted,
            Said::Never if before + after > 0 => Wrong::ThereAfterAll,
            _ => continue,
        };
        let to = delivery.to;
        let what =
            format!("to {to}: {before} right after it, {after} after the next command; {}", brief(answer));
        found.push((wrong, what));
    }
    Ok(())
}

/// By the answer to each message, where there are such; else by the exit code.
pub(crate) fn said(answer: &Answer, count: usize) -> Vec<Said> {
    let one = |value: &Value| match value["stage"].as_str() {
        _ if value["error"].is_object() => Said::Never,
        Some("accepted") => Said::Later,
        Some(_) => Said::There,
        None => Said::Never,
    };
    match serde_json::from_str(&answer.stdout) {
        Ok(Value::Array(values)) if values.len() == count => values.iter().map(one).collect(),
        Ok(value @ Value::Object(_)) if count == 1 => vec![one(&value)],
        _ => {
            let by_code = match answer.code {
                None => Said::Nothing,
                Some(0) => Said::There,
                Some(9) => Said::Later,
                Some(_) => Said::Never,
            };
            vec![by_code; count]
        }
    }
}

fn judge_read(world: &World, text: &str, answer: &Answer, found: &mut Found) -> Result<()> {
    let is_read = || -> Result<bool> {
        let entries = world.entries("bob")?;
        Ok(entries.iter().any(|entry| entry["text"].as_str() == Some(text) && entry["read"] == true))
    };
    let is_shown = answer.stdout.contains(text);
    next_command(world, found)?;
    if is_read()? && !is_shown {
        found.push((Wrong::NotShown, brief(answer)));
    }
    if answer.code == Some(0) && !(is_shown && is_read()?) {
        found.push((Wrong::Nowhere, format!("exit 0, and still unread: {}", brief(answer))));
    }
    Ok(())
}

fn judge_task(world: &World, subject: &str, answer: &Answer, found: &mut Found) {
    let folder = world.root().join("tasks").join(TEAM);
    let tasks = fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let task: Value = serde_json::from_str(&text).unwrap_or_default();
        task["subject"].as_str() == Some(subject)
    });
    let count = tasks.count();
    match answer.code {
        Some(0) if count == 0 => found.push((Wrong::Nowhere, brief(answer))),
        _ if count > 1 => found.push((Wrong::Twice, brief(answer))),
        Some(0) | None => {}
        Some(_) if count > 0 => found.push((Wrong::ThereAfterAll, brief(answer))),
        Some(_) => {}
    }
}

/// What an agent runs next completes what was accepted.
fn next_command(world: &World, found: &mut Found) -> Result<()> {
    for (who, args) in [(LEAD, ["-t", TEAM, "pending"].as_slice()), ("bob", &["-t", TEAM, "read", "--peek"])]
    {
        let answer = world.atm(who, args)?;
        if answer.code != Some(0) {
            found.push((Wrong::NextFails, format!("atm {}: {}", args.join(" "), brief(&answer))));
        }
    }
    Ok(())
}

/// A send to everybody goes through, and clears up after a dead process.
fn probe(world: &World, found: &mut Found) -> Result<()> {
    for to in ["bob", "carol", LEAD] {
        let answer = world.atm("bob", &["-t", TEAM, "send", to, "probe"])?;
        if answer.code != Some(0) || world.count(to, "probe").unwrap_or_default() == 0 {
            found.push((Wrong::NextFails, format!("atm send {to}: {}", brief(&answer))));
        }
    }
    Ok(())
}

fn check_files(world: &World, found: &mut Found) {
    let mut folders = vec![world.root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let place = || path.strip_prefix(world.folder()).unwrap_or(&path).display().to_string();
            let is_folder = path.is_dir();
            let is_json = Path::new(&name).extension().is_some_and(|extension| extension == "json");
            if name.contains("atm-") || is_folder && name.contains("lock") {
                found.push((Wrong::Litter, place()));
            } else if is_folder {
                folders.push(path.clone());
            } else if is_json && !parses(&path) {
                found.push((Wrong::Torn, place()));
            }
        }
    }
    for entry in fs::read_dir(world.state().join("quarantine")).into_iter().flatten().flatten() {
        found.push((Wrong::Torn, format!("set aside: {}", entry.file_name().display())));
    }
}

fn parses(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| serde_json::from_slice::<Value>(&bytes).is_ok())
}

/// The exit code and the first words on standard error.
fn brief(answer: &Answer) -> String {
    let words: String =
        answer.stderr.lines().take(2).collect::<Vec<_>>().join(" | ").chars().take(200).collect();
    format!("exit {:?}, {words}", answer.code)
}
