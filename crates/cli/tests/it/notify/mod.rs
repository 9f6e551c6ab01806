//! People are told what needs them: by real commands and programs, once each.

mod channels;
mod once;
mod watched;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::scene::World;

/// Writes the user's settings, in which `TELL` is a program that appends what it gets on its input.
fn settings(world: &World, text: &str) {
    let folder = world.home().join(".config/atm");
    fs::create_dir_all(&folder).unwrap();
    let tell = program(world, "tell", &format!("cat >> {}", heard_file(world).display()));
    fs::write(folder.join("config.toml"), text.replace("TELL", tell.to_str().unwrap())).unwrap();
}

/// A script that can be run.
fn program(world: &World, name: &str, script: &str) -> PathBuf {
    let folder = world.home().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn heard_file(world: &World) -> PathBuf {
    world.home().join("heard")
}

/// What was told so far.
fn heard(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(heard_file(world)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The kinds of what was told so far.
fn kinds(world: &World) -> Vec<String> {
    heard(world).iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
}
