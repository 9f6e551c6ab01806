//! Conversations as clients keep them: files of JSON Lines, or a database. What stands in an entry is the client's to say:
//! see the readers in `atm_clients`.
//!
//! They are private: nothing of them is kept but the fact that a message is in one, where, and when. `find` says whose a
//! conversation is, `owners` remembers it, `registry` and `remembered` know the sessions of a team's lead, `ties` those
//! that clients' hooks were called in.

mod find;
mod owners;
mod registry;
mod remembered;
mod ties;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_clients::claude::transcript::{Part, begins_turn, part_of, time_of};
use atm_clients::conversations::ConversationFormat;
use atm_clients::shown::SIGNS;
pub(crate) use atm_clients::shown::{Shape, Shown};
use atm_clients::wake::{WakeMethod, WakeWay};
use atm_clients::{AgentClient, Profile};
use atm_wire::json::Object;
use memchr::memmem;

pub(crate) use find::{Conversations, listed};
pub(crate) use remembered::Remembered;
pub(crate) use ties::{Tie, Ties, written};

/// How much of a conversation is held and read.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The longest line that is read. The longest message is a tenth of it, and pictures are within it.
    line: u64,
    /// How much is read in one look; the rest is for the next. More than one line, so that every look comes further.
    look: u64,
}

const BOUNDS: Bounds = Bounds { line: 64 << 20, look: 256 << 20 };
/// How much of a conversation's end is searched for the last turn. Where a turn is longer than that, it is not known when
/// it began.
const LAST_TURN_WITHIN: u64 = 4 << 20;

/// How much of a conversation's end is searched for an entry that names its client.
const CLIENT_WITHIN: u64 = 256 << 10;

/// The client that writes a conversation, by its last entry that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) version: String,
    /// Where it works.
    pub(crate) cwd: Option<PathBuf>,
}

/// A row of a database may be written a moment after the time that it says: what is that much older is read again.
const ROWS_ARE_LATE_MS: u64 = 10_000;

/// A conversation as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) client: AgentClient,
    /// The session, where one file holds those of several.
    session: Option<String>,
    pub(crate) path: PathBuf,
    pub(crate) inode: u64,
    /// How far it goes: of a file, in bytes; of a database, when it was last written, in milliseconds since the epoch.
    pub(crate) length: u64,
    /// When the conversation last went on, in milliseconds since the epoch.
    pub(crate) changed_at: i64,
}

/// What a conversation gained.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Gained {
    /// The entries that show mail.
    pub(crate) shown: Vec<Shown>,
    /// How far it was read.
    pub(crate) end: u64,
}

