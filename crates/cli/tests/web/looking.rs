//! What the API shows: the shapes of the command line, in pages.

use std::collections::HashSet;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::server::{Server, run, team};

fn served() -> Server {
    let world = team();
    for number in 0..5 {
        run(&world, &["send", "alice", &format!("message number {number}")]);
    }
    run(&world, &["send", "bob", "for later"]);
    run(&world, &["--as", "alice", "send", "user", "an answer", "--ack-by", "1h"]);
    run(&world, &["task", "create", "Mend the build", "--owner", "alice"]);
    run(&world, &["task", "create", "Ship it", "--blocked-by", "1"]);
    run(&world, &["--as", "alice", "plan", "submit", "first this, then that"]);
    Server::of(world, &[])
}

/// What the description promises of each answer is so.
#[test]
fn every_answer_is_as_the_description_says() {
    let server = served();
    let openapi = server.get("/openapi.json").json();
    assert_eq!(openapi["openapi"].as_str().unwrap().split('.').next(), Some("3"), "{}", openapi["openapi"]);
    let id = server.json(&["log"])[0]["id"].as_str().unwrap().to_owned();
    let paths = [
        ("/api/v1/teams", "/api/v1/teams".to_owned()),
        ("/api/v1/teams/{team}", "/api/v1/teams/dev".to_owned()),
        ("/api/v1/members", "/api/v1/members?team=dev".to_owned()),
        ("/api/v1/inboxes/{name}", "/api/v1/inboxes/alice".to_owned()),
        ("/api/v1/messages/{id}", format!("/api/v1/messages/{id}")),
        ("/api/v1/search", "/api/v1/search?q=message".to_owned()),
        ("/api/v1/log", "/api/v1/log".to_owned()),
        ("/api/v1/stats", "/api/v1/stats".to_owned()),
        ("/api/v1/tasks", "/api/v1/tasks".to_owned()),
        ("/api/v1/tasks/{id}", "/api/v1/tasks/1".to_owned()),
        ("/api/v1/pending", "/api/v1/pending".to_owned()),
        ("/api/v1/plans", "/api/v1/plans".to_owned()),
        ("/healthz", "/healthz".to_owned()),
    ];
    for (described, path) in paths {
        let said = server.get(&path);
        assert_eq!(said.status, 200, "{path}: {said:?}");
        let schema =
            &openapi["paths"][described]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{described} is not described");
        let whole = json!({ "components": openapi["components"], "allOf": [schema] });
        let found = validator(&whole).validate(&said.json()).map_err(|error| error.to_string());
        assert_eq!(found, Ok(()), "{path}");
    }
    let listed = openapi["paths"].as_object().unwrap();
    for path in [
        "/api/v1/messages",
        "/api/v1/replies",
        "/api/v1/acks",
        "/api/v1/recalls",
        "/api/v1/claims",
        "/api/v1/wakes",
    ] {
        assert!(listed[path]["post"].is_object(), "{path}");
    }
    // No reference leads nowhere.
    let text = openapi.to_string();
    for name in text.split("\"#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(openapi["components"]["schemas"][name].is_object(), "{name}");
    }
}

/// A session that waits for its user was on no page but that of the team of sessions.
#[test]
fn sessions_that_wait_for_their_user_are_beside_every_team_in_the_api_and_on_the_pages() {
    let server = Server::new();
    let folder = server.world.lists_waiting_session("0b7e1c52-3f6a", "sh\u{202e}op");
    let openapi = server.get("/openapi.json").json();
    let picture = server.get("/api/v1/teams/dev").json();
    let whole = json!({ "components": openapi["components"], "$ref": "#/components/schemas/picture" });
    let found = validator(&whole).validate(&picture).map_err(|error| error.to_string());
    assert_eq!(found, Ok(()), "{picture}");
    let session = &picture["sessions_waiting"][0];
    assert_eq!((&session["client"], &session["waits_for"]), (&json!("claude"), &json!("permission")));
    assert_eq!(session["folder"].as_str().map(Path::new), Some(folder.canonicalize().unwrap().as_path()));
    assert!(openapi["components"]["schemas"]["waiting-session"].is_object());
    for page in ["/", "/teams/dev"] {
        let said = server.get(page).body;
        assert_eq!(said.matches("need-session-0b7e1c52-3f6a").count(), 1, "{said}");
        assert!(said.contains("session sh\\u{202e}op is waiting for permission"), "{said}");
        assert!(!said.contains('\u{202e}'), "{said}");
    }
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap()
}

#[test]
fn pages_go_through_everything_once_while_mail_comes() {
    let server = served();
    let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = server.get(&format!("/api/v1/log?limit=2&cursor={cursor}")).json();
        let ids = page["items"].as_array().unwrap().iter();
        seen.extend(ids.map(|item| format!("{} {}", item["id"], item["to"])));
        pages += 1;
        // What comes meanwhile is before the first page.
        server.run(&["send", "alice", "meanwhile"]);
        let Some(next) = page["next"].as_str() else { break };
        cursor = next.to_owned();
    }
    let once: HashSet<&String> = seen.iter().collect();
    assert_eq!(once.len(), seen.len(), "{seen:?}");
    assert!(pages >= 4 && seen.len() >= 8, "{pages} {seen:?}");
    for path in [
        "/api/v1/log?cursor=nonsense",
        "/api/v1/log?limit=0",
        "/api/v1/log?limit=x",
        "/api/v1/search",
        "/api/v1/stats?since=never",
    ] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
}

