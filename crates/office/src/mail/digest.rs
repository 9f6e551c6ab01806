//! What answers need to know of the mail in an inbox: counted once for each state of its files, and remembered.
//!
//! What is remembered of a team stands in a scratch file, and counts as long as an inbox looks as it did when it was read. An
//! inbox that was written just now is not remembered, nor one whose mail is in both layouts: a change might not show.

use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

use atm_store::{Mailbox, Scratch, Signature, StoreError};
use atm_wire::{Message, Stamp};
use serde::{Deserialize, Serialize};

use crate::people::presence::{detail, is_chore};

/// What is said every minute by each member that works: read with the rest, and nobody waits for that.
pub(crate) const ROUTINE: &str = "heartbeat";

/// So many ids are remembered.
const MOST_IDS: usize = 16;
/// More unread messages that say nothing of their delivery are not remembered.
const MOST_UNMARKED: usize = 1_000;

/// What was remembered by another version counts for nothing: it may have counted otherwise.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/1");

/// What is in an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Digest {
    /// Messages that its owner has not read.
    #[serde(rename = "u")]
    pub(crate) unread: usize,
    /// Of these, what was written while it was off.
    #[serde(rename = "p", skip_serializing_if = "is_zero")]
    pub(crate) pending: usize,
    /// When the oldest of those was sent, in milliseconds since the epoch.
    #[serde(rename = "op", skip_serializing_if = "Option::is_none")]
    pub(crate) oldest_pending: Option<i64>,
    /// When the oldest was sent that is unread and no routine.
    #[serde(rename = "ou", skip_serializing_if = "Option::is_none")]
    pub(crate) oldest_unread: Option<i64>,
    /// How many are unread and no routine.
    #[serde(rename = "n", skip_serializing_if = "is_zero")]
    pub(crate) waiting: usize,
    /// The ids of the first of those.
    #[serde(rename = "i", skip_serializing_if = "Vec::is_empty")]
    ids: Vec<String>,
    /// When each unread message was sent that says nothing of its delivery.
    #[serde(rename = "m", skip_serializing_if = "Vec::is_empty")]
    pub(crate) unmarked: Vec<Option<i64>>,
    /// The last word of each sender.
    #[serde(rename = "w", skip_serializing_if = "Vec::is_empty")]
    pub(crate) words: Vec<LastWord>,
    /// What was passed over. Nothing is remembered of such an inbox.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

/// The last that somebody said in an inbox: from whom, when in milliseconds since the epoch, of which kind, and more about it.
pub(crate) type LastWord = (String, i64, String, Option<String>);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Digest {
    /// What is in this mailbox now.
    pub(crate) fn of(mailbox: &Mailbox) -> Result<Self, StoreError> {
        type Newest = HashMap<String, (Stamp, Message)>;
        let add = |(digest, newest): &mut (Self, Newest), message: Message| {
            digest.count(&message);
            let Some(at) = message.sent_at.filter(|_| !is_chore(&message)) else { return };
            match newest.get_mut(&message.from) {
                Some(last) if at < last.0 => {}
                Some(last) => *last = (at, message),
                None => _ = newest.insert(message.from.clone(), (at, message)),
            }
        };
        let ((mut digest, newest), warnings) = mailbox.fold(<(Self, Newest)>::default, add)?;
        digest.words = newest
            .into_iter()
            .map(|(from, (at, message))| {
                let kind = message.kind();
                let detail = detail(&message.text, &kind);
                (from, at.as_millis(), kind, detail)
            })
            .collect();
        digest.warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(digest)
    }

    fn count(&mut self, message: &Message) {
        let sent_at = message.sent_at.map(Stamp::as_millis);
        let older = |oldest: Option<i64>| sent_at.filter(|at| oldest.is_none_or(|oldest| *at < oldest));
        if message.is_pending() {
            self.pending += 1;
            self.oldest_pending = older(self.oldest_pending).or(self.oldest_pending);
        }
        if !message.read {
            self.unread += 1;
            if message.delivery_status.is_none() {
                self.unmarked.push(sent_at);
            }
            if message.kind() != ROUTINE {
                self.waiting += 1;
                self.oldest_unread = older(self.oldest_unread).or(self.oldest_unread);
                if self.ids.len() < MOST_IDS {
                    self.ids.push(message.id.clone());
                }
            }
        }
    }

    /// The ids of what is unread and no routine, if they are few.
    pub(crate) fn waiting_ids(&self) -> Option<&[String]> {
        (self.ids.len() == self.waiting).then_some(&self.ids)
    }

    /// Whether it is worth to be remembered: not where it is no shorter than the inbox.
    fn is_short(&self) -> bool {
        self.unmarked.len() <= MOST_UNMARKED
    }
}

/// What is remembered of the inboxes of a team.
#[derive(Debug)]
pub(crate) struct Digests {
    scratch: Scratch,
    known: BTreeMap<String, Known>,
    is_changed: bool,
}

/// What an inbox looked like from outside, and what was in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    #[serde(rename = "s")]
    signature: String,
    #[serde(rename = "d")]
    digest: Digest,
}

#[derive(Deserialize)]
struct Kept {
    version: String,
    inboxes: BTreeMap<String, Known>,
}

#[derive(Serialize)]
struct ToKeep<'a> {
    version: &'a str,
    inboxes: &'a BTreeMap<String, Known>,
}

impl Digests {
    /// What was remembered; nothing if the file is missing, damaged or of another version.
    pub(crate) fn read(scratch: Scratch) -> Self {
        let kept = scratch.read().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        let known = kept.filter(|kept| kept.version == VERSION).map(|kept| kept.inboxes).unwrap_or_default();
        Self { scratch, known, is_changed: false }
    }

