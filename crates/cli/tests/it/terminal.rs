//! On a real terminal: a tmux pane of each test's own.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use atm_support::wait_until;

use crate::scene::World;

/// A shell in a terminal of a given size; its server is killed at the end.
pub(crate) struct Terminal {
    pub(crate) world: World,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

impl Terminal {
    pub(crate) fn new(world: World, columns: usize, rows: usize) -> Self {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let size = ["-x", &columns, "-y", &rows];
        let mut tmux = world.program("tmux");
        tmux.arg("-S").arg(world.root().with_file_name("tmux")).args([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
        ]);
        tmux.args(size).args(["env", "PS1=ready> ", "sh"]);
        assert!(tmux.output().unwrap().status.success());
        let terminal = Self { world };
        terminal.wait_for("ready>");
        terminal
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.world.root().with_file_name("tmux")).args(args);
        String::from_utf8_lossy(&tmux.output().unwrap().stdout).into_owned()
    }

    pub(crate) fn enter(&self, line: &str) {
        self.type_in(line);
        self.press("Enter");
    }

    /// Types without ending the line.
    pub(crate) fn type_in(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    pub(crate) fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Writes all that the terminal gets from now on into a file, also what is soon overwritten.
    pub(crate) fn record(&self) -> PathBuf {
        let file = self.world.home().join("recorded");
        fs::write(&file, "").unwrap();
        self.tmux(&["pipe-pane", &format!("cat >> '{}'", file.display())]);
        file
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    pub(crate) fn wait_for(&self, words: &str) {
        wait_until(&format!("{words:?} is on the screen"), || self.screen().contains(words));
    }
}

/// A pager that takes a part of what it gets, and ends when a line is typed, whatever Ctrl-C says.
const PAGER: &str = "trap '' INT; head -n 2 >/dev/null; echo paged; read answer </dev/tty";

#[test]
fn what_is_longer_than_the_screen_is_paged_and_leaves_nothing_behind() {
    let world = World::with_team();
    for number in 0..9 {
        world.ok(&["send", "bob", &format!("message {number}")]);
    }
    let terminal = Terminal::new(world, 80, 10);
    terminal.enter(&format!("export ATM_PAGER=\"{PAGER}\"; clear"));
    terminal.enter("atm inbox bob; echo code $?.");
    terminal.wait_for("paged");
    terminal.press("C-c");
    assert!(!terminal.screen().contains("code 0."), "{}", terminal.screen());
    // A terminal throws away what was typed when Ctrl-C comes to it, and that may be a key that was pressed after it.
    wait_until("the pager ends", || {
        terminal.press("Enter");
        terminal.screen().contains("code 0.")
    });

    terminal.enter("clear; atm --no-pager inbox bob; echo code $?.");
    terminal.wait_for("message 8");
    terminal.wait_for("code 0.");
    terminal.enter("clear; atm inbox bob --last 1; echo code $?.");
    terminal.wait_for("code 0.");
    assert!(!terminal.screen().contains("paged"), "{}", terminal.screen());
    // A pager that is not there does not keep anybody from the answer.
    terminal.enter("export ATM_PAGER=no-such-pager; clear; atm inbox bob; echo code $?.");
    terminal.wait_for("message 8");
}

#[test]
fn a_table_fits_the_terminal() {
    let terminal = Terminal::new(World::with_team(), 60, 20);
    terminal.enter("clear; atm --color never members; echo code $?.");
    terminal.wait_for("code 0.");
    let screen = terminal.screen();
    let lines: Vec<&str> = screen.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.iter().any(|line| line.starts_with("NAME") && !line.contains("MODEL")), "{screen}");
    assert_eq!(lines.iter().filter(|line| line.contains("online")).count(), 3, "{screen}");
    assert!(lines.len() <= 7, "{screen}");
}

#[test]
fn who_waits_sees_that_it_waits_and_nothing_of_it_is_left() {
    let terminal = Terminal::new(World::with_team(), 100, 20);
    terminal.enter("clear; atm --as bob read --wait 600s; echo code $?.");
    terminal.wait_for("waiting for mail for bob, at most 10 min…");
    terminal.world.ok(&["--as", "alice", "send", "bob", "here it is"]);
    terminal.wait_for("here it is");
    terminal.wait_for("code 0.");
    assert!(!terminal.screen().contains("at most"), "{}", terminal.screen());

    terminal.enter("clear; atm --as bob read --wait 600s; echo code $?.");
    terminal.wait_for("waiting for mail for bob");
    terminal.press("C-c");
    terminal.wait_for("code 130.");
    assert!(!terminal.screen().contains("at most"), "{}", terminal.screen());
}

#[test]
fn a_member_with_unread_mail_is_removed_only_if_that_is_meant_and_comes_back() {
    let world = World::with_team();
    world.ok(&["send", "bob", "unread"]);
    // Without a terminal nobody can be asked.
    let refused = world.atm(&["member", "remove", "bob"]);
    assert_eq!((refused.code, refused.stderr.contains("--yes")), (Some(4), true), "{refused:?}");
    let terminal = Terminal::new(world, 100, 20);
    let is_member = || terminal.world.ok(&["members"]).contains("bob  ");
    // Keys that were pressed at an earlier question's words went to the shell.
    let ask = || {
        terminal.enter("clear");
        wait_until("the earlier question is gone", || !terminal.screen().contains("[y/N]"));
        terminal.enter("atm member remove bob; echo code $?.");
        terminal.wait_for("[y/N]");
    };
    for (keys, code) in [
        (&["n", "Enter"][..], "code 4."),
        (&["Enter"], "code 4."),
        (&["C-d"], "code 4."),
        (&["C-c"], "code 130."),
    ] {
        ask();
        for key in keys {
            terminal.press(key);
        }
        terminal.wait_for(code);
        assert!(is_member(), "{keys:?}: {}", terminal.screen());
    }
    ask();
    terminal.enter("y");
    terminal.wait_for("removed bob@dev");
    terminal.wait_for("code 0.");
    terminal.world.ok(&["member", "restore", "bob"]);
    assert!(is_member());
    assert_eq!(terminal.world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len(), 1);
    terminal.world.ok(&["member", "remove", "bob", "--yes"]);
    terminal.world.ok(&["member", "restore", "bob"]);
}

#[test]
fn a_watched_status_is_drawn_in_place_fits_and_leaves_the_terminal_as_it_was() {
    let world = World::with_team();
    let terminal = Terminal::new(world, 60, 12);
    terminal.enter("clear; atm --color never status --watch; echo code $?.");
    terminal.wait_for("team-lead (lead)");
    terminal.world.ok(&["member", "set", "bob", "--active", "false"]);
    terminal.wait_for("offline");
    let screen = terminal.screen();
    assert_eq!(screen.matches("team dev:").count(), 1, "drawn once: {screen}");
    // More than fits: the top stays, and the rest is counted.
    for number in 0..9 {
        terminal.world.ok(&["member", "add", &format!("worker-{number}")]);
    }
    terminal.wait_for("more lines");
    let screen = terminal.screen();
    assert!(screen.starts_with("team dev:"), "{screen}");
    // Another size counts from the next picture on.
    terminal.tmux(&["resize-window", "-x", "60", "-y", "30"]);
    terminal.world.ok(&["member", "add", "worker-9"]);
    terminal.wait_for("worker-9");
    assert!(!terminal.screen().contains("more lines"), "{}", terminal.screen());
    terminal.press("C-c");
    terminal.wait_for("code 130.");
    terminal.enter("stty -a | grep -c ' echo '; tput cols");
    terminal.wait_for("60");
    let modes = terminal.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
    assert_eq!(modes.trim(), "0 1");
}

/// An inbox that takes seconds to be taken in, written by somebody else.
fn fill_inbox(world: &World, messages: usize) {
    let mut text = String::from("[");
    for number in 0..messages {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}{{\"from\":\"alice\",\"text\":\"message {number}\",\"timestamp\":\"2026-11-15T10:00:00.000Z\",\"read\":true}}"
        );
    }
    text.push(']');
    fs::write(world.inbox_file("bob"), text).unwrap();
}

#[test]
fn the_first_look_at_much_mail_shows_how_far_it_is_and_leaves_nothing_behind() {
    let world = World::with_team();
    fill_inbox(&world, 20_000);
    let terminal = Terminal::new(world, 100, 20);
    let recorded = terminal.record();
    terminal.enter("clear; atm search 'message 7'; echo code $?.");
    terminal.wait_for("code 0.");
    let recorded = fs::read_to_string(recorded).unwrap();
    let bars: Vec<&str> =
        recorded.split('\r').filter(|line| line.contains("taking in mail for bob@dev [")).collect();
    assert!(!bars.is_empty() && bars.iter().all(|bar| bar.contains('%')), "{recorded}");
    assert!(!terminal.screen().contains("taking in"), "{}", terminal.screen());
    // All is known now: there is nothing to wait for.
    let recorded = terminal.record();
    terminal.enter("clear; atm --quiet doctor; echo code $?.");
    terminal.wait_for("code 0.");
    assert!(!fs::read_to_string(recorded).unwrap().contains("taking in"));
}
