//! Power cuts: every state that a journalling file system may leave of what a command did.
//!
//! The model: what changes the names in one folder gets to the disk in order, at the latest when the folder is synced.
//! The content of a file gets there when it is synced; until then all of it may be missing, a part of it, or there may be
//! zeroes in its place, whether or not its name is there. Of the ledger, any number of the last commits may be missing
//! that were not synced. Everything that is not tied together so is independent of each other.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, Permissions};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::cases::Trial;
use crate::recorder::{Change, Event, Ledger, Naming, Object, Recorder, Recording};
use crate::world::World;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Node {
    Folder(u32),
    File(Object),
}

/// The disk before the command, all of which is safe.
struct Before {
    top: PathBuf,
    names: BTreeMap<PathBuf, Node>,
    content: Vec<Vec<u8>>,
}

impl Before {
    /// What is there, but for the ledger; and the paths of the files, each at its object's place.
    fn of(world: &World) -> (Self, Vec<PathBuf>) {
        let (mut names, mut content, mut files) = (BTreeMap::new(), Vec::new(), Vec::new());
        // The index is no part of it: it is made anew from the log.
        let is_ledger = |name: &str| name.starts_with("state/log.db") || name.starts_with("state/index.db");
        for (name, path) in world.files().into_iter().filter(|(name, _)| !is_ledger(name)) {
            let mode = fs::metadata(&path).unwrap_or_else(|_| panic!("{name}")).permissions().mode() & 0o7777;
            if path.is_dir() {
                names.insert(path, Node::Folder(mode));
            } else {
                names.insert(path.clone(), Node::File(files.len()));
                content.push(fs::read(&path).unwrap());
                files.push(path);
            }
        }
        (Self { top: world.live(), names, content }, files)
    }
}

/// How much of a file's changes that were not synced is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fate {
    Nothing,
    All,
    /// All but the second half of the last write.
    Torn,
    /// The length of all, and zeroes.
    Zeroes,
}

const FATES: [Fate; 4] = [Fate::Nothing, Fate::All, Fate::Torn, Fate::Zeroes];

/// One way in which a cut may leave things.
#[derive(Debug, Clone, Default)]
struct Choice {
    /// How many changes of names in each folder are on the disk.
    names: BTreeMap<PathBuf, usize>,
    content: BTreeMap<Object, Fate>,
    ledger: usize,
}

/// So many combinations are tried one by one.
const MANY: usize = 256;

/// What is on the disk of one item.
#[derive(Debug, Clone)]
enum Part {
    Names(PathBuf, usize),
    Content(Object, Fate),
    Ledger(usize),
}

impl Choice {
    fn with(&self, part: &Part) -> Self {
        let mut choice = self.clone();
        match part {
            Part::Names(folder, kept) => drop(choice.names.insert(folder.clone(), *kept)),
            Part::Content(object, fate) => {
                choice.content.insert(*object, *fate);
            }
            Part::Ledger(version) => choice.ledger = *version,
        }
        choice
    }
}

/// What may have happened up to a cut.
struct Cut<'a> {
    before: &'a Before,
    events: &'a [Event],
    modes: &'a HashMap<Object, u32>,
}