impl Transcript {
    /// A file of Claude Code.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Self::of(AgentClient::Claude, path, "")
    }

    /// The conversation `session` of a client, which is kept at `path`.
    pub(crate) fn of(client: AgentClient, path: &Path, session: &str) -> Option<Self> {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let format = &client.profile().conversations.as_ref()?.format;
        let mut transcript = Self {
            client,
            session: None,
            path: path.to_owned(),
            inode: found.ino(),
            length: found.len(),
            changed_at: millis(&found),
        };
        if matches!(format, ConversationFormat::Database { .. }) {
            let log = fs::metadata(log_of(path)).ok();
            transcript.changed_at = log.map_or(i64::MIN, |log| millis(&log)).max(transcript.changed_at);
            transcript.length = u64::try_from(transcript.changed_at).unwrap_or_default();
            transcript.session = Some(session.to_owned());
        }
        Some(transcript)
    }

    /// Its name in the ledger. A database is a source for each of its sessions.
    pub(crate) fn source(&self) -> PathBuf {
        self.session.as_ref().map_or_else(|| self.path.clone(), |session| self.path.join(session))
    }

    /// Whether its client takes mail out of the inbox by itself: then mail that was taken and is not in it is held or lost.
    pub(crate) fn is_of_inbox_reader(&self) -> bool {
        matches!(self.profile().wake, Some(WakeMethod { way: WakeWay::Polls, .. }))
    }

    /// Whether it is a file of its own.
    pub(crate) fn is_file(&self) -> bool {
        self.session.is_none()
    }

    fn profile(&self) -> &'static Profile {
        self.client.profile()
    }

    /// What it gained since `from`: the entries that may show mail. `copies` is a folder of ours for what has to be copied.
    pub(crate) fn read_since(&self, from: u64, copies: &Path) -> io::Result<Gained> {
        match self.profile().conversations.as_ref().map(|conversations| &conversations.format) {
            Some(ConversationFormat::JsonLines { shown, .. }) => self.read_lines(from, *shown, BOUNDS),
            Some(ConversationFormat::Database { shown_since }) => {
                let session = self.session.as_deref().unwrap_or_default();
                let since = from.saturating_sub(ROWS_ARE_LATE_MS);
                let shown = shown_since(&self.path, session, since, copies).map_err(io::Error::other)?;
                Ok(Gained { shown, end: self.length })
            }
            None => Ok(Gained { shown: Vec::new(), end: from }),
        }
    }

    /// The lines of a file. One that is not ended may still be growing; one that is too long proves nothing, and is passed over
    /// without being held.
    fn read_lines(
        &self,
        from: u64,
        shown: fn(&str, bool) -> Option<Shown>,
        bounds: Bounds,
    ) -> io::Result<Gained> {
        let mut gained = Gained { shown: Vec::new(), end: if from > self.length { 0 } else { from } };
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(gained.end))?;
        let mut reader = BufReader::with_capacity(1 << 16, file.take(bounds.look));
        let is_inside = self.is_inside();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.by_ref().take(bounds.line).read_until(b'\n', &mut line)? as u64;
            if line.last() != Some(&b'\n') {
                if read < bounds.line {
                    break;
                }
                let length = read + reader.skip_until(b'\n')? as u64;
                let (path, at) = (self.path.display(), gained.end);
                tracing::warn!(%path, at, length, "a line of a conversation is too long, and proves nothing");
                gained.end += length;
                continue;
            }
            if SIGNS.iter().any(|sign| memmem::find(&line, sign).is_some()) {
                let shown = shown(&String::from_utf8_lossy(&line), is_inside);
                let place = |shown| Shown { position: gained.end, cursor: gained.end, ..shown };
                gained.shown.extend(shown.map(place));
            }
            gained.end += read;
        }
        Ok(gained)
    }

    /// When the last turn began, in milliseconds since the epoch. A client that takes mail in the middle of a turn keeps it
    /// until that turn ends.
    pub(crate) fn last_turn(&self) -> Option<i64> {
        let is_inside = self.is_inside();
        let text = self.end(LAST_TURN_WITHIN)?;
        let (at, entry) = text.lines().rev().enumerate().find_map(|(at, line)| {
            let entry = line.contains("\"user\"").then(|| Object::parse(line).ok()).flatten()?;
            begins_turn(&entry, is_inside).then_some((at, entry))
        })?;
        // An entry that does not say its time was written when the file was, if nothing came after it.
        time_of(&entry).or_else(|| (at == 0).then_some(self.changed_at))
    }

    /// When the model was last asked, in milliseconds since the epoch: the last words before its last answer, of whichever part
    /// that is there. What a client had for it by then is in the conversation.
    pub(crate) fn last_asked(&self) -> Option<i64> {
        let is_inside = self.is_inside();
        let text = self.end(LAST_TURN_WITHIN)?;
        let (mut last_words, mut answer, mut asked) = (None, None, None);
        for line in text.lines() {
            let Some(part) = Object::parse(line).ok().and_then(|entry| part_of(&entry, is_inside)) else {
                continue;
            };
            match part {
                Part::Words(at) => last_words = at,
                // An answer has several entries, and what its tools gave back may stand between them.
                Part::Answer(id) if answer.as_ref() != Some(&id) => (answer, asked) = (Some(id), last_words),
                Part::Answer(_) => {}
            }
        }
        asked
    }

    /// When the model last answered, in milliseconds since the epoch.
    pub(crate) fn last_answer(&self) -> Option<i64> {
        let conversations = self.profile().conversations.as_ref()?;
        let ConversationFormat::JsonLines { answered, .. } = conversations.format else { return None };
        self.end(LAST_TURN_WITHIN)?.lines().rev().find_map(answered)
    }

    /// The client that writes it.
    pub(crate) fn client(&self) -> Option<Writer> {
        self.end(CLIENT_WITHIN)?.lines().rev().find_map(|line| {
            let entry = Object::parse(line).ok()?;
            let version = entry.string("version")?.into_owned();
            Some(Writer { version, cwd: entry.string("cwd").map(|cwd| PathBuf::from(cwd.as_ref())) })
        })
    }

    /// Its last bytes.
    fn end(&self, at_most: u64) -> Option<String> {
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.length.saturating_sub(at_most))).ok()?;
        let mut bytes = Vec::new();
        file.take(at_most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether it is that of a member that runs inside its lead.
    pub(crate) fn is_inside(&self) -> bool {
        self.path.parent().is_some_and(|folder| folder.ends_with("subagents"))
    }
}