#[test]
fn looking_marks_nothing_as_read() {
    let server = served();
    let before = server.json(&["inbox", "alice"]);
    for path in [
        "/",
        "/teams/dev",
        "/teams/dev/inboxes/alice",
        "/api/v1/inboxes/alice",
        "/teams/dev/tasks",
        "/teams/dev/plans",
        "/search?q=message",
        "/trouble",
        "/stats",
        "/keys",
    ] {
        let said = server.get(path);
        assert_eq!(said.status, 200, "{path}: {said:?}");
        assert!(said.body.len() < 100_000, "{path} has {} bytes", said.body.len());
    }
    assert_eq!(server.json(&["inbox", "alice"]), before);
    assert!(before.as_array().unwrap().iter().all(|message| message["read"] == false));
}

#[test]
fn what_did_not_change_is_not_sent_again_and_what_is_large_is_packed() {
    let server = served();
    for path in ["/api/v1/tasks", "/api/v1/teams/dev", "/api/v1/pending", "/assets/atm.css"] {
        // The first look records who is there.
        server.get(path);
        let first = server.get(path);
        let tag = format!("If-None-Match: {}", first.header("etag").unwrap());
        let again = server.ask("GET", path, &[&server.bearer(), &tag], "");
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
    }
    let tag = server.get("/api/v1/tasks").header("etag").unwrap().to_owned();
    server.run(&["task", "create", "Another"]);
    let changed =
        server.ask("GET", "/api/v1/tasks", &[&server.bearer(), &format!("If-None-Match: {tag}")], "");
    assert_eq!(changed.status, 200);
    let packed =
        server.ask("GET", "/openapi.json", &[&server.bearer(), "Accept-Encoding: br, gzip;q=0.5"], "");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
}

#[test]
fn problems_have_our_codes_and_say_what_to_do() {
    let server = served();
    for (path, status, code) in [
        ("/api/v1/teams/dve", 404, "no_such_team"),
        ("/api/v1/inboxes/alcie", 404, "no_such_member"),
        ("/api/v1/messages/00000000", 404, "no_such_message"),
        ("/api/v1/tasks/99", 404, "no_such_task"),
        ("/api/v1/tasks/x", 400, "usage"),
        ("/nowhere", 404, "not_found"),
    ] {
        let said = server.get(path);
        assert_eq!((said.status, said.code().as_str()), (status, code), "{path}: {said:?}");
        assert_eq!(said.header("content-type"), Some("application/problem+json"), "{path}");
    }
    assert_eq!(server.get("/api/v1/inboxes/alcie").json()["hint"], "did you mean alice?");
    for (method, path) in [("DELETE", "/api/v1/messages"), ("POST", "/api/v1/teams"), ("PUT", "/")] {
        let said = server.ask(method, path, &[&server.bearer()], "");
        assert_eq!(
            (said.status, said.code().as_str()),
            (405, "method_not_allowed"),
            "{method} {path}: {said:?}"
        );
        assert_eq!(said.header("content-type"), Some("application/problem+json"));
        assert!(said.header("allow").is_some(), "{said:?}");
    }
}

#[test]
fn health_tests_the_files_and_the_ledger() {
    let server = served();
    let said = server.get("/healthz").json();
    assert_eq!((&said["status"], &said["teams"]), (&json!("ok"), &json!(1)));
    assert!(said["messages"].as_u64().unwrap() > 5);
    let metrics = server.get("/metrics").body;
    for line in [
        "atm_members{team=\"dev\",state=\"offline\"} ",
        "atm_tasks{team=\"dev\",status=\"pending\"} 2",
        "atm_web_requests_total{class=\"2xx\"}",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let sick = || {
        let said = server.get("/healthz");
        assert_eq!((said.status, said.code().as_str()), (503, "unhealthy"), "{said:?}");
        said.json()["detail"].as_str().unwrap().to_owned()
    };
    // A lock for writing that another program does not give back, and a folder that nothing can be written into.
    let log = rusqlite::Connection::open(server.world.state().join("log.db")).unwrap();
    log.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(sick().contains("ledger"), "{}", sick());
    log.execute_batch("ROLLBACK").unwrap();
    assert_eq!(server.get("/healthz").status, 200);
    let probe = server.world.state().join("daemon").join("probe");
    std::fs::remove_file(&probe).unwrap();
    std::fs::create_dir(&probe).unwrap();
    assert!(sick().contains("state folder"), "{}", sick());
    std::fs::remove_dir(&probe).unwrap();
    assert_eq!(server.get("/healthz").status, 200);
    std::fs::write(server.world.root().join("teams/dev/config.json"), "{").unwrap();
    assert!(sick().contains("shared tree"), "{}", sick());
}

#[test]
fn where_several_teams_are_one_has_to_be_named() {
    let server = served();
    server.run(&["team", "create", "ops"]);
    let said = server.get("/api/v1/members");
    assert_eq!((said.status, said.code().as_str()), (404, "which_team"), "{said:?}");
    assert_eq!(server.get("/api/v1/members?team=ops").status, 200);
    assert_eq!(server.get("/api/v1/teams").json()["items"].as_array().unwrap().len(), 2);
}
