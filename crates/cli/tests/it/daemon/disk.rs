//! Disks that are full or cannot be written.

use std::fs;

use serde_json::json;

use crate::disk::with_mounts;
use crate::scene::World;

#[test]
fn a_state_that_cannot_be_written_is_named_and_mail_can_be_read() {
    for has_run in [false, true] {
        let world = World::with_team();
        world.ok(&["send", "bob", "hello"]);
        if has_run {
            world.ok(&["daemon", "start"]);
            world.ok(&["daemon", "stop"]);
        }
        let script = "
            mount --bind \"$ATM_STATE\" \"$ATM_STATE\"
            mount -o remount,ro,bind \"$ATM_STATE\"
            atm daemon start
            atm --json daemon run 2>&1 | cut -c1-20
            atm -q daemon status > /dev/null
            atm -q inbox bob | grep -o hello
            ";
        let Some(said) = with_mounts(&world, script) else { return };
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].contains("[STATE]/daemon") && lines[0].contains("Read-only"), "{has_run}: {said}");
        assert!(said.contains("hint: "), "{said}");
        let rest: Vec<&str> =
            lines.into_iter().filter(|line| !line.contains("rror: ") && !line.contains("hint: ")).collect();
        assert_eq!(rest, ["[exit 7]", "{\"error\":{\"code\":\"io", "[exit 3]", "hello"], "{has_run}: {said}");
    }
}

#[test]
fn one_whose_disk_fills_up_says_so_and_records_what_came_when_there_is_room() {
    let world = World::with_team();
    // It watches the root, which has room; the ledger has none.
    // The ledger may have room for a little in files that it has; not for this.
    let text = format!("while it was full {}", "x".repeat(300_000));
    let entry =
        json!([{ "from": "x", "text": text, "timestamp": "2026-11-17T06:00:00.000Z", "read": false }]);
    fs::write(world.home().join("entry"), entry.to_string()).unwrap();
    let script = "
        mount -t tmpfs -o size=2m tmpfs \"$ATM_STATE\"
        atm -q daemon start
        head -c 4000000 /dev/zero > \"$ATM_STATE/filler\" 2>/dev/null
        cp \"$HOME/entry\" \"$ATM_ROOT/teams/dev/inboxes/bob.json\"
        timeout 30 sh -c 'until atm daemon status | grep -q \"dev.*full\"; do sleep 0.05; done'
        atm -q daemon status > /dev/null
        rm \"$ATM_STATE/filler\"
        timeout 60 sh -c 'until atm daemon status | grep -q \"files ok.*ledger ok\"; do sleep 0.05; done'
        timeout 60 sh -c 'until atm daemon status | grep -q \"nothing is behind\"; do sleep 0.05; done'
        atm -q daemon stop
        rm \"$ATM_ROOT/teams/dev/inboxes/bob.json\"
        atm --json search full | grep -o 'while it was full'
        ";
    let Some(said) = with_mounts(&world, script) else { return };
    assert_eq!(said, "[exit 1]\n[exit 7]\nwhile it was full\n");
}
