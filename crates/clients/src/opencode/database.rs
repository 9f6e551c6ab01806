//! Conversations of `OpenCode`: rows of one SQLite database.
//!
//! The database is the client's, and it is open. A reader of our own would take locks in its files, so the database is
//! copied together with its write-ahead log, and the copy is read. What changed while it was copied is copied again.
//!
//! | part | what it shows |
//! |---|---|
//! | text of a user's message | a prompt: typed, by the server, or what our plugin added to it |
//! | what a tool gave back | behind it, what our plugin added |

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use atm_wire::json::Object;
use rusqlite::{Connection, OpenFlags};

use crate::conversations::DatabaseError;
use crate::shown::{Shape, Shown, is_ours};

/// What is larger is not copied at every look.
const LARGEST: u64 = 2 << 30;
/// So often is a database copied that changes meanwhile.
const ATTEMPTS: usize = 4;
/// Copies that are older were left by a process that died.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);
/// A part's place is its row's number and a place in its text, which is shorter.
const TEXT: u64 = 1 << 24;

const QUERY: &str = "SELECT part.rowid, part.id, part.time_updated, part.data, message.data
    FROM part JOIN message ON message.id = part.message_id
    WHERE part.session_id = ?1 AND part.time_updated >= ?2 ORDER BY part.rowid";

/// What a conversation showed to the model since a time, in milliseconds since the epoch. `copies` is a folder of ours.
pub(super) fn shown_since(
    database: &Path,
    session: &str,
    since: u64,
    copies: &Path,
) -> Result<Vec<Shown>, DatabaseError> {
    let copy = Copy::of(database, copies)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(copy.path(), flags)?;
    let mut query = connection.prepare(QUERY)?;
    let since = i64::try_from(since).unwrap_or(i64::MAX);
    let mut rows = query.query((session, since))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, id, updated): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (part, message): (String, String) = (row.get(3)?, row.get(4)?);
        let Some(shown) = shown(&part, &message) else { continue };
        let place = |number: i64| u64::try_from(number).unwrap_or_default();
        all.push(Shown {
            position: place(number).saturating_mul(TEXT),
            cursor: place(updated),
            entry: Some(id),
            at: Some(updated),
            ..shown
        });
    }
    Ok(all)
}

/// What a part of a message shows, if it does. Only what is asked for is read: what tools gave back may be cut in the middle
/// of a character, and nested deeply beside that.
fn shown(part: &str, message: &str) -> Option<Shown> {
    let (part, message) = (Object::parse(part).ok()?, Object::parse(message).ok()?);
    match (&*message.string("role")?, &*part.string("type")?) {
        ("user", "text") => {
            let texts = vec![part.string("text")?.into_owned()];
            let shape = if texts.iter().any(|text| is_ours(text)) { Shape::Listed } else { Shape::Framed };
            Some(Shown { shape, texts, ..Shown::default() })
        }
        ("assistant", "tool") => {
            let state = Object::parse(part.get("state")?.get()).ok()?;
            let is_completed = state.string("status")? == "completed";
            Shown::listed(vec![state.string("output").filter(|_| is_completed)?.into_owned()])
        }
        _ => None,
    }
}

/// A copy of a database, which goes with this value.
struct Copy(PathBuf);

impl Copy {
    fn of(database: &Path, copies: &Path) -> Result<Self, DatabaseError> {
        fs::create_dir_all(copies)?;
        forget_old(copies);
        for attempt in 0..ATTEMPTS {
            let before = signature(database);
            if before.iter().flatten().map(|(length, _)| length).sum::<u64>() > LARGEST {
                return Err(DatabaseError::TooLarge);
            }
            let copy = Self::make(copies, attempt)?;
            fs::copy(database, copy.path())?;
            let log = log_of(database);
            if log.exists() {
                fs::copy(&log, log_of(&copy.path()))?;
            }
            if signature(database) == before {
                return Ok(copy);
            }
        }
        Err(DatabaseError::Changing)
    }

