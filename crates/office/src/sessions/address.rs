//! Which session or folder a name means.
//!
//! | what is said | what it means |
//! |---|---|
//! | an alias | its folder |
//! | a path that begins with `/` | that folder |
//! | the name of a session that runs, or at least six characters of its id's start | that session |
//! | the last parts of a folder's path | the folder that ends so |
//! | the name of a mailbox, as mail from it has it | its folder |
//!
//! A name that is one folder's mailbox's and also another folder's own (`/a/Shop` and `/b/shop` both are `shop`) means neither: each is
//! called by more of its path. A folder in which several sessions run means none of them. Single runs for programs do not count there: they are meant by
//! their own names alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::tail;
use crate::error::OfficeError;
use crate::people::nearest::{AT_MOST, nearest};

/// So much of a session's id says which is meant.
const SHORTEST_ID: usize = 6;
/// As much of it as people are shown.
const SHOWN_ID: usize = 8;

/// Whom a letter goes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    /// The folder, whose mailbox it is written into.
    pub folder: PathBuf,
    /// The session that it is for, if one was named.
    pub session: Option<String>,
}

/// A session that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) folder: PathBuf,
    /// It takes only mail that names it: its folder's name does not mean it.
    pub(super) is_named_only: bool,
}

impl Running {
    fn is_called(&self, wanted: &str) -> bool {
        let is_id = self.id == wanted || wanted.len() >= SHORTEST_ID && self.id.starts_with(wanted);
        self.name.as_deref() == Some(wanted) || is_id
    }
}

/// As much of a session's id as people are shown: what tells it from all others, and no less than they are used to.
pub fn short_id<'a>(id: &str, others: impl IntoIterator<Item = &'a str>) -> String {
    let same = |other: &str| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let alike = others.into_iter().filter(|other| *other != id).map(same).max().unwrap_or_default();
    id.chars().take(SHOWN_ID.max(alike + 1)).collect()
}

/// What names can mean.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// All folders that sessions work in, or have worked in.
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) running: Vec<Running>,
    pub(super) aliases: BTreeMap<String, PathBuf>,
    /// What mailboxes are called in the team of sessions, which is what answers are sent to.
    pub(super) mailboxes: BTreeMap<String, PathBuf>,
}

impl Names {
    /// What a name means; an error with the nearest names, or with those that it may mean.
    pub(super) fn resolve(&self, wanted: &str) -> Result<Destination, OfficeError> {
        if let Some(folder) = self.aliases.get(wanted) {
            return self.one_in(wanted, folder);
        }
        let called = self.running.iter().filter(|running| running.is_called(wanted));
        // A whole id is nobody else's, though others may begin with it.
        let exact = self.running.iter().filter(|running| running.id == wanted);
        let sessions: Vec<&Running> =
            if exact.clone().next().is_some() { exact.collect() } else { called.collect() };
        let mut folders: BTreeSet<&PathBuf> =
            self.folders.iter().filter(|folder| is_folder(folder, wanted)).collect();
        folders.extend(self.mailboxes.get(wanted));
        let folders: Vec<&PathBuf> = folders.into_iter().collect();
        match (sessions.as_slice(), folders.as_slice()) {
            ([], []) => Err(self.unknown(wanted)),
            ([], [folder]) => self.one_in(wanted, folder),
            ([session], others) if others.iter().all(|folder| **folder == session.folder) => {
                Ok(Destination { folder: session.folder.clone(), session: Some(session.id.clone()) })
            }
            _ => {
                let sessions = sessions.iter().map(|session| self.call(session));
                let folders = folders.iter().map(|folder| self.tail(folder));
                Err(which(wanted, sessions.chain(folders).collect()))
            }
        }
    }

    /// How a folder is called: by what means no other one, and no session elsewhere.
    pub(super) fn tail(&self, folder: &Path) -> String {
        let all: Vec<&Path> = self.folders.iter().map(PathBuf::as_path).collect();
        let is_elsewhere = |place: Option<&PathBuf>| place.is_some_and(|place| place != folder);
        tail::shortest(folder, &all, |name| {
            let is_called = |running: &Running| running.folder != folder && running.is_called(name);
            !is_elsewhere(self.aliases.get(name))
                && !is_elsewhere(self.mailboxes.get(name))
                && !self.running.iter().any(is_called)
        })
    }

    /// How a session is called that runs in a folder: as the folder is, if it is the only one there.
    pub(super) fn name_of(&self, id: &str, folder: &Path) -> String {
        let tail = self.tail(folder);
        match self.resolve(&tail) {
            Ok(Destination { session: None, .. }) => tail,
            _ => self.running.iter().find(|running| running.id == id).map_or(tail, |found| self.call(found)),
        }
    }

