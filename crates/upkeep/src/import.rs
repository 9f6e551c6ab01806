//! Reading an export back: what a team lacks is added, as by a merge.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atm_office::{Office, OfficeError};
use atm_store::archive::Whence;
use atm_store::{Carried, Layout, StoreError, TaskFolder};
use atm_wire::archive::{Archived, Form, Origin};
use atm_wire::json::{Laid, Object, Style};
use atm_wire::message::Priority;
use atm_wire::task::TaskId;
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Progress;
use crate::export::{FORMAT, Place, VERSION};
use crate::merge::{Count, Merge, Merged};

/// What is to be imported.
#[derive(Debug, Clone, Default)]
pub struct ImportPlan {
    /// The file.
    pub file: PathBuf,
    /// Whether it is JSON Lines; if it is not said, that shows.
    pub lines: Option<bool>,
    /// Into another team than it is from.
    pub name: Option<String>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// The team of an export.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
    team: String,
    #[serde(default)]
    layout: Option<Form>,
    #[serde(default)]
    config: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    tasks: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow, default)]
    team: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// As much of a message as it takes to put it back.
#[derive(Deserialize)]
struct Row {
    r#where: Place,
    to: String,
    read: bool,
    form: Form,
    #[serde(default)]
    priority: Priority,
    #[serde(default)]
    archived_at: Option<Stamp>,
    entry: Box<RawValue>,
}

/// An export that was read and checked.
struct Export {
    head: Head,
    tasks: Vec<(TaskId, String)>,
    messages: Vec<(MemberName, Row, Carried)>,
}

/// Adds what is in an export to the team that it is from, or to another; one that is not there is made. `progress` counts
/// messages and tasks.
pub fn import(office: &Office, plan: &ImportPlan, progress: Progress) -> Result<Merged, OfficeError> {
    // All of it is understood before anything is done.
    let export = Export::read(plan)?;
    let team = TeamName::parse(plan.name.as_deref().unwrap_or(&export.head.team))?;
    let layout = match export.head.layout {
        Some(Form::Log) => Layout::Log,
        Some(Form::Array) | None => Layout::Array,
    };
    let mut merge = Merge::new(office, &team, &export.head.team, plan.dry_run);
    merge.config(export.head.config.as_ref().map(|config| pretty(config.get())).as_deref(), layout)?;
    let mut names: Vec<MemberName> = export.messages.iter().map(|(name, ..)| name.clone()).collect();
    names.sort();
    names.dedup();
    let total = (export.messages.len() + export.tasks.len()) as u64;
    let mut done = 0;
    for name in &names {
        progress(done, total);
        let (mut mail, mut archived) = (Vec::new(), Vec::new());
        for (_, row, carried) in export.messages.iter().filter(|(to, ..)| to == name) {
            match row.r#where {
                Place::Inbox => mail.push(carried.clone()),
                // What was drained was in an inbox once: its place is the archive now.
                Place::Archive | Place::History => {
                    archived.push(as_archived(office, &team, name, row, carried));
                }
            }
        }
        done += (mail.len() + archived.len()) as u64;
        merge.archive(name, archived)?;
        merge.mail(name, mail)?;
    }
    let folder = TaskFolder::new(office.root(), &team, office.state(), office.lock_times());
    for (id, text) in &export.tasks {
        progress(done, total);
        done += 1;
        let is_new = if plan.dry_run { folder.load(*id)?.is_none() } else { folder.adopt(*id, text)? };
        merge.done.tasks.add(Count { added: usize::from(is_new), known: usize::from(!is_new) });
    }
    Ok(merge.done)
}

fn as_archived(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    row: &Row,
    carried: &Carried,
) -> Archived {
    let Whence { root, team, to, at: now } = office.whence(team, name);
    let at = row.archived_at.unwrap_or(now);
    let origin = Origin { at, root, team, to, layout: row.form, read: row.read, id: None };
    Archived { entry: carried.entry.clone(), origin: Some(origin), message: carried.message.clone() }
}

