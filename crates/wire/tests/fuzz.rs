//! Every parser and every check against bytes that nobody wrote on purpose, and files of real clients with a few bytes
//! changed. Nothing may panic, and what is understood must survive being looked at twice.
//!
//! Each runs for a bounded number of inputs; `ATM_FUZZ_INPUTS=1000000` makes it more. What was found is a test beside the
//! code that it was found in.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::path::{Path, PathBuf};

use atm_wire::cursor::Cursor;
use atm_wire::json::{self, ArrayCheck, Object};
use atm_wire::lint::{ArrayLint, Format, LogLint, Rule, check_document};
use atm_wire::payload::classify;
use atm_wire::stamp::parse_duration;
use atm_wire::status::TaskStatus;
use atm_wire::task::Task;
use atm_wire::team::TeamConfig;
use atm_wire::{Address, Color, MemberName, Message, Stamp, TeamName};
use serde_json::value::RawValue;

fn inputs() -> usize {
    std::env::var("ATM_FUZZ_INPUTS").ok().and_then(|inputs| inputs.parse().ok()).unwrap_or(2000)
}

/// Which file, and what to change in it: bytes, runs that are copied elsewhere, and where to cut it.
type Changes = (u8, Vec<(u16, u8)>, Vec<(u16, u16, u8)>, Option<u16>);

/// What real clients wrote, and logs and cursors such as shells write.
fn corpus() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), &mut files);
    files.sort();
    let mut texts: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    texts.extend(
        [
            r#"{"type":"task_assignment","from":"c","to":"bob","timestamp":"2026-02-15T11:15:00Z","ackId":"m-1","content":{"taskId":"7","blockedBy":["3"]}}"#,
            r#"{"lastProcessedLine":42,"lastProcessedTimestamp":"2026-02-15T16:00:00Z","atm":{"normal":{"line":1}}}"#,
            r#"{"agentId":"a@b","status":"idle","startedAt":1794768140463,"lastActiveAt":"2026-02-16","metrics":{"tokens_used":1E2}}"#,
        ]
        .map(|text| text.as_bytes().to_vec()),
    );
    texts
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn changed(corpus: &[Vec<u8>], (which, bytes, copies, cut): &Changes) -> Vec<u8> {
    let mut text = corpus[usize::from(*which) % corpus.len()].clone();
    if text.is_empty() {
        return bytes.iter().map(|(_, byte)| *byte).collect();
    }
    for (at, byte) in bytes {
        let at = usize::from(*at) % text.len();
        text[at] = *byte;
    }
    for (from, to, length) in copies {
        let from = usize::from(*from) % text.len();
        let run = text[from..(from + usize::from(*length)).min(text.len())].to_vec();
        let to = usize::from(*to) % text.len();
        text.splice(to..to, run);
    }
    text.truncate(cut.map_or(text.len(), |cut| usize::from(cut) % (text.len() + 1)));
    text
}

/// Runs `check` on bytes from nowhere and on changed files.
fn each_input(check: impl Fn(&[u8]) + std::panic::RefUnwindSafe + 'static + Clone) {
    let from_nowhere = check.clone();
    bolero::check!().with_iterations(inputs()).for_each(move |bytes: &[u8]| from_nowhere(bytes));
    let corpus = corpus();
    bolero::check!()
        .with_iterations(inputs())
        .with_type::<Changes>()
        .for_each(move |changes| check(&changed(&corpus, changes)));
}

#[test]
fn messages_of_an_array() {
    each_input(|bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let Ok(entries) = json::elements(text) else { return };
        for raw in entries {
            if let Ok(message) = Message::from_entry(raw) {
                assert_eq!(
                    Message::from_entry(raw).unwrap().id,
                    message.id,
                    "an id is the same at every look"
                );
                let _ = (message.content(), message.kind(), message.ours(), message.is_pending());
            }
        }
    });
}

#[test]
fn lines_of_a_log() {
    each_input(|bytes| {
        for line in String::from_utf8_lossy(bytes).lines() {
            if let Ok(message) = Message::from_line(line) {
                let _ = (message.content(), message.kind(), message.ours());
            }
        }
    });
}

