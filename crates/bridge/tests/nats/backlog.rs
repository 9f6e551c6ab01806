//! Mail that is not confirmed: how far it came, and a machine that answers nothing.

use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, pair};

/// Everything was published again every 15 seconds, and nothing said why.
#[test]
fn a_machine_that_does_not_trust_this_one_is_told_in_status_and_gets_its_mail_when_it_does() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    let mut hub = Machine::new("hub", &server.url(), &["bob"]);
    laptop.trust(&hub, &[]);
    laptop.start();
    hub.start();
    laptop.wait_for_member("bob");
    let texts: Vec<String> = (0..20).map(|number| format!("letter {number}")).collect();
    for text in &texts {
        laptop.send("ann", "bob", text);
    }
    let outbound = || laptop.status()["outbound"]["hub"].clone();
    wait_until("hub has processed all", || outbound()["passed"] == texts.len());
    let told = outbound();
    assert_eq!((&told["unsent"], &told["stored"]), (&0.into(), &0.into()), "{told}");
    assert!(told["oldestAt"].is_string(), "{told}");
    let again = 2 * texts.len() as u64;
    wait_until("all is sent again, twice", || {
        laptop.status()["tally"]["publishedAgain"].as_u64() >= Some(again)
    });
    wait_until("it is known to answer nothing", || outbound()["unanswered"] == texts.len());
    let shown = String::from_utf8(laptop.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("does it trust this machine? There: `atm bridge trust laptop KEY`"), "{shown}");
    let published = laptop.status()["tally"]["published"].as_u64().unwrap();
    assert!(published <= 5 * texts.len() as u64, "{published}");
    hub.trust(&laptop, &[]);
    wait_until("bob has his mail", || hub.texts("bob") == texts);
    wait_until("it is confirmed", || outbound().is_null());
}

#[test]
fn what_is_not_on_the_server_and_what_is_not_processed_there_are_told_apart() {
    let server = Server::new();
    let (mut laptop, mut hub) = pair(&server.url(), &server.url());
    hub.kill();
    laptop.send("ann", "bob", "one");
    wait_until("the server has it", || laptop.status()["outbound"]["hub"]["stored"] == 1);
    laptop.terminate();
    laptop.send("ann", "bob", "two");
    hub.start();
    wait_until("bob has the first one", || hub.texts("bob") == ["one"]);
    let mut offset = None;
    wait_until("hub says what it was told", || {
        let status = hub.own_status();
        offset = status["clockOffsetMs"].as_i64();
        status["lag"] == 0 && status["lagAt"].is_string() && offset.is_some()
    });
    let offset = offset.unwrap();
    assert!((0..60_000).contains(&offset), "both have one clock: {offset}");
}
