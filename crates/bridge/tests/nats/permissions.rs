//! The least permissions that `init` prints are enough for a bridge, and keep it from speaking for another machine.

use atm_bridge::name::{Machine as MachineName, Realm};
use atm_bridge::nats::setup::{permissions, rights};
use atm_bridge::nats::{Link, Options, connect};
use atm_support::wait_until;
use futures_util::TryStreamExt as _;
use tokio::io::AsyncReadExt as _;

use super::crossing::object_bytes;
use super::refused::Scene;
use super::server::Server;
use super::world::{Machine, introduce};

fn user(name: &str, machine: &str) -> String {
    let (realm, machine): (Realm, MachineName) = ("home".parse().unwrap(), machine.parse().unwrap());
    format!("{{ user: {name}, password: secret, {} }}", permissions(&realm, &machine))
}

/// A server on which each machine may do what is printed for it, with the realm made; and the addresses for its users.
pub(crate) fn server() -> (Server, impl Fn(&str) -> String) {
    server_with(user("laptop", "laptop"), "")
}

/// The same, but for what laptop may do, and with these lines in its configuration.
fn server_with(laptop: String, more: &str) -> (Server, impl Fn(&str) -> String) {
    let users = ["{ user: admin, password: secret }".to_owned(), laptop, user("hub", "hub")];
    let server = Server::start_with(&format!("authorization {{ users: [ {} ] }}\n{more}", users.join(",\n")));
    let plain = server.url();
    let url = move |user: &str| plain.replace("nats://", &format!("nats://{user}:secret@"));
    let admin = Machine::new("admin", &url("admin"), &["ada"]);
    admin.json(&["init", "--nats", &url("admin"), "--for", "laptop", "--for", "hub"]);
    (server, url)
}

#[test]
fn the_printed_permissions_are_enough_for_a_bridge() {
    let (_server, url) = server();
    let mut laptop = Machine::new("laptop", &url("laptop"), &["ann"]);
    let mut hub = Machine::new("hub", &url("hub"), &["bob"]);
    introduce(&[&laptop, &hub]);
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    let sent = laptop.send("ann", "bob", "hello");
    let long = "long ".repeat(300_000);
    laptop.send("ann", "bob", &long);
    wait_until("both have arrived", || hub.texts("bob").len() == 2);
    wait_until("it is confirmed", || laptop.stage(&sent.id) == "written");
    wait_until("its object is deleted", || object_bytes(&url("admin")) < 20_000);
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

/// Each of them was "healthy" whose user could not put tasks, homes or heartbeats, or not take mail.
#[test]
fn doctor_names_each_right_that_is_missing() {
    let (realm, laptop): (Realm, MachineName) = ("home".parse().unwrap(), "laptop".parse().unwrap());
    let rights = rights(&realm, &laptop).publish;
    let lacking = |(number, right): (usize, &String)| {
        let all = user(&format!("u{number}"), "laptop");
        let rest = all.replace(&format!("\"{right}\"\n"), "\n");
        assert_ne!(all, rest, "{right}");
        rest
    };
    let (_server, url) =
        server_with(rights.iter().enumerate().map(lacking).collect::<Vec<_>>().join(",\n"), "");
    let machine = Machine::new("laptop", "", &[]);
    let missed = |(number, right): (usize, &String)| {
        let nats = url(&format!("u{number}"));
        let doctor = machine.run(&["doctor", "--machine", "laptop", "--nats", &nats, "--json"]);
        let said: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
        let is_named = said["checks"].as_array().unwrap().iter().any(|check| {
            check["about"] == "permissions" && check["found"] == format!("not allowed: publish to {right}")
        });
        (!is_named || doctor.status.code() != Some(6)).then(|| format!("{right}: {said}"))
    };
    // What is denied is not answered, and waited for.
    let missed: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> = rights.iter().enumerate().map(|one| scope.spawn(move || missed(one))).collect();
        asked.into_iter().filter_map(|asked| asked.join().unwrap()).collect()
    });
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// It stayed on the list, as a member of this machine that another one holds.
#[test]
fn a_member_that_may_not_be_taken_is_not_on_the_list() {
    let may_all = user("laptop", "laptop");
    let denied = may_all.replace("\"$KV.atm-home-homes.>\"\n", "\n");
    assert_ne!(denied, may_all);
    let (_server, url) = server_with(denied, "");
    let laptop = Machine::new("laptop", &url("laptop"), &["ann"]);
    let mut hub = Machine::new("hub", &url("hub"), &["bob"]);
    introduce(&[&laptop, &hub]);
    hub.start();
    hub.wait_for_home("bob", "hub", 1);
    let args = ["take", "bob", "--team", "demo", "--machine", "laptop", "--nats", laptop.url(), "--json"];
    let output = laptop.run(&args);
    assert_eq!(output.status.code(), Some(7));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("not allowed: publish to $KV.atm-home-homes.demo.bob"), "{error}");
    assert!(!laptop.knows("bob"));
}

