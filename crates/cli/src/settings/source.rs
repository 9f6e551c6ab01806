//! A settings file as it is found: read with care, and judged.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_clients::shell;
use atm_store::files::{SmallFile, read_small};
use atm_store::{StoreError, TrustedFolders};

use super::file::{File, parse};
use super::trouble::Trouble;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;

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
    /// Why those keys do not count.
    why: Why,
}

/// Why a project's file does not count, or not all of it.
#[derive(Debug, Clone)]
enum Why {
    NotTrusted,
    /// Another user owns it: then nothing in it counts without trust.
    Foreign,
    /// It may lead to any file of the user's: then nothing in it counts without trust.
    Link,
    /// It cannot be read, or not understood.
    Broken(String),
}

/// Where nothing of a file counts, and it is not said what is in it.
const EVERYTHING: &str = "everything";

impl SettingsFile {
    /// What does not count, in words, if it matters.
    pub(crate) fn distrust(&self, matters: impl Fn(&&str) -> bool) -> Option<String> {
        if self.ignored.is_empty() || !self.ignored.iter().any(matters) {
            return None;
        }
        let trust = format!("Look at it, then: {}", self.how_to_trust());
        let (why, advice) = match &self.why {
            Why::NotTrusted => ("you have not trusted this file", trust.as_str()),
            Why::Foreign => ("it is another user's file", trust.as_str()),
            Why::Link => ("it is a link, and you have not trusted it", trust.as_str()),
            Why::Broken(why) => (why.as_str(), "Mend it, or move it away"),
        };
        let path = self.path.display();
        let words = format!("{path}: {} ignored: {why}. {advice}", self.ignored.join(", "));
        Some(safe::line(&words).into_owned())
    }

    /// The command that trusts it, as a line for a shell.
    fn how_to_trust(&self) -> String {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        format!("atm config trust {}", shell::quote(&folder.display().to_string()))
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
            why: Why::NotTrusted,
        };
        let whole = |trouble: Trouble, _: &str| trouble.message;
        let file = file.map_or_else(|| Ok(File::default()), |file| parsed(&file.bytes, whole));
        let file = file.map_err(|why| bad_file(path, &why))?;
        Ok(Self { file, about })
    }

    /// A project's file. Whatever it is, it stops nobody who has not trusted it.
    pub(super) fn of_project(path: &Path, trusted: &TrustedFolders) -> Result<Self, Failure> {
        // The link's own owner counts, too: what it leads to may be ours.
        let link = path.symlink_metadata().ok();
        let is_link = link.as_ref().is_some_and(std::fs::Metadata::is_symlink);
        let is_placed_by_another = link.is_some_and(|found| is_foreign(found.uid()));
        let about = SettingsFile {
            path: path.to_owned(),
            found: true,
            trusted: false,
            ignored: Vec::new(),
            why: if is_placed_by_another { Why::Foreign } else { Why::NotTrusted },
        };
        let content = match read_small(path, LARGEST).map_err(reason) {
            Ok(Some(content)) => content,
            Ok(None) => {
                return Ok(Self { file: File::default(), about: SettingsFile { found: false, ..about } });
            }
            Err(why) => return Ok(Self::without(about, Why::Broken(why), vec![EVERYTHING])),
        };
        let file = parsed(&content.bytes, |trouble, text| trouble.without_source(text));
        if trusted.cover(path.parent().unwrap_or(Path::new("/")), &content.bytes) {
            let file = file.map_err(|why| bad_file(path, &why))?;
            return Ok(Self { file, about: SettingsFile { trusted: true, ..about } });
        }
        if is_link {
            // Not even its keys are said: they may be another file's.
            return Ok(Self::without(about, Why::Link, vec![EVERYTHING]));
        }
        if is_placed_by_another || is_foreign(content.owner) {
            let keys = file.map_or_else(|_| vec![EVERYTHING], |file| file.keys());
            return Ok(Self::without(about, Why::Foreign, keys));
        }
        Ok(match file {
            Ok(mut file) => {
                let ignored = file.keep_harmless();
                Self { file, about: SettingsFile { ignored, ..about } }
            }
            Err(why) => Self::without(about, Why::Broken(why), vec![EVERYTHING]),
        })
    }

    /// A file of which nothing counts.
    fn without(about: SettingsFile, why: Why, ignored: Vec<&'static str>) -> Self {
        Self { file: File::default(), about: SettingsFile { ignored, why, ..about } }
    }

    /// The settings file of a project that is to be trusted: its bytes, and which keys count only then.
    pub(crate) fn to_be_trusted(folder: &Path) -> Result<(PathBuf, Vec<u8>, Vec<&'static str>), Failure> {
        let path = folder.join(NAME);
        let Some(content) = read(&path)? else {
            let text = format!("there is no {NAME} in {}", folder.display());
            return Err(Failure::new(ExitCode::NotFound, "no_settings", text)
                .hint("`atm config` shows which settings files count here"));
        };
        let file = parsed(&content.bytes, |trouble, text| trouble.without_source(text));
        let mut file = file.map_err(|why| bad_file(&path, &why))?;
        let link = path.symlink_metadata();
        let needs_all = link.is_ok_and(|link| link.is_symlink() || is_foreign(link.uid()));
        let keys = if needs_all || is_foreign(content.owner) { file.keys() } else { file.keep_harmless() };
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

/// Why a file cannot be read, without its path.
fn reason(error: StoreError) -> String {
    match error {
        StoreError::BadContent { why, .. } => why,
        StoreError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// The text of a settings file, or why it cannot be had.
pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    let file = read_small(path, LARGEST).map_err(reason)?;
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

/// What the bytes of a file say, or what is wrong with them in the words that `tell` makes of it.
fn parsed(bytes: &[u8], tell: impl Fn(Trouble, &str) -> String) -> Result<File, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    parse(text).map_err(|trouble| tell(trouble, text))
}

pub(super) fn bad_file(path: &Path, why: &str) -> Failure {
    Failure::new(ExitCode::BadData, "bad_settings", format!("{}: {why}", path.display())).hint(
        "known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake], [pending], [context], [daemon], [notify], [web], [claude], [bridge]",
    )
}