/// Whose the conversation `session` is by its first entries, if it is kept at `path` below the tree `root`: whether that is
/// decided, the team, the member.
pub(crate) fn first_owner(
    root: &Path,
    session: &str,
    path: &Path,
) -> Option<(bool, Option<String>, Option<String>)> {
    let name = path.file_name()?.to_str()?;
    if !is_plain(session) || name.strip_suffix(".jsonl") != Some(session) {
        return None;
    }
    // Said by the client; it leads nowhere but to where conversations are.
    let projects = root.join("projects").canonicalize().ok()?;
    let path = path.canonicalize().ok().filter(|path| path.starts_with(&projects))?;
    let (is_decided, owner) = owners::read_entries(&path).ok()?;
    Some((is_decided, owner.team, owner.member))
}

/// The write-ahead log of a database.
fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn millis(found: &fs::Metadata) -> i64 {
    found.mtime().saturating_mul(1000).saturating_add(found.mtime_nsec() / 1_000_000)
}

/// A session's id is foreign text: it must not lead anywhere else.
pub(crate) fn is_plain(session: &str) -> bool {
    !session.is_empty() && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_still_grows_is_left_for_the_next_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let mail = |text: &str| {
            let content = format!("<teammate-message teammate_id=\\\"a\\\">\\n{text}\\n</teammate-message>");
            format!(r#"{{"type":"user","message":{{"content":"{content}"}}}}"#)
        };
        let first = mail("one");
        fs::write(&path, format!("{{\"type\":\"x\"}}\n{first}\n{}", mail("two"))).unwrap();
        let gained = Transcript::at(&path).unwrap().read_since(0, folder.path()).unwrap();
        assert_eq!(gained.shown.iter().map(|shown| shown.position).collect::<Vec<_>>(), [13]);
        assert_eq!(gained.end, 13 + first.len() as u64 + 1);
        fs::write(&path, format!("{{\"type\":\"x\"}}\n{first}\n{}\n", mail("two"))).unwrap();
        let later = Transcript::at(&path).unwrap();
        assert_eq!(later.read_since(gained.end, folder.path()).unwrap().shown.len(), 1);
        assert_eq!(
            later.read_since(later.length + 1, folder.path()).unwrap().shown.len(),
            2,
            "it is another file"
        );
    }

    /// Such a line was read again and again, and nothing behind it.
    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_what_follows_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let mail = |text: &str| {
            let content = format!("<teammate-message teammate_id=\\\"a\\\">\\n{text}\\n</teammate-message>");
            format!(r#"{{"type":"user","message":{{"content":"{content}"}}}}"#)
        };
        let shown = atm_clients::claude::transcript::shown;
        let (one, two) = (mail("one"), mail("two"));
        let bounds = Bounds { line: 200, look: 500 };
        // Within a look, as long as one, and longer than several.
        for length in [200, 300, 499, 500, 501, 1_700] {
            let long = mail(&"x".repeat(length - mail("").len()));
            assert_eq!(long.len(), length);
            let text = format!("{one}\n{long}\n{two}\n");
            fs::write(&path, &text).unwrap();
            let transcript = Transcript::at(&path).unwrap();
            let (mut from, mut positions) = (0, Vec::new());
            for _ in 0..10 {
                let gained = transcript.read_lines(from, shown, bounds).unwrap();
                positions.extend(gained.shown.iter().map(|shown| shown.position));
                from = gained.end;
            }
            let second = (one.len() + 1 + long.len() + 1) as u64;
            assert_eq!((positions, from), (vec![0, second], text.len() as u64), "{length}");
        }
    }

    /// An answer has an entry for each of its parts, and what a quick tool gave back may stand between them: the model was not
    /// asked again then.
    #[test]
    fn a_model_was_asked_where_another_answer_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let words = |at: &str| {
            format!(
                r#"{{"type":"user","timestamp":"2026-11-15T12:00:0{at}.000Z","message":{{"content":"x"}}}}"#
            )
        };
        let answer = |id: &str| format!(r#"{{"type":"assistant","message":{{"id":"{id}"}}}}"#);
        let noon = 1_794_744_000_000;
        let inside = words("8").replace(r#""user","#, r#""user","isSidechain":true,"#);
        let mut text = String::new();
        for (line, expected) in [
            (words("1"), None),
            (answer("a"), Some(noon + 1_000)),
            (words("5"), Some(noon + 1_000)),
            (answer("a"), Some(noon + 1_000)),
            ("no JSON".to_owned(), Some(noon + 1_000)),
            (inside, Some(noon + 1_000)),
            (answer("b"), Some(noon + 5_000)),
        ] {
            text.push_str(&line);
            text.push('\n');
            fs::write(&path, &text).unwrap();
            assert_eq!(Transcript::at(&path).unwrap().last_asked(), expected, "{text}");
        }
    }
}
