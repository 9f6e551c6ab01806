//! Paths that messages name as files. They are the sender's word: a path counts as a file only where the team works, and
//! everything else is shown as text.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use atm_wire::message::NamedPath;
use atm_wire::{MemberName, Message, TeamName};
use serde::Serialize;

use super::MessageView;
use crate::office::Office;
use crate::trail::history::Remembered;

/// So many paths of one message are looked at.
const MOST: usize = 64;

/// Why a path is no more than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unchecked {
    /// It does not begin at the top, or it has `..` in it.
    NotAbsolute,
    /// It is not in the shared tree, nor where a member of the team works; or a link leads out of there.
    Outside,
    /// There is no such file, or it is none.
    NoFile,
    /// The message names too many.
    TooMany,
}

impl Unchecked {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotAbsolute => "no absolute path",
            Self::Outside => "outside of the team's folders",
            Self::NoFile => "no such file",
            Self::TooMany => "one of too many",
        }
    }
}

/// A path that a message names as a file's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedFile {
    /// The key that it stands under.
    pub key: String,
    /// The path as it is spelled.
    pub path: String,
    /// Why it is shown as text, and not as a file; nothing if it is a file where the team works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<Unchecked>,
}

impl NamedFile {
    /// For people: the path; with the reason if it is no more than the sender's word.
    pub fn words(&self) -> String {
        let Self { key, path, unchecked } = self;
        match unchecked {
            None => format!("{key}: {path}"),
            Some(why) => format!("{key}: {path} (unchecked path: {})", why.words()),
        }
    }
}

/// The folders in which files count as a team's.
#[derive(Debug)]
struct Roots(Vec<PathBuf>);

impl Roots {
    /// The shared tree, and where the members work.
    fn of(office: &Office, team: &TeamName) -> Self {
        let config = office.folder(team).and_then(|folder| Ok(folder.load()?)).ok();
        let members = config.iter().flat_map(|config| &config.members);
        let works = members.filter_map(|member| member.cwd.as_deref().map(PathBuf::from));
        // Who works at the top of everything does not make everything the team's.
        let fits = |folder: &PathBuf| is_plain(folder) && folder.parent().is_some();
        let mut all: Vec<PathBuf> = works.chain([office.root().path().to_owned()]).filter(fits).collect();
        all.sort();
        all.dedup();
        Self(all)
    }

    /// Each path with what is known of it.
    fn check_all(&self, paths: Vec<NamedPath>) -> Vec<NamedFile> {
        let all = paths.into_iter().enumerate().map(|(at, NamedPath { key, path })| {
            let unchecked = if at < MOST { self.check(Path::new(&path)) } else { Some(Unchecked::TooMany) };
            NamedFile { key, path, unchecked }
        });
        all.collect()
    }

    fn check(&self, path: &Path) -> Option<Unchecked> {
        if !is_plain(path) {
            return Some(Unchecked::NotAbsolute);
        }
        let real = |root: &PathBuf| root.canonicalize().ok().filter(|root| root.parent().is_some());
        // By its words first: what is elsewhere is not even looked at.
        let is_below =
            |root: &PathBuf| path.starts_with(root) || real(root).is_some_and(|root| path.starts_with(root));
        if !self.0.iter().any(is_below) {
            return Some(Unchecked::Outside);
        }
        let Ok(file) = path.canonicalize() else { return Some(Unchecked::NoFile) };
        if !self.0.iter().filter_map(real).any(|root| file.starts_with(root)) {
            return Some(Unchecked::Outside);
        }
        let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
        (!is_file).then_some(Unchecked::NoFile)
    }
}

/// Absolute, and without `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

/// Makes views of the mail of one inbox, which know of the files that it names whether they are the team's.
#[derive(Debug)]
pub struct Viewer<'a> {
    office: &'a Office,
    who: &'a MemberName,
    team: &'a TeamName,
    roots: OnceCell<Roots>,
}

impl<'a> Viewer<'a> {
    /// For the mail of `who`.
    pub fn new(office: &'a Office, who: &'a MemberName, team: &'a TeamName) -> Self {
        Self { office, who, team, roots: OnceCell::new() }
    }

    /// One message.
    pub fn view(&self, message: &Message) -> MessageView {
        let named = message.named_files();
        let files = if named.is_empty() {
            Vec::new()
        } else {
            self.roots.get_or_init(|| Roots::of(self.office, self.team)).check_all(named)
        };
        MessageView { files, ..MessageView::new(message, self.who, self.team) }
    }
}

/// Adds the files that remembered messages name in their payloads. What stood beside the text is not remembered.
pub(crate) fn add_files(office: &Office, messages: &mut [Remembered]) {
    let mut roots: HashMap<String, Roots> = HashMap::new();
    for message in messages {
        let named = NamedPath::in_text(&message.text, Some(&message.r#type));
        let Ok(team) = TeamName::parse(&message.team) else { continue };
        if !named.is_empty() {
            let of_team = || Roots::of(office, &team);
            message.files = roots.entry(message.team.clone()).or_insert_with(of_team).check_all(named);
        }
    }
}