impl Cut<'_> {
    /// All ways in which this cut may leave things.
    fn choices(&self) -> Vec<Choice> {
        let (mut names, mut safe_names) = (BTreeMap::<PathBuf, usize>::new(), BTreeMap::new());
        let mut open = BTreeMap::<Object, bool>::new();
        let (mut ledger, mut safe_ledger) = (0, 0);
        for event in self.events {
            match event {
                Event::Name(folder, _) => *names.entry(folder.clone()).or_default() += 1,
                Event::Data(object, _) => drop(open.insert(*object, true)),
                Event::FileSynced(object) => drop(open.insert(*object, false)),
                Event::FolderSynced(folder) => {
                    let count = names.get(folder).copied().unwrap_or(0);
                    safe_names.insert(folder.clone(), count);
                }
                Event::Ledger => ledger += 1,
                Event::LedgerSynced => safe_ledger = ledger,
            }
        }
        let mut items: Vec<Vec<Part>> = Vec::new();
        for (folder, count) in names {
            let safe = safe_names.get(&folder).copied().unwrap_or(0);
            items.push((safe..=count).map(|kept| Part::Names(folder.clone(), kept)).collect());
        }
        for object in open.into_iter().filter_map(|(object, is_open)| is_open.then_some(object)) {
            items.push(FATES.map(|fate| Part::Content(object, fate)).to_vec());
        }
        items.push((safe_ledger..=ledger).map(Part::Ledger).collect());
        combine(&items)
    }

    /// The disk after one of them.
    fn state(&self, choice: &Choice) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
        let mut names = self.before.names.clone();
        let mut done: HashMap<&PathBuf, usize> = HashMap::new();
        for event in self.events {
            let Event::Name(folder, naming) = event else { continue };
            let count = done.entry(folder).or_default();
            *count += 1;
            if *count <= choice.names.get(folder).copied().unwrap_or(0) {
                apply(&mut names, naming);
            }
        }
        let mut state = BTreeMap::new();
        for (path, node) in &names {
            // What is in a folder that is not there cannot be reached.
            let parent = path.parent().unwrap();
            if parent != self.before.top && !state.contains_key(parent) {
                continue;
            }
            let entry = match node {
                Node::Folder(mode) => (*mode, None),
                Node::File(object) => {
                    (self.modes.get(object).copied().unwrap_or(0o600), Some(self.content(*object, choice)))
                }
            };
            state.insert(path.clone(), entry);
        }
        state
    }

    fn content(&self, object: Object, choice: &Choice) -> Vec<u8> {
        let mut changes: Vec<&Change> = Vec::new();
        let mut safe = 0;
        for event in self.events {
            match event {
                Event::Data(of, change) if *of == object => changes.push(change),
                Event::FileSynced(of) if *of == object => safe = changes.len(),
                _ => {}
            }
        }
        let mut bytes = self.before.content.get(object).cloned().unwrap_or_default();
        changes[..safe].iter().for_each(|change| write(&mut bytes, change));
        let open = &changes[safe..];
        match choice.content.get(&object).copied().unwrap_or(Fate::All) {
            Fate::Nothing => {}
            Fate::All => open.iter().for_each(|change| write(&mut bytes, change)),
            Fate::Torn => {
                for (number, change) in open.iter().enumerate() {
                    match change {
                        Change::Write(at, written) if number + 1 == open.len() => {
                            write(&mut bytes, &Change::Write(*at, written[..written.len() / 2].to_vec()));
                        }
                        change => write(&mut bytes, change),
                    }
                }
            }
            Fate::Zeroes => {
                for change in open {
                    match change {
                        Change::Write(at, written) => {
                            write(&mut bytes, &Change::Write(*at, vec![0; written.len()]));
                        }
                        change @ Change::Length(_) => write(&mut bytes, change),
                    }
                }
            }
        }
        bytes
    }
}

/// All combinations of one part of each item; where those are too many, all that is on the disk or nothing of it, and each
/// item by itself otherwise than the rest. Of an item, the first part is the least that may be on the disk.
fn combine(items: &[Vec<Part>]) -> Vec<Choice> {
    if items.iter().map(Vec::len).product::<usize>() <= MANY {
        return items.iter().fold(vec![Choice::default()], |choices, item| {
            let with = |choice: &Choice| item.iter().map(|part| choice.with(part)).collect::<Vec<_>>();
            choices.iter().flat_map(with).collect()
        });
    }
    let most = |item: &'_ Vec<Part>| {
        let all = item.iter().find(|part| matches!(part, Part::Content(_, Fate::All)));
        all.or(item.last()).unwrap().clone()
    };
    let least: Vec<Part> = items.iter().map(|item| item[0].clone()).collect();
    let most: Vec<Part> = items.iter().map(most).collect();
    let mut choices = Vec::new();
    for base in [&least, &most] {
        for (number, item) in items.iter().enumerate() {
            for part in item {
                let rest = base.iter().enumerate().filter(|(other, _)| *other != number);
                let rest = rest.fold(Choice::default(), |choice, (_, part)| choice.with(part));
                choices.push(rest.with(part));
            }
        }
    }
    choices
}

