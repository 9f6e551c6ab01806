//! Who can read what we make: its owner alone, or the group that a team is for.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{getegid, geteuid};

use crate::scene::{ATM, Answer, World, tree};

/// What a team does on a day, and what is done with its files.
const TOUR: &str = r#"
    atm member add alice
    atm member add bob
    atm member set bob --active false
    atm team alias crew {TEAM}
    atm --as alice send bob 'one' --priority high
    atm --as alice send bob 'two'
    atm --as alice send bob 'three' --priority low
    atm broadcast 'to all'
    atm send somebody 'new' --create
    atm --as bob read
    atm --as alice read
    atm --as alice heartbeat
    atm --as alice idle
    atm task create 'first' --owner alice
    atm --as alice task claim 1
    atm --as alice artifacts report running
    echo text > file.txt && atm --as alice artifacts put file.txt
    atm artifacts get alice file.txt --out got.txt
    atm --as alice task complete 1
    atm task graph --svg tasks.svg
    atm stats --svg stats.svg
    atm archive --older-than 0s --keep 0
    atm --as alice send bob 'four'
    atm --as bob read
    atm archive --over 1 --force
    atm --as alice send bob 'five'
    atm clean --older-than 0s
    atm health --sweep
    atm migrate --dialect current
    atm team convert --to log
    atm --as alice send bob 'six'
    atm team convert --to array
    atm --as alice send bob 'seven'
    atm team backup --out backup.tar.zst
    atm team backup --out config.tar.gz --gzip --config-only
    atm team export --out export.json
    atm team export --format md --out export.md
    atm team restore backup.tar.zst --as second
    atm team import export.json --as third
    atm search five
    echo '{"session_id":"s"}' | atm --as alice hook session-start
    atm doctor --fix --yes
    atm team delete second --force
    atm team restore backup.tar.zst --as second
"#;

/// Runs the tour under a umask.
fn tour(world: &World, team: &str, umask: &str) {
    for line in TOUR.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.replace("{TEAM}", team);
        let mut shell = world.shell();
        shell.args(["-c", &format!("umask {umask}; {line}")]).current_dir(world.home()).env("ATM_TEAM", team);
        let answer = Answer::of(world, &shell.output().unwrap());
        assert_eq!(answer.code, Some(0), "{line}: {answer:?}");
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// All that is below the places that we write to, but for what stood there before.
fn made(world: &World) -> Vec<PathBuf> {
    let before = [world.root(), world.state(), world.home()];
    let mut all: Vec<PathBuf> = before.iter().flat_map(|folder| tree(folder)).collect();
    all.retain(|path| !before.contains(path) && !path.ends_with("file.txt"));
    all
}

#[test]
fn nothing_that_we_make_is_open_to_others() {
    for layout in ["array", "log"] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", layout]);
        tour(&world, "dev", "022");
        let made = made(&world);
        let open: BTreeMap<&PathBuf, String> = made
            .iter()
            .filter(|path| mode(path) & 0o077 != 0)
            .map(|path| (path, format!("{:04o}", mode(path))))
            .collect();
        assert!(open.is_empty(), "{layout}: {open:#?}");
        for what in ["log.db", "journal", "queue", "archive", "deleted", "config.json", "task-status.json"] {
            assert!(made.iter().any(|path| path.ends_with(what)), "the tour makes {what}");
        }
    }
}

/// A group that files can be given to, another than the one that they get by themselves where there is one.
fn group() -> (String, u32) {
    let said = Command::new("id").arg("-G").output().unwrap().stdout;
    let mine: Vec<u32> =
        String::from_utf8(said).unwrap().split_whitespace().map(|id| id.parse().unwrap()).collect();
    let table = fs::read_to_string("/etc/group").unwrap();
    let groups: Vec<(String, u32)> = table
        .lines()
        .filter_map(|line| {
            let mut parts = line.split(':');
            Some((parts.next()?.to_owned(), parts.nth(1)?.parse().ok()?))
        })
        .collect();
    let own = getegid().as_raw();
    let may = |id: u32| mine.contains(&id) || geteuid().is_root();
    let other = groups.iter().find(|(_, id)| *id != own && may(*id));
    other.or_else(|| groups.iter().find(|(_, id)| *id == own)).expect("a group with a name").clone()
}

