//! The plugin for `opencode`, in a test double of it.

use crate::reservations::Shop;
use crate::scene::World;

/// Calls the plugin as the client does, and prints what the model would see.
const HOST: &str = r#"
import { AtmPlugin } from "./.config/opencode/plugins/atm.js";
const prompts = [];
const session = {
  get: async ({ path }) => ({ data: path.id === "inner" ? { parentID: "main" } : {} }),
  promptAsync: async ({ path, body }) => prompts.push([path.id, body.parts[0].text]),
};
const plugin = await AtmPlugin({ client: { session } });
const system = async (sessionID) => {
  const output = { system: ["base"] };
  await plugin["experimental.chat.system.transform"]({ sessionID }, output);
  return output.system.slice(1).join("\n");
};
const idle = (sessionID) => plugin.event({ event: { type: "session.idle", properties: { sessionID } } });
await plugin["chat.message"]({ sessionID: "inner" }, {});
const inner = await system("inner");
const prompt = { message: { id: "msg_1" }, parts: [{ id: "prt_1e97ecab3001D5sx40FQtNdKBH", type: "text", text: "hello" }] };
await plugin["chat.message"]({ sessionID: "main" }, prompt);
const first = prompt.parts[1];
const send = (text) => import("node:child_process").then(({ execFileSync }) =>
  execFileSync("atm", ["--as", "team-lead", "send", "bob", text, "-q"]));
await send("and the tests");
const tool = { output: "done" };
await plugin["tool.execute.after"]({ sessionID: "main" }, tool);
await send("and the docs");
const server = { content: [] };
await plugin["tool.execute.after"]({ sessionID: "main" }, server);
await send("and the rest");
await plugin["tool.execute.after"]({ sessionID: "main" }, {});
const second = await system("main");
await idle("main");
const afterwards = await system("main");
await import("node:child_process").then(({ execFileSync }) =>
  execFileSync("atm", ["--as", "team-lead", "send", "bob", "stop the release", "--ack-by", "5m", "-q"]));
await idle("main");
await idle("main");
await idle("inner");
console.log(JSON.stringify({ inner, first, tool, server, second, afterwards, prompts }));
"#;

