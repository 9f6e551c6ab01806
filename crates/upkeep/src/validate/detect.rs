//! What kind of file is it?

use std::io::Read;
use std::path::Path;

use atm_wire::json::Object;
use atm_wire::lint::Format;

/// How much of a file is looked at.
const HEAD: u64 = 1 << 16;

/// The format of a file, by its place in the tree, else by what is in it.
pub fn detect(path: &Path) -> Option<Format> {
    by_place(path).or_else(|| by_content(path))
}

fn by_place(path: &Path) -> Option<Format> {
    let part = |at: usize| path.iter().rev().nth(at).map(|part| part.to_string_lossy());
    let name = part(0)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.as_ref() {
        "state.json" => return Some(Format::Cursor),
        "task-status.json" => return Some(Format::Status),
        _ => {}
    }
    let stem = name.strip_suffix(".json");
    if stem.is_some() && part(1).as_deref() == Some("inboxes") {
        return Some(Format::Array);
    }
    if stem.is_some_and(is_number) && part(2).as_deref() == Some("tasks") {
        return Some(Format::Task);
    }
    if name == "config.json" {
        return Some(Format::Team);
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    match extension.as_deref() {
        Some("toml") => Some(Format::Settings),
        Some("jsonl") => Some(Format::Log),
        _ if name == "inbox"
            || name.starts_with("inbox-")
            || name.starts_with("inbox.") && stem.is_none() =>
        {
            Some(Format::Log)
        }
        _ => None,
    }
}

fn by_content(path: &Path) -> Option<Format> {
    let file = atm_store::files::open_to_read(path).ok()??;
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head).ok()?;
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('[') {
        return Some(Format::Array);
    }
    let first = text.lines().next()?;
    if let Ok(line) = Object::parse(first)
        && line.get("from").is_some()
    {
        return Some(Format::Log);
    }
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    match () {
        () if !text.starts_with('{') => None,
        () if has("members") => Some(Format::Team),
        () if has("lastProcessedLine") => Some(Format::Cursor),
        () if has("lastActiveAt") => Some(Format::Status),
        () if has("subject") => Some(Format::Task),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_place_in_the_tree() {
        for (path, format) in [
            ("teams/dev/config.json", Format::Team),
            ("teams/dev/inboxes/config.json", Format::Array),
            ("teams/dev/inboxes/bob.json", Format::Array),
            ("teams/dev/members/bob/inbox", Format::Log),
            ("teams/dev/members/bob/inbox-high", Format::Log),
            ("teams/dev/members/bob/inbox.20261115-184229", Format::Log),
            ("teams/dev/members/bob/state.json", Format::Cursor),
            ("tasks/dev/7.json", Format::Task),
            ("tasks/dev/bob/task-status.json", Format::Status),
            ("project/.atm.toml", Format::Settings),
        ] {
            assert_eq!(by_place(Path::new(path)), Some(format), "{path}");
        }
        assert_eq!(by_place(Path::new("notes.txt")), None);
    }

    #[test]
    fn by_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (text, format) in [
            ("\u{feff} [1]", Some(Format::Array)),
            ("{\"from\":\"a\"}\n{\"from\":\"b\"}\n", Some(Format::Log)),
            ("{\n \"members\": []\n}", Some(Format::Team)),
            ("{\"lastProcessedLine\":1}", Some(Format::Cursor)),
            ("{\"subject\":1}", Some(Format::Task)),
            ("hello", None),
            ("", None),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(detect(&path), format, "{text}");
        }
    }
}
