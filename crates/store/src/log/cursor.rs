//! The log layout's cursor, `state.json`.
//!
//! Shell recipes keep `lastProcessedLine` and `lastProcessedTimestamp`, for `inbox` alone. We keep both, and below
//! `atm` the same for the other queues, with a mark (inode and a hash of the last line) that survives rotation.
//! A recipe that moves the number makes our mark stale, which shows by the number not being the one we told.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_wire::cursor::Cursor as WireCursor;
use atm_wire::json::{self, Object};
use atm_wire::message::Priority;
use atm_wire::{Message, Stamp};
use serde::{Deserialize, Serialize};

use super::lines::{Line, QueueFiles, hash};
use crate::commit::{Content, Look, Plan, SharedFile};
use crate::equal::Numbers;
use crate::error::StoreError;
use crate::files::Snapshot;
use crate::mailbox::Receipt;

/// How far each queue was read.
#[derive(Debug, Clone, Default)]
pub struct Cursor {
    wire: Option<WireCursor>,
    ours: Ours,
    noted: (i64, i64),
}

/// How far one queue was read.
#[derive(Debug, Clone)]
pub(super) struct QueueCursor {
    pub(super) line: usize,
    /// The number as the recipes see it.
    told: usize,
    pub(super) time: Option<Stamp>,
    pub(super) mark: Option<Mark>,
    /// When the cursor's file was written last.
    pub(super) noted: (i64, i64),
}

/// Which file a line number is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    line: usize,
    /// What we told the recipes. They count in the newest file only, so for an older one it is 0.
    told: usize,
    pub(super) inode: u64,
    pub(super) last: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Ours {
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    normal: Option<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<Mark>,
}

impl Ours {
    fn slot(&mut self, queue: Priority) -> &mut Option<Mark> {
        match queue {
            Priority::High => &mut self.high,
            Priority::Normal => &mut self.normal,
            Priority::Low => &mut self.low,
        }
    }
}

impl Cursor {
    pub(super) fn load(path: &Path) -> Result<Self, StoreError> {
        let seen = Snapshot::read(path)?;
        let (Some(bytes), Some(metadata)) = (seen.bytes(), seen.metadata()) else {
            return Ok(Self::default());
        };
        Ok(Self::parse(&String::from_utf8_lossy(bytes), Some(metadata)))
    }

    /// A cursor that cannot be read is none: mail is then shown again, not passed over.
    pub(super) fn parse(text: &str, metadata: Option<&Metadata>) -> Self {
        let noted = metadata.map_or((0, 0), |metadata| (metadata.mtime(), metadata.mtime_nsec()));
        let ours =
            Object::parse(text).ok().and_then(|object| serde_json::from_str(object.get("atm")?.get()).ok());
        Self { wire: WireCursor::parse(text).ok(), ours: ours.unwrap_or_default(), noted }
    }

    /// The time that recipes note.
    pub(super) fn time(&self) -> Option<Stamp> {
        self.wire.as_ref()?.last_processed_timestamp
    }

    pub(super) fn of(&self, queue: Priority) -> Option<QueueCursor> {
        let mut ours = self.ours.clone();
        let mark = ours.slot(queue).take();
        let noted = self.noted;
        if queue != Priority::Normal {
            return mark.map(|mark| QueueCursor {
                line: mark.line,
                told: mark.told,
                time: None,
                mark: Some(mark),
                noted,
            });
        }
        let wire = self.wire.as_ref()?;
        let told = usize::try_from(wire.last_processed_line).unwrap_or(usize::MAX);
        let mark = mark.filter(|mark| mark.told == told);
        let line = mark.map_or(told, |mark| mark.line);
        Some(QueueCursor { line, told, time: wire.last_processed_timestamp, mark, noted })
    }
}

/// Makes a cursor at the start, if there is none.
pub(super) fn create(file: &SharedFile) -> Result<(), StoreError> {
    file.update(|look| match look.content {
        Content::Missing => Ok(Plan::Replace(fresh(), ())),
        _ => Ok(Plan::Keep(())),
    })
}

/// Quarantines a cursor that does not parse; mail is then shown again.
fn keep_aside(file: &SharedFile, bytes: &[u8]) -> Result<String, StoreError> {
    file.set_aside(bytes, "bad-json", "is no cursor")?;
    Ok(fresh())
}

fn fresh() -> String {
    "{\n  \"lastProcessedLine\": 0,\n  \"lastProcessedTimestamp\": null\n}\n".to_owned()
}

/// The text of a cursor that is there and can be read; `None` where somebody may be in the middle of writing it.
pub(super) fn readable(file: &SharedFile, look: Look) -> Result<Option<String>, StoreError> {
    match look.content {
        Content::Missing => Ok(Some(fresh())),
        Content::Text(text) if Object::parse(text).is_ok() => Ok(Some(text.to_owned())),
        _ if look.sure => Err(StoreError::bad(file.path(), "does not parse: it does not tell what was read")),
        _ => Ok(None),
    }
}

