//! A program of the user's. What happened is data: a whole argument or a part of one, and JSON on its input.

use std::process::Command;

use super::{Channel, Failed, program};
use crate::event::Event;

pub(super) fn send(words: &[String], event: &Event) -> Result<(), Failed> {
    let [name, arguments @ ..] = words else { return Err(Failed::new("no program is named")) };
    let mut command = Command::new(name);
    command.args(arguments.iter().map(|argument| fill_in(argument, event)));
    program::run(&mut command, format!("{}\n", event.to_json()).as_bytes()).map(drop)
}

/// `{title}`, `{text}` and the like in an argument; all else stays, and what is filled in is not looked at again. Names are
/// foreign: an argument that became an option by one has a blank before it.
fn fill_in(argument: &str, event: &Event) -> String {
    let values = [
        event.title.as_str(),
        &event.text,
        event.kind.as_str(),
        event.team.as_deref().unwrap_or_default(),
        event.member.as_deref().unwrap_or_default(),
        &event.id,
    ];
    let mut filled = String::new();
    let mut rest = argument;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut fields = Channel::FIELDS.into_iter().zip(values);
        let (name, value) = fields.find(|(name, _)| rest.starts_with(name)).unwrap_or(("{", "{"));
        filled.push_str(value);
        rest = &rest[name.len()..];
    }
    let filled = filled + rest;
    let is_option_by_chance = filled.starts_with('-') && !argument.starts_with('-');
    if is_option_by_chance { format!(" {filled}") } else { filled }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use atm_wire::Stamp;

    use super::*;
    use crate::event::Kind;

    #[test]
    fn a_name_makes_no_option() {
        let event =
            Event::new(Kind::Permission, None, "x", Stamp::from_millis(0), "-rf asks for a permission");
        let event = event.about("--config=/etc/passwd");
        for (argument, expected) in [
            ("{member}", " --config=/etc/passwd"),
            ("{text}", " -rf asks for a permission"),
            ("{team}{member}", " --config=/etc/passwd"),
            ("--who={member}", "--who=--config=/etc/passwd"),
            ("-m{text}", "-m-rf asks for a permission"),
            ("by {member}", "by --config=/etc/passwd"),
        ] {
            assert_eq!(fill_in(argument, &event), expected);
        }
    }

    #[test]
    fn hostile_text_arrives_as_one_argument_and_runs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (script, victim) = (folder.path().join("tell"), folder.path().join("victim"));
        fs::write(&script, "#!/bin/sh\nprintf '%s\\0' \"$@\" > \"$0.words\"\ncat > \"$0.input\"\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&victim, "").unwrap();
        let hostile =
            format!("x\"; rm -rf {0}; $(rm {0}) `rm {0}` {{text}} {{kind}}\n\x1b[2J", victim.display());
        let event = Event::new(Kind::Death, Some("dev"), "x", Stamp::from_millis(0), &hostile).about("bob");
        let words =
            [script.to_str().unwrap(), "-m", "{text}", "{member} of {team}: {kind} {else}", "{title}"];
        send(&words.map(ToOwned::to_owned), &event).unwrap();
        let got = fs::read_to_string(folder.path().join("tell.words")).unwrap();
        let got: Vec<&str> = got.split_terminator('\0').collect();
        assert_eq!(got, ["-m", event.text.as_str(), "bob of dev: death {else}", "atm death: bob@dev"]);
        assert!(got[1].contains("{text} {kind}") && !got[1].contains(['\n', '\x1b']), "{}", got[1]);
        assert_eq!(fs::read_to_string(folder.path().join("tell.input")).unwrap(), event.to_json() + "\n");
        assert!(victim.exists());
    }
}
