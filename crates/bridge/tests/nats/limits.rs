//! The bounds that `init` was given outlive what they are for.

use async_nats::jetstream;
use atm_support::wait_until;

use super::server::Server;
use super::world::Machine;

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
