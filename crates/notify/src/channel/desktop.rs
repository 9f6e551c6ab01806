//! The desktop's own notifications. Texts are arguments, never parts of a script.

use std::process::Command;

use super::{Failed, program};
use crate::event::Event;

/// What `osascript` runs: title and text are its arguments.
const SCRIPT: [&str; 3] =
    ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

pub(super) fn send(event: &Event) -> Result<(), Failed> {
    program::run(&mut command(cfg!(target_os = "macos"), event), b"").map(drop)
}

fn command(is_mac: bool, event: &Event) -> Command {
    let mut command = Command::new(if is_mac { "osascript" } else { "notify-send" });
    if is_mac {
        command.args(SCRIPT.into_iter().flat_map(|line| ["-e", line]));
    } else {
        command.arg("--app-name=atm");
    }
    command.arg("--").args([&event.title, &event.text]);
    command
}

#[cfg(test)]
mod tests {
    use atm_wire::Stamp;

    use super::*;
    use crate::event::Kind;

    #[test]
    fn texts_are_arguments() {
        let text = "\" & do shell script \"id\" $(id) --urgency";
        let event = Event::new(Kind::Death, Some("dev"), "x", Stamp::from_millis(0), text);
        for (is_mac, before) in [(true, 6), (false, 1)] {
            let command = command(is_mac, &event);
            let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(words[before..], ["--", "atm death: dev", text]);
        }
    }
}