/// What is not as it should be in a tree that is for a group.
fn not_for(group: u32, folder: &Path) -> Vec<String> {
    let looks = |path: &PathBuf| {
        let (found, mode) = (fs::symlink_metadata(path).unwrap(), mode(path));
        let is_lock = path.extension().is_some_and(|end| end == "lock") || path.ends_with(".lock");
        let wanted: &[u32] = match found.is_dir() {
            true => &[0o2750],
            // Only who writes locks.
            false if is_lock => &[0o640, 0o600],
            false => &[0o640],
        };
        let is_right = wanted.contains(&mode) && found.gid() == group;
        (!is_right).then(|| format!("{} {mode:04o} {}", path.display(), found.gid()))
    };
    tree(folder).iter().chain([&folder.to_owned()]).filter_map(looks).collect()
}

#[test]
fn a_team_for_a_group_stays_so_whatever_is_done_with_it() {
    let (name, id) = group();
    for (layout, umask) in [("array", "022"), ("log", "022"), ("array", "077"), ("log", "077")] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", layout, "--group", &name]);
        assert_eq!(world.json(&["team", "show", "dev"])["group"], name.as_str());
        tour(&world, "dev", umask);
        for folder in ["teams/dev", "tasks/dev", "teams/second", "tasks/second"] {
            assert_eq!(not_for(id, &world.root().join(folder)), [""; 0], "{layout}, umask {umask}");
        }
        let others = made(&world).into_iter().filter(|path| mode(path) & 0o007 != 0).collect::<Vec<_>>();
        assert_eq!(others, Vec::<PathBuf>::new(), "nobody else");
        let ours = tree(&world.state()).into_iter().filter(|path| {
            // What was moved there as it was.
            let is_the_teams =
                ["deleted", "quarantine"].iter().any(|kept| path.starts_with(world.state().join(kept)));
            mode(path) & 0o077 != 0 && !is_the_teams
        });
        assert_eq!(ours.collect::<Vec<_>>(), Vec::<PathBuf>::new(), "our own state is for nobody");
        assert_eq!(mode(&world.home().join("backup.tar.zst")), 0o600, "nor are backups");
        assert_eq!(mode(&world.root().join("teams/third")), 0o700, "nor is a team that is made anew");
    }
}

