//! Servers, bridges and networks that fail: every accepted letter ends once in the right file, in order.

use std::time::Duration;

use atm_support::wait_until;

use super::server::{Proxy, Server};
use super::world::{Machine, introduce, pair};

pub(crate) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("letter {number}")).collect()
}

/// Waits until all letters have arrived, in order, and are confirmed at home.
pub(crate) fn settles(laptop: &Machine, hub: &Machine, ids: &[String]) {
    wait_until("all letters have arrived", || hub.texts("bob").len() >= ids.len());
    assert_eq!(hub.texts("bob"), numbered(ids.len()));
    wait_until("all are confirmed at home", || ids.iter().all(|id| laptop.stage(id) == "written"));
    // What comes late must not be written twice.
    wait_until("the outbox is empty", || {
        laptop.status()["outbox"].as_object().is_some_and(serde_json::Map::is_empty)
    });
    assert_eq!(hub.texts("bob"), numbered(ids.len()));
}

#[test]
fn mail_is_accepted_while_the_server_is_down_and_sent_later() {
    let mut server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    server.kill();
    let ids: Vec<String> = numbered(5).iter().map(|text| laptop.send("ann", "bob", text).id).collect();
    assert_eq!(laptop.stage(&ids[0]), "accepted");
    server.start();
    settles(&laptop, &hub, &ids);
}

#[test]
fn a_server_that_lost_its_disk_costs_time_and_no_mail() {
    let mut server = Server::new();
    let (laptop, mut hub) = pair(&server.url(), &server.url());
    // Hub is away, so that the letters are on the disk that is lost.
    hub.kill();
    let ids: Vec<String> = numbered(20).iter().map(|text| laptop.send("ann", "bob", text).id).collect();
    wait_until("they are published", || laptop.status()["tally"]["published"].as_u64() >= Some(20));
    server.lose_disk();
    hub.start();
    settles(&laptop, &hub, &ids);
}

#[test]
fn bridges_and_servers_are_killed_while_letters_are_sent() {
    let mut server = Server::new();
    let (mut laptop, mut hub) = pair(&server.url(), &server.url());
    let mut ids = Vec::new();
    for (number, text) in numbered(60).iter().enumerate() {
        ids.push(laptop.send("ann", "bob", text).id);
        match number {
            10 | 40 => {
                hub.kill();
                hub.start();
            }
            20 | 45 => {
                laptop.kill();
                laptop.start();
            }
            30 => {
                server.kill();
                server.start();
            }
            _ => {}
        }
    }
    settles(&laptop, &hub, &ids);
}

#[test]
fn a_partition_delays_mail_and_loses_none() {
    let server = Server::new();
    let (one, two) = (Proxy::to(server.port()), Proxy::to(server.port()));
    let (laptop, hub) = pair(&one.url(), &two.url());
    let mut ids = Vec::new();
    for (number, text) in numbered(30).iter().enumerate() {
        ids.push(laptop.send("ann", "bob", text).id);
        match number {
            5 => one.cut(),
            10 => {
                two.cut();
                one.mend();
            }
            20 => two.mend(),
            _ => {}
        }
    }
    settles(&laptop, &hub, &ids);
}

#[test]
fn machines_that_are_never_on_at_the_same_time() {
    let server = Server::new();
    let (mut laptop, mut hub) = pair(&server.url(), &server.url());
    hub.kill();
    let ids: Vec<String> = numbered(5).iter().map(|text| laptop.send("ann", "bob", text).id).collect();
    wait_until("they are published", || laptop.status()["tally"]["published"].as_u64() >= Some(5));
    laptop.kill();
    hub.start();
    wait_until("all letters have arrived", || hub.texts("bob") == numbered(5));
    wait_until("its confirmations are on the server", || {
        let status = hub.status();
        status["tally"]["takenIn"].as_u64() >= Some(5) && status["underWay"] == 0
    });
    hub.kill();
    laptop.start();
    wait_until("all are confirmed at home", || ids.iter().all(|id| laptop.stage(id) == "written"));
}

#[test]
fn a_machine_that_is_not_trusted_waits_until_it_is() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    let mut hub = Machine::new("hub", &server.url(), &["bob"]);
    laptop.trust(&hub, &[]);
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    let sent = laptop.send("ann", "bob", "letter 0");
    wait_until("hub refuses it", || hub.status()["tally"]["refused"]["untrusted"].as_u64() >= Some(1));
    assert_eq!(hub.texts("bob"), Vec::<String>::new());
    introduce(&[&laptop, &hub]);
    settles(&laptop, &hub, &[sent.id]);
}

#[test]
fn a_bridge_ends_at_once_while_its_server_hangs() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    laptop.start();
    wait_until("laptop is connected", || !laptop.status()["stream"].is_null());
    server.hang();
    // A request was given up, so the next one is under way, for seconds.
    wait_until("the server's silence is noticed", || laptop.status()["stream"].is_null());
    assert!(laptop.terminate() < Duration::from_secs(3));
}
