//! The ways to tell, and `atm notify test`.

use std::fs;
use std::process::Command;

use atm_support::wait_until;
use insta::assert_snapshot;

use super::{kinds, program, settings};
use crate::scene::{Answer, World};

/// With the programs of the world before all others.
fn with_programs(world: &World, args: &[&str]) -> Answer {
    let path = format!("{}:{}", world.home().join("bin").display(), std::env::var("PATH").unwrap());
    Answer::of(world, &world.command(args).env("PATH", path).output().unwrap())
}

#[test]
fn each_channel_says_what_came_of_it() {
    let world = World::new();
    assert_snapshot!(
        "none",
        world.session(
            "
        atm notify test
        atm notify test --channel webhook
        atm notify test --channel pigeon
    "
        )
    );
    settings(&world, "[notify]\ncommand = [\"TELL\"]\nwebhook = \"http://127.0.0.1:1/\"\n");
    let answer = world.atm(&["notify", "test"]);
    assert_eq!(answer.code, Some(7), "{answer:?}");
    assert!(answer.stdout.contains("command: told in "), "{answer:?}");
    assert!(
        answer.stdout.contains("webhook: failed: ") && answer.stdout.contains("webhook.secret"),
        "{answer:?}"
    );
    assert_eq!(kinds(&world), ["test"]);
    let one = world.json(&["notify", "test", "--channel", "command"]);
    assert_eq!((&one[0]["channel"], &one[0]["ok"]), (&"command".into(), &true.into()), "{one}");
    assert_eq!(one.as_array().unwrap().len(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn the_desktop_is_told_by_notify_send() {
    let world = World::new();
    settings(&world, "[notify]\ndesktop = true\n");
    let words = world.home().join("words");
    program(&world, "notify-send", &format!("printf '%s\\n' \"$@\" > {}", words.display()));
    let answer = with_programs(&world, &["notify", "test"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let words = fs::read_to_string(words).unwrap();
    assert_eq!(words, "--app-name=atm\n--\natm test\nThis is a test of atm's notifications.\n");
}

/// Two servers: one shows a client of the other, so that there is a terminal.
struct Shown {
    world: World,
}

impl Shown {
    fn tmux(&self, server: &str, args: &[&str]) -> String {
        let folder = self.world.home().join("tmux");
        fs::create_dir_all(&folder).unwrap();
        let said = Command::new("tmux")
            .env("TMUX_TMPDIR", folder)
            .env_remove("TMUX")
            .args(["-L", server])
            .args(args)
            .output()
            .unwrap();
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.tmux("outer", &["kill-server"]);
        self.tmux("default", &["kill-server"]);
    }
}

#[test]
fn tmux_rings_or_shows_a_title_in_the_pane_that_is_shown() {
    let shown = Shown { world: World::new() };
    let world = &shown.world;
    let folder = world.home().join("tmux");
    let test = || {
        let mut command = world.command(&["notify", "test"]);
        Answer::of(world, &command.env("TMUX_TMPDIR", &folder).env_remove("TMUX").output().unwrap())
    };
    settings(world, "[notify]\ntmux = \"bell\"\n");
    shown.tmux("default", &["-f", "/dev/null", "new-session", "-d", "-s", "inner", "sleep 600"]);
    let answer = test();
    assert!(answer.stdout.contains("tmux: failed: no client is attached to tmux"), "{answer:?}");
    let attach = "TMUX= tmux -L default attach -t inner";
    shown.tmux("outer", &["-f", "/dev/null", "new-session", "-d", "-s", "outer", attach]);
    wait_until("a client is attached", || !shown.tmux("default", &["list-clients"]).is_empty());
    let answer = test();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    // The bell goes through to the one around it.
    wait_until("it rings", || {
        shown.tmux("outer", &["display-message", "-p", "#{window_bell_flag}#{window_flags}"]).contains('1')
            || shown.tmux("outer", &["display-message", "-p", "#{window_flags}"]).contains('!')
    });
    settings(world, "[notify]\ntmux = \"title\"\n");
    assert_eq!(test().code, Some(0));
    let title = shown.tmux("default", &["display-message", "-p", "-t", "inner", "#{pane_title}"]);
    assert_eq!(title, "atm test");
}
