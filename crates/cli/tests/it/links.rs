//! Links: the user's own are followed to what is the user's own; others' are not.

use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::scene::{World, tree};

/// A team in either layout, with a task, and a folder that is neither below the root nor below home.
fn world(layout: &str) -> (World, PathBuf) {
    let world = World::new();
    for line in [
        &format!("team create dev --layout {layout}"),
        "member add alice",
        "member add bob",
        "task create one",
    ] {
        world.ok(&line.split(' ').collect::<Vec<_>>());
    }
    world.ok(&["send", "bob", "first"]);
    let outside = world.home().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    (world, outside)
}

/// Moves a file or folder and leaves a link in its place.
fn move_away(path: &Path, to: &Path) {
    if path.is_dir() {
        let status = std::process::Command::new("mv").args([path, to]).status().unwrap();
        assert!(status.success());
    } else if path.exists() {
        fs::rename(path, to).unwrap();
    } else {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(to, "").unwrap();
    }
    symlink(to, path).unwrap();
}

/// Makes a link another user's. Only root can.
fn give_away(link: &Path) -> bool {
    let is_given = lchown(link, Some(12_345), None).is_ok();
    if !is_given {
        eprintln!("skipped: only root can give a link away");
    }
    is_given
}

/// What is in a folder, with its content.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    tree(folder)
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Each shared file, in which layout, and a command that writes it.
const WRITES: [(&str, &str, &[&str]); 10] = [
    ("array", "teams/dev/inboxes/bob.json", &["send", "bob", "hello"]),
    ("array", "teams/dev/inboxes/bob.json", &["--as", "bob", "read"]),
    ("array", "teams/dev/inboxes", &["send", "bob", "hello"]),
    ("array", "teams/dev", &["send", "bob", "hello"]),
    ("array", "teams/dev/config.json", &["member", "set", "bob", "--model", "opus"]),
    ("array", "tasks/dev/1.json", &["--as", "bob", "task", "claim", "1"]),
    ("array", "tasks/dev/.highwatermark", &["task", "create", "two"]),
    ("log", "teams/dev/members/bob/inbox", &["send", "bob", "hello"]),
    ("log", "teams/dev/members/bob/state.json", &["--as", "bob", "read"]),
    ("log", "teams/dev/members/bob", &["send", "bob", "hello"]),
];

#[test]
fn a_link_of_somebody_else_is_refused_and_its_target_stays() {
    for (layout, file, command) in WRITES {
        let (world, outside) = world(layout);
        let (link, target) = (world.root().join(file), outside.join("target"));
        move_away(&link, &target);
        if !give_away(&link) {
            return;
        }
        let before = contents(&outside);
        let answer = world.atm(&[command, &["--json"]].concat());
        let error = answer.error();
        assert_eq!(
            (answer.code, error["code"].as_str()),
            (Some(4), Some("linked_away")),
            "{file}: {answer:?}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(link.to_str().unwrap()) && message.contains(target.to_str().unwrap()),
            "{message}"
        );
        let after: Vec<_> = contents(&outside);
        assert_eq!(after, before, "{file}");
    }
}

#[test]
fn a_member_cannot_leave_artifacts_behind_a_link_of_somebody_else() {
    let (world, outside) = world("array");
    move_away(&world.root().join("tasks/dev"), &outside.join("target"));
    if !give_away(&world.root().join("tasks/dev")) {
        return;
    }
    fs::write(world.home().join("f.txt"), "x").unwrap();
    let answer = world.atm(&["--as", "bob", "artifacts", "put", "f.txt"]);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    assert!(tree(&outside).iter().all(|path| !path.ends_with("f.txt")));
}

#[test]
fn own_links_are_followed_wherever_they_lead() {
    for (layout, file, command) in WRITES {
        for place in ["home", "root", "outside"] {
            let (world, outside) = world(layout);
            let kept = outside.with_file_name(place).join("kept");
            fs::create_dir(&kept).unwrap();
            let (link, target) = (world.root().join(file), kept.join("target"));
            move_away(&link, &target);
            let before = contents(&kept);
            let answer = world.atm(command);
            assert_eq!(answer.code, Some(0), "{file} to {place}: {answer:?}");
            assert!(link.is_symlink());
            assert_ne!(contents(&kept), before, "{file} to {place}");
        }
    }
}