    /// What tells a session from the others, and from everything else that has a name.
    fn call(&self, session: &Running) -> String {
        let is_clear = |name: &&String| {
            let means_another = |running: &Running| running.id != session.id && running.is_called(name);
            let of_mailbox = self.mailboxes.get(*name);
            !self.aliases.contains_key(*name)
                && of_mailbox.is_none_or(|folder| *folder == session.folder)
                && !self.running.iter().any(means_another)
                && self.folders.iter().all(|folder| !is_folder(folder, name) || *folder == session.folder)
        };
        let name = session.name.as_ref().filter(is_clear);
        let ids = self.running.iter().map(|running| running.id.as_str());
        name.cloned().unwrap_or_else(|| short_id(&session.id, ids))
    }

    /// The folder, unless several sessions run in it.
    fn one_in(&self, wanted: &str, folder: &Path) -> Result<Destination, OfficeError> {
        let works = |running: &&Running| running.folder == folder && !running.is_named_only;
        let here: Vec<&Running> = self.running.iter().filter(works).collect();
        if here.len() > 1 {
            return Err(which(wanted, here.iter().map(|running| self.call(running)).collect()));
        }
        Ok(Destination { folder: folder.to_owned(), session: None })
    }

    fn unknown(&self, wanted: &str) -> OfficeError {
        let tails: Vec<String> = self.folders.iter().map(|folder| self.tail(folder)).collect();
        let names = self.running.iter().filter_map(|running| running.name.as_deref());
        // Of a path, the last part is what people type wrong.
        let aliases = self.aliases.keys().map(String::as_str);
        let known = tails.iter().map(|tail| last_part(tail)).chain(names).chain(aliases);
        let near = nearest(last_part(wanted), known);
        let mut choices: Vec<String> = Vec::new();
        for name in near {
            let of_folders: Vec<&String> = tails.iter().filter(|tail| last_part(tail) == name).collect();
            if of_folders.is_empty() {
                choices.push(name);
            } else {
                choices.extend(of_folders.into_iter().cloned());
            }
        }
        choices.truncate(AT_MOST);
        OfficeError::NoSession { wanted: wanted.to_owned(), nearest: choices }
    }
}

/// What a folder is called by itself.
fn last_part(name: &str) -> &str {
    name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(name)
}

fn is_folder(folder: &Path, wanted: &str) -> bool {
    if wanted.starts_with('/') { folder == Path::new(wanted) } else { tail::ends_with(folder, wanted) }
}

