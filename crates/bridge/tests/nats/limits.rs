//! The bounds that `init` was given outlive what they are for.

use async_nats::jetstream;
use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, introduce};

/// What the server has of the realm: the bounds of the stream and of the bucket of homes, in MiB.
fn bounds(url: &str) -> Option<(i64, i64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let context = jetstream::new(async_nats::connect(url).await.ok()?);
        let stream = context.get_stream("atm-home").await.ok()?;
        let bucket = context.get_stream("KV_atm-home-homes").await.ok()?;
        Some((stream.cached_info().config.max_bytes >> 20, bucket.cached_info().config.max_bytes >> 20))
    })
}

#[test]
fn what_is_made_anew_has_the_bounds_that_init_was_given() {
    let mut server = Server::new();
    let mut hub = Machine::new("hub", &server.url(), &["bob"]);
    let init = ["init", "--machine", "hub", "--nats", hub.url()];
    hub.json(&[&init[..], &["--max-mib", "100", "--bucket-mib", "8"]].concat());
    hub.start();
    hub.wait_for_home("bob", "hub", 1);
    // The one that makes it anew is another process than the one that saw it.
    hub.kill();
    server.lose_disk();
    hub.start();
    wait_until("all is there again", || bounds(&server.url()).is_some());
    assert_eq!(bounds(&server.url()), Some((100, 8)));
    hub.kill();
    let lost = async || {
        let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
        context.delete_key_value("atm-home-homes").await.unwrap();
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(lost());
    let admin = Machine::new("admin", &server.url(), &["ada"]);
    admin.json(&["init", "--machine", "admin", "--nats", &server.url()]);
    assert_eq!(bounds(&server.url()), Some((100, 8)), "as the others are");
}

/// The stream was made first, as large as it is without a word, and kept its size for ever: no `--max-mib` made room for the rest.
#[test]
fn what_is_there_is_made_smaller_before_the_rest_is_made() {
    let server = Server::start_with(
        "accounts { ATM { jetstream { max_file: 1200000000 }, users: [{ user: u, password: p }] } }\nno_auth_user: u",
    );
    let hub = Machine::new("hub", &server.url(), &["bob"]);
    let init = ["init", "--machine", "hub", "--nats", hub.url()];
    let refused = hub.run(&init);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(7) && said.contains("--max-mib 256"), "{said}");
    hub.json(&[&init[..], &["--max-mib", "256"]].concat());
    assert_eq!(bounds(&server.url()), Some((256, 64)));
}

/// What the stream drops to keep its bound was published again at every look, round and round, as long as its recipient was off.
#[test]
fn mail_that_is_more_than_the_stream_holds_is_published_once_however_long_its_recipient_is_off() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    let mut hub = Machine::new("hub", &server.url(), &["bob"]);
    let mut desk = Machine::new("desk", &server.url(), &["eve"]);
    hub.json(&["init", "--machine", "hub", "--nats", hub.url(), "--max-mib", "1"]);
    introduce(&[&laptop, &hub, &desk]);
    for machine in [&mut laptop, &mut hub, &mut desk] {
        machine.start();
    }
    laptop.wait_for_member("bob");
    laptop.wait_for_member("eve");
    hub.kill();
    let texts: Vec<String> = (0..300).map(|number| format!("{number} {}", "x".repeat(10_000))).collect();
    for text in &texts {
        laptop.send("ann", "bob", text);
    }
    let number = |status: &serde_json::Value| status.as_u64().unwrap_or(0);
    let again = || number(&laptop.status()["tally"]["publishedAgain"]);
    let outbound = || laptop.status()["outbound"]["hub"].clone();
    wait_until("the server has a part of it", || {
        let outbound = outbound();
        number(&outbound["stored"]) > 0 && number(&outbound["unsent"]) + number(&outbound["stored"]) == 300
    });
    // Others' mail has room; and with each of it, laptop has looked at the stream once more.
    for round in 0..8 {
        let last = || number(&laptop.status()["stream"]["last"]);
        let (text, before) = (format!("{round}"), last());
        laptop.send("ann", "eve", &text);
        wait_until("eve has her mail", || desk.texts("eve").last() == Some(&text));
        wait_until("laptop has looked at the stream since", || last() > before);
    }
    assert_eq!(again(), 0, "{}", laptop.status());
    assert!(number(&outbound()["stored"]) < 100, "it does not fill the stream: {}", outbound());
    hub.start();
    wait_until("bob has all of it, in order", || hub.texts("bob") == texts);
    wait_until("all is confirmed", || outbound().is_null());
    assert!(again() < 30, "{}", laptop.status());
}