#[test]
fn a_group_that_is_not_there_is_an_error_and_nothing_is_made() {
    let world = World::new();
    let answer = world.atm(&["team", "create", "dev", "--group", "no-such-group"]);
    assert_eq!(answer.code, Some(3));
    insta::assert_snapshot!(answer.shown(), @r#"
    2> error: there is no group called "no-such-group" on this machine
    2>   hint: `id -Gn` shows the groups that you are in
    [exit 3]
    "#);
    assert!(!world.root().join("teams").exists());
}

/// Opens the way to the root, as far as it is this test's.
fn open_the_way(world: &World) {
    let top = world.root().parent().unwrap().to_owned();
    for folder in [top.clone(), world.root(), world.root().join("teams"), world.root().join("tasks")] {
        if folder.exists() {
            fs::set_permissions(folder, Permissions::from_mode(0o711)).unwrap();
        }
    }
}

#[test]
fn who_can_read_is_told() {
    let world = World::with_team();
    world.ok(&["task", "create", "first"]);
    assert_eq!(world.json(&["status"])["warnings"], serde_json::json!([]));
    open_the_way(&world);
    let (team, tasks) = (world.root().join("teams/dev"), world.root().join("tasks/dev"));
    for folder in [&team, &tasks, &team.join("inboxes")] {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
    let told = world.session("atm status | grep warning\n atm validate --level warning; atm doctor");
    insta::assert_snapshot!(told, @"
    $ atm status | grep warning
    [exit 1]
    $ atm validate --level warning; atm doctor
    5 files: 0 errors, 0 warnings, 6 dialects
    warning: dev: other users of this machine can read this team's mail [ATM-D013]
      [ROOT]/teams/dev
      because the folder's mode is 0755, and every folder above it is open
      fix: `--fix` closes the team's folder to others.
    warning: dev: other users of this machine can read this team's tasks [ATM-D013]
      [ROOT]/tasks/dev
      because the folder's mode is 0755, and every folder above it is open
      fix: `--fix` closes the team's folder to others.
    the ledger is sound: 0 messages
      [STATE]/log.db
    0 errors, 2 warnings, 0 notes; 0 fixed
    ");
    world.ok(&["doctor", "--fix", "--yes"]);
    assert_eq!((mode(&team), mode(&tasks)), (0o750, 0o750));
    assert_eq!(world.json(&["status"])["warnings"], serde_json::json!([]));
    assert_eq!(world.json(&["validate", "dev", "--level", "warning"])["findings"], serde_json::json!([]));
}

#[test]
fn what_keeps_a_group_out_is_told() {
    let (name, _) = group();
    let world = World::new();
    let answer = world.atm(&["team", "create", "dev", "--group", &name]);
    assert_eq!(answer.code, Some(0));
    assert!(answer.stderr.contains(&format!("the group {name} cannot come at the team")), "{answer:?}");
    open_the_way(&world);
    assert_eq!(world.json(&["status"])["warnings"], serde_json::json!([]));
    assert_eq!(world.json(&["doctor"])["findings"], serde_json::json!([]));
    let inbox = world.root().join("teams/dev/inboxes/team-lead.json");
    fs::set_permissions(&inbox, Permissions::from_mode(0o600)).unwrap();
    let found = world.json(&["doctor"])["findings"].clone();
    assert_eq!(
        (found[0]["code"].as_str(), found.as_array().unwrap().len()),
        (Some("ATM-D023"), 1),
        "{found}"
    );
}

/// Another user in a group; only who may become anybody can ask.
fn as_another(world: &World, groups: &str, args: &[&str]) -> Answer {
    let place = world.root().parent().unwrap().join("another");
    if !place.exists() {
        fs::create_dir(&place).unwrap();
        fs::copy(ATM, place.join("atm")).unwrap();
        fs::create_dir(place.join("home")).unwrap();
        std::os::unix::fs::chown(place.join("home"), Some(65534), Some(65534)).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = world.program("setpriv");
    command.args(["--reuid=65534", "--regid=65534", groups]).arg(place.join("atm")).args(args);
    command.env("ATM_STATE", place.join("home/state")).current_dir(place.join("home"));
    Answer::of(world, &command.output().unwrap())
}

#[test]
fn the_group_reads_and_writes_nothing_and_others_do_not_even_that() {
    if !geteuid().is_root() {
        return;
    }
    let (name, id) = group();
    let in_it = format!("--groups={id}");
    let world = World::new();
    world.ok(&["team", "create", "dev", "--group", &name]);
    world.ok(&["member", "add", "bob"]);
    world.ok(&["send", "bob", "hello"]);
    world.ok(&["task", "create", "first"]);
    open_the_way(&world);

    let answer = as_another(&world, &in_it, &["-t", "dev", "inbox", "bob"]);
    assert!(answer.code == Some(0) && answer.stdout.contains("hello"), "{answer:?}");
    for look in [&["-t", "dev", "members"][..], &["-t", "dev", "task", "list"], &["-t", "dev", "validate"]] {
        assert_eq!(as_another(&world, &in_it, look).code, Some(0), "{look:?}");
    }
    let before = fs::read(world.root().join("teams/dev/inboxes/bob.json")).unwrap();
    assert_eq!(as_another(&world, &in_it, &["-t", "dev", "send", "bob", "no"]).code, Some(7));
    assert_eq!(fs::read(world.root().join("teams/dev/inboxes/bob.json")).unwrap(), before);
    assert_ne!(as_another(&world, "--clear-groups", &["-t", "dev", "inbox", "bob"]).code, Some(0));

    // Who is not in the group can neither make a team for it, nor get one out of a backup.
    let away = world.root().parent().unwrap().join("another/home/root");
    let away = away.to_str().unwrap();
    let answer =
        as_another(&world, "--clear-groups", &["--root", away, "team", "create", "x-team", "--group", &name]);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    assert!(answer.stderr.contains("you are not in it"), "{answer:?}");
    assert!(!Path::new(away).join("teams/x-team").exists());
    let backup = world.root().parent().unwrap().join("another/b.tar.zst");
    world.ok(&["team", "backup", "dev", "--out", backup.to_str().unwrap()]);
    fs::set_permissions(&backup, Permissions::from_mode(0o644)).unwrap();
    let answer =
        as_another(&world, "--clear-groups", &["--root", away, "team", "restore", backup.to_str().unwrap()]);
    assert!(answer.code == Some(0) && answer.stderr.contains("yours alone"), "{answer:?}");
    let open: Vec<_> = tree(Path::new(away)).into_iter().filter(|path| mode(path) & 0o077 != 0).collect();
    assert_eq!(open, Vec::<PathBuf>::new());
}
