//! A settings file as it is found: read with care, and judged.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_office::ExitCode;
use atm_store::files::{SmallFile, read_small};
use atm_store::{StoreError, TrustedFolders};

use super::file::{File, parse};
use crate::failure::Failure;

/// The largest settings file that is read.
const LARGEST: u64 = 1 << 20;
/// What a project's settings file is called.
const NAME: &str = ".atm.toml";

/// A settings file, and what is to be known of it.
#[derive(Debug, Clone)]
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) found: bool,
    /// Whether all of it counts.
    pub(crate) trusted: bool,
    /// The keys that do not count, because nobody trusted them.
    pub(crate) ignored: Vec<&'static str>,
    /// Whether another user owns it: then nothing in it counts without trust.
    is_foreign: bool,
}

impl SettingsFile {
    /// What does not count, in words, if it matters.
    pub(crate) fn distrust(&self, matters: impl Fn(&&str) -> bool) -> Option<String> {
        if self.ignored.is_empty() || !self.ignored.iter().any(matters) {
            return None;
        }
        let folder = self.path.parent().unwrap_or(Path::new("/")).display();
        let why =
            if self.is_foreign { "it is another user's file" } else { "you have not trusted this file" };
        Some(format!(
            "{}: {} ignored: {why}. Look at it, then: atm config trust {folder}",
            self.path.display(),
            self.ignored.join(", "),
        ))
    }
}

/// What a settings file says, as far as it counts.
#[derive(Debug)]
pub(crate) struct Source {
    pub(super) file: File,
    pub(crate) about: SettingsFile,
}

impl Source {
    /// The user's own file.
    pub(super) fn of_user(path: &Path) -> Result<Self, Failure> {
        let file = read(path)?;
        let about = SettingsFile {
            path: path.to_owned(),
            found: file.is_some(),
            trusted: true,
            ignored: Vec::new(),
            is_foreign: false,
        };
        let file = file.map_or_else(|| Ok(File::default()), |file| parsed(path, &file.bytes))?;
        Ok(Self { file, about })
    }

    /// A project's file.
    pub(super) fn of_project(path: &Path, trusted: &TrustedFolders) -> Result<Self, Failure> {
        let about = SettingsFile {
            path: path.to_owned(),
            found: true,
            trusted: false,
            ignored: Vec::new(),
            is_foreign: path.metadata().is_ok_and(|found| is_foreign(found.uid())),
        };
        let content = match read(path) {
            // Another user must not be able to stop us by a file in a folder that we share.
            Err(_) if about.is_foreign => return Ok(Self::of_stranger(about, None)),
            read => match read? {
                Some(content) => content,
                None => {
                    return Ok(Self { file: File::default(), about: SettingsFile { found: false, ..about } });
                }
            },
        };
        let about = SettingsFile {
            trusted: trusted.cover(path.parent().unwrap_or(Path::new("/")), &content.bytes),
            is_foreign: is_foreign(content.owner),
            ..about
        };
        if about.is_foreign && !about.trusted {
            return Ok(Self::of_stranger(about, Some(&content)));
        }
        let mut file = parsed(path, &content.bytes)?;
        let ignored = if about.trusted { Vec::new() } else { file.keep_harmless() };
        Ok(Self { file, about: SettingsFile { ignored, ..about } })
    }

    /// Another user's file, of which nothing counts.
    fn of_stranger(about: SettingsFile, content: Option<&SmallFile>) -> Self {
        let file = content.and_then(|content| parsed(&about.path, &content.bytes).ok());
        let ignored = file.map_or_else(|| vec!["everything"], |file| file.keys());
        Self { file: File::default(), about: SettingsFile { ignored, ..about } }
    }

    /// The settings file of a project that is to be trusted: its bytes, and which keys count only then.
    pub(crate) fn to_be_trusted(folder: &Path) -> Result<(PathBuf, Vec<u8>, Vec<&'static str>), Failure> {
        let path = folder.join(NAME);
        let Some(content) = read(&path)? else {
            let text = format!("there is no {NAME} in {}", folder.display());
            return Err(Failure::new(ExitCode::NotFound, "no_settings", text)
                .hint("`atm config` shows which settings files count here"));
        };
        let mut file = parsed(&path, &content.bytes)?;
        let keys = if is_foreign(content.owner) { file.keys() } else { file.keep_harmless() };
        Ok((path, content.bytes, keys))
    }

    /// What the settings file of a trusted folder holds now, if it can be read.
    pub(crate) fn content(folder: &Path) -> Option<Vec<u8>> {
        read(&folder.join(NAME)).ok()?.map(|file| file.bytes)
    }
}

/// The nearest project file, from here upwards; the one that would be here if there is none.
pub(super) fn project_file(cwd: &Path) -> PathBuf {
    let candidates = cwd.ancestors().map(|folder| folder.join(NAME));
    candidates.into_iter().find(|path| path.exists()).unwrap_or_else(|| cwd.join(NAME))
}

/// Whether a file is somebody's who is neither this user nor root.
fn is_foreign(owner: u32) -> bool {
    owner != 0 && owner != rustix::process::geteuid().as_raw()
}

/// The text of a settings file, or why it cannot be had.
pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    let file = read_small(path, LARGEST).map_err(|error| match error {
        StoreError::BadContent { why, .. } => why,
        StoreError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    })?;
    let bytes = file.ok_or_else(|| "it is not there".to_owned())?.bytes;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

fn read(path: &Path) -> Result<Option<SmallFile>, Failure> {
    read_small(path, LARGEST).map_err(|error| match error {
        StoreError::BadContent { why, .. } => {
            bad_file(path, &why).hint("move it away: settings are in a regular file of at most 1 MiB")
        }
        StoreError::Io { source, .. } => bad_file(path, &source.to_string()),
        other => bad_file(path, &other.to_string()),
    })
}

fn parsed(path: &Path, bytes: &[u8]) -> Result<File, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| bad_file(path, "is not UTF-8"))?;
    parse(text).map_err(|trouble| bad_file(path, &trouble.message))
}

pub(super) fn bad_file(path: &Path, why: &str) -> Failure {
    Failure::new(ExitCode::BadData, "bad_settings", format!("{}: {why}", path.display()))
        .hint("known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake]")
}
