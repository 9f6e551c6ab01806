//! A tree in memory that can be put back as it was thousands of times.

use std::env;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use atm_ledger::{InboxKey, Ledger, Recorded};
use atm_office::Office;
use atm_office::clock::FixedClock;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::{Layout, LockTimes, Mailbox, Root, State};
use atm_wire::{MemberName, Stamp, TeamName};
use tempfile::TempDir;

/// When the commands run that are tried.
const THEN: i64 = 1_794_768_000_000;

/// Entries of other programs, with what nobody but a careful editor would leave alone.
pub(crate) const FOREIGN: [&str; 4] = [
    r#"{"from":"team-lead","text":"r\u00e9ad","timestamp":"2026-11-14T18:00:00.000Z","read":true,"x":1E2}"#,
    r#"{ "timestamp": "2026-11-14T18:00:01Z", "read":false, "from": "dave",  "text":"unread", "text2":"a", "big":123456789012345678901234567890 }"#,
    r#"{"odd":[1,2 , 3]}"#,
    r#"{"from":"eve","text":"last \/ one","timestamp":"2026-11-14T18:00:02.5Z","read":false,"color":null}"#,
];

/// A team of `team-lead`, `bob`, `carol` and `dan`, of whom the first two have mail, with a ledger that knows of it.
pub(crate) struct World {
    folder: TempDir,
    pub(crate) layout: Layout,
    pub(crate) team: TeamName,
}

impl World {
    pub(crate) fn new(layout: Layout) -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
        let folder = tempfile::Builder::new().prefix("atm-faults-").tempdir_in(place).unwrap();
        let team = TeamName::parse("demo").unwrap();
        let world = Self { folder, layout, team };
        let office = world.office(-3_600);
        office.create_team(&TeamPlan { layout, ..TeamPlan::new("demo", "For faults") }).unwrap();
        for name in ["bob", "carol", "dan"] {
            office.add_member(&world.team, &MemberPlan::new(name)).unwrap();
        }
        for name in ["bob", "carol"] {
            fs::write(world.inbox(name), foreign_inbox(layout)).unwrap();
            world.send(-1_800, name, "known before").unwrap();
        }
        office.look(&world.team).unwrap();
        world
    }

    /// What it is now is what [`World::reset`] goes back to.
    pub(crate) fn keep(&self) {
        let kept = self.folder.path().join("kept");
        let _ = fs::remove_dir_all(&kept);
        copy(&self.live(), &kept);
    }

    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(self.live());
    }

    pub(crate) fn reset(&self) {
        self.clear();
        copy(&self.folder.path().join("kept"), &self.live());
    }

    pub(crate) fn live(&self) -> PathBuf {
        self.folder.path().join("live")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.live().join("root")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.live().join("state")
    }

    /// A new process, so many seconds after the one that is tried.
    pub(crate) fn office(&self, later: i64) -> Office {
        let clock = FixedClock(Stamp::from_millis(THEN + later * 1_000));
        let times = LockTimes { wait: Duration::from_secs(3), ..LockTimes::default() };
        Office::new(Root::new(self.root()), State::new(self.state())).with_clock(clock).with_lock_times(times)
    }

    pub(crate) fn team_folder(&self) -> PathBuf {
        self.root().join("teams").join("demo")
    }

    pub(crate) fn inbox(&self, name: &str) -> PathBuf {
        match self.layout {
            Layout::Array => self.team_folder().join("inboxes").join(format!("{name}.json")),
            Layout::Log => self.team_folder().join("members").join(name).join("inbox"),
        }
    }

    pub(crate) fn mailbox(&self, name: &str) -> Mailbox {
        Mailbox::open(&self.team_folder(), &who(name), &State::new(self.state()), LockTimes::default())
    }

    /// How often a text is in somebody's mail.
    pub(crate) fn count(&self, name: &str, text: &str) -> usize {
        let listing = self.mailbox(name).list().unwrap();
        listing.messages.iter().filter(|message| message.text.ends_with(text)).count()
    }

    pub(crate) fn send(&self, later: i64, to: &str, text: &str) -> Result<(), String> {
        let letter = Letter::new(to.parse().unwrap(), text);
        let sent = self.office(later).send(&self.team, &who("team-lead"), &letter, SendOptions::default());
        sent.map(drop).map_err(|error| format!("the next send to {to} fails: {error}"))
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(&State::new(self.state()).ledger()).unwrap()
    }

    /// All messages that a ledger knows.
    pub(crate) fn recorded(&self, ledger: &Ledger) -> Vec<Recorded> {
        ledger.latest(&InboxKey::new(&self.root(), "", "").root, Some("demo"), 1_000).unwrap()
    }

    /// What is accepted for somebody and not written.
    pub(crate) fn waiting(&self, ledger: &Ledger, name: &str) -> usize {
        ledger.waiting(&InboxKey::new(&self.root(), "demo", name)).unwrap().len()
    }

    /// Every file below the live tree, with its path from there.
    pub(crate) fn files(&self) -> Vec<(String, PathBuf)> {
        let mut files = Vec::new();
        collect(&self.live(), &mut files);
        let top = self.live();
        let name = |path: &Path| path.strip_prefix(&top).unwrap().to_string_lossy().into_owned();
        files.into_iter().map(|path| (name(&path), path)).collect()
    }
}

pub(crate) fn who(name: &str) -> MemberName {
    name.parse().unwrap()
}

/// An inbox as other programs have written it.
pub(crate) fn foreign_inbox(layout: Layout) -> String {
    match layout {
        Layout::Array => format!("[\n  {}\n]", FOREIGN.join(",\n  ")),
        Layout::Log => FOREIGN.map(|entry| [entry, "\n"].concat()).concat(),
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        files.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), files);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            // Old enough for its time to tell the next change.
            let old = SystemTime::now() - Duration::from_secs(60);
            File::options().write(true).open(&target).unwrap().set_modified(old).unwrap();
        }
    }
    let mode = fs::metadata(from).unwrap().mode();
    fs::set_permissions(to, Permissions::from_mode(mode & 0o7777)).unwrap();
}
