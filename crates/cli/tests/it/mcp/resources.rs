//! Inboxes as resources, and the prompts.

use serde_json::{Value, json};

use super::client::Client;
use crate::scene::World;

fn uris(list: &Value) -> Vec<&str> {
    list["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["uri"].as_str().unwrap())
        .collect()
}

#[test]
fn an_inbox_is_a_resource_and_looking_changes_nothing() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let mut lead = Client::new(&world, &[]);
    let list = lead.request("resources/list", json!({}));
    assert_eq!(uris(&list), ["atm://dev/inbox/team-lead", "atm://dev/inbox/alice", "atm://dev/inbox/bob"]);
    let read = lead.request("resources/read", json!({ "uri": "atm://dev/inbox/bob" }));
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let inbox: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!((&inbox["unread"], &inbox["messages"][0]["text"]), (&json!(1), &json!("hello")));
    assert_eq!(world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 1);
    let templates = lead.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "atm://{team}/inbox/{name}");
    for uri in [
        "atm://dev/inbox/bbo",
        "atm://dev/inbox/..%2fbob",
        "file:///etc/passwd",
        "atm://x/inbox/",
        "atm:///inbox/%",
    ] {
        let refused = lead.request("resources/read", json!({ "uri": uri }));
        assert_eq!(refused["error"]["code"], -32002, "{uri}: {refused}");
    }

    let mut bob = Client::new(&world, &["--as", "bob@dev"]);
    let list = bob.request("resources/list", json!({}));
    assert_eq!(uris(&list), ["atm://dev/inbox/bob"]);
    let refused = bob.request("resources/read", json!({ "uri": "atm://dev/inbox/alice" }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("this server is bob's"), "{refused}");
}

#[test]
fn a_subscriber_hears_of_new_mail_until_it_unsubscribes() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &["--as", "bob@dev"]);
    let uri = json!({ "uri": "atm://dev/inbox/bob" });
    assert!(bob.request("resources/subscribe", uri.clone())["error"].is_null());
    world.ok(&["send", "bob", "hello"]);
    let update = bob.first(|message| message["method"] == "notifications/resources/updated");
    assert_eq!(update["params"]["uri"], "atm://dev/inbox/bob");
    assert!(bob.request("resources/unsubscribe", uri)["error"].is_null());
    world.ok(&["send", "bob", "again"]);
    assert_eq!(bob.call("read_inbox", json!({}))["result"].as_array().unwrap().len(), 2);
    assert!(bob.early().iter().all(|message| message["method"] != "notifications/resources/updated"));
    let refused = bob.request("resources/subscribe", json!({ "uri": "atm://dev/inbox/alice" }));
    assert_eq!(refused["error"]["code"], -32002);
}

#[test]
fn there_are_prompts_for_a_lead_and_for_a_member() {
    let world = World::with_team();
    let mut bob = Client::new(&world, &["--as", "bob@dev"]);
    let list = bob.request("prompts/list", json!({}));
    let names: Vec<_> =
        list["result"]["prompts"].as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["lead", "member"]);
    let words =
        |prompt: &Value| prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    let member = bob.request("prompts/get", json!({ "name": "member" }));
    assert!(words(&member).starts_with("You are a member, bob of team dev."), "{member}");
    let lead = bob.request("prompts/get", json!({ "name": "lead", "arguments": { "goal": "ship it" } }));
    assert!(words(&lead).contains("The goal: ship it"));
    for params in [json!({ "name": "lead" }), json!({ "name": "nobody" })] {
        assert_eq!(bob.request("prompts/get", params)["error"]["code"], -32602);
    }
}

#[test]
fn many_inboxes_come_in_pages_and_a_cursor_may_be_anything() {
    let world = World::with_team();
    let text = std::fs::read_to_string(world.root().join("teams/dev/config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    let members = config["members"].as_array_mut().unwrap();
    members.extend((0..147).map(|number| json!({ "name": format!("member-{number}") })));
    std::fs::write(world.root().join("teams/dev/config.json"), config.to_string()).unwrap();
    let mut lead = Client::new(&world, &[]);
    let first = lead.request("resources/list", json!({}));
    assert_eq!(uris(&first).len(), 100);
    let second = lead.request("resources/list", json!({ "cursor": first["result"]["nextCursor"] }));
    assert_eq!((uris(&second).len(), &second["result"]["nextCursor"]), (50, &Value::Null));
    let beyond = lead.request("resources/list", json!({ "cursor": u64::MAX.to_string() }));
    assert_eq!(uris(&beyond), [""; 0]);
    let odd = lead.request("resources/list", json!({ "cursor": "../1" }));
    assert!(odd["error"]["message"].as_str().unwrap().contains("not one of ours"), "{odd}");
    let refused = lead.request("prompts/get", json!({ "name": "member", "arguments": { "name": "../x" } }));
    assert_eq!(refused["error"]["code"], -32602);
}
