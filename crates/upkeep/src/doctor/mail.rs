//! Inboxes: what is no message, what is there twice, what is too much, what cannot be yet.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use atm_office::Office;
use atm_store::array::{mended, without_copies};
use atm_store::files::open_to_read;
use atm_wire::cursor::Cursor;
use atm_wire::team::TeamConfig;
use atm_wire::{Message, TeamName, counted, json};

use super::{Ailment, Finding, Remedy, age_of, entries, name_of};

/// More than this is not read into memory.
const LARGEST: u64 = 64 << 20;
/// A real client was seen to stall at 1,065 messages of 1.8 MB together.
const MANY_BYTES: usize = 1 << 20;
const MANY_MESSAGES: usize = 1000;
/// A log is read from its cursor on, so it may be larger.
const MANY_LOG_BYTES: usize = 10 << 20;
/// Clocks of two machines may differ by so much.
const SKEW: Duration = Duration::from_secs(300);
/// Some clients write in place: what seems torn and was written just now is looked at again after these waits.
const TORN_RETRY_MS: [u64; 5] = [2, 5, 10, 20, 40];
const YOUNG: Duration = Duration::from_secs(2);

/// The inboxes of a team: arrays, and the folders of members that have logs.
fn inboxes(office: &Office, team: &TeamName) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let folder = office.folder_of(team).path().to_owned();
    let is_array = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json") && !name_of(path).starts_with('.')
    };
    let arrays = entries(&folder.join("inboxes")).into_iter().filter(is_array).collect();
    let logs = entries(&folder.join("members")).into_iter().filter(|path| path.is_dir()).collect();
    (arrays, logs)
}

/// How many there are to be looked at.
pub(super) fn count(office: &Office, team: &TeamName) -> u64 {
    let (arrays, logs) = inboxes(office, team);
    (arrays.len() + logs.len()) as u64
}

/// Calls `progress` after each inbox, with how many were looked at.
pub(super) fn examine(
    office: &Office,
    team: &TeamName,
    config: Option<&TeamConfig>,
    findings: &mut Vec<Finding>,
    progress: &mut dyn FnMut(u64),
) {
    let (mut arrays, mut logs) = inboxes(office, team);
    // What a bridge reads for another machine's member is judged there.
    if let Some(config) = config.filter(|config| config.is_shared()) {
        let is_here = |path: &PathBuf| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            config.machine_of(&stem).is_none()
        };
        arrays.retain(is_here);
        logs.retain(is_here);
    }
    let mut done = 0;
    for path in arrays {
        array(office, team, &path, findings);
        done += 1;
        progress(done);
    }
    for member in logs {
        for log in ["inbox-high", "inbox", "inbox-low"] {
            lines(office, team, &member.join(log), findings);
        }
        cursor(team, &member, findings);
        done += 1;
        progress(done);
    }
}

/// The bytes of a file that is not being written at this moment; nothing where there is none, or too many.
fn settled(office: &Office, path: &Path, is_torn: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let mut bytes = read(path)?;
    for wait in TORN_RETRY_MS {
        if !is_torn(&bytes) || age_of(office, path).is_none_or(|age| age > YOUNG) {
            break;
        }
        thread::sleep(Duration::from_millis(wait));
        bytes = read(path)?;
    }
    Some(bytes)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let file = open_to_read(path).ok()??;
    let mut bytes = Vec::new();
    let length = file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    (length as u64 <= LARGEST).then_some(bytes)
}

/// An array's messages, and how many entries it has; nothing where it is none.
fn messages(bytes: &[u8]) -> Option<(Vec<Message>, usize)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let raw = json::elements(text).ok()?;
    let count = raw.len();
    Some((raw.into_iter().filter_map(|raw| Message::from_entry(raw).ok()).collect(), count))
}

fn array(office: &Office, team: &TeamName, path: &Path, findings: &mut Vec<Finding>) {
    let Some(bytes) = settled(office, path, |bytes| messages(bytes).is_none()) else {
        return too_large(team, path, findings);
    };
    let well = mended(&bytes);
    let Some((messages, entries)) = messages(&bytes) else {
        let saved = well.map_or(0, |well| well.messages);
        findings.push(
            Finding::new(Ailment::BadInbox, team, path, "an inbox does not parse")
                .because(format!("{} in it can still be read", counted(saved, "message")))
                .mended_by(Remedy::MendInbox(path.to_owned())),
        );
        return;
    };
    if let Some(well) = well {
        let bad = entries - well.messages;
        findings.push(
            Finding::new(
                Ailment::BadEntry,
                team,
                path,
                format!("{bad} of {} cannot be read as a message", counted(entries, "entry")),
            )
            .because("`atm validate` says what each of them lacks")
            .mended_by(Remedy::MendInbox(path.to_owned())),
        );
    } else if let Some(well) = without_copies(&bytes) {
        let copies = entries - well.messages;
        findings.push(
            Finding::new(
                Ailment::Copies,
                team,
                path,
                format!("copies of other messages: {copies} of {entries}"),
            )
            .because("id, sender, time and text are the same")
            .mended_by(Remedy::DropCopies(path.to_owned())),
        );
    }
    shared_ids(team, path, &messages, findings);
    from_the_future(office, team, path, &messages, findings);
    if bytes.len() > MANY_BYTES || entries > MANY_MESSAGES {
        findings.push(
            Finding::new(Ailment::Oversized, team, path, "an inbox is very large").because(format!(
                "{}, {} KiB",
                counted(entries, "message"),
                bytes.len() >> 10
            )),
        );
    }
}

