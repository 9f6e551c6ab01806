//! A team's folder and its `config.json`.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atm_wire::json::{self, Object, Style};
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::commit::{Content, Plan, SharedFile};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Access, ensure_folder, read_patiently, read_small, replace_own, resolve, sync_folder};
use crate::group::Group;
use crate::lock::LockTimes;
use crate::mailbox::Turn;
use crate::paths::{Layout, Root, State, create_private_folders};

/// No entry of a member is as long as this.
pub(crate) const LARGEST_ENTRY: u64 = 16 << 20;

/// One team on disk.
#[derive(Debug)]
pub struct TeamFolder {
    path: PathBuf,
    config: SharedFile,
}

impl TeamFolder {
    /// The folder of `team`, whether it exists or not.
    pub fn new(root: &Root, team: &TeamName, state: &State, times: LockTimes) -> Self {
        Self::at(root.team(team), state, times)
    }

    /// A team's folder that is not in its place.
    pub(crate) fn at(path: PathBuf, state: &State, times: LockTimes) -> Self {
        let config =
            SharedFile::new(path.join("config.json"), state, times).with_directory_lock().versioned();
        Self { path, config }
    }

    /// The names of all teams below `root`: folders with a `config.json`, or with mail.
    pub fn list(root: &Root) -> Result<Vec<TeamName>, StoreError> {
        let teams = root.teams();
        let entries = match fs::read_dir(&teams) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).doing("list", &teams),
        };
        let mut names: Vec<TeamName> = entries
            .filter_map(Result::ok)
            .filter(|entry| is_team(&entry.path()))
            .filter_map(|entry| TeamName::parse(entry.file_name().to_str()?).ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The team's `config.json`.
    pub fn config_file(&self) -> &Path {
        self.config.path()
    }

    /// Whether there is such a team.
    pub fn exists(&self) -> bool {
        is_team(&self.path)
    }

    /// The team's members and more. A team that has mail but no `config.json` is an empty one.
    pub fn load(&self) -> Result<TeamConfig, StoreError> {
        Ok(self.load_with(TeamConfig::parse)?.unwrap_or_default())
    }

    /// All that stands in `config.json`, known to us or not; nothing where there is none.
    pub fn load_whole(&self) -> Result<Option<Value>, StoreError> {
        self.load_with(|text| {
            TeamConfig::parse(text).map_err(|error| error.to_string())?;
            serde_json::from_str(text).map_err(|error| error.to_string())
        })
    }

    fn load_with<T, E: Display>(
        &self,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        let target = resolve(self.config.path())?;
        let config = read_patiently(&target, |seen, is_last| {
            let Some(bytes) = seen.bytes() else { return Some(Ok(None)) };
            match parse(&String::from_utf8_lossy(bytes)) {
                Ok(config) => Some(Ok(Some(config))),
                Err(_) if !is_last => None,
                Err(error) => Some(Err(StoreError::bad(self.config.path(), error.to_string()))),
            }
        })?;
        config.unwrap_or(Ok(None))
    }

    /// Makes the team: its folder, its `config.json`, and the folder that its mail is kept in.
    /// It is for the owner alone, or for a group to read.
    pub fn create<T: Serialize>(
        &self,
        config: &T,
        layout: Layout,
        group: Option<&Group>,
    ) -> Result<(), StoreError> {
        let text = Style::two_spaces("").render(config).map_err(|error| self.bad(&error))?;
        self.check_links(layout)?;
        if let Some(group) = group {
            self.create_for(group)?;
        }
        self.create_from(&text, layout)
    }

    /// Makes the team's folder so that a group may read all that comes into it.
    fn create_for(&self, group: &Group) -> Result<(), StoreError> {
        self.create_folder()?;
        match Access::Group(group.id).give_tree(&self.path) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                // If it is empty, it was made for this.
                let _ = disk::remove_dir(&self.path);
                Err(StoreError::NotInGroup { path: self.path.clone(), group: group.name.clone() })
            }
            given => given,
        }
    }

    /// Whether links may be followed to the places of a new team, before anything is made there.
    fn check_links(&self, layout: Layout) -> Result<(), StoreError> {
        self.config.bounds().resolve(self.config.path())?;
        self.config.bounds().check_folder(&self.mail(layout))
    }

    fn mail(&self, layout: Layout) -> PathBuf {
        self.path.join(match layout {
            Layout::Array => "inboxes",
            Layout::Log => "members",
        })
    }

    fn create_folder(&self) -> Result<(), StoreError> {
        let teams = self.path.parent().unwrap_or(Path::new("/"));
        create_private_folders(teams)?;
        match Access::Owner.create_folder(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            created => {
                created.doing("create", &self.path)?;
                sync_folder(teams)
            }
        }
    }

    /// Makes the team with a configuration that there is already.
    pub fn create_from(&self, text: &str, layout: Layout) -> Result<(), StoreError> {
        self.check_links(layout)?;
        self.create_folder()?;
        // The layout shows by this folder, so it is there before the team is.
        ensure_folder(&self.mail(layout))?;
        self.config.update(|look| match look.content {
            Content::Missing => Ok(Plan::Replace(text.to_owned(), ())),
            _ => Err(StoreError::Exists { path: self.config.path().to_owned() }),
        })
    }

    /// Adds a member behind the last one.
    pub fn add_member<T: Serialize>(&self, name: &str, member: &T) -> Result<(), StoreError> {
        self.edit(|text| {
            let root = Object::parse(text).map_err(|error| self.bad(&error))?;
            let Some(members) = root.get("members").filter(|members| members.get() != "null") else {
                return json::set_member(text, text.trim(), "members", &[member])
                    .map_err(|error| self.bad(&error));
            };
            let entries = json::elements(members.get()).map_err(|error| self.bad(&error))?;
            if position(&entries, name).is_some() {
                return Err(StoreError::Exists { path: self.config.path().join(name) });
            }
            json::append(text, members.get(), &entries, &[member]).map_err(|error| self.bad(&error))
        })
    }

    /// Takes a member out of the list, and keeps its entry in our state; the mail stays.
    pub fn remove_member(&self, name: &MemberName, state: &State) -> Result<(), StoreError> {
        self.edit(|text| {
            let (members, entries) = self.members(text)?;
            let index = position(&entries, name.as_str()).ok_or_else(|| self.no_member(name.as_str()))?;
            replace_own(&state.removed(self.config.path(), name), entries[index].get())?;
            Ok(json::remove(text, members.get(), &entries, &BTreeSet::from([index])))
        })
    }

    /// Puts the entry of a member that was taken out behind the last one; says whether one was kept.
    pub fn restore_member(&self, name: &MemberName, state: &State) -> Result<bool, StoreError> {
        let kept = state.removed(self.config.path(), name);
        let Some(file) = read_small(&kept, LARGEST_ENTRY)? else { return Ok(false) };
        let entry: Box<RawValue> = serde_json::from_slice(&file.bytes).map_err(|error| self.bad(&error))?;
        self.add_member(name.as_str(), &json::Laid(entry.get()))?;
        disk::remove_file(&kept).doing("remove", &kept)?;
        Ok(true)
    }

    /// Sets fields of a member, in place.
    pub fn set_member(&self, name: &str, fields: &[(&str, serde_json::Value)]) -> Result<(), StoreError> {
        let fields: Vec<_> = fields.iter().map(|(key, value)| (vec![*key], value.clone())).collect();
        self.set_member_below(name, &fields)
    }

    /// Sets fields of a member, in place, each named by the way to it: `["metadata", "atm", "spawn"]`. What is missing
    /// on the way is made; what stands there and is no object gives way.
    pub fn set_member_below(
        &self,
        name: &str,
        fields: &[(Vec<&str>, serde_json::Value)],
    ) -> Result<(), StoreError> {
        self.config.update(|look| {
            let Some(text) = self.config.whole(look)? else { return Ok(Plan::Unsure) };
            let mut text = text.to_owned();
            for (path, value) in fields {
                let patch = {
                    let (_, entries) = self.members(&text)?;
                    let index = position(&entries, name).ok_or_else(|| self.no_member(name))?;
                    json::set_below(&text, entries[index].get(), path, value)
                        .map_err(|error| self.bad(&error))?
                };
                text = patch.apply(&text);
            }
            Ok(Plan::Replace(text, ()))
        })
    }

    /// Sets what is said of the whole team, in place; `None` takes it out.
    pub fn set_team(&self, fields: &[(&str, Option<serde_json::Value>)]) -> Result<(), StoreError> {
        self.config.update(|look| {
            let Some(text) = self.config.whole(look)? else { return Ok(Plan::Unsure) };
            let mut text = text.to_owned();
            for (key, value) in fields {
                let patch = match value {
                    Some(value) => json::set_member(&text, text.trim(), key, value),
                    None => json::remove_member(&text, text.trim(), key),
                };
                text = patch.map_err(|error| self.bad(&error))?.apply(&text);
            }
            Ok(Plan::Replace(text, ()))
        })
    }

    /// Of several members of one name, keeps the one at `index`. A copy of the file as it was goes to the quarantine; says
    /// where.
    pub fn keep_one(&self, name: &str, index: usize, state: &State) -> Result<PathBuf, StoreError> {
        let mut kept = PathBuf::new();
        self.edit(|text| {
            let (members, entries) = self.members(text)?;
            let named = |raw: &RawValue| position(&[raw], name).is_some();
            // The list may have changed since somebody chose.
            if !entries.get(index).is_some_and(|raw| named(raw)) {
                return Err(self.no_member(name));
            }
            kept = state.quarantine().keep(self.config.path(), text.as_bytes(), "duplicate-name")?;
            let others = entries.iter().enumerate().filter(|(at, raw)| *at != index && named(raw));
            let others = others.map(|(at, _)| at).collect();
            Ok(json::remove(text, members.get(), &entries, &others))
        })?;
        Ok(kept)
    }

    /// Waits for the turn to start, end or bury members of this team.
    pub fn turn(&self, state: &State, times: LockTimes) -> Result<Turn, StoreError> {
        Turn::enter(&state.starters(self.config.path()), times)
    }

    /// Moves the team's folder, and its tasks, out of the shared tree into our state, and says where.
    pub fn delete(
        &self,
        root: &Root,
        team: &TeamName,
        state: &State,
        now: Stamp,
    ) -> Result<PathBuf, StoreError> {
        let grave = state.deleted().join(format!("{}.{}", team.file_stem(), now.file_name()));
        create_private_folders(&grave)?;
        let tasks = root.tasks(team);
        if tasks.is_dir() {
            move_out(&tasks, &grave.join("tasks"))?;
        }
        move_out(&self.path, &grave.join("team"))?;
        Ok(grave)
    }

    /// The names that have an inbox file.
    pub fn inbox_names(&self) -> Vec<MemberName> {
        let list = |sub: &str| fs::read_dir(self.path.join(sub)).into_iter().flatten().filter_map(Result::ok);
        let array = list("inboxes").filter_map(|entry| {
            entry.file_name().to_str()?.strip_suffix(".json").and_then(|stem| MemberName::parse(stem).ok())
        });
        let log = list("members")
            .filter(|entry| entry.path().join("inbox").is_file())
            .filter_map(|entry| MemberName::parse(entry.file_name().to_str()?).ok());
        let mut names: Vec<_> = array.chain(log).collect();
        names.sort();
        names.dedup();
        names
    }

    fn edit(&self, mut edit: impl FnMut(&str) -> Result<json::Patch, StoreError>) -> Result<(), StoreError> {
        self.config.update(|look| match self.config.whole(look)? {
            Some(text) => Ok(Plan::Patch(edit(text)?, ())),
            None => Ok(Plan::Unsure),
        })
    }

    pub(crate) fn config(&self) -> &SharedFile {
        &self.config
    }

    pub(crate) fn members<'a>(&self, text: &'a str) -> Result<(&'a RawValue, Vec<&'a RawValue>), StoreError> {
        let root = Object::parse(text).map_err(|error| self.bad(&error))?;
        let members =
            root.get("members").ok_or_else(|| StoreError::bad(self.config.path(), "has no `members`"))?;
        Ok((members, json::elements(members.get()).map_err(|error| self.bad(&error))?))
    }

    pub(crate) fn bad(&self, error: &serde_json::Error) -> StoreError {
        StoreError::bad(self.config.path(), error.to_string())
    }

    fn no_member(&self, name: &str) -> StoreError {
        StoreError::NoMember { path: self.config.path().to_owned(), name: name.to_owned() }
    }
}

