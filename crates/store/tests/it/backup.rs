//! A team in one file, and back: byte for byte, whatever was in it, and nothing of what should not be.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use atm_store::backup::{self, Backup, Limits, Order, Packing, Restored, Site};
use atm_store::{Layout, LockTimes, Root, State, StoreError};
use atm_support::{Foreign, TestEnv, TestTeam, draft};
use atm_wire::{Stamp, TeamName};

use crate::archive;
use crate::scene::{HASTY, array_team, entry, line, listed, log_team, take, unread};

/// A place for a team to be restored to, and the backups.
pub(crate) struct Elsewhere {
    folder: tempfile::TempDir,
    pub(crate) root: Root,
    pub(crate) state: State,
    pub(crate) team: TeamName,
}

impl Elsewhere {
    pub(crate) fn new(team: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
        Self { folder, root, state, team: TeamName::parse(team).unwrap() }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("backup")
    }

    pub(crate) fn restore(&self) -> Result<Restored, StoreError> {
        self.restore_within(Limits::default())
    }

    pub(crate) fn restore_within(&self, limits: Limits) -> Result<Restored, StoreError> {
        let site = Site {
            root: &self.root,
            root_key: "elsewhere",
            team: &self.team,
            state: &self.state,
            times: LockTimes::default(),
        };
        backup::restore(site, &self.file(), limits, &mut |_, _| {})
    }

    pub(crate) fn team(&self) -> PathBuf {
        self.root.teams().join(self.team.as_str())
    }

    /// What is in the tree, and what was left of the unpacking.
    pub(crate) fn litter(&self) -> Vec<PathBuf> {
        let beside = [self.root.teams(), self.root.path().join("tasks"), self.state.path().join("restoring")];
        let entries = beside.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.file_name() != Some(OsStr::new(self.team.as_str()))).collect()
    }
}

fn order(out: PathBuf) -> Order {
    Order {
        out,
        force: true,
        packing: Packing::Zstd,
        config_only: false,
        now: Stamp::from_millis(1_794_768_140_463),
        atm: "0.1.0".into(),
    }
}

pub(crate) fn back_up_with(team: &TestTeam, order: &Order, times: LockTimes) -> Result<Backup, StoreError> {
    let (root, state) = (team.env().store_root(), team.env().store_state());
    let root_key = team.env().root().display().to_string();
    let site = Site { root: &root, root_key: &root_key, team: team.name(), state: &state, times };
    backup::backup(site, order, &mut |_, _| {})
}

pub(crate) fn back_up(team: &TestTeam, out: PathBuf) -> Backup {
    back_up_with(team, &order(out), LockTimes::default()).unwrap()
}

/// Every file and folder below, with its mode and bytes.
type Content = Vec<(PathBuf, u32, Option<Vec<u8>>)>;

