//! What people and programs are told.

use std::fs;

use insta::assert_snapshot;

use super::{back_up, litter, string};
use crate::scene::World;

#[test]
fn a_team_comes_back() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    world.ok(&["task", "create", "mend the build"]);
    back_up(&world, "one.tar.gz");
    // How large it is depends on the folder's name, which is another one each time.
    let told = world.session(
        "atm team backup dev --out one.tar.gz
         atm team restore one.tar.gz
         atm team delete dev --force
         atm team restore one.tar.gz --dry-run | sed 's/files.*made/files, made/'
         atm team list
         atm team restore one.tar.gz | sed 's/: .*//'
         atm inbox bob
         atm task list --json | jq -r .[].subject
         atm team restore missing.tar
         atm team restore one.tar.gz --as x
         atm team backup nobody
         atm team backup dev --gzip --zstd",
    );
    assert_snapshot!(told, @r#"
    $ atm team backup dev --out one.tar.gz
    2> error: [HOME]/one.tar.gz exists already
    2>   hint: --force replaces it; --out names another
    [exit 4]
    $ atm team restore one.tar.gz
    2> error: team dev exists already
    2>   hint: --as NAME restores it under another name, --merge adds what is missing
    [exit 4]
    $ atm team delete dev --force
    deleted team dev; its files are in [STATE]/deleted/dev.[TIME]
    $ atm team restore one.tar.gz --dry-run | sed 's/files.*made/files, made/'
    the backup is sound: 8 files, made just now; it would become team dev
    $ atm team list
    no teams below [ROOT]; `atm team create NAME` makes one
    $ atm team restore one.tar.gz | sed 's/: .*//'
    restored team dev, backed up just now
    $ atm inbox bob
    user → bob  just now  unread  [ID]
      hello
    $ atm task list --json | jq -r .[].subject
    mend the build
    $ atm team restore missing.tar
    2> error: cannot open [HOME]/missing.tar: No such file or directory (os error 2)
    2>   hint: there is no such file
    [exit 7]
    $ atm team restore one.tar.gz --as x
    2> error: team name "x": must have 3 to 64 characters
    [exit 2]
    $ atm team backup nobody
    2> error: there is no team "nobody"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm team backup dev --gzip --zstd
    2> error: the argument '--gzip' cannot be used with '--zstd'
    2>
    2> Usage: atm team backup --gzip <TEAM>
    2>
    2> For more information, try '--help'.
    [exit 2]
    "#);
}

#[test]
fn the_documents() {
    let world = World::with_team();
    let file = back_up(&world, "one.tar.zst");
    let made = world.json(&["team", "backup", "dev", "--out", &file, "--force"]);
    assert_eq!(
        (made["team"].as_str(), made["files"].as_u64(), string(&made["file"])),
        (Some("dev"), Some(5), file.clone())
    );
    assert!(made["bytes"].as_u64() > Some(100) && made["size"].as_u64() > Some(100), "{made}");
    let restored = world.json(&["team", "restore", &file, "--as", "ops"]);
    assert_eq!(
        (restored["team"].as_str(), restored["from"].as_str(), restored["dry_run"].as_bool()),
        (Some("ops"), Some("dev"), Some(false))
    );
    assert_eq!(string(&restored["path"]), world.root().join("teams/ops").display().to_string());
}

#[test]
fn a_bad_one_is_refused_and_nothing_is_left() {
    let world = World::with_team();
    let file = back_up(&world, "one.tar.zst");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let answer = world.atm(&["team", "restore", &file, "--as", "ops", "--json"]);
    assert_eq!((answer.code, answer.error()["code"].as_str()), (Some(6), Some("bad_backup")));
    assert!(!world.root().join("teams/ops").exists());
    assert_eq!(litter(&world), [] as [String; 0]);
}

#[test]
fn a_name_in_the_environment_is_not_the_teams() {
    let world = World::with_team();
    let file = back_up(&world, "one.tar.zst");
    world.ok(&["team", "delete", "dev"]);
    let answer = world.command(&["team", "restore", &file]).env("ATM_AS", "alice").output().unwrap();
    assert!(answer.status.success());
    assert!(world.root().join("teams/dev").is_dir());
}