fn which(wanted: &str, mut choices: Vec<String>) -> OfficeError {
    choices.sort();
    choices.dedup();
    OfficeError::WhichSession { wanted: wanted.to_owned(), choices }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let running = |id: &str, name: Option<&str>, folder: &str| Running {
            id: id.into(),
            name: name.map(ToOwned::to_owned),
            folder: folder.into(),
            is_named_only: false,
        };
        Names {
            folders: ["/w/shop", "/w/web", "/v/web", "/w/api", "/w/two", "/x/deep", "/y/deep"]
                .map(PathBuf::from)
                .into(),
            running: vec![
                running("0b7e1c52-1", Some("p-c1"), "/w/shop"),
                running("1c1c1c52-2", Some("left"), "/w/two"),
                running("2d2d2d52-3", None, "/w/two"),
                running("3e3e3e52-4", Some("api"), "/w/api"),
                running("4f4f4f52-5", Some("web"), "/w/shop"),
                Running { is_named_only: true, ..running("5a5a5a52-6", Some("script"), "/w/api") },
            ],
            aliases: BTreeMap::from([
                ("front".to_owned(), "/v/web".into()),
                ("both".to_owned(), "/w/two".into()),
            ]),
            mailboxes: BTreeMap::from([
                ("web-1a2b3c4d".to_owned(), "/v/web".into()),
                ("two".to_owned(), "/w/two".into()),
            ]),
        }
    }

    /// Ids that begin with the time have their first characters in common for a minute and longer.
    #[test]
    fn sessions_whose_ids_begin_alike_are_told_apart_by_what_is_offered() {
        let running = |id: &str| Running { id: id.into(), folder: "/w/two".into(), ..Running::default() };
        let ids = ["0199a0b1-0000-7000-8000-000000000001", "0199a0b1-0000-7000-8000-000000000002", "0199a0"];
        let names = Names { running: ids.map(running).into(), ..Names::default() };
        let names = Names { folders: ["/w/two".into()].into(), ..names };
        let OfficeError::WhichSession { choices, .. } = names.resolve("two").unwrap_err() else { panic!() };
        assert_eq!(choices.len(), 3, "{choices:?}");
        for choice in &choices {
            let meant = names.resolve(choice).unwrap().session.unwrap();
            assert!(meant.starts_with(choice.as_str()), "{choice}");
        }
    }

    /// An answer to the name that mail came from went to the folder that is spelled so, without a word.
    #[test]
    fn a_mailboxs_name_that_is_another_folders_own_means_neither_before_it_is_said_which() {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
        let mailbox = |name: &str, folder: &str| (name.to_owned(), PathBuf::from(folder));
        let called = Some("shop".to_owned());
        let session = |folder: &str| Running {
            id: "0b7e1c52-1".to_owned(),
            name: called.clone(),
            folder: folder.into(),
            is_named_only: false,
        };
        let shop = || Names {
            folders: paths(&["/a/Shop", "/b/shop"]),
            mailboxes: BTreeMap::from([mailbox("shop", "/a/Shop")]),
            ..Names::default()
        };
        for (names, wanted, expected) in [
            (shop(), "shop", &["/a/Shop", "/b/shop"][..]),
            (Names { running: vec![session("/b/shop")], ..shop() }, "shop", &["/a/Shop", "/b/shop"]),
            (
                Names {
                    folders: paths(&["/a/My Shop", "/my-shop"]),
                    mailboxes: BTreeMap::from([mailbox("my-shop", "/a/My Shop")]),
                    ..Names::default()
                },
                "my-shop",
                &["/a/My Shop", "/my-shop"],
            ),
            // Others are called as a folder is.
            (Names { running: vec![session("/c/x")], ..shop() }, "shop", &["/a/Shop", "/b/shop", "/c/x"]),
        ] {
            let OfficeError::WhichSession { choices, .. } = names.resolve(wanted).unwrap_err() else {
                panic!()
            };
            let meant = |choice: &String| names.resolve(choice).unwrap().folder.display().to_string();
            let mut meant: Vec<String> = choices.iter().map(meant).collect();
            meant.sort();
            // A session may be named beside its folder.
            meant.dedup();
            assert_eq!(meant, expected, "{choices:?}");
            for folder in &names.folders {
                let name = names.tail(folder);
                assert_eq!(names.resolve(&name).unwrap().folder, *folder, "{name}");
                assert_eq!(names.resolve(&folder.display().to_string()).unwrap().folder, *folder);
            }
        }
        let names = Names { aliases: BTreeMap::from([mailbox("shop", "/z")]), ..shop() };
        assert_eq!(names.tail(Path::new("/b/shop")), "b/shop", "the alias is another's");
    }

    #[test]
    fn a_name_means_one_session_or_folder_or_fails_with_what_it_may_mean() {
        let to =
            |folder: &str, session: Option<&str>| Ok((folder.to_owned(), session.map(ToOwned::to_owned)));
        let several = |choices: &[&str]| Err(("which_session", choices.join(" ")));
        let none = |nearest: &[&str]| Err(("no_such_session", nearest.join(" ")));
        for (wanted, expected) in [
            ("front", to("/v/web", None)),
            ("w/web", to("/w/web", None)),
            ("/v/web", to("/v/web", None)),
            ("p-c1", to("/w/shop", Some("0b7e1c52-1"))),
            ("0b7e1c", to("/w/shop", Some("0b7e1c52-1"))),
            // A session that is called as its folder is.
            ("api", to("/w/api", Some("3e3e3e52-4"))),
            ("left", to("/w/two", Some("1c1c1c52-2"))),
            ("2d2d2d", to("/w/two", Some("2d2d2d52-3"))),
            // A single run is meant by its own names alone.
            ("/w/api", to("/w/api", None)),
            ("script", to("/w/api", Some("5a5a5a52-6"))),
            ("5a5a5a", to("/w/api", Some("5a5a5a52-6"))),
            // As mail from there names it.
            ("web-1a2b3c4d", to("/v/web", None)),
            ("/w/shop", several(&["4f4f4f52", "p-c1"])),
            // Two sessions in one folder, by each of its names.
            ("two", several(&["2d2d2d52", "left"])),
            ("/w/two", several(&["2d2d2d52", "left"])),
            ("both", several(&["2d2d2d52", "left"])),
            // A session in one folder that is called as others are.
            ("web", several(&["4f4f4f52", "v/web", "w/web"])),
            ("shopp", none(&["shop"])),
            // Names of which only the last part is typed wrong, with or without the rest.
            ("deap", none(&["x/deep", "y/deep"])),
            ("y/deap", none(&["x/deep", "y/deep"])),
            ("/x/deap", none(&["x/deep", "y/deep"])),
            ("/w/zzzz", none(&[])),
            ("0b7e1", none(&[])),
            ("zzz", none(&[])),
            ("", none(&[])),
        ] {
            let found =
                names().resolve(wanted).map(|found| (found.folder.display().to_string(), found.session));
            let found = found.map_err(|error| match &error {
                OfficeError::WhichSession { choices, .. } => (error.code(), choices.join(" ")),
                OfficeError::NoSession { nearest, .. } => (error.code(), nearest.join(" ")),
                other => panic!("{other}"),
            });
            assert_eq!(found, expected, "{wanted}");
        }
    }
}
