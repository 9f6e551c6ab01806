//! What a backup says of itself: its manifest, the first file in it.
//!
//! A backup holds up to three folders: `team`, `tasks` and `archive`. The manifest names every file in them with its
//! size, mode and hash, and nothing else may be there. Files are listed in the order of their last change, and are put
//! back in that order: a log's cursor counts lines in the file that was the newest when the cursor was written.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::TeamName;
use crate::stamp::Stamp;

/// The manifest's own name in the backup.
pub const MANIFEST: &str = "manifest.json";
/// What kind of file this is.
pub const FORMAT: &str = "atm-backup";
/// The version that we write, and the newest that we read.
pub const VERSION: u32 = 1;

/// The folders of a backup.
const TOPS: [&[u8]; 3] = [b"team", b"tasks", b"archive"];
/// The longest name of a file that file systems know, in bytes.
const LONGEST_NAME: usize = 255;
/// The longest path.
const LONGEST_PATH: usize = 4096;

/// The first file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// The team: its folder's name.
    pub team: String,
    /// The shared tree that it was in.
    pub root: String,
    /// When the backup was made.
    pub created_at: Stamp,
    /// The version of the program that made it.
    pub atm: String,
    /// Only the team's configuration is in it.
    #[serde(default)]
    pub config_only: bool,
    /// The group that could read the team, if it was for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The folders.
    pub folders: Vec<FolderEntry>,
    /// The files, in the order of their last change.
    pub files: Vec<FileEntry>,
}

/// A folder of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderEntry {
    /// Where.
    pub path: Place,
    /// Its mode, spelled in octal.
    pub mode: Mode,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Where.
    pub path: Place,
    /// How many bytes.
    pub size: u64,
    /// Its mode, spelled in octal.
    pub mode: Mode,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// The rights of a file or a folder. A folder may hand its group on to what is made in it; no file may say as whom it
/// is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode(u32);

impl Mode {
    /// The rights of a file that has `mode`.
    pub fn of_file(mode: u32) -> Self {
        Self(mode & 0o777)
    }

    /// The rights of a folder that has `mode`.
    pub fn of_folder(mode: u32) -> Self {
        Self(mode & 0o2777)
    }

    /// The bits.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:04o}", self.0))
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| mode & !0o2777 == 0);
        mode.map(Self).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no mode")))
    }
}

/// A path inside a backup: below `team`, `tasks` or `archive`, without a way out of there. File names are bytes; one that
/// is not UTF-8 is spelled `{"hex": "…"}` in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(Vec<u8>);

