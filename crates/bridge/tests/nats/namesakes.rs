//! Two machines of one name.

use std::fs;

use async_nats::jetstream::context::Context;
use atm_support::wait_until;

use super::permissions;
use super::server::Server;
use super::world::{Machine, introduce, pair};

/// They took each other's mail, and nobody was told.
fn notice_each_other(is_copy: bool) {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    let number = laptop.create("ann", "dig a hole").id.to_string();
    hub.wait_for_task(&number, "dig a hole");
    let mut other = Machine::new("laptop", &server.url(), &["ann"]);
    if is_copy {
        let key = |machine: &Machine| machine.env().state().join("bridge/key");
        other.key();
        fs::copy(key(&laptop), key(&other)).unwrap();
    }
    other.trust(&hub, &[]);
    other.start();
    let is_doubled = |machine: &Machine| machine.status()["namesakeSince"].is_string();
    wait_until("both know of it", || is_doubled(&laptop) && is_doubled(&other));
    let sent = hub.send("bob", "ann", "for the first one");
    let answer = laptop.send("ann", "bob", "from the first one");
    wait_until("the leads are told", || {
        [&laptop, &other].iter().all(|one| one.texts("team-lead").len() == 1)
    });
    assert!(laptop.texts("team-lead")[0].contains("atm bridge run --machine NAME"));
    let shown = String::from_utf8(laptop.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("another bridge is called laptop, too"), "{shown}");
    let doctor = laptop.run(&laptop.at_server(&["doctor"]));
    assert_eq!(doctor.status.code(), Some(6), "{}", String::from_utf8_lossy(&doctor.stdout));
    assert!(other.texts("ann").is_empty() && laptop.texts("ann").is_empty());
    // Each would set back what the other one puts.
    let refused = laptop.claim("ann", &number).unwrap_err();
    assert_eq!(refused.code(), "tasks_out_of_reach", "{refused}");
    // The other one has another name from now on.
    other.kill();
    wait_until("it is alone", || !is_doubled(&laptop));
    wait_until("tasks are had again", || laptop.claim("ann", &number).is_ok());
    wait_until("mail is carried", || {
        hub.stage(&sent.id) == "written" && laptop.stage(&answer.id) == "written"
    });
    assert_eq!((laptop.texts("ann").len(), hub.texts("bob").len(), other.texts("ann").len()), (1, 1, 0));
}

#[test]
fn two_machines_of_one_name_notice_each_other_and_carry_nothing() {
    notice_each_other(false);
}

#[test]
fn so_do_a_machine_and_its_copy() {
    notice_each_other(true);
}

/// The word that stands in a place of the bucket of announcements.
async fn word_of(context: &Context, machine: &str) -> Vec<u8> {
    let bucket = context.get_key_value("atm-home-machines").await.unwrap();
    bucket.get(machine).await.unwrap().map(|word| word.to_vec()).unwrap_or_default()
}

/// A server puts its answers wherever it is asked to, whatever the one who asks may publish to: any machine that is let in stopped any
/// other one by a word under that one's name, again and again.
#[test]
fn nobody_is_stopped_by_words_that_another_machine_has_put_under_its_name() {
    let (_server, url) = permissions::server();
    let mut laptop = Machine::new("laptop", &url("laptop"), &["ann"]);
    let mut hub = Machine::new("hub", &url("hub"), &["bob"]);
    introduce(&[&laptop, &hub]);
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    hub.wait_for_member("ann");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (admin, eve) = runtime.block_on(async {
        let client = |user: &str| {
            let options = async_nats::ConnectOptions::with_user_and_password(user.into(), "secret".into());
            let options = options.custom_inbox_prefix("_INBOX_atm_home_hub");
            options.connect(url(user))
        };
        let (admin, eve) = (client("admin").await.unwrap(), client("hub").await.unwrap());
        (async_nats::jetstream::new(admin), async_nats::jetstream::new(eve))
    });
    // With what hub may do, what lies in one bucket comes to stand in another, under laptop's name.
    let copy = |from: &str, to: &str| {
        let (bucket, _) = from.strip_prefix("$KV.").unwrap().split_once('.').unwrap();
        let question = format!("$JS.API.DIRECT.GET.KV_{bucket}.{from}");
        runtime.block_on(async {
            let client = eve.client();
            client.publish_with_reply(question, to.to_owned(), "".into()).await.unwrap();
            client.flush().await.unwrap();
        });
    };
    let own = runtime.block_on(word_of(&admin, "laptop"));
    copy("$KV.atm-home-presence.laptop", "$KV.atm-home-machines.laptop");
    wait_until("a heartbeat stands where it was not said", || {
        let word = runtime.block_on(word_of(&admin, "laptop"));
        word != own && !word.is_empty()
    });
    runtime.block_on(async {
        let put = eve.publish("$KV.atm-home-homes.x", "a forged word".into()).await.unwrap();
        put.await.unwrap();
    });
    for place in ["$KV.atm-home-machines.laptop", "$KV.atm-home-presence.laptop"] {
        copy("$KV.atm-home-homes.x", place);
    }
    wait_until("laptop heard both, and nobody of its name answered for them", || {
        laptop.status()["tally"]["refused"]["not-ours"].as_u64() >= Some(2)
    });
    assert!(laptop.status()["namesakeSince"].is_null(), "{}", laptop.status());
    let sent = hub.send("bob", "ann", "hello");
    wait_until("mail crosses all the while", || hub.stage(&sent.id) == "written");
    wait_until("its own word stands there again", || {
        runtime.block_on(word_of(&admin, "laptop")).starts_with(b"atm1 laptop ")
    });
}
