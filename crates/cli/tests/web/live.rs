//! The page while things happen, in a real browser.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::browser::Browser;
use crate::server::Server;

const HAS: &str = "return document.querySelector('main').textContent.includes";

#[test]
fn a_message_of_another_process_appears_without_a_reload_and_its_stages_advance() {
    let server = Server::new();
    let browser = Browser::let_in(&server);
    browser.open(&format!("http://{}/teams/dev", server.host));
    browser.wait_until_live();
    browser.eval("window.notReloaded = true; document.querySelector('details.presence').open = true");
    let sent = server.json(&["send", "alice", "look at the build"]);
    let start = Instant::now();
    browser.wait_for("the message is shown", &format!("{HAS}('look at the build')"));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let id = sent["id"].as_str().unwrap();
    let stage = |stage: &str| {
        format!(
            "return document.getElementById('m-{id}-alice')?.querySelector('.stage').textContent === '{stage}'"
        )
    };
    browser.wait_for("it is written", &stage("written"));
    // A client takes it.
    let inbox = server.world.root().join("teams/dev/inboxes/alice.json");
    let text = fs::read_to_string(&inbox)
        .unwrap()
        .replace("\"read\": false", "\"read\": true")
        .replace("\"read\":false", "\"read\":true");
    fs::write(&inbox, text).unwrap();
    browser.wait_for("it is taken", &stage("taken"));
    server.run(&["--as", "alice", "ack", id]);
    browser.wait_for("it is acknowledged", &stage("acked"));
    assert_eq!(browser.eval("return window.notReloaded"), true);
    assert_eq!(
        browser.eval("return document.querySelector('details.presence').open"),
        true,
        "what was opened stays open"
    );
}

#[test]
fn after_a_restart_of_the_server_the_page_has_missed_nothing() {
    let mut server = Server::new();
    let browser = Browser::let_in(&server);
    browser.open(&format!("http://{}/teams/dev", server.host));
    browser.wait_until_live();
    server.end();
    browser.wait_for("the page says so", "return document.querySelector('#link').dataset.state === 'lost'");
    server.run(&["send", "alice", "while it was away"]);
    server.begin_again();
    browser.wait_for(
        "the page is live again",
        "return document.querySelector('#link').dataset.state === 'live'",
    );
    browser.wait_for("it has what it missed", &format!("{HAS}('while it was away')"));
    server.run(&["send", "alice", "and after that"]);
    browser.wait_for("and what comes", &format!("{HAS}('and after that')"));
}

#[test]
fn actions_are_behind_a_switch_and_do_what_their_commands_do() {
    let server = Server::new();
    let request = server.run(&["--as", "alice", "plan", "submit", "first this"]).trim().to_owned();
    server.run(&["--as", "alice", "send", "user", "please say that you have it", "--ack-by", "1h"]);
    server.run(&["task", "create", "Mend the build"]);
    let browser = Browser::let_in(&server);
    let visible = |what: &str| {
        format!("return [...document.querySelectorAll(`{what}`)].some((one) => one.offsetParent !== null)")
    };
    browser.wait_until_live();
    assert_eq!(browser.eval(&visible("button[data-post]")), false, "it opens for looking");
    browser.press("t");
    browser.wait_for("actions are on", &visible("button[data-post]"));
    assert_eq!(
        browser.eval("return document.querySelector('.needs .cmd').textContent.startsWith('atm ')"),
        true
    );
    // The plan is what needs somebody first; `w` does what resolves it.
    browser.press("jw");
    browser.wait_for("it is approved", "return document.querySelector('#said').innerText.includes('done')");
    let plans = server.json(&["plan", "list"]);
    assert_eq!((&plans[0]["request"], &plans[0]["state"]), (&json!(request), &json!("approved")));

    browser.open(&format!("http://{}/teams/dev/inboxes/user", server.host));
    browser.wait_until_live();
    browser.press("tjx");
    browser.wait_for(
        "it is selected",
        "return document.querySelectorAll('input[name=pick]:checked').length === 1",
    );
    browser.press("a");
    browser
        .wait_for("it is acknowledged", "return document.querySelector('#said').innerText.includes('done')");
    let log = server.json(&["log", "--type", "acknowledgment"]);
    assert_eq!(log[0]["from"], "user", "{log}");

    browser.open(&format!("http://{}/teams/dev/tasks", server.host));
    browser.wait_until_live();
    browser.press("t");
    browser.eval("const select = document.querySelector('select[data-assign]'); select.value = 'alice'; select.dispatchEvent(new Event('change', { bubbles: true }))");
    browser.wait_for(
        "the task is hers",
        "return document.querySelector('#task-1 .meta').innerText.startsWith('alice')",
    );
    assert_eq!(server.json(&["task", "show", "1"])["owner"], "alice");

    browser.open(&format!("http://{}/teams/dev", server.host));
    browser.wait_until_live();
    browser.press("t");
    browser.eval("const form = document.querySelector('form[data-post=\"/api/v1/messages\"]'); form.elements.to.value = 'alice'; form.elements.text.value = 'from the page'; form.requestSubmit()");
    browser.wait_for("it is sent", &format!("{HAS}('from the page')"));
    let log = server.json(&["log", "--from", "user", "--to", "alice"]);
    assert_eq!(log.as_array().unwrap().last().unwrap()["text"], "from the page");
}

#[test]
fn keys_reach_everything_and_what_is_muted_stays_so() {
    let server = Server::new();
    server.run(&["--as", "alice", "plan", "submit", "first this"]);
    let browser = Browser::let_in(&server);
    browser.wait_until_live();
    browser.press("?");
    browser.wait_for("the keys are listed", "return document.querySelector('#keys').open");
    browser.press("\u{e00c}");
    browser.wait_for("and closed", "return !document.querySelector('#keys').open");
    browser.press("/");
    assert_eq!(browser.eval("return document.activeElement.name"), "q");
    browser.eval("document.activeElement.blur()");
    browser.press("jm");
    browser.wait_for("it is muted", "return document.querySelector('.needs [data-row]').hidden");
    browser.open(&format!("http://{}/", server.host));
    browser.wait_until_live();
    assert_eq!(browser.eval("return document.querySelector('.needs [data-row]').hidden"), true);
    browser.eval(
        "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))",
    );
    browser.eval("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))");
    browser.wait_for("the palette is open", "return document.querySelector('#palette').open && document.querySelectorAll('#palette li').length > 3");
    browser.press("numbers\u{e007}");
    browser.wait_for("it goes there", "return location.pathname === '/stats'");
}