#[test]
fn what_belongs_to_somebody_else_is_not_replaced_through_a_link() {
    let (world, _) = world("array");
    let (link, target) = (world.root().join("teams/dev/inboxes/bob.json"), world.home().join("theirs.json"));
    move_away(&link, &target);
    if chown(&target, Some(12_345), None).is_err() {
        return eprintln!("skipped: only root can give a file away");
    }
    let before = fs::read(&target).unwrap();
    assert_eq!(world.atm(&["send", "bob", "hello"]).code, Some(4));
    assert_eq!(fs::read(&target).unwrap(), before);
}

#[test]
fn looking_through_a_link_is_harmless() {
    let (world, outside) = world("array");
    move_away(&world.root().join("teams/dev/inboxes/bob.json"), &outside.join("target"));
    assert!(world.ok(&["inbox", "bob"]).contains("first"));
    assert!(world.ok(&["--as", "bob", "read", "--peek"]).contains("first"));
}

#[test]
fn a_message_that_is_refused_for_a_link_never_comes_later() {
    let (world, outside) = world("array");
    let (link, target) = (world.root().join("teams/dev/inboxes/bob.json"), outside.join("target"));
    move_away(&link, &target);
    if !give_away(&link) {
        return;
    }
    assert_eq!(world.atm(&["send", "bob", "refused"]).code, Some(4));
    fs::remove_file(&link).unwrap();
    fs::rename(&target, &link).unwrap();
    world.ok(&["send", "bob", "later"]);
    world.ok(&["pending"]);
    let mail = world.ok(&["inbox", "bob"]);
    assert!(mail.contains("later") && !mail.contains("refused"), "{mail}");
}

#[test]
fn all_teams_may_be_on_another_disk() {
    let (world, outside) = world("array");
    move_away(&world.root().join("teams"), &outside.join("teams"));
    world.ok(&["send", "bob", "second"]);
    world.ok(&["team", "create", "more"]);
    assert!(outside.join("teams/more/config.json").is_file());
    assert!(world.ok(&["--team", "dev", "inbox", "bob"]).contains("second"));
}

#[test]
fn nothing_is_made_for_a_new_team_behind_a_link_of_somebody_else() {
    let (world, outside) = world("array");
    let teams = world.root().join("teams");
    move_away(&teams, &outside.join("teams"));
    if !give_away(&teams) {
        return;
    }
    let before = tree(&outside);
    let answer = world.atm(&["team", "create", "more"]);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    assert!(answer.stderr.contains("nothing was written there"), "{answer:?}");
    assert_eq!(tree(&outside), before);
}

#[test]
fn what_is_installed_for_a_project_stays_in_it() {
    let world = World::new();
    let (project, settings) = (world.home().join("project"), world.home().join("own/mcp.json"));
    fs::create_dir_all(project.join("inside")).unwrap();
    fs::create_dir(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{}").unwrap();
    fs::write(project.join("inside/mcp.json"), "{}").unwrap();
    let install = |more: &[&str]| {
        let mut command = world.command(&[&["install", "claude", "--project"], more].concat());
        crate::scene::Answer::of(&world, &command.current_dir(&project).output().unwrap())
    };
    let link = project.join(".mcp.json");
    symlink(&settings, &link).unwrap();
    for more in [&["--dry-run"] as &[&str], &[], &["--uninstall"]] {
        let answer = install(more);
        assert_eq!(answer.code, Some(4), "{answer:?}");
        assert!(answer.stderr.contains("own/mcp.json"), "{answer:?}");
    }
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{}");
    fs::remove_file(&link).unwrap();
    symlink("inside/mcp.json", &link).unwrap();
    let answer = install(&[]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(
        answer.stdout.contains(".mcp.json, really ") && answer.stdout.contains("inside/mcp.json"),
        "{answer:?}"
    );
    assert!(
        link.is_symlink() && fs::read_to_string(project.join("inside/mcp.json")).unwrap().contains("atm")
    );
}

#[test]
fn a_picture_takes_the_place_of_a_link_and_not_of_what_it_leads_to() {
    let (world, _) = world("array");
    let (link, precious) = (world.home().join("x.svg"), world.home().join("precious"));
    fs::write(&precious, "precious").unwrap();
    for command in [&["task", "graph"] as &[&str], &["stats"]] {
        let _ = fs::remove_file(&link);
        symlink(&precious, &link).unwrap();
        world.ok(&[command, &["--svg", "x.svg"]].concat());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert!(!link.is_symlink() && fs::read_to_string(&link).unwrap().contains("<svg"));
    }
    fs::remove_file(&link).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(&link).status().unwrap();
    assert!(pipe.success());
    assert_ne!(world.atm(&["stats", "--svg", "x.svg"]).code, Some(0), "a pipe is not replaced");
}
