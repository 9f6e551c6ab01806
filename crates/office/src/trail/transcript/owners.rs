//! Whose a conversation is, remembered by path, inode and size.
//!
//! The answer is in the conversation's first entries, or in a note beside it, and does not change. What was found out is
//! kept in a file of our own that may be deleted: then it is found out again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use atm_wire::json::Object;
use serde::{Deserialize, Serialize};

use super::Transcript;

/// So many entries of user or model without a member's name, and it is no member's.
const ENOUGH: usize = 5;
/// How much is read to find that many.
const WITHIN: u64 = 64 << 20;

/// Whose a conversation is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// The team that it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) team: Option<String>,
    /// The member; a lead's conversation names only the team, and not in all versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) member: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    inode: u64,
    length: u64,
    /// Nothing that comes later changes the answer.
    decided: bool,
    #[serde(flatten)]
    owner: Owner,
}

/// The owners of all conversations that anybody asked for, by their paths below the folder of projects.
#[derive(Debug, Default)]
pub(super) struct Owners {
    known: BTreeMap<String, Known>,
    /// Those that were asked for: the others are gone.
    used: BTreeMap<String, Known>,
    is_changed: bool,
}

impl Owners {
    /// What was found out before; nothing if the file is missing or damaged.
    pub(super) fn parse(bytes: Option<&[u8]>) -> Self {
        let known = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
        Self { known, ..Self::default() }
    }

    /// What is to be kept, if it is not what was found. What nobody asked for is gone.
    pub(super) fn render(self) -> Option<Vec<u8>> {
        let is_changed = self.is_changed || self.used.len() != self.known.len();
        is_changed.then(|| serde_json::to_vec(&self.used).ok()).flatten()
    }

    /// Whose a session's own conversation is: its first entries say so.
    pub(super) fn of_session(&mut self, projects: &Path, transcript: &Transcript) -> Owner {
        self.ask(projects, transcript, |transcript| read_entries(&transcript.path).unwrap_or_default())
    }

    /// Whose the conversation of somebody is that runs inside a lead: a note beside it says so.
    pub(super) fn of_subagent(&mut self, projects: &Path, transcript: &Transcript) -> Owner {
        self.ask(projects, transcript, |transcript| {
            let note = read_note(&transcript.path.with_extension("meta.json"));
            (note.is_some(), note.unwrap_or_default())
        })
    }

    fn ask(
        &mut self,
        projects: &Path,
        transcript: &Transcript,
        find_out: impl FnOnce(&Transcript) -> (bool, Owner),
    ) -> Owner {
        let key = transcript.path.strip_prefix(projects).unwrap_or(&transcript.path).display().to_string();
        let Transcript { inode, length, .. } = *transcript;
        let fits = |known: &&Known| {
            known.inode == inode && (known.length == length || (known.decided && known.length <= length))
        };
        let known = self.known.get(&key).filter(fits).cloned().unwrap_or_else(|| {
            self.is_changed = true;
            let (decided, owner) = find_out(transcript);
            Known { inode, length, decided, owner }
        });
        let owner = known.owner.clone();
        self.used.insert(key, known);
        owner
    }
}

/// Reads entries until they say whose they are; tells whether that is decided.
pub(super) fn read_entries(path: &Path) -> std::io::Result<(bool, Owner)> {
    let mut reader = BufReader::with_capacity(1 << 14, File::open(path)?.take(WITHIN));
    let (mut line, mut owner, mut passed) = (Vec::new(), Owner::default(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 && line.last() == Some(&b'\n') {
        if let Ok(text) = std::str::from_utf8(&line)
            && let Ok(entry) = Object::parse(text)
            && matches!(entry.string("type").as_deref(), Some("user" | "assistant"))
        {
            let said = |key: &str| entry.string(key).map(std::borrow::Cow::into_owned);
            owner.team = owner.team.or_else(|| said("teamName"));
            owner.member = said("agentName");
            passed += 1;
            if owner.member.is_some() || passed == ENOUGH {
                return Ok((true, owner));
            }
        }
        line.clear();
    }
    Ok((false, owner))
}

/// The name in a note, or, in older ones, the type that it was started as.
fn read_note(path: &Path) -> Option<Owner> {
    let note = fs::read_to_string(path).ok()?;
    let note = Object::parse(&note).ok()?;
    let said = |key: &str| note.string(key).map(std::borrow::Cow::into_owned);
    Some(match note.get("name") {
        Some(_) => Owner { team: said("teamName"), member: said("name") },
        None => Owner { team: None, member: said("agentType") },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(more: &str) -> String {
        format!("{{\"type\":\"user\"{more},\"message\":{{}}}}\n")
    }

    #[test]
    fn the_first_entries_say_whose_it_is_however_long_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let member = r#","teamName":"demo","agentName":"bob""#;
        let long = format!(",\"x\":\"{}\"", "y".repeat(200_000));
        let owner = |team: Option<&str>, member: Option<&str>| Owner {
            team: team.map(ToOwned::to_owned),
            member: member.map(ToOwned::to_owned),
        };
        let rows = [
            (entry(member), (true, owner(Some("demo"), Some("bob")))),
            // A first entry of 200 KB, and one of another kind before it.
            (
                format!("{{\"type\":\"summary\"}}\n{}", entry(&format!("{long}{member}"))),
                (true, owner(Some("demo"), Some("bob"))),
            ),
            (format!("{}{}", entry(&long), entry(member)), (true, owner(Some("demo"), Some("bob")))),
            // A lead of older versions, and a session without a team.
            (entry(r#","teamName":"demo""#).repeat(5), (true, owner(Some("demo"), None))),
            (entry("").repeat(6), (true, owner(None, None))),
            (entry(""), (false, owner(None, None))),
            // Words in a text are no keys of the entry.
            (entry(r#","note":{"teamName":"demo","agentName":"bob"}"#), (false, owner(None, None))),
        ];
        for (text, expected) in rows {
            let path = folder.path().join("s.jsonl");
            fs::write(&path, &text).unwrap();
            assert_eq!(read_entries(&path).unwrap(), expected, "{}", &text[..text.len().min(200)]);
        }
    }

    #[test]
    fn an_owner_is_found_out_once_and_again_for_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, entry(r#","teamName":"demo","agentName":"bob""#)).unwrap();
        let ask = |bytes: Option<&[u8]>| {
            let mut owners = Owners::parse(bytes);
            let owner = owners.of_session(folder.path(), &Transcript::at(&path).unwrap());
            (owner.member, owners.render())
        };
        let (member, kept) = ask(None);
        assert_eq!(member.as_deref(), Some("bob"));
        let kept = kept.unwrap();
        // It grows, and is not read again, nor is anything written.
        let grown = fs::read_to_string(&path).unwrap() + &entry(r#","teamName":"demo","agentName":"eve""#);
        fs::write(&path, grown).unwrap();
        assert_eq!(ask(Some(&kept)), (Some("bob".to_owned()), None));
        // Another file in its place.
        fs::write(folder.path().join("t"), entry(r#","agentName":"eve""#)).unwrap();
        fs::rename(folder.path().join("t"), &path).unwrap();
        assert_eq!(ask(Some(&kept)).0.as_deref(), Some("eve"));
        assert_eq!(ask(Some(b"{ damaged")).0.as_deref(), Some("eve"));
    }
}
