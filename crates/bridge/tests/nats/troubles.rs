//! Servers, bridges and networks that fail: every accepted letter ends once in the right file, in order.

use std::thread;
use std::time::{Duration, Instant};

use atm_bridge::files::Files;
use atm_bridge::nats::setup::{self, Limits};
use atm_bridge::nats::{Options, connect};
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

/// Whether it becomes so within a time.
fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Days of absence in seconds: all that is published is gone before the other machine is there, again and again.
#[test]
fn machines_that_are_never_on_at_the_same_time_outlive_the_streams_age() {
    const AGE: Duration = Duration::from_secs(6);
    let server = Server::new();
    let machines = ["laptop", "hub"].map(|name| name.parse().unwrap());
    let context = |runtime: &tokio::runtime::Runtime| {
        runtime.block_on(async {
            let options = Options { servers: vec![server.url()], ..Options::default() };
            let (up, _) = tokio::sync::mpsc::unbounded_channel();
            let client = connect(&options, &"home".parse().unwrap(), &machines[0], false, up).await.unwrap();
            async_nats::jetstream::new(client)
        })
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let context = context(&runtime);
    let limits = Limits { max_age: AGE, ..Limits::default() };
    runtime.block_on(setup::init(&context, &"home".parse().unwrap(), &machines, limits)).unwrap();
    let count = || {
        let stream = runtime.block_on(context.get_stream("atm-home")).unwrap();
        stream.cached_info().state.messages
    };
    let (mut laptop, mut hub) = pair(&server.url(), &server.url());
    hub.kill();
    let ids: Vec<String> = numbered(5).iter().map(|text| laptop.send("ann", "bob", text).id).collect();
    wait_until("they are published", || laptop.status()["tally"]["published"].as_u64() >= Some(5));
    laptop.kill();
    wait_until("the stream forgets them", || count() == 0);
    assert_eq!(hub.texts("bob"), Vec::<String>::new());
    let is_home = |laptop: &Machine| ids.iter().all(|id| laptop.stage(id) == "written");
    // Each is on for as long as it takes to say something, and never beside the other.
    for _ in 0..5 {
        laptop.start();
        within(AGE, || is_home(&laptop) || laptop.own_status()["tally"]["published"].as_u64() >= Some(5));
        laptop.kill();
        if is_home(&laptop) {
            break;
        }
        hub.start();
        within(AGE, || {
            let status = hub.own_status();
            let known = ["takenIn", "repeated"].map(|key| status["tally"][key].as_u64().unwrap_or_default());
            known[0] + known[1] >= 5 && status["underWay"] == 0
        });
        hub.kill();
    }
    assert_eq!(hub.texts("bob"), numbered(5));
    assert!(is_home(&laptop));
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

/// The numbers of what the server lost belong to other mail by the time its sender looks, and nothing else is for its
/// recipient: only that machine can say that it has processed that place.
#[test]
fn mail_whose_place_in_the_stream_was_taken_by_other_mail_is_sent_again() {
    let mut server = Server::new();
    let (mut laptop, mut hub) = pair(&server.url(), &server.url());
    hub.kill();
    server.keep_disk();
    let sent = laptop.send("ann", "bob", "letter 0");
    let memory = Files::of(&laptop.env().state()).memory();
    wait_until("its place is remembered", || {
        std::fs::read_to_string(&memory)
            .is_ok_and(|text| text.contains(&sent.id) && text.to_lowercase().contains("stored"))
    });
    laptop.kill();
    server.roll_back();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        for _ in 0..50 {
            let subject = "atm.home.to.desk.from.other.letter";
            context.publish(subject, "x".into()).await.unwrap().await.unwrap();
        }
    });
    laptop.start();
    hub.start();
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