fn too_large(team: &TeamName, path: &Path, findings: &mut Vec<Finding>) {
    let Some(length) = path.metadata().ok().map(|found| found.len()).filter(|length| *length > LARGEST)
    else {
        return;
    };
    findings.push(
        Finding::new(Ailment::Oversized, team, path, "an inbox is too large to be looked into")
            .because(format!("{} MiB", length >> 20)),
    );
}

fn shared_ids(team: &TeamName, path: &Path, messages: &[Message], findings: &mut Vec<Finding>) {
    let mut contents = HashMap::new();
    let mut shared = Vec::new();
    for message in messages.iter().filter(|message| message.id_given) {
        let content = (&message.from, &message.timestamp, &message.text);
        if *contents.entry(&message.id).or_insert(content) != content {
            shared.push(message);
        }
    }
    if let Some(first) = shared.first() {
        let message =
            format!("the id of another message is used again by {}", counted(shared.len(), "message"));
        let finding = Finding::new(Ailment::SharedId, team, path, message);
        findings.push(finding.because(format!("the first is {:?}, from {:?}", first.id, first.from)));
    }
}

fn from_the_future(
    office: &Office,
    team: &TeamName,
    path: &Path,
    messages: &[Message],
    findings: &mut Vec<Finding>,
) {
    let limit = office.now().saturating_add(SKEW);
    let late = messages.iter().filter(|message| message.sent_at.is_some_and(|at| at > limit));
    let Some(latest) = late.clone().max_by_key(|message| message.sent_at) else { return };
    let count = late.count();
    findings.push(
        Finding::new(Ailment::Future, team, path, format!("{} from the future", counted(count, "message")))
            .because(format!("the latest, from {:?}, is of {}", latest.from, latest.timestamp))
            .because(format!("this machine's clock says {}", office.now())),
    );
}

/// Whether a line of a log is neither a message nor blank.
pub(super) fn is_bad_line(line: &[u8]) -> bool {
    let text = std::str::from_utf8(line).map(|text| text.trim_end_matches('\r'));
    !line.trim_ascii().is_empty() && text.map_or(true, |text| Message::from_line(text).is_err())
}

fn lines(office: &Office, team: &TeamName, path: &Path, findings: &mut Vec<Finding>) {
    let Some(bytes) = read(path) else { return too_large(team, path, findings) };
    let complete: Vec<&[u8]> =
        bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n")).collect();
    let bad: Vec<usize> = (0..complete.len()).filter(|at| is_bad_line(complete[*at])).collect();
    if let Some(first) = bad.first() {
        findings.push(
            Finding::new(
                Ailment::BadLine,
                team,
                path,
                format!("{} that can be read as no message", counted(bad.len(), "line")),
            )
            .because(format!("the first is line {}; `atm validate` says what is wrong with each", first + 1))
            .mended_by(Remedy::BlankLines(path.to_owned())),
        );
    }
    let text = |line: &&[u8]| std::str::from_utf8(line).ok().and_then(|line| Message::from_line(line).ok());
    let messages: Vec<Message> = complete.iter().filter_map(text).collect();
    from_the_future(office, team, path, &messages, findings);
    if bytes.len() > MANY_LOG_BYTES {
        findings.push(Finding::new(Ailment::Oversized, team, path, "a log is very large").because(format!(
            "{}, {} KiB",
            counted(complete.len(), "line"),
            bytes.len() >> 10
        )));
    }
}

fn cursor(team: &TeamName, member: &Path, findings: &mut Vec<Finding>) {
    let path = member.join("state.json");
    let Some(bytes) = read(&path) else { return };
    let cursor = match Cursor::parse(&String::from_utf8_lossy(&bytes)) {
        Ok(cursor) => cursor,
        Err(flaw) => {
            findings.push(
                Finding::new(Ailment::BadCursor, team, &path, "a cursor does not parse")
                    .because(flaw.to_string())
                    .mended_by(Remedy::NewCursor(path.clone())),
            );
            return;
        }
    };
    let files = entries(member).into_iter().filter(|path: &PathBuf| {
        let name = name_of(path);
        name == "inbox" || name.strip_prefix("inbox.").is_some_and(|time| time.len() == 15)
    });
    let count = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
    let longest = files.filter_map(|path| read(&path)).map(|bytes| count(&bytes)).max().unwrap_or(0);
    let line = cursor.last_processed_line;
    if line <= longest {
        return;
    }
    let inbox = read(&member.join("inbox")).unwrap_or_default();
    let done = lines_done(&inbox, &cursor);
    findings.push(
        Finding::new(Ailment::CursorBeyond, team, &path, format!("a cursor is at line {line} of {longest}"))
            .because(match cursor.last_processed_timestamp {
                Some(time) => format!("by its time, {time}, {done} lines are done"),
                None => "it has no time, so that everything counts as unread".to_owned(),
            })
            .mended_by(Remedy::MoveCursor(path, done)),
    );
}

/// How many lines from the start on are not after the cursor's time. Mail that is shown twice is better than lost.
fn lines_done(inbox: &[u8], cursor: &Cursor) -> u64 {
    let Some(time) = cursor.last_processed_timestamp else { return 0 };
    let is_done = |line: &&[u8]| {
        let message = std::str::from_utf8(line).ok().and_then(|line| Message::from_line(line).ok());
        message.is_none_or(|message| message.sent_at.is_none_or(|at| at <= time))
    };
    let complete = inbox.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    complete.take_while(is_done).count() as u64
}