/// The cursor before the first line, of all queues. The time that it says, and what else, stays.
pub(super) fn at_the_start(file: &SharedFile, text: &str) -> Result<String, StoreError> {
    let bad = |error: serde_json::Error| StoreError::bad(file.path(), error.to_string());
    let text = json::set_member(text, text.trim(), "lastProcessedLine", &0).map_err(bad)?.apply(text);
    let ours = Object::parse(&text).map_err(bad)?.get("atm").is_some();
    if !ours {
        return Ok(text);
    }
    Ok(json::remove_member(&text, text.trim(), "atm").map_err(bad)?.apply(&text))
}

/// The cursor with a mark on the last message that was read of a queue, given by its file and its text: it is the line
/// `number` of its file, and recipes are told `told` lines.
pub(super) fn with_mark(
    file: &SharedFile,
    text: &str,
    queue: Priority,
    (inode, last): (u64, &str),
    number: usize,
    told: usize,
) -> Result<String, StoreError> {
    let bad = |error: &serde_json::Error| StoreError::bad(file.path(), error.to_string());
    let mut ours = Cursor::parse(text, None).ours;
    *ours.slot(queue) = Some(Mark { line: number, told, inode, last: hash(last) });
    let mut text = text.to_owned();
    if queue == Priority::Normal {
        let patch = json::set_member(&text, text.trim(), "lastProcessedLine", &told);
        text = patch.map_err(|error| bad(&error))?.apply(&text);
    }
    let patch = json::set_member(&text, text.trim(), "atm", &ours).map_err(|error| bad(&error))?;
    Ok(patch.apply(&text))
}

/// Plans the move of all queues' cursors over the lines that `receipts` name.
pub(super) fn advance(
    file: &SharedFile,
    look: Look,
    queues: &[(Priority, PathBuf)],
    receipts: &HashSet<Receipt>,
    numbers: &mut Numbers,
    counts: &dyn Fn(&Line) -> bool,
) -> Result<Plan<usize>, StoreError> {
    let bad = |error: &serde_json::Error| StoreError::bad(file.path(), error.to_string());
    let text = match look.content {
        Content::Text(text) if Object::parse(text).is_ok() => text.to_owned(),
        Content::Missing => fresh(),
        Content::Text(text) if look.sure => keep_aside(file, text.as_bytes())?,
        Content::NotUtf8(bytes) if look.sure => keep_aside(file, bytes)?,
        _ => return Ok(Plan::Unsure),
    };
    let cursor = Cursor::parse(&text, fs::metadata(file.path()).ok().as_ref());
    let mut ours = cursor.ours.clone();
    let mut normal = None;
    let mut marked = 0;
    for (queue, path) in queues {
        let files = QueueFiles::read(path)?;
        let at = cursor.of(*queue);
        let place = files.place(at.as_ref());
        let (mut last, mut is_over) = (None, false);
        for line in files.lines().filter(|line| counts(line)) {
            // Only messages are marks: one malformed or empty line looks like another.
            let Ok(mut message) = Message::from_line(line.text) else { continue };
            // All of them, also what was read and what comes after: equal ones are counted from the start.
            numbers.name(&mut message);
            if is_over || line.at < place {
                continue;
            }
            is_over = !receipts.contains(&Receipt::of(&message));
            if !is_over {
                marked += 1;
                last = Some((line, message.sent_at));
            }
        }
        let mark =
            |line: &Line, told| Mark { line: line.number, told, inode: line.inode, last: hash(line.text) };
        if let Some((line, time)) = last {
            let told = if line.at.0 == files.newest() { line.number } else { 0 };
            *ours.slot(*queue) = Some(mark(&line, told));
            if *queue == Priority::Normal {
                normal = Some((told, time));
            }
        } else if let Some(QueueCursor { mark: None, told, .. }) = at {
            // A recipe's number, which would look newer than it is once we wrote the file: say what it is about.
            *ours.slot(*queue) = files.before(place).map(|line| mark(&line, told));
        }
    }
    if marked == 0 {
        return Ok(Plan::Keep(0));
    }
    let mut text = text;
    let mut set = |key: &str, value: &serde_json::Value| -> Result<(), StoreError> {
        text = json::set_member(&text, text.trim(), key, value).map_err(|error| bad(&error))?.apply(&text);
        Ok(())
    };
    if let Some((line, time)) = normal {
        set("lastProcessedLine", &line.into())?;
        if let Some(time) = time {
            set("lastProcessedTimestamp", &time.to_string().into())?;
        }
    }
    set("atm", &serde_json::to_value(&ours).map_err(|error| bad(&error))?)?;
    Ok(Plan::Replace(text, marked))
}
