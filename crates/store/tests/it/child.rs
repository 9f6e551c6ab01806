//! Parts of tests that need a process of their own: the test binary runs itself again, with one of the functions below.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use atm_store::{LockTimes, Mailbox, State, interrupt};
use atm_support::{TestTeam, draft, wait_until};
use atm_wire::MemberName;

/// A process that writes to bob's inbox; killed when dropped.
pub(crate) struct Process {
    child: Child,
    accepted: PathBuf,
}

impl Process {
    /// Starts the function `part` of this module on `team`; `name` is what its messages begin with.
    pub(crate) fn start(part: &str, team: &TestTeam, name: &str) -> Self {
        let accepted = team.env().home().join(name);
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child::a_part_of_another_test", "--nocapture"])
            .env("ATM_TEST_CHILD_PART", part)
            .env("ATM_TEST_CHILD_TEAM", team.folder())
            .env("ATM_TEST_CHILD_STATE", team.env().state())
            .env("ATM_TEST_CHILD_ACCEPTED", &accepted)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, accepted }
    }

    /// The texts whose append came back without an error, so far.
    pub(crate) fn accepted(&self) -> Vec<String> {
        let said = fs::read_to_string(&self.accepted).unwrap_or_default();
        said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(ToOwned::to_owned).collect()
    }

    /// Ends it without a warning, wherever it is.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it ends by itself; says whether it ended well.
    pub(crate) fn ended_well(&mut self) -> bool {
        wait_until("the child has ended", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn told(name: &str) -> PathBuf {
    env::var_os(format!("ATM_TEST_CHILD_{name}")).expect("other tests start this one").into()
}

fn bob(team: &Path) -> Mailbox {
    Mailbox::open(team, &MemberName::parse("bob").unwrap(), &State::new(told("STATE")), LockTimes::default())
}

/// Does nothing unless [`Process::start`] runs it.
#[test]
fn a_part_of_another_test() {
    match env::var("ATM_TEST_CHILD_PART").as_deref() {
        Ok("append_until_killed") => append_until_killed(),
        Ok("abandon_in_the_middle") => abandon_in_the_middle(),
        Ok(unknown) => panic!("there is no part {unknown}"),
        Err(_) => {}
    }
}

fn append_until_killed() {
    let accepted = told("ACCEPTED");
    let name = accepted.file_name().unwrap().to_string_lossy().into_owned();
    let mut said = OpenOptions::new().create(true).append(true).open(&accepted).unwrap();
    let bob = bob(&told("TEAM"));
    for number in 0.. {
        let text = format!("{name} {number}");
        bob.append(&[draft(&text)], false).unwrap();
        said.write_all(format!("{text}\n").as_bytes()).unwrap();
    }
}

fn abandon_in_the_middle() {
    let team = told("TEAM");
    for _ in 0..2 {
        let bob = bob(&team);
        thread::spawn(move || {
            loop {
                // Beside the thread below, some give up; that is not what this is about.
                let _ = bob.append(&[draft("m")], false);
            }
        });
    }
    // Without any lock, so that most appends have to prepare everything inside the locks.
    let (inbox, copy) = (team.join("inboxes/bob.json"), team.join("copy"));
    thread::spawn(move || {
        loop {
            fs::copy(&inbox, &copy).and_then(|_| fs::rename(&copy, &inbox)).unwrap();
        }
    });
    // Short commits are over before they are seen: this is one that prepares its file while it holds the lock.
    let lock = team.join("inboxes/bob.json.lock");
    wait_until("a commit holds the lock", || lock.exists());
    interrupt::abandon();
    std::process::exit(0);
}
