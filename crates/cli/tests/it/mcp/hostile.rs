//! Arguments that mean harm, or nothing: refused in words, briefly, and nothing is touched outside the team.

use serde_json::{Map, Value, json};

use super::client::Client;
use crate::scene::{Dice, World, tree};

/// Names that would leave the folder, or show as something else.
const NAMES: [&str; 12] = [
    "../../etc/passwd",
    "..",
    ".hidden",
    "a/b",
    "a\\b",
    "bob\u{0}",
    "bob\n",
    "\u{202e}bob",
    "bob@../x",
    "%2e%2e",
    "",
    "nobody-of-this-name",
];

/// An answer is text in JSON, and spelled once more as such.
const LARGEST: usize = 60_000;

fn values() -> Vec<Value> {
    let mut values: Vec<Value> = NAMES.iter().map(|name| json!(name)).collect();
    values.extend([
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!([]),
        json!([null, {}, "../1"]),
        json!({}),
        json!({ "a": { "b": [1, 2, 3] }, "claimed_at": 5 }),
        json!("x".repeat(100_000)),
    ]);
    values
}

#[test]
fn any_argument_of_any_tool_may_be_anything() {
    let world = World::with_team();
    let before = tree(&world.root());
    let mut lead = Client::new(&world, &[]);
    let tools = lead.tools();
    let mut dice = Dice::new(7);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        // These would do what they are told.
        let harmful = ["team_create", "team_delete", "spawn_teammate"].contains(&name);
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            for value in values() {
                let mut arguments = Map::new();
                for required in tool["inputSchema"]["required"].as_array().into_iter().flatten() {
                    let some = values().swap_remove(usize::try_from(dice.below(22)).unwrap());
                    arguments.insert(required.as_str().unwrap().to_owned(), some);
                }
                if !harmful && argument != "team_name" {
                    arguments.insert("team_name".to_owned(), json!("dev"));
                }
                if schema["enum"].is_array() {
                    arguments.insert("approve".to_owned(), json!(true));
                }
                if tool["inputSchema"]["properties"].get("timeout_ms").is_some() {
                    arguments.insert("timeout_ms".to_owned(), json!(0));
                }
                arguments.insert(argument.clone(), value);
                let id = lead.ask_tool(name, Value::Object(arguments.clone()));
                let answer = lead.answer(id);
                assert!(answer["result"]["content"][0]["text"].is_string(), "{name} {arguments:?}: {answer}");
                assert!(answer.to_string().len() < LARGEST, "{name} {argument}: {:.300}", answer.to_string());
            }
        }
    }
    // Tasks and mail of the team may have come; nothing else has, and nothing above it.
    for path in tree(&world.root()) {
        let inside = path.starts_with(world.root().join("teams/dev"))
            || path.starts_with(world.root().join("tasks/dev"));
        assert!(inside || before.contains(&path) || path.ends_with("tasks"), "{}", path.display());
    }
    assert_eq!(lead.close(), Some(0), "it lives to the end");
}

#[test]
fn a_megabyte_goes_through_whole_and_is_shown_in_parts() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &["-t", "dev"]);
    let text = "ä0123456789".repeat(100_000);
    let sent = lead.call("send_message", json!({ "type": "message", "recipient": "bob", "content": text }));
    assert_eq!(world.json(&["inbox", "bob"])[0]["text"], text);
    let id = lead.ask_tool("read_inbox", json!({ "agent_name": "bob" }));
    let answer = lead.answer(id).to_string();
    assert!(answer.len() < 40_000, "{} bytes", answer.len());
    assert!(answer.contains("cut here, 1200000 bytes in all: track(message_id, text_offset=8000) goes on"));
    let mut whole = text[..8000].to_owned();
    let mut offset = json!(8000);
    while offset.is_u64() && whole.len() < 100_000 {
        let part = lead.call("track", json!({ "message_id": sent["id"], "text_offset": offset }));
        whole.push_str(part["text"].as_str().unwrap());
        offset = part["next_text_offset"].clone();
    }
    assert!(text.starts_with(&whole), "the parts follow each other");
}