fn apply(names: &mut BTreeMap<PathBuf, Node>, naming: &Naming) {
    match naming {
        Naming::File(path, object) => drop(names.insert(path.clone(), Node::File(*object))),
        Naming::Folder(path, mode) => drop(names.entry(path.clone()).or_insert(Node::Folder(*mode))),
        Naming::Gone(path) => names.retain(|name, _| !name.starts_with(path)),
        Naming::Renamed(from, to) => {
            let moved: Vec<(PathBuf, Node)> = names
                .iter()
                .filter(|(name, _)| name.starts_with(from))
                .map(|(name, node)| (name.clone(), node.clone()))
                .collect();
            if moved.is_empty() {
                return;
            }
            names.retain(|name, _| !name.starts_with(from) && !name.starts_with(to));
            for (name, node) in moved {
                let rest = name.strip_prefix(from).unwrap();
                names.insert(if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) }, node);
            }
        }
    }
}

fn write(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Length(length) => bytes.resize(usize::try_from(*length).unwrap(), 0),
        Change::Write(at, written) => {
            let at = usize::try_from(*at).unwrap();
            bytes.resize(bytes.len().max(at + written.len()), 0);
            bytes[at..at + written.len()].copy_from_slice(written);
        }
    }
}

impl<A: Clone> Trial<'_, A> {
    /// Cuts the power at every instant, in every way, and panics with those that came out wrong.
    pub(crate) fn cut_power(&self) {
        let start = Instant::now();
        self.world.keep();
        self.world.reset();
        let (before, files) = Before::of(self.world);
        let ledger = self.world.state().join("log.db");
        let (answer, recording) = Recorder::new(&files, ledger).run(self.command);
        let Recording { events, ledgers, modes, .. } = recording;
        let (mut seen, mut wrong) = (HashSet::new(), Vec::new());
        for end in 0..=events.len() {
            let cut = Cut { before: &before, events: &events[..end], modes: &modes };
            for choice in cut.choices() {
                let state = cut.state(&choice);
                let was_answered = end == events.len();
                let mut hasher = DefaultHasher::new();
                (&state, choice.ledger, was_answered).hash(&mut hasher);
                if !seen.insert(hasher.finish()) {
                    continue;
                }
                self.world.put(&state, &ledgers[choice.ledger]);
                if let Err(why) = self.judge(was_answered.then(|| answer.clone())) {
                    wrong.push(format!("- after {end} of {} events, {why}: {choice:?}", events.len()));
                }
            }
        }
        let (name, states) = (self.name, seen.len());
        println!(
            "{name}: {states} states of {} events, {} wrong, in {:.1} s",
            events.len(),
            wrong.len(),
            start.elapsed().as_secs_f64()
        );
        assert!(states > events.len(), "{name}: only {states} states of {events:?}");
        let few = wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n");
        assert!(wrong.is_empty(), "{name}: {} of {states} states came out wrong:\n{few}", wrong.len());
    }
}

impl World {
    /// Makes the tree what a cut has left.
    fn put(&self, state: &BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>, ledger: &Ledger) {
        self.clear();
        // As long ago as a machine may have been off.
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for (path, (_, content)) in state {
            match content {
                None => fs::create_dir_all(path).unwrap(),
                Some(bytes) => fs::write(path, bytes).unwrap(),
            }
        }
        for (path, (mode, content)) in state.iter().rev() {
            if content.is_some() {
                File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
            }
            fs::set_permissions(path, Permissions::from_mode(*mode)).unwrap();
        }
        let path = self.state().join("log.db");
        if let Some(bytes) = &ledger.database {
            fs::write(&path, bytes).unwrap();
        }
        if let Some(bytes) = &ledger.log {
            fs::write(path.with_extension("db-wal"), bytes).unwrap();
        }
    }
}