impl Export {
    fn read(plan: &ImportPlan) -> Result<Self, OfficeError> {
        let path = &plan.file;
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => bad(path, "is not UTF-8"),
            _ => StoreError::Io { action: "read", path: path.clone(), source: Arc::new(error) },
        })?;
        // A document has the team's name there.
        let is_line = |line: &str| {
            serde_json::from_str(line).is_ok_and(|line: Line| {
                [line.team, line.task, line.message]
                    .into_iter()
                    .flatten()
                    .any(|raw| raw.get().starts_with('{'))
            })
        };
        let is_lines = plan.lines.unwrap_or_else(|| text.lines().next().is_some_and(is_line));
        let (head, tasks, messages) = if is_lines { lines(path, &text)? } else { document(path, &text)? };
        let mut export = Self { head, tasks: Vec::new(), messages: Vec::new() };
        for (at, raw) in tasks {
            let id = Object::parse(raw.get()).ok().and_then(|task| TaskId::parse(&task.string("id")?).ok());
            let id = id.ok_or_else(|| bad(path, format!("{at}: a task without a number")))?;
            export.tasks.push((id, pretty(raw.get())));
        }
        for (at, raw) in messages {
            export.messages.push(message(raw).map_err(|why| bad(path, format!("{at}: {why}")))?);
        }
        Ok(export)
    }
}

/// What an export holds, each with where it stands.
type Parts<'a> = (Head, Vec<(String, &'a RawValue)>, Vec<(String, &'a RawValue)>);

fn document<'a>(path: &Path, text: &'a str) -> Result<Parts<'a>, StoreError> {
    let head = head(path, text)?;
    let document: Document = serde_json::from_str(text).map_err(|error| bad(path, error.to_string()))?;
    let named = |what: &'static str, raw: Vec<&'a RawValue>| {
        raw.into_iter().enumerate().map(move |(at, raw)| (format!("{what}[{at}]"), raw)).collect()
    };
    Ok((head, named("tasks", document.tasks), named("messages", document.messages)))
}

fn lines<'a>(path: &Path, text: &'a str) -> Result<Parts<'a>, StoreError> {
    let (mut team, mut tasks, mut messages) = (None, Vec::new(), Vec::new());
    for (number, text) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = format!("line {}", number + 1);
        let line: Line = serde_json::from_str(text).map_err(|error| bad(path, format!("{at}: {error}")))?;
        if let Some(raw) = line.team {
            team = Some(head(path, raw.get())?);
        }
        tasks.extend(line.task.map(|raw| (at.clone(), raw)));
        messages.extend(line.message.map(|raw| (at.clone(), raw)));
    }
    let head = team.ok_or_else(|| bad(path, "is no export: it names no team"))?;
    Ok((head, tasks, messages))
}

fn head(path: &Path, text: &str) -> Result<Head, StoreError> {
    let head: Head =
        serde_json::from_str(text).map_err(|error| bad(path, format!("is no export of a team: {error}")))?;
    if head.format != FORMAT {
        return Err(bad(path, format!("is one of {:?}, not of {FORMAT:?}", head.format)));
    }
    if head.version > VERSION {
        return Err(bad(
            path,
            format!("is of version {}, and this atm knows {VERSION}: use a newer one", head.version),
        ));
    }
    Ok(head)
}

fn message(raw: &RawValue) -> Result<(MemberName, Row, Carried), String> {
    let row: Row = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let name = MemberName::parse(&row.to).map_err(|error| error.to_string())?;
    let mut carried = match row.form {
        Form::Array => Carried::from_entry(row.entry.get()),
        Form::Log => Carried::from_line(row.entry.get(), row.priority, row.read),
    }
    .map_err(|flaw| format!("its entry {flaw}"))?;
    carried.message.read = row.read;
    Ok((name, row, carried))
}

fn pretty(text: &str) -> String {
    Style::two_spaces("").render(&Laid(text)).unwrap_or_else(|_| text.to_owned())
}

fn bad(path: &Path, why: impl Into<String>) -> StoreError {
    StoreError::BadContent { path: path.to_owned(), why: why.into() }
}