fn position(entries: &[&RawValue], name: &str) -> Option<usize> {
    entries.iter().position(|raw| {
        Object::parse(raw.get()).ok().and_then(|m| m.string("name")).is_some_and(|n| n == name)
    })
}

fn is_team(path: &Path) -> bool {
    path.join("config.json").is_file() || path.join("inboxes").is_dir() || path.join("members").is_dir()
}

/// Takes a folder out of its place in one step, so that nobody writes into what is half gone, then brings it to
/// `to`, which may be on another file system. If that fails, the folder stays beside its old place, hidden and whole.
pub(crate) fn move_out(from: &Path, to: &Path) -> Result<(), StoreError> {
    if disk::rename(from, to).is_ok() {
        return Ok(());
    }
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    let aside = from.with_file_name(format!(".{name}.atm-deleted-{}", crate::fresh::fresh_id().simple()));
    disk::rename(from, &aside).doing("move", from)?;
    copy_folder(&aside, to)?;
    disk::remove_dir_all(&aside).doing("remove", &aside)
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), StoreError> {
    create_private_folders(to)?;
    for entry in fs::read_dir(from).doing("list", from)? {
        let entry = entry.doing("list", from)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().doing("look at", &source)?.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            disk::copy(&source, &target).doing("copy", &source)?;
            disk::open_to_read(&target).and_then(|file| disk::sync_all(&file)).doing("sync", &target)?;
        }
    }
    sync_folder(to)
}