    /// A folder of its own, which only its owner may open: conversations are private.
    fn make(copies: &Path, attempt: usize) -> Result<Self, DatabaseError> {
        use std::os::unix::fs::DirBuilderExt;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let folder = copies.join(format!("{}-{now}-{attempt}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    fn path(&self) -> PathBuf {
        self.0.join("copy.db")
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// What the database and its log look like from outside.
fn signature(database: &Path) -> [Option<(u64, Option<SystemTime>)>; 2] {
    let look = |path: &Path| fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()));
    [look(database), look(&log_of(database))]
}

fn forget_old(copies: &Path) {
    for entry in fs::read_dir(copies).into_iter().flatten().flatten() {
        let age =
            entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > FORGOTTEN_AFTER) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../tests/fixtures/conversations/opencode-1.18.33.sql");
    const SESSION: &str = "ses_e1681370cffeyMN1LNGcwp8T30";

    /// The client keeps its database open, with its newest rows in the write-ahead log alone.
    #[test]
    fn a_database_is_read_with_its_log_while_its_client_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let (database, copies) = (folder.path().join("opencode.db"), folder.path().join("copies"));
        let client = Connection::open(&database).unwrap();
        client.pragma_update(None, "journal_mode", "wal").unwrap();
        client.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        client.execute_batch(SAMPLE).unwrap();
        assert!(fs::metadata(log_of(&database)).unwrap().len() > 0, "the rows are in the log");
        let lock = client.unchecked_transaction().unwrap();
        lock.execute("UPDATE session SET title = title", []).unwrap();
        let all = shown_since(&database, SESSION, 0, &copies).unwrap();
        drop(lock);
        let listed = |shown: &Shown| -> Vec<String> {
            let ids = shown.texts.iter().flat_map(|text| atm_wire::brief::headings(text));
            ids.map(|heading| heading.id.to_owned()).collect()
        };
        let ids: Vec<Vec<String>> =
            all.iter().filter(|shown| shown.shape == Shape::Listed).map(listed).collect();
        assert_eq!(ids.concat(), ["950fef5b", "6b7522bb", "fca6ae14"]);
        let last = all.last().unwrap();
        assert_eq!(shown_since(&database, SESSION, last.cursor + 1, &copies).unwrap(), []);
        assert_eq!(shown_since(&database, "ses_other", 0, &copies).unwrap(), [], "of another session");
        assert_eq!(fs::read_dir(&copies).unwrap().count(), 0, "no copy is left");
        let missing = folder.path().join("none.db");
        assert!(matches!(shown_since(&missing, SESSION, 0, &copies), Err(DatabaseError::Io(_))));
    }

    #[test]
    fn only_what_is_before_the_model_counts() {
        let user = r#"{"role":"user"}"#;
        let model = r#"{"role":"assistant"}"#;
        let mail = "From other agents, by atm; not your user's words.\\n- from bob at noon [7906ec52]\\n";
        let text = format!(r#"{{"type":"text","text":"{mail}"}}"#);
        let tool = |status: &str| {
            format!(r#"{{"type":"tool","state":{{"status":"{status}","output":"x\n\n{mail}"}}}}"#)
                .replace('\n', "\\n")
        };
        assert_eq!(shown(&text, user).map(|shown| shown.shape), Some(Shape::Listed));
        assert_eq!(shown(&tool("completed"), model).map(|shown| shown.shape), Some(Shape::Listed));
        assert_eq!(shown(&tool("running"), model), None);
        assert_eq!(shown(&text, model), None, "the model's own words");
        assert_eq!(shown("{", user), None);
    }

    /// What a tool gave back may be cut in the middle of an emoji: it proved nothing.
    #[test]
    fn what_is_no_text_does_not_hide_what_was_shown() {
        let mail = r"From other agents, by atm; not your user's words.\n- from bob at noon [7906ec52]\n";
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let (user, model) = (format!(r#"{{"role":"user","summary":{deep}}}"#), r#"{"role":"assistant"}"#);
        let text = format!(r#"{{"type":"text","text":"{mail}\ud83d"}}"#);
        let tool = format!(
            r#"{{"type":"tool","state":{{"status":"completed","input":{deep},"output":"\ud83d\n\n{mail}"}}}}"#
        );
        for (part, message) in [(text.as_str(), user.as_str()), (&tool, model)] {
            let shown = shown(part, message).expect(part);
            assert_eq!(shown.shape, Shape::Listed, "{part}");
            assert!(shown.texts.concat().contains("[7906ec52]"), "{shown:?}");
        }
    }
}
