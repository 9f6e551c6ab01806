//! Who is let in, and how far: TLS with an authority of one's own, certificates of machines, nkeys, JWT, accounts.

use std::fs;
use std::process::Output;

use atm_bridge::nats::setup::Rights;
use atm_support::wait_until;
use nkeys::KeyPair;
use tempfile::TempDir;

use super::credentials::{Authority, Operator, rights_of};
use super::server::Server;
use super::world::{Machine, introduce};

/// Two machines with this access; init is done as `admin`. A letter crosses.
fn cross(url: &str, access: [&[String]; 2], admin: &[String]) -> (Machine, Machine) {
    let (mut laptop, mut hub) = (Machine::new("laptop", url, &["ann"]), Machine::new("hub", url, &["bob"]));
    introduce(&[&laptop, &hub]);
    laptop.access = admin.to_vec();
    laptop.json(&laptop.at_server(&["init", "--for", "laptop", "--for", "hub"]));
    laptop.access = access[0].to_vec();
    hub.access = access[1].to_vec();
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    let sent = laptop.send("ann", "bob", "hello");
    wait_until("it has arrived", || hub.texts("bob") == ["hello"]);
    wait_until("it is confirmed", || laptop.stage(&sent.id) == "written");
    assert_eq!(laptop.json(&laptop.at_server(&["doctor"]))["healthy"], true);
    (laptop, hub)
}

/// What `doctor` says that cannot connect: exit code and all of its words.
fn refused(machine: &mut Machine, access: &[String]) -> (Option<i32>, String) {
    machine.access = access.to_vec();
    let Output { status, stderr, .. } = machine.run(&machine.at_server(&["doctor"]));
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn mail_crosses_over_tls_with_an_authority_of_ones_own_and_nobody_else_is_believed() {
    let (own, other) = (Authority::new(), Authority::new());
    let server = Server::start_with(&own.tls(""));
    let access = own.words(&[("--tls-ca", "ca.pem")]);
    let (mut laptop, _hub) = cross(&server.tls_url(), [&access, &access], &access);
    for untrusted in [vec![], other.words(&[("--tls-ca", "ca.pem")])] {
        let (code, said) = refused(&mut laptop, &untrusted);
        assert_eq!(code, Some(7), "{said}");
        assert!(said.contains("--tls-ca"), "{said}");
    }
    // By an address that its certificate does not name.
    let mut elsewhere = Machine::new("laptop", &server.tls_url().replace("localhost", "127.0.0.1"), &[]);
    let (code, said) = refused(&mut elsewhere, &access);
    assert!(code == Some(7) && said.contains("another host"), "{said}");
    // Without TLS in the address, the server still insists on it.
    let mut plain = Machine::new("laptop", &server.url(), &[]);
    let (code, said) = refused(&mut plain, &[]);
    assert!(code == Some(7) && said.contains("--tls-ca"), "{said}");
}

#[test]
fn a_server_that_wants_a_certificate_gets_one_and_turns_others_away() {
    let (own, other) = (Authority::new(), Authority::new());
    let verify = format!(", ca_file: {:?}, verify: true", own.path("ca.pem"));
    let server = Server::start_with(&own.tls(&verify));
    let files = [("--tls-ca", "ca.pem"), ("--tls-cert", "client.pem"), ("--tls-key", "client.key")];
    let access = own.words(&files);
    let (mut laptop, _hub) = cross(&server.tls_url(), [&access, &access], &access);
    let (code, said) = refused(&mut laptop, &own.words(&files[..1]));
    assert!(code == Some(7) && said.contains("--tls-cert"), "{said}");
    let mut foreign = own.words(&files[..1]);
    foreign.extend(other.words(&files[1..]));
    assert_eq!(refused(&mut laptop, &foreign).0, Some(7));
    // Files that are none are named.
    let mut wrong = own.words(&files);
    wrong[3] = own.path("client.key").display().to_string();
    let (code, said) = refused(&mut laptop, &wrong);
    assert!(code == Some(7) && said.contains("client.key") && said.contains("no certificate"), "{said}");
}

#[test]
fn machines_are_let_in_by_their_nkeys() {
    let folder = tempfile::tempdir().unwrap();
    let user = |name: &str, rights: Option<Rights>| {
        let key = KeyPair::new_user();
        fs::write(folder.path().join(name), format!("{}\n", key.seed().unwrap())).unwrap();
        let allow = rights.map(|Rights { publish, subscribe }| {
            format!(
                "permissions: {{ publish: {{ allow: {publish:?} }}, subscribe: {{ allow: {subscribe:?} }} }}"
            )
        });
        format!("{{ nkey: {}, {} }}", key.public_key(), allow.unwrap_or_default())
    };
    let users =
        [user("admin", None), user("laptop", Some(rights_of("laptop"))), user("hub", Some(rights_of("hub")))];
    let server = Server::start_with(&format!("authorization {{ users: [ {} ] }}", users.join("\n")));
    user("stranger", None);
    let access = |name: &str| vec!["--nkey".to_owned(), folder.path().join(name).display().to_string()];
    let (mut laptop, _hub) = cross(&server.url(), [&access("laptop"), &access("hub")], &access("admin"));
    let (code, said) = refused(&mut laptop, &access("stranger"));
    assert!(code == Some(4) && said.contains("--nkey"), "{said}");
    fs::write(folder.path().join("none"), "SUNOTASEED\n").unwrap();
    let (code, said) = refused(&mut laptop, &access("none"));
    assert!(code == Some(7) && said.contains("none") && said.contains("seed"), "{said}");
}

#[test]
fn machines_are_let_in_by_an_operators_jwt_with_the_least_rights() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), Operator::new());
    let server = Server::start_with(&operator.configuration);
    let user = |name: &str, rights| access_by_creds(&operator, &folder, name, rights);
    let (laptop, hub) = (user("laptop", Some(rights_of("laptop"))), user("hub", Some(rights_of("hub"))));
    let (mut machine, _hub) = cross(&server.url(), [&laptop, &hub], &user("admin", None));
    // Of another operator.
    let stranger = access_by_creds(&Operator::new(), &folder, "stranger", None);
    let (code, said) = refused(&mut machine, &stranger);
    assert!(code == Some(4) && said.contains("--creds"), "{said}");
}

