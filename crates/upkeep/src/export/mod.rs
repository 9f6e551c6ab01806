//! A team's whole state in forms that people and other programs read: its members, its tasks, and all of its mail, also
//! that which is only in the archive or in the ledger.

mod json;
mod markdown;
mod mbox;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use atm_office::trail::care::{Recorded, Stage};
use atm_office::view::{MessageView, Viewer};
use atm_office::{Office, OfficeError};
use atm_store::archive::ALWAYS;
use atm_store::{Archive, Carried, Layout, Receipt, StoreError, TaskFolder};
use atm_wire::archive::Form;
use atm_wire::json::compact;
use atm_wire::message::Priority;
use atm_wire::task::TaskId;
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, Stamp, TeamName};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Progress;

/// What kind of document an export is.
pub const FORMAT: &str = "atm-export";
/// The version that we write, and the newest that we read.
pub const VERSION: u32 = 1;

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON document, which can be imported.
    Json,
    /// JSON Lines, which can be imported.
    JsonLines,
    /// For people.
    Markdown,
    /// For mail programs.
    Mbox,
}

/// The team itself.
#[derive(Debug, Serialize)]
pub struct Head {
    /// [`FORMAT`].
    pub format: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// The team.
    pub team: String,
    /// When it was made.
    pub created: Option<Stamp>,
    /// Who is active, as far as the configuration says.
    pub active_members: Vec<String>,
    /// How many members there are.
    pub total_members: usize,
    /// When this was written.
    pub exported: Stamp,
    /// `array` or `log`.
    pub layout: Form,
    /// The configuration, as it stands.
    pub config: Option<Box<RawValue>>,
}

/// Where a message was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In its inbox.
    Inbox,
    /// In the archive.
    Archive,
    /// Nowhere but in the ledger: its reader's client has drained it.
    History,
}

/// A message.
#[derive(Debug, Serialize)]
pub struct Exported {
    /// Where it was found.
    pub r#where: Place,
    /// The message.
    #[serde(flatten)]
    pub view: MessageView,
    /// How far it came, if that is known.
    pub stage: Option<Stage>,
    /// The layout of its entry.
    pub form: Form,
    /// The queue that it was in.
    pub priority: Priority,
    /// When it was archived, if it was.
    pub archived_at: Option<Stamp>,
    /// Its entry as it stands; of one that is only in the ledger, as it may have been.
    pub entry: Box<RawValue>,
    #[serde(skip)]
    sent_at: Option<Stamp>,
    /// The message that it answers.
    #[serde(skip)]
    reply_to: Option<String>,
}

/// What was written. The `--json` shape, which is a promise.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// The team.
    pub team: String,
    /// How many messages.
    pub messages: usize,
    /// How many of them are only in the ledger.
    pub from_history: usize,
    /// How many tasks.
    pub tasks: usize,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

/// Somebody who writes one of the forms.
trait Writer {
    fn head(&mut self, head: &Head, config: &TeamConfig) -> io::Result<()>;
    fn tasks(&mut self, tasks: &[Box<RawValue>]) -> io::Result<()>;
    /// All mail of one name, oldest first.
    fn mail(&mut self, name: &str, messages: &[Exported]) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
}

/// Writes all that is known of a team; `to` is what `out` is called. The team may be gone, if mail of it is in the
/// archive.
pub fn export(
    office: &Office,
    team: &TeamName,
    format: Format,
    out: &mut dyn Write,
    to: &Path,
    progress: Progress,
) -> Result<Summary, OfficeError> {
    let told = |error: io::Error| {
        OfficeError::from(StoreError::Io { action: "write", path: to.to_owned(), source: Arc::new(error) })
    };
    let mut summary = Summary { team: team.to_string(), ..Summary::default() };
    let folder = office.folder_of(team);
    let config = folder.load()?;
    let head = head(office, team, &config);
    let mut history = history_of(office, team, &mut summary);
    let mut writer: Box<dyn Writer> = match format {
        Format::Json => Box::new(json::Document::new(out)),
        Format::JsonLines => Box::new(json::Lines::new(out)),
        Format::Markdown => Box::new(markdown::Page::new(out)),
        Format::Mbox => Box::new(mbox::Mbox::new(out, team.as_str())),
    };
    writer.head(&head, &config).map_err(told)?;
    let tasks = tasks_of(office, team, &mut summary)?;
    summary.tasks = tasks.len();
    writer.tasks(&tasks).map_err(told)?;
    let mut names = office.inbox_names(team);
    names.extend(Archive::names(office.state(), team, office.lock_times())?);
    names.extend(history.keys().filter_map(|name| MemberName::parse(name).ok()));
    names.sort();
    names.dedup();
    for (done, name) in names.iter().enumerate() {
        progress(done as u64, names.len() as u64);
        let remembered = history.remove(name.as_str()).unwrap_or_default();
        let messages = mail_of(office, team, name, &remembered, &mut summary)?;
        summary.messages += messages.len();
        writer.mail(name.as_str(), &messages).map_err(told)?;
    }
    writer.end().map_err(told)?;
    Ok(summary)
}

