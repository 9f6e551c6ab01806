//! The page while things happen, in a real browser.

use std::collections::HashSet;
use std::fs;

use atm_support::wait_until;
use atm_wire::Stamp;
use serde_json::json;

use crate::browser::Browser;
use crate::server::Server;

const HAS: &str = "return document.querySelector('main').textContent.includes";

/// Opens one's own mail, turns actions on and selects the first message.
fn pick_first_of_own_mail(browser: &Browser, server: &Server) {
    browser.open(&format!("http://{}/teams/dev/inboxes/user", server.host));
    browser.wait_until_live();
    browser.press("tjx");
    browser.wait_for(
        "it is selected",
        "return document.querySelectorAll('input[name=pick]:checked').length === 1",
    );
}

#[test]
fn a_message_of_another_process_appears_without_a_reload_and_its_stages_advance() {
    let server = Server::new();
    let browser = Browser::let_in(&server);
    browser.open(&format!("http://{}/teams/dev", server.host));
    browser.wait_until_live();
    browser.eval("window.notReloaded = true; document.querySelector('details.presence').open = true");
    let sent = server.json(&["send", "alice", "look at the build"]);
    // How soon is measured by `cargo xtask bench --only web`.
    browser.wait_for("the message is shown", &format!("{HAS}('look at the build')"));
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

    pick_first_of_own_mail(&browser, &server);
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
fn keys_reach_everything() {
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
    browser.eval("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))");
    browser.wait_for("the palette is open", "return document.querySelector('#palette').open && document.querySelectorAll('#palette li').length > 3");
    browser.press("numbers\u{e007}");
    browser.wait_for("it goes there", "return location.pathname === '/stats'");
}

/// What is muted on the page is muted everywhere, for a while, and can be heard of again.
#[test]
fn what_is_muted_on_the_page_is_muted_for_every_front() {
    let server = Server::new();
    server.run(&["--as", "alice", "plan", "submit", "first this"]);
    server.run(&["--as", "alice", "send", "user", "may I?"]);
    let rows = "return document.querySelectorAll('.needs [data-row]').length";
    let browser = Browser::let_in(&server);
    browser.wait_until_live();
    assert_eq!(browser.eval(rows), 2);
    browser.press("tjm");
    browser.wait_for("the plan is left out", &format!("{rows} === 1"));
    let muted = server.json(&["mute"]);
    assert_eq!((&muted[0]["kind"], muted.as_array().unwrap().len()), (&json!("message"), 1), "{muted}");
    assert!(server.run(&["status"]).contains("1 muted: atm mute"), "{}", server.run(&["status"]));

    // Several at once, of one's own mail.
    pick_first_of_own_mail(&browser, &server);
    browser.press("m");
    browser.wait_for(
        "it is marked",
        "return [...document.querySelectorAll('.row .badge')].some((one) => one.textContent === 'muted')",
    );
    assert!(server.run(&["status", "--line"]).starts_with("✉0"), "{}", server.run(&["status", "--line"]));

    // Another browser has it so, too, and ends it.
    browser.open(&format!("http://{}/", server.host));
    browser.wait_until_live();
    browser.press("t");
    browser.eval("document.querySelector('#muted').open = true");
    let command = "return document.querySelector('#muted .cmd').textContent";
    assert!(browser.eval(command).as_str().unwrap().starts_with("atm -t dev mute "));
    browser.eval("document.querySelector('#muted button').click()");
    browser.wait_for("the plan is there again", &format!("{rows} === 1"));
    assert_eq!(server.json(&["mute"]).as_array().unwrap().len(), 1);
}

/// Ten thousand messages: pages stay small, everything is reached once, and news come.
#[test]
fn ten_thousand_messages_stay_in_small_pages() {
    const MANY: usize = 10_000;
    let server = Server::new();
    let entry = |number: usize| {
        let second = 1_794_700_000_000 + 500 * i64::try_from(number).unwrap();
        json!({ "from": "team-lead", "text": format!("step {number} of the work: please look at the parser"),
            "timestamp": Stamp::from_millis(second).to_string(), "read": number.is_multiple_of(3), "msg_id": format!("{number:08x}-5a3e-4c0d-9b1f-{number:012x}") })
    };
    let all: Vec<_> = (0..MANY).map(entry).collect();
    fs::write(server.world.root().join("teams/dev/inboxes/alice.json"), json!(all).to_string()).unwrap();

    // Page by page to the end: everything once, whatever its place.
    let (mut seen, mut cursor) = (HashSet::new(), String::new());
    loop {
        let page = server.get(&format!("/api/v1/log?limit=500&cursor={cursor}")).json();
        for item in page["items"].as_array().unwrap() {
            assert!(seen.insert(item["id"].as_str().unwrap().to_owned()), "{item} came twice");
        }
        let Some(next) = page["next"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    assert_eq!(seen.len(), MANY);

    let browser = Browser::let_in(&server);
    for path in ["/", "/teams/dev", "/teams/dev/inboxes/alice", "/search", "/search?q=parser", "/stats"] {
        let said = server.get(path);
        assert!(said.status == 200 && said.body.len() < 100_000, "{path} has {} bytes", said.body.len());
        browser.open(&format!("http://{}{path}", server.host));
        browser.wait_until_live();
        let elements = browser.eval("return document.querySelectorAll('*').length").as_u64().unwrap();
        assert!(elements < 3_000, "{path} has {elements} elements");
    }
    // Back through the mail, by the link and by the key of the browser; a reader's place is kept when mail comes.
    browser.open(&format!("http://{}/search?team=dev", server.host));
    let first = "return document.querySelector('.rows a').textContent";
    let mut before = browser.eval(first);
    for _ in 0..3 {
        browser.eval("document.querySelector('.turn a[rel=next]').click()");
        wait_until("it shows older mail", || browser.eval(first) != before);
        before = browser.eval(first);
    }
    browser.wait_until_live();
    browser.eval("window.scrollTo(0, 900)");
    let place = browser.eval("return window.scrollY");
    assert!(place.as_f64().unwrap() > 100.0, "{place}");
    browser.eval("window.merged = 0; new MutationObserver(() => { window.merged += 1; }).observe(document.querySelector('main'), { attributes: true })");
    server.run(&["send", "alice", "one more"]);
    browser.wait_for("the page was fetched again", "return window.merged > 0");
    assert_eq!((browser.eval(first), browser.eval("return window.scrollY")), (before, place));
}

/// A session that is over is told apart from a server that is away.
#[test]
fn a_session_that_is_over_is_said() {
    let mut server = Server::new();
    let browser = Browser::let_in(&server);
    browser.wait_until_live();
    fs::remove_file(server.world.state().join("http.token")).unwrap();
    server.end();
    server.begin_again();
    browser.wait_for(
        "it says so",
        "return document.querySelector('#link').textContent.includes('session over')",
    );
}