fn access_by_creds(operator: &Operator, folder: &TempDir, name: &str, rights: Option<Rights>) -> Vec<String> {
    vec!["--creds".to_owned(), operator.user(folder.path(), name, rights).display().to_string()]
}

#[test]
fn accounts_of_one_server_know_nothing_of_each_other() {
    let account = |name: &str| {
        format!("{name} {{\njetstream: enabled\nusers: [ {{ user: {name}, password: secret }} ]\n}}")
    };
    let server = Server::start_with(&format!("accounts {{\n{}\n{}\n}}", account("home"), account("work")));
    let url = |user: &str| server.url().replace("nats://", &format!("nats://{user}:secret@"));
    let (laptop, _hub) = cross(&url("home"), [&[], &[]], &[]);
    let other = Machine::new("laptop", &url("work"), &["ann"]);
    let doctor = other.run(&other.at_server(&["doctor", "--json"]));
    assert_eq!(doctor.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("stream not found"));
    // The same realm, made there as well, is another one.
    other.json(&other.at_server(&["init"]));
    assert_eq!(other.json(&other.at_server(&["dead"])), serde_json::json!([]));
    wait_until("its own stream has mail", || laptop.status()["stream"]["last"].as_u64() > Some(0));
}

#[test]
fn a_machine_cannot_publish_or_read_as_another_one() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), Operator::new());
    let server = Server::start_with(&operator.configuration);
    let admin = access_by_creds(&operator, &folder, "admin", None);
    let laptop = access_by_creds(&operator, &folder, "laptop", Some(rights_of("laptop")));
    let mut machine = Machine::new("hub", &server.url(), &["bob"]);
    machine.access = admin;
    machine.json(&machine.at_server(&["init", "--for", "laptop", "--for", "hub"]));
    // Under hub's name, with laptop's credentials: it would not even hear answers.
    machine.access = laptop;
    let doctor = machine.run(&machine.at_server(&["doctor", "--json"]));
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert_eq!(doctor.status.code(), Some(6));
    assert!(said.contains("not allowed") && said.contains("_INBOX_atm_home_hub"), "{said}");
    machine.start();
    wait_until("the bridge says what is not allowed", || {
        machine.status()["lastError"]["what"]
            .as_str()
            .is_some_and(|what| what.contains("Permissions Violation"))
    });
}
