//! Sessions that Claude Code registers: `sessions/<pid>.json` below the shared tree, one for each plain session and lead.
//!
//! The registry is no public contract: it is only read, every key may be missing, and a file may be empty while it is
//! written. An entry outlives a killed process, so it counts only if that process runs and started when the entry says.
//! Keys for a session's socket are kept beside the entries and are never opened. Entries of our own [peers](super::peer) are
//! no sessions.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use super::peer;

/// No entry is as long as this: what is longer is none.
const LARGEST: u64 = 1 << 20;
/// How the way begins by which programs enter the client: `sdk-cli` of `claude -p`, and those of its libraries.
const BY_PROGRAM: &str = "sdk";
/// A longer word of a client's is cut: it is shown to people.
const AT_MOST: usize = 60;

/// What it waits for, in its client's words, when its user is asked for a permission.
const PERMISSIONS: [&str; 4] = ["permission prompt", "sandbox request", "worker request", "goal proposal"];

/// A session whose process runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// Its process.
    pub pid: u64,
    /// The conversation.
    pub id: String,
    /// What it does, where the client says so.
    pub activity: Option<Activity>,
    /// Since when it does that, in milliseconds since 1970; where the client does not say so, since when its entry says it.
    pub since: Option<i64>,
    /// The folder that it works in.
    pub cwd: Option<String>,
    /// What it is called in its client.
    pub name: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub began: Option<i64>,
    /// It is a single run for a program (`claude -p`): nobody sits before it, and it may end at any moment.
    pub is_single_run: bool,
    /// Its messaging socket, where it has one.
    pub socket: Option<PathBuf>,
}

impl Session {
    /// That it runs, in words.
    pub fn describe(&self) -> String {
        let doing = self.activity.as_ref().map(|activity| format!(", {}", activity.describe()));
        let short: String = self.id.chars().take(8).collect();
        format!("session {short} runs (process {}{})", self.pid, doing.unwrap_or_default())
    }
}

/// What a session does, by its client's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// It is in a turn.
    Busy,
    /// It waits for its user's next words.
    Idle,
    /// It waits for something else: a permission, an answer.
    Waiting(Option<String>),
    /// A word that we do not know.
    Other(String),
}

impl Activity {
    /// It waits for its user's permission.
    pub fn waits_for_permission() -> Self {
        Self::Waiting(Some("permission".to_owned()))
    }

    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Self::Busy => "working".to_owned(),
            Self::Idle => "idle".to_owned(),
            Self::Waiting(None) => "waiting".to_owned(),
            Self::Waiting(Some(what)) => format!("waiting for {what}"),
            Self::Other(word) => word.clone(),
        }
    }
}

/// The sessions below `root` whose processes run. `started` says when a process started, if it runs, in the words of this
/// machine.
pub fn live(root: &Path, started: impl Fn(u64) -> Option<String>) -> Vec<Session> {
    let entries = fs::read_dir(root.join("sessions")).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let pid = name.to_str()?.strip_suffix(".json")?.parse().ok()?;
            let session = read(pid, &text_of(&entry.path())?, &started)?;
            Some(Session { since: session.since.or_else(|| written_at(&entry)), ..session })
        })
        .collect()
}

fn written_at(entry: &fs::DirEntry) -> Option<i64> {
    let written = entry.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(written.as_millis()).ok()
}

/// The processes that have an entry below `root`, whether they run or not.
pub fn numbers(root: &Path) -> impl Iterator<Item = u64> + use<> {
    let entries = fs::read_dir(root.join("sessions")).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
}

/// The process that a session ran in, if it can be proved that it is over: it has an entry whose process has ended, and
/// none whose process may run. `pid_space` says where process numbers mean something here.
///
/// A session that was begun later in the same folder may be the same after `/clear`, with another id: where there is such
/// a one, nothing is proved.
pub fn ended(root: &Path, id: &str, pid_space: &str, started: impl Fn(u64) -> Option<String>) -> Option<u64> {
    let entries = fs::read_dir(root.join("sessions")).into_iter().flatten().filter_map(Result::ok);
    let entries: Vec<Entry> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let pid = name.to_str()?.strip_suffix(".json")?.parse().ok()?;
            Entry::read(pid, &text_of(&entry.path())?, pid_space, &started)
        })
        .collect();
    ended_of(&entries, id)
}

/// An entry of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pid: u64,
    id: String,
    cwd: Option<String>,
    begun: Option<i64>,
    /// Its process has ended, for sure.
    is_over: bool,
}

