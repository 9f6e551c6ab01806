//! A client that deletes its team's folder: what it wrote to a member of another machine before is carried all the same.

use std::fs;
use std::thread;
use std::time::Duration;

use atm_support::{Foreign, wait_until};

use super::server::Server;
use super::world::{Machine, TEAM, pair};

/// How long the mail lies there: what is promised.
const LIES: Duration = Duration::from_millis(100);

/// A client writes to bob by its own means, and its team is deleted soon after.
fn write_and_delete(machine: &Machine) {
    let folder = machine.env().root().join("teams").join(TEAM);
    Foreign::client(&folder.join("inboxes/bob.json")).with("--from", "ann").sending("late.", 1).run();
    // Nothing else tells that the time has come.
    thread::sleep(LIES);
    // A bridge may put a file there while it is removed.
    wait_until("the folder is gone", || fs::remove_dir_all(&folder).is_ok() || !folder.exists());
}

#[test]
fn what_lay_in_a_teams_folder_before_it_was_deleted_arrives() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    write_and_delete(&laptop);
    wait_until("it has arrived", || hub.texts("bob") == ["late.0"]);
}