/// The conversation keeps parts of a prompt and what tools gave back; instructions it does not keep.
#[test]
fn mail_is_a_part_of_the_conversation_and_wakes_once() {
    let world = World::with_team();
    world.ok(&["send", "bob", "the build is red"]);
    world.installs(&["opencode"]);
    world.put(".config/opencode/plugins/package.json", r#"{"type":"module"}"#);
    world.put("host.mjs", HOST);
    let mut host = world.program("node");
    let output = host.arg("host.mjs").env("ATM_AS", "bob").env("ATM_TEAM", "dev").output();
    let Ok(output) = output else { return eprintln!("skipped: there is no node here") };
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(said["inner"], "", "not for an agent inside");
    assert!(said["first"]["text"].as_str().unwrap().contains("the build is red"), "{said}");
    assert_eq!(
        (&said["first"]["type"], &said["first"]["messageID"]),
        (&"text".into(), &"msg_1".into()),
        "{said}"
    );
    assert!(said["first"]["id"].as_str().unwrap().starts_with("prt_1e97ecab3001"), "{said}");
    let output = said["tool"]["output"].as_str().unwrap();
    assert!(output.starts_with("done\n\n") && output.contains("and the tests"), "{said}");
    assert!(said["server"]["content"][0]["text"].as_str().unwrap().contains("and the docs"), "{said}");
    assert!(said["second"].as_str().unwrap().contains("and the rest"), "what has no other place: {said}");
    assert_eq!(said["afterwards"], "");
    let prompts = said["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 1, "{said}");
    assert!(prompts[0][1].as_str().unwrap().contains("stop the release"), "{said}");
    assert_eq!(world.json(&["inbox", "bob", "--unread"]), serde_json::json!([]));
}

/// Two folders in one process, which was started in a third one.
const SERVER_HOST: &str = r#"
import { AtmPlugin } from "./.config/opencode/plugins/atm.js";
const client = { session: { get: async () => ({ data: {} }) } };
const said = {};
for (const name of ["shop", "web"]) {
  const plugin = await AtmPlugin({ client, directory: `${process.cwd()}/${name}` });
  await plugin["chat.message"]({ sessionID: `ses_${name}` }, { message: { id: "msg_1" }, parts: [] });
  const edit = () => plugin["tool.execute.before"]({ tool: "edit", sessionID: `ses_${name}` }, { args: { filePath: "src/a.rs" } });
  said[name] = await edit().then(() => "", (error) => error.message);
}
const { execFileSync } = await import("node:child_process");
said.sessions = JSON.parse(execFileSync("atm", ["sessions", "--json"]));
console.log(JSON.stringify(said));
"#;

/// The plugin told the folder of the process: sessions were found in the home folder, and paths looked up in the wrong tree.
#[test]
fn a_session_works_in_the_folder_that_its_server_serves_and_not_where_that_was_started() {
    let shop = Shop::new();
    let world = &shop.world;
    shop.ok(&["--as", "bob", "reserve", "src"]);
    std::fs::create_dir_all(world.home().join("web/.git")).unwrap();
    world.installs(&["opencode", "--reservations"]);
    world.put(".config/opencode/plugins/package.json", r#"{"type":"module"}"#);
    world.put("host.mjs", SERVER_HOST);
    let mut host = world.program("node");
    let output = host.arg("host.mjs").env_remove("ATM_AS").env_remove("ATM_TEAM").output();
    let Ok(output) = output else { return eprintln!("skipped: there is no node here") };
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(said["shop"].as_str().unwrap().contains("src/a.rs is reserved by bob@dev"), "{said}");
    assert_eq!(said["web"], "", "it is another tree");
    let sessions = said["sessions"].as_array().unwrap();
    let mut listed: Vec<_> =
        sessions.iter().map(|one| (one["name"].as_str(), one["session"].as_str())).collect();
    listed.sort_unstable();
    assert_eq!(listed, [(Some("shop"), Some("ses_shop")), (Some("web"), Some("ses_web"))], "{said}");
}

/// As above, with a session that is no member's: it is idle when mail comes.
const IDLE_HOST: &str = r#"
import { AtmPlugin } from "./.config/opencode/plugins/atm.js";
import { execFileSync } from "node:child_process";
const prompts = [];
const session = {
  get: async () => ({ data: {} }),
  promptAsync: async ({ path, body }) => prompts.push([path.id, body.parts[0].text]),
};
const plugin = await AtmPlugin({ client: { session } });
const turn = async () => {
  const prompt = { message: { id: "msg_1" }, parts: [] };
  await plugin["chat.message"]({ sessionID: "ses_main" }, prompt);
  return prompt.parts.map((part) => part.text).join("");
};
const idle = () => plugin.event({ event: { type: "session.idle", properties: { sessionID: "ses_main" } } });
const send = (text) => execFileSync("atm", ["send", process.cwd(), text, "-q"]);
const prompted = async (count) => {
  for (let tries = 0; tries < 1500 && prompts.length < count; tries++) await new Promise((later) => setTimeout(later, 20));
};
await turn();
await idle();
send("while you wait");
await prompted(1);
const woken = [...prompts];
// The turn that the line begins.
const shown = await turn();
await idle();
console.log(JSON.stringify({ woken, shown, prompts }));
"#;

/// Mail for an idle session of a client without a socket lay until its user said something.
#[test]
fn mail_starts_a_turn_in_an_idle_session_if_that_was_asked_for() {
    let world = World::new();
    world.installs(&["opencode"]);
    let plugin = || std::fs::read_to_string(world.home().join(".config/opencode/plugins/atm.js")).unwrap();
    assert!(plugin().contains("WAKES = false"), "it costs turns");
    world.installs(&["opencode", "--wake"]);
    assert!(plugin().contains("WAKES = true"));
    world.put(".config/opencode/plugins/package.json", r#"{"type":"module"}"#);
    world.put("host.mjs", IDLE_HOST);
    let mut host = world.program("node");
    let output = host.arg("host.mjs").env_remove("ATM_AS").env_remove("ATM_TEAM").output();
    let Ok(output) = output else { return eprintln!("skipped: there is no node here") };
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(said["woken"][0][0], "ses_main", "{said}");
    let line = said["woken"][0][1].as_str().unwrap();
    assert!(line.starts_with("You have 1 unread message from user."), "{said}");
    assert!(said["shown"].as_str().unwrap().contains("while you wait"), "{said}");
    assert_eq!(said["prompts"].as_array().unwrap().len(), 1, "once: {said}");
}
