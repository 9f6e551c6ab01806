//! How pages look: readable for everybody, in light and dark, on a phone and on a desk.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use atm_support::TestEnv;
use serde_json::Value;

use crate::browser::{Browser, tools};
use crate::server::{Server, run, team};

/// A day of a team, in short.
fn busy() -> Server {
    let world = team();
    let send = |from: &str, to: &str, text: &str| run(&world, &["--as", from, "send", to, text]);
    send("team-lead", "alice", "Please look at the build: the parser's tests fail since this morning.");
    send("alice", "team-lead", "On it. The cause is the new lexer; a mend is on its way.");
    send("alice", "bob", "Can you check the lexer's table when you are back?");
    run(
        &world,
        &["--as", "alice", "send", "user", "May I drop support for the old format?", "--ack-by", "1h"],
    );
    run(&world, &["send", "bob", "The release is on Friday", "--ack-by", "1s"]);
    run(&world, &["task", "create", "Mend the lexer", "--owner", "alice"]);
    run(&world, &["task", "create", "Release", "--blocked-by", "1"]);
    run(&world, &["task", "create", "Write the notes", "--owner", "bob", "--blocked-by", "2"]);
    let request =
        run(&world, &["--as", "alice", "plan", "submit", "1. Revert the table\n2. Add a test\n3. Mend it"]);
    run(&world, &["--as", "team-lead", "plan", "reject", request.trim(), "--feedback", "Test first"]);
    run(&world, &["--as", "alice", "plan", "submit", "1. Add a test\n2. Revert the table\n3. Mend it"]);
    run(&world, &["--as", "alice", "read"]);
    Server::of(world, &[])
}

/// The team of the README's other pictures, at work.
fn shop() -> Server {
    let world = TestEnv::new();
    let atm = |args: &[&str]| run(&world, args);
    atm(&["team", "create", "web-shop", "--description", "Builds the shop"]);
    for name in ["alice", "bob", "carol"] {
        atm(&["member", "add", name, "--model", "sonnet"]);
    }
    atm(&["member", "add", "tester", "--model", "haiku", "--inactive"]);
    let send = |from: &str, to: &str, text: &str| atm(&["--as", from, "send", to, text]);
    send("team-lead", "alice", "please check why the login test is flaky");
    atm(&["--as", "alice", "read"]);
    send("alice", "team-lead", "a race in the session store; the fix is on branch fix-login");
    send("team-lead", "bob", "please review fix-login");
    send("carol", "alice", "which version of the session store do we ship?");
    send("team-lead", "tester", "run the slow tests when you are back");
    atm(&["--as", "alice", "send", "user", "login is fixed, may I merge?", "--ack-by", "1h"]);
    atm(&["--as", "team-lead", "send", "bob", "the release is on Friday", "--ack-by", "1ms"]);
    atm(&["task", "create", "Fix the login", "--owner", "alice"]);
    atm(&["task", "create", "Review the fix", "--owner", "bob", "--blocked-by", "1"]);
    atm(&["task", "create", "Release", "--blocked-by", "2"]);
    atm(&[
        "--as",
        "alice",
        "plan",
        "submit",
        "1. Add a test that fails\n2. Lock the session store\n3. Remove the retry",
    ]);
    Server::of(world, &[])
}

/// The pictures of the documents are of a real run: `cargo xtask picture` takes them.
#[test]
fn the_documents_show_the_page_of_a_real_run() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let shots = [("web-team.png", 1280, 860, "light"), ("web-phone.png", 375, 720, "dark")];
    if env::var_os("ATM_WRITE_PICTURE").is_some() {
        let server = shop();
        let browser = Browser::let_in(&server);
        for (name, width, height, scheme) in shots {
            browser.look_like_window(width, height, scheme);
            browser.open(&format!("http://{}/teams/web-shop", server.host));
            browser.wait_until_live();
            if scheme == "light" {
                browser.press("t");
            }
            browser.wait_for("what was said is gone", "return !document.querySelector('#said p')");
            browser.picture(&docs.join(name));
        }
    }
    let guide = fs::read_to_string(docs.join("guides/web.md")).unwrap();
    for (name, ..) in shots {
        let size = fs::metadata(docs.join(name)).unwrap().len();
        assert!((5_000..150_000).contains(&size), "{name} has {size} bytes");
        assert!(guide.contains(&format!("../{name}")), "the guide shows {name}");
    }
    let readme = fs::read_to_string(docs.join("../README.md")).unwrap();
    assert!(readme.contains("docs/web-team.png"), "the README shows it");
}

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("web-pictures")
}

#[test]
fn no_page_breaks_a_rule_of_accessibility() {
    let server = busy();
    let axe = fs::read_to_string(tools().join("node_modules/axe-core/axe.min.js")).unwrap();
    let browser = Browser::let_in(&server);
    let id = server.json(&["log"])[0]["id"].as_str().unwrap().to_owned();
    let pages = [
        ("home", "/".to_owned()),
        ("team", "/teams/dev".to_owned()),
        ("mail", "/teams/dev/inboxes/user".to_owned()),
        ("message", format!("/messages/{id}")),
        ("tasks", "/teams/dev/tasks".to_owned()),
        ("plans", "/teams/dev/plans".to_owned()),
        ("search", "/search?q=lexer&from=alice".to_owned()),
        ("trouble", "/trouble".to_owned()),
        ("numbers", "/stats".to_owned()),
        ("keys", "/keys".to_owned()),
    ];
    let mut wrong: Vec<String> = Vec::new();
    for (name, page) in &pages {
        browser.open(&format!("http://{}{page}", server.host));
        browser.wait_until_live();
        browser.press("t");
        browser.eval(&axe);
        for width in [375, 1280] {
            for scheme in ["light", "dark"] {
                browser.look_like(width, scheme);
                let found = browser.eval_later("axe.run().then((found) => done(found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 200) + ' ' + node.failureSummary).join(' | '))), (error) => done([String(error)]))");
                if found != Value::Array(Vec::new()) {
                    wrong.push(format!("{page} {width} {scheme}: {found}"));
                }
                let overflow = browser.eval(
                    "return document.documentElement.scrollWidth - document.documentElement.clientWidth",
                );
                if overflow.as_i64().unwrap() > 0 {
                    wrong.push(format!("{page} at {width} is {overflow} too wide"));
                }
                browser.picture(&pictures().join(format!("{name}-{width}-{scheme}.png")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn it_can_be_read_without_script() {
    let server = busy();
    let browser = Browser::let_in(&server);
    browser.devtools("Emulation.setScriptExecutionDisabled", &serde_json::json!({ "value": true }));
    browser.open(&format!("http://{}/teams/dev", server.host));
    let text = browser.devtools("DOM.getDocument", &serde_json::json!({ "depth": 0 }));
    let html = browser.devtools("DOM.getOuterHTML", &serde_json::json!({ "nodeId": text["root"]["nodeId"] }));
    let html = html["outerHTML"].as_str().unwrap();
    assert!(html.contains("plan to decide") && html.contains("not live: reload for news"), "{html}");
    assert!(!html.contains("data-state=\"live\""));
}
