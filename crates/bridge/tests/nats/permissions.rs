//! The least permissions that `init` prints are enough for a bridge, and keep it from speaking for another machine.

use atm_bridge::name::{Machine as MachineName, Realm};
use atm_bridge::nats::setup::permissions;
use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, introduce};

fn user(name: &str, machine: &str) -> String {
    let (realm, machine): (Realm, MachineName) = ("home".parse().unwrap(), machine.parse().unwrap());
    format!("{{ user: {name}, password: secret, {} }}", permissions(&realm, &machine))
}

#[test]
fn the_printed_permissions_are_enough_for_a_bridge() {
    let users =
        ["{ user: admin, password: secret }".to_owned(), user("laptop", "laptop"), user("hub", "hub")];
    let server = Server::start_with(&format!("authorization {{ users: [ {} ] }}", users.join(",\n")));
    let url = |user: &str| server.url().replace("nats://", &format!("nats://{user}:secret@"));
    let mut laptop = Machine::new("laptop", &url("laptop"), &["ann"]);
    let mut hub = Machine::new("hub", &url("hub"), &["bob"]);
    introduce(&[&laptop, &hub]);
    laptop.json(&["init", "--nats", &url("admin"), "--for", "laptop", "--for", "hub"]);
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    let sent = laptop.send("ann", "bob", "hello");
    let long = "long ".repeat(300_000);
    laptop.send("ann", "bob", &long);
    wait_until("both have arrived", || hub.texts("bob").len() == 2);
    wait_until("it is confirmed", || laptop.stage(&sent.id) == "written");
    // A task is made, told and claimed with them, too.
    wait_until("a number can be reserved", || laptop.create("ann", "dig").made_on.is_none());
    let number = laptop.create("ann", "fill").id.to_string();
    hub.wait_for_task(&number, "fill");
    hub.claim("bob", &number).unwrap();
    let doctor = laptop.run(&["doctor", "--machine", "laptop", "--nats", &url("laptop"), "--json"]);
    assert_eq!(doctor.status.code(), Some(0), "{}", String::from_utf8_lossy(&doctor.stdout));
    // As hub, with laptop's credentials.
    let doctor = laptop.run(&["doctor", "--machine", "hub", "--nats", &url("laptop"), "--json"]);
    assert_eq!(doctor.status.code(), Some(6), "{}", String::from_utf8_lossy(&doctor.stdout));
    assert!(!laptop.status().to_string().contains("secret"));
}
