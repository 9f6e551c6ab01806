//! What a command leaves that was killed in the middle: the next one, or `doctor --fix`, removes it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use atm_store::points;

use crate::scene::{Answer, World, tree};

const SECRET: &str = "{\n  \"env\": { \"TOKEN\": \"secret\" }\n}\n";

/// A user of a client whose settings hold a secret.
fn user() -> World {
    let world = World::new();
    fs::create_dir(world.home().join(".claude")).unwrap();
    fs::write(world.home().join(".claude/settings.json"), SECRET).unwrap();
    fs::write(world.home().join(".claude.json"), "{}\n").unwrap();
    world
}

fn install(world: &World, more: &[&str]) -> Command {
    let mut command = world.command(&[&["install", "claude"], more].concat());
    // Without a client, whose own command would do a part of it.
    command.env("PATH", "/usr/bin:/bin");
    command
}

/// Kills an install at a point of its first file, or of its second.
fn killed(world: &World, point: &str) {
    let died = install(world, &[]).env("ATM_TEST_DIE_AT", point).output().unwrap();
    assert_eq!(died.status.code(), None, "{point}");
}

/// The temp files and folders of ours, wherever they are.
fn litter(world: &World) -> Vec<PathBuf> {
    let all = tree(&world.home()).into_iter().chain(tree(&world.root())).chain(tree(&world.state()));
    all.filter(|path| path.file_name().unwrap().to_string_lossy().contains(".atm-")).collect()
}

/// The points of the two files that are replaced, each of which passes those of a temp file twice.
fn points_of_install() -> Vec<String> {
    let second = ["client_entered:2", "client_staged:3", "client_staged:4", "client_renamed:4"];
    points::CLIENT_FILE.iter().copied().chain(second).map(ToOwned::to_owned).collect()
}

#[test]
fn the_next_install_removes_what_a_killed_one_left() {
    for point in points_of_install() {
        for uninstall in [false, true] {
            let world = user();
            killed(&world, &point);
            if point.starts_with("client_staged") {
                assert_eq!(litter(&world).len(), 1, "{point}: the test would show nothing else");
            }
            let again = install(&world, if uninstall { &["--uninstall"] } else { &[] }).output().unwrap();
            assert!(again.status.success(), "{point}");
            assert_eq!(litter(&world), Vec::<PathBuf>::new(), "{point}");
            let settings = fs::read_to_string(world.home().join(".claude/settings.json")).unwrap();
            assert!(settings.contains("secret"), "{point}: {settings}");
            assert_eq!(settings.contains("SessionStart"), !uninstall, "{point}: {settings}");
            install(&world, &["--uninstall"]).output().unwrap();
            assert_eq!(
                fs::read_to_string(world.home().join(".claude/settings.json")).unwrap(),
                SECRET,
                "{point}"
            );
        }
    }
}

#[test]
fn a_dry_run_removes_nothing_and_the_doctor_does() {
    for point in ["client_staged", "client_staged:2"] {
        let world = user();
        killed(&world, point);
        install(&world, &["--dry-run"]).output().unwrap();
        world.atm(&["doctor"]);
        assert_eq!(litter(&world).len(), 1, "{point}");
        let found = world.json(&["doctor"]);
        assert!(found.to_string().contains("ATM-D024"), "{found}");
        world.atm(&["doctor", "--fix"]);
        assert_eq!(litter(&world), Vec::<PathBuf>::new(), "{point}");
        assert!(!world.json(&["doctor"]).to_string().contains("ATM-D024"), "{point}");
        let journal = tree(&world.state().join("journal"));
        assert!(journal.iter().all(|path| !path.is_file()), "no copy of the secret is kept: {journal:?}");
    }
}

#[test]
fn a_restore_that_was_killed_leaves_nothing_to_the_next_one_of_any_name() {
    for (at, point) in points::RESTORE.iter().filter(|point| **point != "restore_placed").enumerate() {
        let world = World::with_team();
        world.ok(&["send", "bob", "hello"]);
        world.ok(&["task", "create", "mend the build"]);
        world.ok(&["--as", "bob", "read"]);
        world.ok(&["archive", "--keep", "0"]);
        let file = world.home().join("dev.backup");
        let file = file.to_str().unwrap();
        world.ok(&["team", "backup", "dev", "--out", file]);
        let restore = |name| world.command(&["team", "restore", file, "--as", name]);
        let died = restore("one").env("ATM_TEST_DIE_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "{point}");
        assert!(!litter(&world).is_empty(), "{point}");
        if at % 2 == 0 {
            assert!(restore("other").output().unwrap().status.success(), "{point}");
        } else {
            world.atm(&["doctor", "--fix"]);
        }
        assert_eq!(litter(&world), Vec::<PathBuf>::new(), "{point}");
        assert!(!world.root().join("teams/one").exists());
    }
}

#[test]
fn install_refuses_what_it_would_wait_for() {
    for (client, name) in [
        ("claude", ".claude/settings.json"),
        ("claude", ".claude.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("cursor", ".cursor/mcp.json"),
        ("opencode", ".config/opencode/plugins/atm.js"),
    ] {
        let world = World::new();
        let path = world.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for more in [&[][..], &["--dry-run"], &["--uninstall"]] {
            let begun = Instant::now();
            let mut command = world.command(&[&["install", client], more].concat());
            let answer = Answer::of(&world, &command.env("PATH", "/usr/bin:/bin").output().unwrap());
            assert_eq!(answer.code, Some(6), "{answer:?}");
            assert!(answer.stderr.contains("is not a regular file"), "{answer:?}");
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
    }
}