    /// What is in the mailbox of a name, which looks so from outside: read only if it looked otherwise when it was read
    /// last.
    pub(crate) fn of(
        &mut self,
        name: &str,
        mailbox: &Mailbox,
        looks_like: &Signature,
    ) -> Result<Digest, StoreError> {
        let signature = looks_like.to_string();
        if let Some(known) = self.known.get(name).filter(|known| known.signature == signature) {
            return Ok(known.digest.clone());
        }
        let is_settled = looks_like.is_of_one_layout() && looks_like.is_settled(SystemTime::now());
        let digest = Digest::of(mailbox)?;
        if is_settled && digest.is_short() && digest.warnings.is_empty() && mailbox.signature() == *looks_like
        {
            self.known.insert(name.to_owned(), Known { signature, digest: digest.clone() });
            self.is_changed = true;
        }
        Ok(digest)
    }

    /// Remembers what was found out, for these names alone. If it cannot be kept, it is found out again.
    pub(crate) fn keep(mut self, is_there: impl Fn(&str) -> bool) {
        let before = self.known.len();
        self.known.retain(|name, _| is_there(name));
        if self.is_changed || self.known.len() < before {
            let kept = ToKeep { version: VERSION, inboxes: &self.known };
            let _ = serde_json::to_vec(&kept).map(|bytes| self.scratch.replace(&bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;
    use std::time::Duration;

    use atm_store::{LockTimes, Root, State};

    use super::*;

    struct Scene {
        _folder: tempfile::TempDir,
        root: Root,
        state: State,
        mailbox: Mailbox,
        file: PathBuf,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let (root, state) =
                (Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
            let team = root.teams().join("demo");
            let mailbox = Mailbox::open(&team, &"bob".parse().unwrap(), &state, LockTimes::default());
            let file = team.join("inboxes/bob.json");
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            Self { _folder: folder, root, state, mailbox, file }
        }

        /// Writes the inbox in place, as it was so long ago.
        fn write(&self, text: &str, age: Duration) {
            fs::write(&self.file, text).unwrap();
            let file = File::options().write(true).open(&self.file).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }

        fn ask(&self) -> Digest {
            let mut digests =
                Digests::read(Scratch::of_mail(&self.root, &"demo".parse().unwrap(), &self.state));
            let digest = digests.of("bob", &self.mailbox, &self.mailbox.signature()).unwrap();
            digests.keep(|_| true);
            digest
        }
    }

    fn entry(from: &str, text: &str, sent: &str, read: bool) -> String {
        format!(
            r#"{{"from":"{from}","text":"{text}","timestamp":"2026-11-15T{sent}:00.000Z","read":{read}}}"#
        )
    }

    fn inbox(entries: &[String]) -> String {
        format!("[{}]", entries.join(","))
    }

    const LONG_AGO: Duration = Duration::from_secs(3600);

    #[test]
    fn it_counts_what_answers_show() {
        let scene = Scene::new();
        let beat = r#"{\"type\":\"heartbeat\",\"task_id\":\"7\"}"#;
        let queued = entry("eve", "queued", "10:02", false)
            .replace("{\"from\"", "{\"delivery_status\":\"queued\",\"from\"");
        scene.write(
            &inbox(&[
                entry("eve", "old", "09:00", true),
                entry("ann", beat, "09:30", false),
                entry("ann", "later", "10:01", false),
                queued,
            ]),
            LONG_AGO,
        );
        let digest = scene.ask();
        let millis = |text: &str| Some(Stamp::parse(text).unwrap().as_millis());
        assert_eq!((digest.unread, digest.oldest_unread), (3, millis("2026-11-15T10:01:00Z")), "{digest:?}");
        assert_eq!(
            (digest.pending, digest.oldest_pending),
            (1, millis("2026-11-15T10:02:00Z")),
            "{digest:?}"
        );
        let mut words: Vec<_> =
            digest.words.iter().map(|(from, at, ..)| (from.as_str(), Some(*at))).collect();
        words.sort_unstable();
        assert_eq!(words, [("ann", millis("2026-11-15T10:01:00Z")), ("eve", millis("2026-11-15T10:02:00Z"))]);
        assert_eq!(scene.ask().unread, 3, "from memory");
    }

    #[test]
    fn an_inbox_that_looks_the_same_is_not_read_and_one_that_does_not_is() {
        let scene = Scene::new();
        scene.write(&inbox(&[entry("eve", "one", "09:00", true)]), LONG_AGO);
        let looked = fs::metadata(&scene.file).unwrap().modified().unwrap();
        assert_eq!(scene.ask().unread, 0);
        // Nobody can tell this change from outside; so what is answered was not read.
        scene.write(&inbox(&[entry("eve", "1", "09:00", false)]).replace("}]", "} ]"), LONG_AGO);
        File::options().write(true).open(&scene.file).unwrap().set_modified(looked).unwrap();
        assert_eq!(scene.ask().unread, 0);
        scene.write(&inbox(&[entry("eve", "another", "09:00", false)]), LONG_AGO);
        assert_eq!(scene.ask().unread, 1);
        fs::remove_file(&scene.file).unwrap();
        assert_eq!(scene.ask(), Digest::default());
    }

    #[test]
    fn what_was_written_just_now_or_is_broken_is_read_every_time() {
        let scene = Scene::new();
        for (text, age) in [("[]", Duration::ZERO), ("[{}]", LONG_AGO), ("[", LONG_AGO)] {
            scene.write(text, age);
            scene.ask();
            let known =
                Digests::read(Scratch::of_mail(&scene.root, &"demo".parse().unwrap(), &scene.state)).known;
            assert!(known.is_empty(), "{text}: {known:?}");
        }
    }
}
