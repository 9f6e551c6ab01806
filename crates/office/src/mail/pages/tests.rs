use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::SystemTime;

use atm_store::{LockTimes, Root, State};

use super::*;
use crate::people::members::MemberPlan;
use crate::people::teams::TeamPlan;

struct World {
    _folder: tempfile::TempDir,
    office: Office,
    team: TeamName,
    bob: MemberName,
    pages: Pages,
}

impl World {
    /// Bob has this many unread messages, for long enough to be kept of one look.
    fn new(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
        let office = Office::new(root, state);
        let team = office.create_team(&TeamPlan::new("dev", "read")).unwrap();
        office.add_member(&team, &MemberPlan::new("bob")).unwrap();
        let bob: MemberName = "bob".parse().unwrap();
        let world = Self { _folder: folder, office, team, bob, pages: Pages::default() };
        world.write((0..count).map(|number| (number, false)));
        world
    }

    fn file(&self) -> PathBuf {
        self.office.mailbox(&self.team, &self.bob).file()
    }

    fn write(&self, entries: impl Iterator<Item = (usize, bool)>) {
        let entry = |(number, read)| {
            format!(r#"{{"from":"eve","text":"{number}","timestamp":"2026-11-15T10:00:00Z","read":{read}}}"#)
        };
        let entries: Vec<String> = entries.map(entry).collect();
        fs::write(self.file(), format!("[{}]", entries.join(","))).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        File::options().write(true).open(self.file()).unwrap().set_modified(long_ago).unwrap();
    }

    fn reader(&self) -> Reader<'_> {
        Reader { team: &self.team, who: &self.bob, session: None, front: "a test" }
    }

    /// The next two.
    fn take(&self) -> Reading {
        let mut room = [(); 2].into_iter();
        let fits = |_: &MessageView| room.next().is_some();
        self.pages.take(&self.office, self.reader(), fits).unwrap()
    }

    fn unread(&self) -> Vec<String> {
        let listing = self.office.mailbox(&self.team, &self.bob).list().unwrap();
        listing.messages.into_iter().filter(|message| !message.read).map(|message| message.text).collect()
    }

    fn inode(&self) -> u64 {
        fs::metadata(self.file()).unwrap().ino()
    }
}

fn texts(reading: &Reading) -> Vec<&str> {
    reading.messages().iter().map(|message| message.text.as_str()).collect()
}

#[test]
fn pages_follow_each_other_and_are_marked_in_one_write() {
    let world = World::new(5);
    let before = world.inode();
    for (page, left) in [(["0", "1"].as_slice(), 3), (&["2", "3"], 1)] {
        let reading = world.take();
        assert_eq!((texts(&reading).as_slice(), reading.left()), (page, left));
        reading.confirm().unwrap();
        assert_eq!((world.unread().len(), world.inode()), (5, before), "nothing is written yet");
    }
    assert!(world.pages.has_more(world.reader()));
    let last = world.take();
    assert_eq!(texts(&last), ["4"]);
    assert_eq!(last.confirm().unwrap().marked, 5, "the last page settles all of them");
    assert_eq!(world.unread(), [""; 0]);
    assert!(!world.pages.are_open() && world.pages.troubles().is_empty());
    assert!(texts(&world.take()).is_empty());
}

#[test]
fn what_nobody_saw_is_handed_out_again_and_nothing_else() {
    let world = World::new(5);
    world.take().confirm().unwrap();
    drop(world.take());
    let again = world.take();
    assert_eq!(texts(&again), ["2", "3"]);
    assert_eq!(world.unread(), ["2", "3", "4"], "what was shown is marked before a new look");
    again.confirm().unwrap();
    world.pages.settle();
    assert_eq!(world.unread(), ["4"]);
}

#[test]
fn a_change_of_the_inbox_is_looked_at_and_hands_nothing_out_twice() {
    let world = World::new(4);
    world.take().confirm().unwrap();
    // Somebody else read the third, and a fifth came.
    world.write([(0, false), (1, false), (2, true), (3, false), (4, false)].into_iter());
    let next = world.take();
    assert_eq!(texts(&next), ["3", "4"]);
    next.confirm().unwrap();
    assert_eq!(world.unread(), [""; 0]);
}

#[test]
fn pages_that_nobody_goes_on_with_are_settled_after_a_while() {
    let world = World::new(4);
    let reading = world.take();
    reading.confirm().unwrap();
    world.pages.settle_after(Duration::from_secs(3600));
    assert!(world.pages.are_open());
    world.pages.settle_after(Duration::ZERO);
    assert!(!world.pages.are_open());
    assert_eq!(world.unread(), ["2", "3"]);
}

#[test]
fn a_page_that_is_shown_after_the_others_were_settled_is_marked_by_itself() {
    let world = World::new(6);
    let (first, second) = (world.take(), world.take());
    second.confirm().unwrap();
    world.pages.settle();
    assert_eq!(world.unread(), ["0", "1", "4", "5"]);
    assert_eq!(first.confirm().unwrap().marked, 2);
    assert_eq!(world.unread(), ["4", "5"]);
}

#[test]
fn another_reader_waits_as_long_as_pages_are_open() {
    let world = World::new(4);
    world.take().confirm().unwrap();
    let times = LockTimes { wait: Duration::from_millis(20), ..LockTimes::default() };
    let other = world.office.clone().with_lock_times(times);
    assert!(other.begin_read(&world.team, &world.bob, usize::MAX).is_err());
    world.pages.settle();
    let rest = other.begin_read(&world.team, &world.bob, usize::MAX).unwrap();
    assert_eq!(texts(&rest), ["2", "3"]);
}

#[test]
fn the_most_urgent_come_first_and_none_of_them_is_left_out() {
    let message = |number: usize, priority: &str| {
        let atm = serde_json::json!({ "priority": priority });
        let entry = serde_json::json!({
            "from": "eve", "text": number.to_string(), "timestamp": "2026-11-15T10:00:00Z", "read": false,
            "metadata": { "atm": atm },
        });
        Message::from_entry(&serde_json::value::to_raw_value(&entry).unwrap()).unwrap()
    };
    let mut found = Found::default();
    (0..MOST_MESSAGES).for_each(|number| found.add(message(number, "normal")));
    for (number, priority) in [(5_000, "low"), (5_001, "normal"), (5_002, "high")] {
        found.add(message(number, priority));
    }
    let found = found.in_order(Layout::Array);
    assert_eq!((found.messages.len(), found.beyond), (MOST_MESSAGES + 1, 2));
    let first: Vec<&str> = found.messages.iter().take(2).map(|message| message.text.as_str()).collect();
    assert_eq!(first, ["5002", "0"]);
}