fn head(office: &Office, team: &TeamName, config: &TeamConfig) -> Head {
    let folder = office.folder_of(team);
    let text = std::fs::read_to_string(folder.config_file()).ok();
    let active = config.members.iter().filter(|member| member.is_active.unwrap_or(false));
    Head {
        format: FORMAT,
        version: VERSION,
        team: team.to_string(),
        created: config.created_at,
        active_members: active.map(|member| member.name.clone()).collect(),
        total_members: config.members.len(),
        exported: office.now(),
        layout: match atm_store::mailbox::team_layout(folder.path()) {
            Layout::Array => Form::Array,
            Layout::Log => Form::Log,
        },
        config: text.and_then(|text| RawValue::from_string(compact(&text)).ok()),
    }
}

/// What the ledger has, by name. Without it there is no history.
fn history_of(office: &Office, team: &TeamName, summary: &mut Summary) -> BTreeMap<String, Vec<Recorded>> {
    let mut by_name: BTreeMap<String, Vec<Recorded>> = BTreeMap::new();
    if !office.state().ledger().exists() {
        return by_name;
    }
    if office.folder_of(team).exists()
        && let Err(error) = office.look(team)
    {
        summary.warnings.push(error.to_string());
    }
    match office.recorded_of(team) {
        Ok(all) => {
            for recorded in all {
                by_name.entry(recorded.inbox.name.clone()).or_default().push(recorded);
            }
        }
        Err(error) => summary.warnings.push(format!("{error}; what is only there is left out")),
    }
    by_name
}

fn tasks_of(
    office: &Office,
    team: &TeamName,
    summary: &mut Summary,
) -> Result<Vec<Box<RawValue>>, OfficeError> {
    let folder = TaskFolder::new(office.root(), team, office.state(), office.lock_times());
    let listing = folder.list()?;
    summary.warnings.extend(listing.skipped.iter().map(|skipped| skipped.error.to_string()));
    let text = |(id, _): &(TaskId, _)| {
        let text = std::fs::read_to_string(folder.path().join(format!("{id}.json"))).ok()?;
        RawValue::from_string(compact(&text)).ok()
    };
    Ok(listing.tasks.iter().filter_map(text).collect())
}

/// All mail of a name, oldest first.
fn mail_of(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    remembered: &[Recorded],
    summary: &mut Summary,
) -> Result<Vec<Exported>, OfficeError> {
    let stages: BTreeMap<String, Stage> =
        remembered.iter().map(|recorded| (recorded.id.clone(), recorded.stage)).collect();
    let mut found = Vec::new();
    let mut seen: HashSet<Receipt> = HashSet::new();
    let mut ids: HashSet<String> = HashSet::new();
    let load = office.mailbox(team, name).carry()?;
    summary.warnings.extend(load.warnings.iter().map(ToString::to_string));
    for carried in load.messages {
        seen.insert(Receipt::of(&carried.message));
        ids.insert(carried.message.id.clone());
        found.push((Place::Inbox, carried, None));
    }
    let view = office.archive_of(team, name).view(ALWAYS)?;
    let mut warnings = view.warnings().to_vec();
    let key = office.whence(team, name);
    for block in view.blocks() {
        for archived in view.read(block, &mut warnings) {
            let is_of = archived
                .origin
                .as_ref()
                .is_none_or(|o| (&o.root, &o.team, &o.to) == (&key.root, &key.team, &key.to));
            if is_of && seen.insert(Receipt::of(&archived.message)) {
                ids.insert(archived.message.id.clone());
                let form = archived.origin.as_ref().map_or(Form::Log, |origin| origin.layout);
                let priority = archived.message.ours().priority;
                let carried = Carried { entry: archived.entry, form, priority, message: archived.message };
                found.push((Place::Archive, carried, archived.origin.map(|origin| origin.at)));
            }
        }
    }
    summary.warnings.extend(warnings.iter().map(ToString::to_string));
    for recorded in remembered.iter().filter(|recorded| !ids.contains(&recorded.id)) {
        if let Some(carried) = as_it_may_have_been(recorded) {
            summary.from_history += 1;
            found.push((Place::History, carried, None));
        }
    }
    let viewer = Viewer::new(office, name, team);
    let exported = |(place, carried, archived_at): (Place, Carried, Option<Stamp>)| {
        let Carried { entry, form, priority, message } = carried;
        Some(Exported {
            r#where: place,
            stage: stages.get(&message.id).copied(),
            view: viewer.view(&message),
            form,
            priority,
            archived_at,
            entry: RawValue::from_string(compact(&entry)).ok()?,
            sent_at: message.sent_at,
            reply_to: message.ours().reply_to,
        })
    };
    let mut messages: Vec<Exported> = found.into_iter().filter_map(exported).collect();
    // What does not say when it was sent comes first, in its own order.
    messages.sort_by_key(|message| message.sent_at);
    Ok(messages)
}

/// The entry of a message that is only in the ledger.
fn as_it_may_have_been(recorded: &Recorded) -> Option<Carried> {
    let read = recorded.stage.includes(Stage::Taken);
    let mut entry = serde_json::json!({
        "from": recorded.sender, "text": recorded.text, "timestamp": Stamp::from_millis(recorded.sent_at),
        "messageId": recorded.id, "type": "message", "read": read,
    });
    if let Some(summary) = &recorded.summary {
        entry["summary"] = summary.as_str().into();
    }
    if let Some(reply_to) = &recorded.reply_to {
        entry["metadata"] = serde_json::json!({ "atm": { "reply_to": reply_to, "thread": recorded.thread } });
    }
    Carried::from_entry(&entry.to_string()).ok()
}
