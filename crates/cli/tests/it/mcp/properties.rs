//! For any sequence of calls with any arguments: each is answered, briefly, and nothing outside the team is touched.

use std::path::Path;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::client::Client;
use crate::scene::{World, tree};

/// Calls of one server, before its files are looked at.
const CALLS: usize = 40;
const SERVERS: u32 = 12;
const LARGEST: usize = 60_000;

/// Names, ids and addresses: right, wrong, and such as would leave their folder.
fn name() -> impl Strategy<Value = String> {
    let known = select(vec!["bob", "alice", "team-lead", "dev", "1", "nobody", "bob@dev", "bob@nowhere"]);
    let evil = select(vec![
        "..",
        "../..",
        "../../outside",
        "/tmp/outside",
        "a/../../outside",
        "..\\..",
        "dev/../..",
        "bob/..",
        "~",
        "%2e%2e%2f",
        "bob\u{0}.json",
        "bob\n",
        "\u{202e}bob",
        "bob@../x",
        "@",
        "",
        ".",
        "-rf",
        "con.json.lock",
        "$(id)",
        "`id`",
    ]);
    prop_oneof![
        4 => known.prop_map(ToOwned::to_owned),
        4 => evil.prop_map(ToOwned::to_owned),
        2 => ".{0,40}",
        1 => (1_000_usize..300_000).prop_map(|length| "x/".repeat(length / 2)),
    ]
}

/// Any JSON, of a few levels.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        name().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(name(), inner, 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// What an argument of this schema may be: often of its type, and often not.
fn argument(schema: &Value) -> BoxedStrategy<Value> {
    let fitting = match (schema["enum"].as_array(), schema["type"].as_str()) {
        (Some(choices), _) => select(choices.clone()).boxed(),
        (None, Some("string")) => name().prop_map(Value::from).boxed(),
        (None, Some("boolean")) => any::<bool>().prop_map(Value::from).boxed(),
        (None, Some("integer")) => prop_oneof![(0_u64..50), any::<u64>()].prop_map(Value::from).boxed(),
        (None, Some("array")) => vec(name().prop_map(Value::from), 0..4).prop_map(Value::from).boxed(),
        _ => anything().boxed(),
    };
    prop_oneof![3 => fitting, 1 => anything()].boxed()
}

/// One call: a tool, and some of its arguments.
fn call(tools: &[Value]) -> impl Strategy<Value = (String, Value)> + use<> {
    // It would start programs.
    let tools: Vec<Value> = tools.iter().filter(|tool| tool["name"] != "spawn_teammate").cloned().collect();
    select(tools).prop_flat_map(|tool| {
        let properties = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let each: Vec<BoxedStrategy<(String, Option<Value>)>> = properties
            .iter()
            .map(|(name, schema)| {
                let value = match name.as_str() {
                    "team_name" => prop_oneof![6 => Just(json!("dev")), 1 => argument(schema)].boxed(),
                    // Nobody waits here.
                    "timeout_ms" => Just(json!(0)).boxed(),
                    _ => argument(schema),
                };
                let name = name.clone();
                prop_oneof![1 => Just(None), 4 => value.prop_map(Some)]
                    .prop_map(move |value| (name.clone(), value))
                    .boxed()
            })
            .collect();
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        each.prop_map(move |given| {
            let mut given: Map<String, Value> =
                given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
            if properties.contains_key("timeout_ms") {
                given.insert("timeout_ms".to_owned(), json!(0));
            }
            (name.clone(), Value::Object(given))
        })
    })
}

/// What is there, apart from what may change: teams and their tasks, below their names.
fn outside(world: &World) -> Vec<std::path::PathBuf> {
    let (root, state) = (world.root(), world.state());
    let teams = [root.join("teams"), root.join("tasks")];
    let may_change =
        |path: &Path| teams.iter().any(|folder| path.starts_with(folder)) || path.starts_with(&state);
    tree(&world.home()).into_iter().chain(tree(&root)).filter(|path| !may_change(path)).collect()
}

#[test]
fn any_calls_with_any_arguments_are_answered_and_touch_only_the_team() {
    let tools = Client::new(&World::with_team(), &[]).tools();
    let config = Config { cases: SERVERS, failure_persistence: None, ..Config::default() };
    let servers = prop_oneof![
        Just(vec![]),
        Just(vec!["--as", "bob@dev"]),
        Just(vec!["--as", "team-lead", "-t", "dev"])
    ];
    let run = (servers, vec(call(&tools), CALLS));
    TestRunner::new(config)
        .run(&run, |(server, calls)| {
            let world = World::with_team();
            let before = outside(&world);
            let mut client = Client::new(&world, &server);
            for (tool, arguments) in calls {
                let id = client.ask_tool(&tool, arguments.clone());
                let answer = client.answer(id);
                let said = answer["result"]["content"][0]["text"].is_string();
                prop_assert!(said, "{tool} {arguments:.500}: {answer:.500}");
                prop_assert!(answer.to_string().len() < LARGEST, "{tool} {arguments:.500}: {answer:.500}");
            }
            prop_assert_eq!(outside(&world), before);
            // Names of folders are names of teams, whatever was asked for.
            for folder in ["teams", "tasks"] {
                for path in tree(&world.root().join(folder)) {
                    let inside = path.strip_prefix(world.root().join(folder)).unwrap();
                    let team = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
                    let plain =
                        |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
                    prop_assert!(team.chars().all(plain), "{}", path.display());
                }
            }
            prop_assert_eq!(client.close(), Some(0), "it lives to the end");
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_address_of_a_resource_is_answered() {
    let world = World::with_team();
    let mut lead = Client::new(&world, &[]);
    let parts =
        (name(), name(), prop_oneof![Just("atm://"), Just("file://"), Just("")], any::<Option<u64>>());
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let before = tree(&world.root());
    // One client, asked from a closure that may only look.
    let lead = std::cell::RefCell::new(&mut lead);
    TestRunner::new(config)
        .run(&parts, |(team, name, scheme, cursor)| {
            let mut lead = lead.borrow_mut();
            let uri = json!({ "uri": format!("{scheme}{team}/inbox/{name}") });
            for method in ["resources/read", "resources/subscribe", "resources/unsubscribe"] {
                let answer = lead.request(method, uri.clone());
                let right = answer["result"].is_object() || answer["error"]["code"].is_i64();
                prop_assert!(
                    right && answer.to_string().len() < LARGEST,
                    "{method} {uri:.300}: {answer:.500}"
                );
            }
            let listed =
                lead.request("resources/list", json!({ "cursor": cursor.map(|cursor| cursor.to_string()) }));
            prop_assert!(listed["result"]["resources"].is_array(), "{cursor:?}: {listed}");
            let odd = lead.request("resources/list", json!({ "cursor": name }));
            prop_assert!(odd["result"].is_object() || odd["error"].is_object(), "{odd}");
            Ok(())
        })
        .unwrap();
    assert_eq!(tree(&world.root()), before, "looking changes nothing");
}