impl Entry {
    fn read(pid: u64, text: &str, pid_space: &str, started: impl Fn(u64) -> Option<String>) -> Option<Self> {
        let entry: Value = serde_json::from_str(text).ok().filter(|entry| !peer::is_ours(entry))?;
        let word = |key: &str| entry.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        let start = match entry.get("procStart") {
            Some(Value::String(start)) => Some(start.clone()),
            Some(Value::Number(start)) => Some(start.to_string()),
            _ => None,
        };
        // Newest clients say in which namespace their number counts; ours is the last part of the space.
        let namespace = pid_space.rsplit('#').next().filter(|space| space.starts_with("pid:"));
        let is_here = match (word("pidDomain"), namespace) {
            (Some(domain), Some(namespace)) => domain.ends_with(namespace),
            _ => true,
        };
        let is_over = match (started(pid), start) {
            (None, _) => true,
            // Where the system does not say when a process started, the number decides.
            (Some(now), Some(then)) => !now.is_empty() && now != then,
            (Some(_), None) => false,
        };
        Some(Self {
            pid,
            id: word("sessionId")?,
            cwd: word("cwd"),
            begun: entry.get("startedAt").and_then(Value::as_i64),
            is_over: is_over && is_here,
        })
    }
}

fn ended_of(entries: &[Entry], id: &str) -> Option<u64> {
    let over =
        entries.iter().filter(|entry| entry.id == id).max_by_key(|entry| (!entry.is_over, entry.begun))?;
    let may_follow = |entry: &&Entry| !entry.is_over && entry.cwd == over.cwd && entry.begun >= over.begun;
    (over.is_over && !entries.iter().any(|entry| may_follow(&entry))).then_some(over.pid)
}

/// A session by its entry, if its process is the one that wrote it.
fn read(pid: u64, text: &str, started: impl Fn(u64) -> Option<String>) -> Option<Session> {
    let entry: Value = serde_json::from_str(text).ok().filter(|entry| !peer::is_ours(entry))?;
    let word = |key: &str| entry.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
    if entry.get("pid").and_then(Value::as_u64).is_some_and(|said| said != pid) {
        return None;
    }
    // Without its start, the number may be another process's by now: that proves nothing.
    let start = match entry.get("procStart")? {
        Value::String(start) => start.clone(),
        Value::Number(start) => start.to_string(),
        _ => return None,
    };
    if started(pid).is_none_or(|now| now != start) {
        return None;
    }
    let cut = |word: &str| word.chars().take(AT_MOST).collect::<String>();
    let activity = word("status").map(|status| match status {
        "busy" => Activity::Busy,
        "idle" => Activity::Idle,
        "waiting" if word("waitingFor").is_some_and(|what| PERMISSIONS.contains(&what)) => {
            Activity::waits_for_permission()
        }
        "waiting" => Activity::Waiting(word("waitingFor").map(cut)),
        other => Activity::Other(cut(other)),
    });
    let since = ["statusUpdatedAt", "updatedAt"].into_iter().find_map(|key| entry.get(key)?.as_i64());
    Some(Session {
        pid,
        id: word("sessionId").unwrap_or_default().to_owned(),
        activity,
        since,
        cwd: word("cwd").map(ToOwned::to_owned),
        name: word("name").map(cut),
        began: entry.get("startedAt").and_then(Value::as_i64),
        is_single_run: word("entrypoint").is_some_and(|entry| entry.starts_with(BY_PROGRAM)),
        socket: word("messagingSocketPath").map(PathBuf::from).filter(|path| path.is_absolute()),
    })
}