/// Dead letters are listed and taken in again with them, although their senders are other machines.
#[test]
fn the_printed_permissions_are_enough_for_dead_letters() {
    let (server, url) = server();
    // Who plays laptop's bridge here also plays the older bridge of hub that could not read a letter.
    let scene = Scene::at(server, &url("hub"), &url("admin"));
    let rescued = scene.letter("rescued");
    scene.fail(&rescued);
    scene.bury(&rescued, "its content cannot be read");
    let dead = scene.dead(&[]);
    assert_eq!(dead[0]["id"].as_str().map(str::len), Some(36), "{dead}");
    scene.dead(&["--again", &dead[0]["number"].to_string()]);
    wait_until("it is taken in", || scene.hub.texts("bob") == ["rescued"]);
}

/// What is sealed for one machine is nothing that another one can fetch, nor whom it is from.
#[test]
fn a_machine_cannot_fetch_what_is_addressed_to_others() {
    let (server, url) = server();
    let scene = Scene::at(server, &url("hub"), &url("admin"));
    let letter = scene.letter("for hub alone");
    scene.publish(&letter);
    assert!(scene.fetch_as(&url("admin")).is_some());
    assert!(scene.fetch_as(&url("laptop")).is_none());
}

/// Desk may read, overwrite and delete what any machine has put into the object store.
#[test]
fn what_another_machine_does_to_large_letters_costs_time_and_tells_it_nothing() {
    let users = format!("{},\n{}", user("laptop", "laptop"), user("desk", "desk"));
    let (_server, url) = server_with(users, "max_payload: 65536");
    let mut laptop = Machine::new("laptop", &url("laptop"), &["ann"]);
    let mut hub = Machine::new("hub", &url("hub"), &["bob"]);
    introduce(&[&laptop, &hub]);
    // Also where bodies are not sealed.
    laptop.access = vec!["--no-seal".to_owned()];
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    hub.kill();
    let texts = ["one ", "two ", "three "].map(|word| word.repeat(50_000));
    let ids = texts.each_ref().map(|text| laptop.send("ann", "bob", text).id);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let link = runtime.block_on(async {
        let (realm, desk): (Realm, MachineName) = ("home".parse().unwrap(), "desk".parse().unwrap());
        let options = Options { servers: vec![url("desk")], ..Options::default() };
        let (up, _) = tokio::sync::mpsc::unbounded_channel();
        let client = connect(&options, &realm, &desk, false, up).await.unwrap();
        Link::new(client, realm, desk)
    });
    wait_until("they are in the store", || {
        runtime.block_on(async {
            let stream = link.context().get_stream_no_info("OBJ_atm-home-objects").await.unwrap();
            let objects = stream.info_with_subjects("$O.atm-home-objects.M.>").await.unwrap();
            objects.try_collect::<Vec<_>>().await.unwrap().len() == 3
        })
    });
    runtime.block_on(async {
        let names = link.object_names("").await.unwrap();
        let store = link.context().get_object_store("atm-home-objects").await.unwrap();
        for name in &names {
            let mut bytes = Vec::new();
            store.get(name).await.unwrap().read_to_end(&mut bytes).await.unwrap();
            let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
            assert!(bytes.len() > 100_000 && !has(b"one one") && !has(b"two two") && !has(b"three three"));
        }
        link.put_object(&names[0], &vec![b'x'; 200_000]).await.unwrap();
        link.delete_object(&names[1]).await.unwrap();
    });
    hub.start();
    wait_until("all of them are there", || hub.texts("bob").len() == 3);
    assert_eq!(hub.texts("bob"), texts);
    wait_until("all are confirmed", || ids.iter().all(|id| laptop.stage(id) == "written"));
}
