//! Text from messages is text: in a real browser, nothing in it does anything.

use std::fs;

use serde_json::Value;

use crate::browser::Browser;
use crate::server::Server;

const EVIL: [&str; 6] = [
    "<script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "<svg onload='window.owned = 3'><script>window.owned = 4</script></svg>",
    "</pre><iframe src='javascript:parent.owned = 5'></iframe>",
    "\" onmouseover=\"window.owned = 6\" x=\"",
    "safe\u{202e}txt.exe \u{e0041}\u{e0042}hidden\u{200b}",
];

#[test]
fn a_script_an_svg_and_hidden_text_in_a_message_do_nothing() {
    let server = Server::new();
    for text in EVIL {
        server.run(&["send", "alice", text, "--summary", text]);
        server.run(&["task", "create", text]);
        server.run(&["--as", "alice", "plan", "submit", text]);
    }
    // What another program may have written.
    let config = server.world.root().join("teams/dev/config.json");
    let mut edited: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    edited["members"][1]["model"] = EVIL[1].into();
    edited["members"][1]["color"] = EVIL[4].into();
    fs::write(&config, edited.to_string()).unwrap();
    let browser = Browser::let_in(&server);
    let id = server.json(&["log", "--to", "alice"])[2]["id"].as_str().unwrap().to_owned();
    let pages = [
        "/",
        "/teams/dev",
        "/teams/dev/inboxes/alice",
        "/teams/dev/tasks",
        "/teams/dev/plans",
        "/search?q=owned",
        "/trouble",
        "/stats",
        &format!("/messages/{id}"),
    ];
    for page in pages {
        browser.open(&format!("http://{}{page}", server.host));
        browser.wait_until_live();
        // Another one comes while the page is open, by the way of the script.
        server.run(&["send", "alice", EVIL[2]]);
        browser.eval("document.querySelectorAll('main *').forEach((one) => one.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })))");
        assert_eq!(browser.eval("return window.owned ?? null"), serde_json::Value::Null, "{page}");
        assert_eq!(browser.eval("return document.querySelectorAll('main script, main iframe, main img, main [onload], main [onmouseover]').length"), 0, "{page}");
        let hidden = "return /[\\u202e\\u200b]|\\udb40/.test(document.documentElement.outerHTML)";
        assert_eq!(browser.eval(hidden), false, "{page} has hidden characters");
    }
    browser.open(&format!("http://{}/teams/dev/inboxes/alice", server.host));
    assert_eq!(
        browser.eval("return document.querySelector('main').innerText.includes('u{202e}')"),
        true,
        "what is hidden is shown"
    );
}
