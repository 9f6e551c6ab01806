//! A server that is somebody's shows what that one sent or received, and nobody else's mail.

use serde_json::{Value, json};

use super::client::Client;
use crate::scene::World;

const SECRET: &str = "the quokka eats at noon";

/// Mail between alice and the lead, mail of a namesake of bob in another team, and mail that bob has a part in.
struct Scene {
    world: World,
    others: String,
    namesakes: String,
    own: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let world = World::with_team();
        world.ok(&["team", "create", "ops"]);
        world.ok(&["-t", "ops", "member", "add", "bob"]);
        let send = |args: &[&str]| {
            let args = [&["-t", "dev"], args].concat();
            world.json(&args)["id"].as_str().unwrap().to_owned()
        };
        world.ok(&["-t", "dev", "member", "set", "alice", "--active", "false"]);
        let others = send(&["--as", "team-lead", "send", "alice", SECRET, "--ack-by", "1h"]);
        let own = vec![
            send(&["--as", "team-lead", "send", "bob", "a quokka for bob", "--ack-by", "1h"]),
            send(&["--as", "bob", "send", "alice", "a quokka from bob", "--ack-by", "1h"]),
        ];
        world.ok(&["-t", "dev", "--as", "team-lead", "broadcast", "a quokka for all"]);
        let namesake = ["-t", "ops", "--as", "bob", "send", "alice@dev", "a quokka of another bob", "--json"];
        let namesake: Value = serde_json::from_str(&world.ok(&namesake)).unwrap();
        let namesakes = namesake["id"].as_str().unwrap().to_owned();
        Self { world, others, namesakes, own }
    }

    fn client(&self, args: &[&str]) -> Client {
        Client::new(&self.world, args)
    }
}

fn ids(list: &Value) -> Vec<String> {
    let entries = list["result"].as_array().unwrap().iter();
    entries.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn no_tool_of_a_bound_server_shows_the_mail_of_others() {
    let scene = Scene::new();
    let mut bob = scene.client(&["--as", "bob", "-t", "dev"]);

    let found = bob.call("search_mail", json!({ "query": "quokka", "limit": 50 }));
    let mut texts: Vec<_> =
        found["result"].as_array().unwrap().iter().map(|entry| entry["text"].as_str().unwrap()).collect();
    texts.sort_unstable();
    let tag = |text: &&str| text.rsplit("] ").next().unwrap().trim().to_owned();
    let texts: Vec<String> = texts.iter().map(tag).collect();
    let own = |text: &str| texts.iter().any(|found| found.contains(text));
    assert!(own("for bob") && own("from bob") && own("for all"), "{texts:?}");
    assert_eq!(texts.len(), 3, "{texts:?}");
    for filter in [json!({ "to": "alice" }), json!({ "from": "team-lead" })] {
        let mut arguments = json!({ "query": "noon" });
        arguments.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        assert_eq!(bob.call("search_mail", arguments)["result"], json!([]));
    }

    for id in [&scene.others, &scene.namesakes] {
        for arguments in [json!({ "message_id": id }), json!({ "message_id": id, "text_offset": 0 })] {
            let words = bob.refused("track", arguments);
            assert!(words.contains("neither from bob nor for bob") && !words.contains("quokka"), "{words}");
        }
    }
    for id in &scene.own {
        let track = bob.call("track", json!({ "message_id": id, "text_offset": 0 }));
        assert!(track["text"].as_str().unwrap().contains("quokka"), "{track}");
    }

    let mut pending = ids(&bob.call("pending", json!({})));
    pending.retain(|id| !scene.own.contains(id));
    assert!(pending.iter().all(|id| *id != scene.others && *id != scene.namesakes), "{pending:?}");

    let words = bob.refused("check_teammate", json!({ "agent_name": "alice", "include_output": true }));
    assert!(words.contains("lead of team dev"), "{words}");
    bob.call("check_teammate", json!({ "agent_name": "alice" }));

    let listed = bob.request("resources/list", json!({}));
    let uris: Vec<_> = listed["result"]["resources"].as_array().unwrap().iter().map(|r| &r["uri"]).collect();
    assert_eq!(uris, [&json!("atm://dev/inbox/bob")]);
    for method in ["resources/read", "resources/subscribe"] {
        let answer = bob.request(method, json!({ "uri": "atm://dev/inbox/alice" }));
        assert!(answer["error"]["message"].as_str().unwrap().contains("nobody else"), "{method}: {answer}");
    }
    let said = bob.early().iter().map(ToString::to_string).collect::<String>();
    assert!(!said.contains("noon"), "{said}");
}

#[test]
fn the_leads_own_server_is_bound_too_and_an_unbound_one_sees_all() {
    let scene = Scene::new();
    let mut lead = scene.client(&["--as", "team-lead", "-t", "dev"]);
    let found = lead.call("search_mail", json!({ "query": "quokka", "limit": 50 }));
    assert!(ids(&found).contains(&scene.others), "it sent that");
    assert!(!ids(&found).contains(&scene.own[1]), "that is between bob and alice");
    let mut all = scene.client(&["-t", "dev"]);
    let found = ids(&all.call("search_mail", json!({ "query": "quokka", "limit": 50 })));
    assert!(found.contains(&scene.others) && found.contains(&scene.own[1]), "{found:?}");
    assert!(found.contains(&scene.namesakes), "{found:?}");
    all.call("track", json!({ "message_id": scene.others }));
    assert!(ids(&all.call("pending", json!({}))).contains(&scene.others));
}