#[test]
fn many_messages_come_in_pages_and_none_is_marked_that_was_not_shown() {
    let world = World::with_team();
    let lines: String = (0..200)
        .map(|n| json!({ "to": "bob", "text": format!("{n} {}", "x".repeat(200)) }).to_string() + "\n")
        .collect();
    assert_eq!(world.pipe(&["send", "--batch"], lines).code, Some(0));
    let mut bob = Client::new(&world, &["--as", "bob@dev"]);
    let (mut numbers, mut pages) = (Vec::new(), 0);
    loop {
        let mail = bob.call("read_inbox", json!({}));
        let mail = mail["result"].as_array().unwrap();
        if mail.is_empty() {
            break;
        }
        pages += 1;
        numbers.extend(mail.iter().map(|message| {
            let text = message["text"].as_str().unwrap();
            text.split(' ').next().unwrap().parse::<u32>().unwrap()
        }));
        let unread = world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len();
        assert!(unread >= 200 - numbers.len());
    }
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    assert!(pages > 4, "{pages} pages");
}

#[test]
fn what_an_argument_is_called_wrong_is_said() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &["-t", "dev"]);
    assert_eq!(
        lead.refused("read_inbox", json!({ "agent": "bob" })),
        "there is no argument \"agent\". There is: agent_name. For example read_inbox {\"agent_name\": \"bob\"}"
    );
    assert_eq!(
        lead.refused("read_inbox", json!({ "agent_name": ["bob"] })),
        "agent_name is an array; it must be of type string. For example read_inbox {\"agent_name\": \"bob\"}"
    );
    assert_eq!(
        lead.refused("task_get", json!({ "task_id": "x/y" })),
        "task_id: \"x/y\" is not a task's number; write it in digits, like 7. For example task_get {\"task_id\": \"3\"}"
    );
}

#[test]
fn whatever_is_huge_is_answered_with_little() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &["-t", "dev"]);
    let huge = |letter: &str| letter.repeat(500_000);
    let task = json!({ "subject": huge("s"), "description": huge("d"), "metadata": { "k": huge("m"), huge("n"): 1 } });
    lead.call("task_create", task);
    lead.call("request", json!({ "recipient": "bob", "type": huge("t"), "timeout_ms": 0 }));
    for (tool, arguments) in [
        ("task_list", json!({})),
        ("task_get", json!({ "task_id": 1 })),
        ("claim_task", json!({ "task_id": 1 })),
        ("search_mail", json!({ "query": "requestId" })),
        ("pending", json!({})),
        ("read_inbox", json!({ "agent_name": "bob", "mark_as_read": false })),
        ("respond", json!({ "request_id": huge("r") })),
        ("heartbeat", json!({ "request_id": huge("r") })),
        ("send_message", json!({ "type": "message", "recipient": huge("r"), "content": "x" })),
        ("track", json!({ "message_id": huge("r") })),
    ] {
        let id = lead.ask_tool(tool, arguments);
        let answer = lead.answer(id).to_string();
        assert!(answer.len() < LARGEST, "{tool}: {} bytes, {answer:.300}", answer.len());
    }
    for (method, params) in [
        ("resources/read", json!({ "uri": "atm://dev/inbox/bob" })),
        ("resources/read", json!({ "uri": format!("atm://dev/inbox/{}", huge("x")) })),
        ("resources/subscribe", json!({ "uri": format!("atm://{}/inbox/bob", huge("x")) })),
        ("prompts/get", json!({ "name": "lead", "arguments": { "goal": huge("g") } })),
        ("prompts/get", json!({ "name": "member", "arguments": { "name": huge("g") } })),
        ("prompts/get", json!({ "name": "member", "arguments": { "team": huge("g") } })),
        ("tools/call", json!({ "name": huge("x"), "arguments": {} })),
        (huge("x").as_str(), json!({})),
    ] {
        let answer = lead.request(method, params).to_string();
        assert!(answer.len() < LARGEST, "{method:.20}: {} bytes, {answer:.300}", answer.len());
    }
    assert_eq!(lead.close(), Some(0));
}

#[test]
fn a_long_description_comes_in_parts() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &["-t", "dev"]);
    let text = "ä\"\n0123456789".repeat(2_000);
    lead.call("task_create", json!({ "subject": "s", "description": text }));
    let (mut whole, mut offset) = (String::new(), 0);
    while offset < text.len() {
        let id = lead.ask_tool("task_get", json!({ "task_id": 1, "description_offset": offset }));
        let answer = lead.answer(id);
        let task: Value =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        let some = task["description"].as_str().unwrap();
        assert!(!some.is_empty() && answer.to_string().len() < LARGEST, "{answer}");
        whole.push_str(some);
        offset += some.len();
        let note = answer["result"]["content"][1]["text"].as_str();
        let more = format!("The description goes on: description_offset={offset}.");
        assert_eq!(note, (offset < text.len()).then_some(more.as_str()));
    }
    assert_eq!(whole, text);
}
