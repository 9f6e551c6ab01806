//! A team in one file, and back, by the real binary: while others work, after deaths, and what is refused.

mod config;
mod crashes;
mod export;
mod live;
mod merge;
mod plain;
mod words;

use std::path::Path;

use serde_json::Value;

use crate::scene::{World, texts};

/// Makes a backup of the team `dev`, named so.
fn back_up(world: &World, name: &str) -> String {
    let file = world.home().join(name).display().to_string();
    world.ok(&["team", "backup", "dev", "--out", &file]);
    file
}

/// The texts that a name has ever had in a team: in its inbox and in its archive, sorted.
fn everything(world: &World, name: &str, team: &str) -> Vec<String> {
    let inbox = world.json(&["inbox", name, "-t", team]);
    let archived = world.json(&["inbox", name, "-t", team, "--archived"]);
    let mut all = [texts(&inbox), texts(&archived)].concat();
    all.sort();
    all
}

/// What an unpacking left beside the teams and in the state folder.
fn litter(world: &World) -> Vec<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let hidden = |name: &String| name.starts_with('.');
    let home = names(&world.home()).into_iter().filter(hidden);
    let teams = names(&world.root().join("teams")).into_iter().filter(hidden);
    home.chain(teams).chain(names(&world.state().join("restoring"))).collect()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