#[test]
fn payloads() {
    each_input(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        for outer in [None, Some("heartbeat"), Some("message")] {
            if let Some(payload) = classify(&text, outer).payload() {
                let written = payload.to_text();
                let again = classify(&written, None);
                assert_eq!(
                    again.payload().map(|payload| payload.kind().to_owned()),
                    Some(payload.kind().to_owned())
                );
            }
        }
    });
}

#[test]
fn teams_tasks_reports_and_cursors() {
    each_input(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(config) = TeamConfig::parse(&text) {
            let _ = config.lead();
            config.members.iter().for_each(|member| drop(member.checked_name()));
        }
        if let Ok(task) = Task::parse(&text) {
            Task::parse(&task.render().unwrap()).unwrap();
        }
        let _ = (TaskStatus::parse(&text), Cursor::parse(&text), Object::parse(&text));
    });
}

#[test]
fn times_names_and_colours() {
    each_input(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(stamp) = Stamp::parse(&text) {
            assert_eq!(Stamp::parse(&stamp.to_string()), Ok(stamp));
            let _ = stamp.file_name();
        }
        let _ = (Stamp::from_json(&text), parse_duration(&text));
        if let Ok(name) = MemberName::parse(&text) {
            let stem = name.file_stem();
            assert!(!stem.is_empty() && !stem.contains(['/', '\0', '.']), "{stem:?}");
        }
        if let Ok(team) = TeamName::parse(&text) {
            assert!(!team.folder().contains(['/', '\0', '.']));
        }
        let _ = text.parse::<Address>();
        let color = Color::parse(&text);
        assert_eq!(Color::parse(&color.to_string()), color);
    });
}

#[test]
fn edits() {
    each_input(|bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Ok(entries) = json::elements(text) {
            let new = [RawValue::from_string("{\"a\":1}".to_owned()).unwrap()];
            let grown = json::append(text, text.trim(), &entries, &new).unwrap().apply(text);
            assert_eq!(json::elements(&grown).unwrap().len(), entries.len() + 1, "{text:?}");
            let first = std::collections::BTreeSet::from([0]);
            let less = json::remove(text, text.trim(), &entries, &first).apply(text);
            assert_eq!(json::elements(&less).unwrap().len(), entries.len().saturating_sub(1), "{text:?}");
        }
        if let Ok(object) = Object::parse(text) {
            let set = json::set_member(text, text.trim(), "read", &true).unwrap().apply(text);
            assert_eq!(Object::parse(&set).unwrap().get("read").unwrap().get(), "true", "{text:?}");
            let before = object.iter().filter(|(key, _)| *key != "read").count();
            assert_eq!(Object::parse(&set).unwrap().iter().filter(|(key, _)| *key != "read").count(), before);
        }
    });
}

#[test]
fn checks() {
    each_input(|bytes| {
        let is_array = std::str::from_utf8(bytes).is_ok_and(|text| json::elements(text).is_ok());
        let mut outline = ArrayCheck::default();
        let mut lint = ArrayLint::default();
        let mut log = LogLint::new(Some("bob".to_owned()));
        for piece in bytes.chunks(7) {
            outline.feed(piece);
            lint.feed(piece);
            log.feed(piece);
        }
        assert_eq!(outline.finish().is_some(), is_array);
        let broken = [
            Rule::NotJson,
            Rule::NotUtf8,
            Rule::Empty,
            Rule::ByteOrderMark,
            Rule::WrongShape,
            Rule::ZeroBytes,
        ];
        let findings = lint.finish();
        let lone_key = findings.counts().error > 0;
        assert!(
            findings.has_any(&broken) != is_array || (is_array && lone_key),
            "{:?}",
            String::from_utf8_lossy(bytes)
        );
        log.finish();
        for format in [Format::Team, Format::Task, Format::Status, Format::Cursor] {
            check_document(format, bytes, Some("x"));
        }
    });
}
