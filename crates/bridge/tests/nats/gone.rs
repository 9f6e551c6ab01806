//! A client that deletes its team's folder: what it wrote to a member of another machine before is carried all the same.

use std::fs;
use std::thread;
use std::time::Duration;

use atm_office::mail::send::{Letter, SendOptions};
use atm_support::{Foreign, wait_until};

use super::server::Server;
use super::world::{Machine, TEAM, name, pair, team};

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

#[test]
fn so_does_it_while_thousands_of_letters_are_under_way() {
    const MANY: usize = 2_000;
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    let letters: Vec<Letter> =
        (0..MANY).map(|number| Letter::new("bob".parse().unwrap(), format!("letter {number}"))).collect();
    let sent = laptop
        .office
        .team(&team())
        .unwrap()
        .send_all(&name("ann"), &letters, SendOptions::default())
        .unwrap();
    assert!(sent.iter().all(Result::is_ok));
    wait_until("they are under way", || !hub.texts("bob").is_empty());
    assert!(hub.texts("bob").len() < MANY, "they are not all there yet");
    write_and_delete(&laptop);
    for part in 1..=5 {
        wait_until("they go on", || hub.texts("bob").len() >= MANY / 5 * part);
    }
    wait_until("all have arrived", || hub.texts("bob").len() > MANY);
    assert!(hub.texts("bob").contains(&"late.0".to_owned()));
}
