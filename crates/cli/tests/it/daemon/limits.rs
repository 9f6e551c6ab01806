//! Limits of the system.

use crate::scene::{Answer, World};

/// Where no folder can be watched, since the system's watches are used up, it looks at them, and says so.
#[test]
fn where_watches_are_used_up_it_looks_and_says_so() {
    for watches in [0, 4] {
        let world = World::with_team();
        let entry = r#"[{"from":"x","text":"seen all the same","timestamp":"2026-11-17T06:00:00.000Z","read":false}]"#;
        let script = format!(
            "
            echo {watches} > /proc/sys/user/max_inotify_watches || exit 99
            atm -q daemon start || exit 1
            timeout 30 sh -c 'until atm daemon status | grep -o \"without events.*\"; do sleep 0.1; done'
            echo '{entry}' > \"$ATM_ROOT/teams/dev/inboxes/bob.json\"
            timeout 30 sh -c 'until atm daemon status | grep -q \"so far: [2-9]\"; do sleep 0.1; done' || echo unseen
            timeout 30 sh -c 'until atm daemon status | grep -q \"nothing is behind\"; do sleep 0.1; done' || echo behind
            atm -q team create later
            timeout 30 sh -c 'until atm daemon status | grep -q \"watches 2 teams\"; do sleep 0.1; done' || echo unknown
            atm -q daemon stop
            rm \"$ATM_ROOT/teams/dev/inboxes/bob.json\"
            atm -t dev --json search same | grep -o 'seen all the same'
            "
        );
        let output = world.program("unshare").args(["-rm", "sh", "-c", &script]).output();
        let answer = output.map(|output| Answer::of(&world, &output));
        let Some(answer) = answer.ok().filter(|answer| answer.code != Some(99)) else {
            eprintln!("skipped: the limit cannot be set here");
            return;
        };
        let said = answer.shown();
        assert!(said.starts_with("without events (the system's watches are used up"), "{said}");
        assert!(said.ends_with("every 2 s\nseen all the same\n"), "{watches}: {said}");
    }
}