impl Place {
    /// The path, if it is fit for a backup; else why not.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let shown = String::from_utf8_lossy(bytes);
        let refuse = |why: &str| Err(format!("{shown:?} {why}"));
        if bytes.starts_with(b"/") {
            return refuse("is an absolute path");
        }
        if bytes.len() > LONGEST_PATH {
            return refuse("is too long for a path");
        }
        let mut parts = bytes.split(|byte| *byte == b'/');
        if parts.clone().any(|part| part == b"..") {
            return refuse("leads out of the backup");
        }
        let is_name = |part: &[u8]| {
            !part.is_empty() && part != b"." && part.len() <= LONGEST_NAME && !part.contains(&0)
        };
        if !parts.clone().all(is_name) {
            return refuse("is no path of a file");
        }
        match parts.next() {
            Some(top) if TOPS.contains(&top) => Ok(Self(bytes.to_vec())),
            _ => refuse("is not below `team`, `tasks` or `archive`"),
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `team`, `tasks` or `archive`, and the rest of the path, which is empty for the folder itself.
    pub fn split(&self) -> (&[u8], &[u8]) {
        let end = self.0.iter().position(|byte| *byte == b'/').unwrap_or(self.0.len());
        (&self.0[..end], self.0.get(end + 1..).unwrap_or_default())
    }

    /// The folder that it is in.
    fn parent(&self) -> Option<Self> {
        let end = self.0.iter().rposition(|byte| *byte == b'/')?;
        Some(Self(self.0[..end].to_vec()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(&self.0))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelling {
    Text(String),
    Bytes { hex: String },
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spelling = match std::str::from_utf8(&self.0) {
            Ok(text) => Spelling::Text(text.to_owned()),
            Err(_) => Spelling::Bytes { hex: hex(&self.0) },
        };
        spelling.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match Spelling::deserialize(deserializer)? {
            Spelling::Text(text) => text.into_bytes(),
            Spelling::Bytes { hex } => {
                unhex(&hex).ok_or_else(|| serde::de::Error::custom(format!("{hex:?} is not hexadecimal")))?
            }
        };
        Self::parse(&bytes).map_err(serde::de::Error::custom)
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

impl Manifest {
    /// Reads a manifest and checks that all that it says can be; else why not.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| format!("its manifest: {error}"))?;
        if head.format != FORMAT {
            return Err(format!("its manifest is one of {:?}, not of {FORMAT:?}", head.format));
        }
        if head.version > VERSION {
            return Err(format!(
                "it is of version {}, and this atm knows {VERSION}: use a newer one",
                head.version
            ));
        }
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("its manifest: {error}"))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// How many bytes all files have together.
    pub fn total(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size))
    }

    fn check(&self) -> Result<(), String> {
        TeamName::parse(&self.team).map_err(|error| error.to_string())?;
        let mut folders = HashSet::new();
        let mut places = HashSet::new();
        for folder in &self.folders {
            if !places.insert(&folder.path) {
                return Err(format!("{} is in its manifest twice", folder.path));
            }
            folders.insert(folder.path.clone());
        }
        for file in &self.files {
            if !places.insert(&file.path) {
                return Err(format!("{} is in its manifest twice", file.path));
            }
            if file.mode != Mode::of_file(file.mode.bits()) {
                return Err(format!("{} has no mode of a file in its manifest", file.path));
            }
            if file.sha256.len() != 64 || unhex(&file.sha256).is_none() {
                return Err(format!("{} has no SHA-256 in its manifest", file.path));
            }
        }
        let parents = places.iter().map(|place| (place, place.parent()));
        for (place, parent) in parents {
            let is_top = TOPS.contains(&place.as_bytes());
            if is_top && !folders.contains(*place) {
                return Err(format!("{place} is a file where a folder belongs"));
            }
            if parent.is_some_and(|parent| !folders.contains(&parent)) {
                return Err(format!("{place} is in no folder of its manifest"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn manifest() -> Value {
        json!({
            "format": "atm-backup", "version": 1, "team": "dev", "root": "/r",
            "createdAt": "2026-11-15T18:42:20.463Z", "atm": "0.1.0", "configOnly": false,
            "folders": [{ "path": "team", "mode": "0700" }],
            "files": [{ "path": "team/config.json", "size": 2, "mode": "0644", "sha256": "0".repeat(64) }],
        })
    }

    fn parse(value: &Value) -> Result<Manifest, String> {
        Manifest::parse(value.to_string().as_bytes())
    }

    #[test]
    fn a_manifest_reads_back_as_it_was_written() {
        let mut read = parse(&manifest()).unwrap();
        read.files[0].path = Place::parse(b"team/\xff\n").unwrap();
        assert_eq!(parse(&serde_json::to_value(&read).unwrap()).unwrap(), read);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        let refused = |pointer: &str, value: Value| {
            let mut changed = manifest();
            *changed.pointer_mut(pointer).unwrap() = value;
            parse(&changed).unwrap_err()
        };
        for (pointer, value, reason) in [
            ("/format", json!("zip"), "one of \"zip\""),
            ("/version", json!(2), "use a newer one"),
            ("/team", json!("../x"), "x"),
            ("/files/0/path", json!("/etc/passwd"), "absolute"),
            ("/files/0/path", json!("team/../../x"), "leads out"),
            ("/files/0/path", json!("other/x"), "is not below"),
            ("/files/0/path", json!("team//x"), "is no path"),
            ("/files/0/path", json!("team/./x"), "is no path"),
            ("/files/0/path", json!("team/\0"), "is no path"),
            ("/files/0/path", json!({ "hex": "7" }), "hexadecimal"),
            ("/files/0/path", json!({ "hex": "2f78" }), "absolute"),
            ("/files/0/path", json!("team/a/b"), "in no folder"),
            ("/files/0/path", json!("team"), "twice"),
            ("/files/0/path", json!("tasks"), "where a folder belongs"),
            ("/files/0/mode", json!("7777"), "no mode"),
            ("/files/0/mode", json!("2644"), "no mode of a file"),
            ("/files/0/sha256", json!("abc"), "no SHA-256"),
            ("/files/0/size", json!(-1), "manifest"),
        ] {
            let why = refused(pointer, value);
            assert!(why.contains(reason), "{pointer}: {why}");
        }
        let mut twice = manifest();
        twice["files"] = json!([manifest()["files"][0], manifest()["files"][0]]);
        assert!(parse(&twice).unwrap_err().contains("twice"));
    }

    proptest! {
        #[test]
        fn no_place_leads_out(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let tail = [b"team/", bytes.as_slice()].concat();
            for bytes in [bytes, tail] {
                if let Ok(place) = Place::parse(&bytes) {
                    prop_assert!(!place.as_bytes().starts_with(b"/"));
                    prop_assert!(place.as_bytes().split(|byte| *byte == b'/').all(|part| !part.is_empty() && part != b".."));
                }
            }
        }

        #[test]
        fn no_manifest_panics(text in ".{0,60}") {
            let _ = Manifest::parse(text.as_bytes());
        }
    }
}