fn content(folder: &Path) -> Content {
    fn walk(top: &Path, folder: &Path, found: &mut Content) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
            let bytes = path.is_file().then(|| fs::read(&path).unwrap());
            found.push((path.strip_prefix(top).unwrap().to_owned(), mode, bytes));
            if path.is_dir() {
                walk(top, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn odd_names_modes_and_unknown_files_come_back_byte_for_byte() {
    for packing in [Packing::Zstd, Packing::Gzip] {
        let team = array_team();
        team.write_inbox("bob", "[\n  null, {\"from\": 1E2}]  \n");
        let long = "n".repeat(250);
        let notes = team.folder().join("notes").join(&long).join(&long);
        fs::create_dir_all(&notes).unwrap();
        let odd: [&[u8]; 6] = [b"\xff\xfe", b"a\nb", b" ", b"...", "\u{202e}é\u{1b}[31m".as_bytes(), b"-rf"];
        for (at, name) in odd.iter().enumerate() {
            fs::write(team.folder().join("notes").join(OsStr::from_bytes(name)), vec![0xff; at * 700])
                .unwrap();
        }
        fs::write(notes.join("deep"), "deep").unwrap();
        let tasks = team.task_folder();
        fs::create_dir_all(tasks.join("bob/artifacts")).unwrap();
        fs::write(tasks.join("1.json"), "{ \"id\": \"1\" }").unwrap();
        fs::write(tasks.join(".highwatermark"), "7").unwrap();
        fs::write(tasks.join("bob/output.log"), "\0\u{1b}[0m").unwrap();
        fs::write(tasks.join("bob/artifacts/run.sh"), "#!/bin/sh").unwrap();
        set_mode(&tasks.join("bob/artifacts/run.sh"), 0o755);
        set_mode(&team.config_file(), 0o644);
        set_mode(&team.inbox("bob"), 0o440);
        set_mode(&team.folder().join("inboxes"), 0o755);
        set_mode(&team.folder().join("notes"), 0o2750);
        set_mode(team.folder(), 0o550);

        let there = Elsewhere::new("demo");
        let before = content(team.folder());
        let made = back_up_with(&team, &Order { packing, ..order(there.file()) }, HASTY).unwrap();
        assert_eq!((content(team.folder()), made.left_out.len()), (before, 0), "looking changes nothing");
        assert_eq!(there.file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        there.restore().unwrap();
        assert_eq!(content(&there.team()), content(team.folder()));
        assert_eq!(there.team().metadata().unwrap().permissions().mode() & 0o7777, 0o550);
        assert_eq!(content(&there.root.tasks(&there.team)), content(&tasks));
        assert_eq!(there.litter(), [] as [PathBuf; 0]);
    }
}

#[test]
fn what_passes_is_not_in_it_and_links_are_told_of() {
    let team = array_team();
    team.write_inbox("bob", "[]");
    let inboxes = team.folder().join("inboxes");
    fs::write(inboxes.join(format!(".bob.json.atm-{}", "0".repeat(32))), "half").unwrap();
    fs::create_dir(inboxes.join("alice.json.lock")).unwrap();
    symlink("/etc/passwd", team.folder().join("link")).unwrap();
    fs::rename(team.config_file(), team.folder().join("real.json")).unwrap();
    symlink("real.json", team.config_file()).unwrap();
    let there = Elsewhere::new("demo");
    let made = back_up(&team, there.file());
    assert!(made.left_out.len() == 1 && made.left_out[0].contains("is a link"), "{:?}", made.left_out);
    there.restore().unwrap();
    let names: Vec<String> =
        content(&there.team()).iter().map(|(path, ..)| path.display().to_string()).collect();
    assert_eq!(names, ["config.json", "inboxes", "inboxes/bob.json", "real.json"]);
    assert!(!there.team().join("config.json").is_symlink(), "what it led to is there");
}

#[test]
fn a_configuration_alone_keeps_the_layout() {
    for (team, layout) in [(array_team(), "inboxes"), (log_team(), "members")] {
        let there = Elsewhere::new("demo");
        let config_only = Order { config_only: true, ..order(there.file()) };
        let made = back_up_with(&team, &config_only, HASTY).unwrap();
        assert_eq!(made.manifest.files.len(), 1);
        there.restore().unwrap();
        assert_eq!(
            fs::read(there.team().join("config.json")).unwrap(),
            fs::read(team.config_file()).unwrap()
        );
        assert!(there.team().join(layout).is_dir());
    }
}

#[test]
fn a_file_that_is_there_stays_and_so_does_a_team() {
    let team = array_team();
    let there = Elsewhere::new("demo");
    fs::write(there.file(), "precious").unwrap();
    let polite = Order { force: false, ..order(there.file()) };
    assert!(matches!(back_up_with(&team, &polite, HASTY), Err(StoreError::Exists { .. })));
    assert_eq!(fs::read(there.file()).unwrap(), b"precious");
    back_up(&team, there.file());
    there.restore().unwrap();
    assert!(matches!(there.restore(), Err(StoreError::Exists { .. })));
}

#[test]
fn tasks_of_that_name_are_not_overwritten_unless_they_are_the_same() {
    let team = array_team();
    fs::create_dir_all(team.task_folder()).unwrap();
    fs::write(team.task_folder().join("1.json"), "{}").unwrap();
    let there = Elsewhere::new("demo");
    back_up(&team, there.file());
    let tasks = there.root.tasks(&there.team);
    fs::create_dir_all(&tasks).unwrap();
    fs::write(tasks.join("1.json"), "{\"other\":1}").unwrap();
    assert!(matches!(there.restore(), Err(StoreError::Exists { path }) if path == tasks));
    assert!(!there.team().exists());
    fs::write(tasks.join("1.json"), "{}").unwrap();
    there.restore().unwrap();
}

#[test]
fn a_client_is_waited_for_and_a_writer_without_a_lock_is_not_believed() {
    let team = array_team();
    team.write_inbox("bob", "[]");
    let there = Elsewhere::new("demo");
    fs::create_dir(team.client_lock("bob")).unwrap();
    let busy = back_up_with(&team, &order(there.file()), HASTY);
    assert!(matches!(busy, Err(StoreError::Busy { lock, .. }) if lock == team.client_lock("bob")));
    assert!(!there.file().exists());
    assert_eq!(fs::read_dir(there.file().parent().unwrap()).unwrap().count(), 0, "no temp file stays");
}

#[test]
fn what_a_log_has_read_is_read_after_it_is_restored() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let folder = team.inbox("bob").parent().unwrap().to_owned();
    // Ours: a mark, in a rotated file.
    bob.append(&["a", "b", "c"].map(draft), true).unwrap();
    assert_eq!(take(&bob, 2), ["a", "b"]);
    fs::rename(team.inbox("bob"), folder.join("inbox.20261115-184229")).unwrap();
    bob.append(&[draft("d")], true).unwrap();
    let there = Elsewhere::new("demo");
    back_up(&team, there.file());
    there.restore().unwrap();
    let restored = |there: &Elsewhere| {
        let name = atm_wire::MemberName::parse("bob").unwrap();
        atm_store::Mailbox::open(&there.team(), &name, &there.state, LockTimes::default())
    };
    assert_eq!(listed(&restored(&there)), ["a", "b", "c", "d"]);
    assert_eq!(unread(&restored(&there)), ["c", "d"]);
}

#[test]
fn a_recipes_number_counts_in_the_same_file_after_it_is_restored() {
    // The number was noted before the rotation, or after it: it means another file each time.
    for noted_first in [true, false] {
        let team = log_team();
        let folder = team.inbox("bob").parent().unwrap().to_owned();
        let note = || fs::write(folder.join("state.json"), "{\"lastProcessedLine\": 1}").unwrap();
        let tick = || std::thread::sleep(std::time::Duration::from_millis(25));
        fs::write(team.inbox("bob"), format!("{}\n{}\n", line("a"), line("b"))).unwrap();
        if noted_first {
            note();
            tick();
        }
        fs::rename(team.inbox("bob"), folder.join("inbox.20261115-184229")).unwrap();
        fs::write(team.inbox("bob"), format!("{}\n{}\n", line("c"), line("d"))).unwrap();
        if !noted_first {
            tick();
            note();
        }
        let expected = unread(&team.mailbox("bob"));
        assert_eq!(expected.len(), if noted_first { 3 } else { 1 });
        let there = Elsewhere::new("demo");
        back_up(&team, there.file());
        there.restore().unwrap();
        let name = atm_wire::MemberName::parse("bob").unwrap();
        let bob = atm_store::Mailbox::open(&there.team(), &name, &there.state, LockTimes::default());
        assert_eq!(unread(&bob), expected, "{noted_first}");
    }
}

#[test]
fn the_archive_comes_back_once_whatever_is_there() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&["a", "b", "c"].map(draft), true).unwrap();
    take(&bob, 3);
    assert_eq!(archive::archive(&team, 1), ["a", "b"]);
    let there = Elsewhere::new("demo");
    back_up(&team, there.file());

    there.restore().unwrap();
    let archived = |there: &Elsewhere| {
        let name = atm_wire::MemberName::parse("bob").unwrap();
        let archive = atm_store::Archive::new(&there.state, &there.team, &name, LockTimes::default());
        let view = archive.view(atm_store::archive::ALWAYS).unwrap();
        let found = view.blocks().into_iter().flat_map(|block| view.read(block, &mut Vec::new()));
        found.map(|found| (found.message.text, found.origin.unwrap().root)).collect::<Vec<_>>()
    };
    let expected = [("a".to_owned(), "elsewhere".to_owned()), ("b".into(), "elsewhere".into())];
    assert_eq!(archived(&there), expected, "it says where it is now");

    // The team is deleted, the archive outlives it, and the team comes back.
    fs::remove_dir_all(there.team()).unwrap();
    assert_eq!(there.restore().unwrap().archived_before, 2);
    assert_eq!(archived(&there), expected);
}

#[test]
fn a_team_under_another_name_says_that_name() {
    let team = array_team();
    team.write_inbox("bob", format!("[{}]", entry("hi")));
    let there = Elsewhere::new("ops");
    back_up(&team, there.file());
    there.restore().unwrap();
    let config = fs::read_to_string(there.team().join("config.json")).unwrap();
    assert!(config.contains("\"bob@ops\"") && config.contains("\"name\": \"ops\""), "{config}");
    assert!(!config.contains("demo"), "{config}");
}

#[test]
fn what_senders_write_meanwhile_is_whole() {
    // Two who do not know each other's locks undo each other; so each has an inbox to itself, beside us.
    let team = TestEnv::new().team("demo", Layout::Array, &["team-lead", "bob", "alice"]);
    for name in ["alice", "bob"] {
        team.write_inbox(name, "[]");
    }
    let writers = [
        Foreign::client(&team.inbox("bob")).sending("theirs", 40).start(),
        Foreign::python(&team.inbox("alice")).sending("theirs", 40).start(),
    ];
    for round in 0..12 {
        for name in ["alice", "bob"] {
            team.mailbox(name).append(&[draft(&format!("ours{round}"))], true).unwrap();
        }
        let there = Elsewhere::new("demo");
        back_up(&team, there.file());
        there.restore().unwrap();
        for name in ["alice", "bob"] {
            let bytes = fs::read(there.team().join(format!("inboxes/{name}.json"))).unwrap();
            let entries: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
            let of = |writer: &str| -> Vec<String> {
                let texts = entries.iter().map(|entry| entry["text"].as_str().unwrap());
                texts.filter(|text| text.starts_with(writer)).map(ToOwned::to_owned).collect()
            };
            let first =
                |writer: &str, count| (0..count).map(|at| format!("{writer}{at}")).collect::<Vec<_>>();
            assert_eq!(of("ours"), first("ours", round + 1), "what was sent before is in it");
            assert_eq!(
                of("theirs"),
                first("theirs", of("theirs").len()),
                "and what was sent meanwhile, in order"
            );
        }
    }
    for writer in writers {
        writer.finish();
    }
}
