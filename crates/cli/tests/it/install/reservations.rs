//! `atm install CLIENT --reservations`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::samples::Sample;
use crate::reservations::Shop;
use crate::scene::{World, tree};

fn files(world: &World) -> BTreeMap<PathBuf, String> {
    let files = tree(&world.home()).into_iter().filter(|path| path.is_file());
    files.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// Whether a client asks before it edits.
fn asks(files: &BTreeMap<PathBuf, String>) -> bool {
    let hook = ["PreToolUse", "BeforeTool", "preToolUse", "RESERVATIONS = true"];
    files.values().any(|text| hook.iter().any(|word| text.contains(word)))
}

#[test]
fn it_is_off_unless_asked_for_on_and_off_again_and_leaves_the_same_bytes() {
    for sample in Sample::all() {
        let (world, client) = (sample.world(), sample.client.as_str());
        let before = files(&world);
        world.installs(&[client]);
        let without = files(&world);
        assert!(!asks(&without), "{client}: {without:?}");
        world.installs(&[client, "--reservations"]);
        let with = files(&world);
        assert!(asks(&with), "{client}: {with:?}");
        world.installs(&[client, "--reservations"]);
        assert_eq!(files(&world), with, "{client}: twice changes nothing");
        world.installs(&[client]);
        assert_eq!(files(&world), without, "{client}: off again");
        world.installs(&[client, "--reservations"]);
        world.installs(&[client, "--uninstall"]);
        assert_eq!(files(&world), before, "{client}");
    }
}

/// The plugin asks before it edits, and what it is told is the tool's error.
#[test]
fn the_plugin_for_opencode_refuses_too() {
    const HOST: &str = r#"
import { AtmPlugin } from "./.config/opencode/plugins/atm.js";
const plugin = await AtmPlugin({ client: { session: { get: async () => ({ data: {} }) } } });
const call = async (tool, args) => {
  try {
    await plugin["tool.execute.before"]({ tool, sessionID: "main", callID: "1" }, { args });
    return "";
  } catch (error) {
    return error.message;
  }
};
const file = process.cwd() + "/shop/src/a.rs";
console.log(JSON.stringify({
  write: await call("write", { filePath: file, content: "x" }),
  patch: await call("apply_patch", { patchText: `*** Begin Patch\n*** Update File: ${file}\n*** End Patch` }),
  read: await call("read", { filePath: file }),
  free: await call("write", { filePath: process.cwd() + "/shop/docs/a.md" }),
}));
"#;
    let shop = Shop::new();
    let world = &shop.world;
    shop.ok(&["--as", "bob", "reserve", "src"]);
    world.put(".config/opencode/plugins/package.json", r#"{"type":"module"}"#);
    world.put("host.mjs", HOST);
    let run = |flags: &[&str]| {
        world.installs(&[&["opencode"], flags].concat());
        let mut host = world.program("node");
        let output = host.arg("host.mjs").env("ATM_AS", "alice").env("ATM_TEAM", "dev").output().ok()?;
        let said = String::from_utf8_lossy(&output.stderr);
        Some(serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}")))
    };
    let Some(without): Option<serde_json::Value> = run(&[]) else {
        return eprintln!("skipped: there is no node here");
    };
    assert_eq!((&without["write"], &without["patch"]), (&"".into(), &"".into()), "off unless asked for");
    let with = run(&["--reservations"]).unwrap();
    for tool in ["write", "patch"] {
        assert!(with[tool].as_str().unwrap().contains("src/a.rs is reserved by bob@dev"), "{with}");
    }
    assert_eq!((&with["read"], &with["free"]), (&"".into(), &"".into()));
}