/// What an entry says. Only files are opened: a pipe of that name would be waited for.
pub(super) fn text_of(path: &Path) -> Option<String> {
    let is_entry = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    let mut text = String::new();
    is_entry.then(|| File::open(path).ok()).flatten()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which process 4242 runs, and started at 322905.
    fn started(pid: u64) -> Option<String> {
        (pid == 4242).then(|| "322905".to_owned())
    }

    #[test]
    fn an_entry_counts_if_its_process_runs_and_started_when_it_says() {
        let alive = |activity| Some(Session { pid: 4242, id: "0b7e".into(), activity, ..Session::default() });
        let rows = [
            (r#"{"pid":4242,"sessionId":"0b7e","procStart":"322905"}"#, alive(None)),
            (r#"{"sessionId":"0b7e","procStart":322905,"status":"busy"}"#, alive(Some(Activity::Busy))),
            (r#"{"sessionId":"0b7e","procStart":"322905","status":"idle"}"#, alive(Some(Activity::Idle))),
            (
                r#"{"sessionId":"0b7e","procStart":"322905","status":"waiting","waitingFor":"permission"}"#,
                alive(Some(Activity::Waiting(Some("permission".into())))),
            ),
            // As the real client says it of a tool that it asks for.
            (
                r#"{"sessionId":"0b7e","procStart":"322905","status":"waiting","waitingFor":"permission prompt"}"#,
                alive(Some(Activity::waits_for_permission())),
            ),
            (
                r#"{"sessionId":"0b7e","procStart":"322905","status":"waiting","waitingFor":"input needed"}"#,
                alive(Some(Activity::Waiting(Some("input needed".into())))),
            ),
            (
                r#"{"sessionId":"0b7e","procStart":"322905","status":"waiting","waitingFor":7}"#,
                alive(Some(Activity::Waiting(None))),
            ),
            (
                r#"{"sessionId":"0b7e","procStart":"322905","status":"shell"}"#,
                alive(Some(Activity::Other("shell".into()))),
            ),
            (
                r#"{"procStart":"322905","updatedAt":7,"statusUpdatedAt":5}"#,
                Some(Session { pid: 4242, since: Some(5), ..Session::default() }),
            ),
            (
                r#"{"procStart":"322905","updatedAt":7}"#,
                Some(Session { pid: 4242, since: Some(7), ..Session::default() }),
            ),
            (r#"{"procStart":"322905"}"#, Some(Session { pid: 4242, ..Session::default() })),
            (
                r#"{"procStart":"322905","entrypoint":"cli"}"#,
                Some(Session { pid: 4242, ..Session::default() }),
            ),
            (
                r#"{"procStart":"322905","entrypoint":"sdk-cli"}"#,
                Some(Session { pid: 4242, is_single_run: true, ..Session::default() }),
            ),
            // The number is another process's by now, or nothing says that it is not.
            (r#"{"pid":4242,"sessionId":"0b7e","procStart":"1"}"#, None),
            (r#"{"pid":4242,"sessionId":"0b7e"}"#, None),
            (r#"{"pid":7,"sessionId":"0b7e","procStart":"322905"}"#, None),
            ("", None),
            ("[]", None),
            ("{", None),
        ];
        for (text, expected) in rows {
            assert_eq!(read(4242, text, started), expected, "{text}");
        }
        assert_eq!(read(7, r#"{"sessionId":"0b7e","procStart":"322905"}"#, started), None, "it does not run");
    }

    #[test]
    fn a_session_is_over_if_its_process_is_and_no_other_may_have_it() {
        const SPACE: &str = "host#pid:[7]";
        let over = |entries: &[(u64, &str)]| {
            let entries = entries.iter().filter_map(|(pid, text)| Entry::read(*pid, text, SPACE, started));
            ended_of(&entries.collect::<Vec<_>>(), "0b7e")
        };
        let killed = (17, r#"{"sessionId":"0b7e","cwd":"/p","startedAt":100,"procStart":"1"}"#);
        let old = (17, r#"{"sessionId":"0b7e","cwd":"/p","startedAt":100}"#);
        assert_eq!(over(&[killed]), Some(17));
        assert_eq!(over(&[old]), Some(17), "old clients do not say when they started");
        assert_eq!(over(&[]), None);
        let rows = [
            // The number is another process's now.
            (r#"{"sessionId":"0b7e","startedAt":200,"procStart":"1"}"#, Some(4242)),
            // It was continued in another process, which may be the one that runs.
            (r#"{"sessionId":"0b7e","startedAt":200,"procStart":"322905"}"#, None),
            (r#"{"sessionId":"0b7e","startedAt":200}"#, None),
            // It was continued, and has another id since.
            (r#"{"sessionId":"1c","cwd":"/p","startedAt":200,"procStart":"322905"}"#, None),
            // A session of before, or elsewhere, is another one.
            (r#"{"sessionId":"1c","cwd":"/p","startedAt":50,"procStart":"322905"}"#, Some(17)),
            (r#"{"sessionId":"1c","cwd":"/q","startedAt":200,"procStart":"322905"}"#, Some(17)),
        ];
        for (other, expected) in rows {
            assert_eq!(over(&[killed, (4242, other)]), expected, "{other}");
        }
        // Of a process in another namespace nobody can tell from here.
        let elsewhere = r#"{"sessionId":"0b7e","procStart":"1","pidDomain":"linux:3d12:pid:[8]"}"#;
        assert_eq!(over(&[(17, elsewhere)]), None);
        assert_eq!(over(&[(17, &elsewhere.replace("[8]", "[7]"))]), Some(17));
    }

    #[test]
    fn only_entries_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        assert!(live(folder.path(), started).is_empty(), "there is no registry");
        let sessions = folder.path().join("sessions");
        fs::create_dir(&sessions).unwrap();
        let entry = r#"{"sessionId":"0b7e","procStart":"322905"}"#;
        for name in ["4242.json", "4242.json.key", "4242.0b7e.key", "x.json", "17.json"] {
            fs::write(sessions.join(name), entry).unwrap();
        }
        fs::write(sessions.join("18.json"), "").unwrap();
        fs::create_dir(sessions.join("19.json")).unwrap();
        assert_eq!(live(folder.path(), started).len(), 1);
        // A pipe of that name was waited for, for ever.
        fs::remove_file(sessions.join("17.json")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(sessions.join("17.json")).status();
        assert!(made.unwrap().success());
        fs::write(sessions.join("20.json"), format!("{}{entry}", " ".repeat(2 << 20))).unwrap();
        let any = |_| Some("322905".to_owned());
        let pids: Vec<u64> = live(folder.path(), any).iter().map(|session| session.pid).collect();
        assert_eq!(pids, [4242], "neither a pipe nor what is too long to be one");
        assert_eq!(ended(folder.path(), "0b7e", "", |_| None), Some(4242));
    }
}
