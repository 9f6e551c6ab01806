//! `--help` and `--version`

use super::setting_up::COMMANDS;
use crate::scene::World;

/// The long help of a command, without what every command takes. The short one must have no other options.
fn help(world: &World, command: &str) -> String {
    let ask = |flag| world.ok(&command.split(' ').chain([flag]).collect::<Vec<_>>());
    let (short, long) = (ask("-h"), ask("--help"));
    let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
    let long_words = words(&long);
    for option in words(&short).iter().filter(|word| word.starts_with("--")) {
        assert!(long_words.contains(option), "{command} --help does not name {option}");
    }
    let (own, global) = short.split_once("\nGlobal options:\n").expect("global options");
    let after = global.split_once("\n\n").map_or(String::new(), |(_, after)| format!("\n{after}"));
    let own: Vec<_> =
        own.lines().filter(|line| !line.contains(" --help ") && !line.contains("--version ")).collect();
    format!("{}\n{after}", own.join("\n"))
}

/// One file each below `help/`, so that a change shows itself: `INSTA_UPDATE=always INSTA_FORCE_PASS=1` writes them.
#[test]
fn every_help_page_is_as_it_was_reviewed() {
    let world = World::new();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("help");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!("atm", world.ok(&["-h"]));
        for command in COMMANDS {
            insta::assert_snapshot!(command.replace(' ', "-"), help(&world, command));
        }
    });
}

#[test]
fn help_and_version_can_be_asked_for_in_every_usual_way() {
    let world = World::new();
    let version = concat!("atm ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(world.ok(&["--version"]), version);
    assert!(world.ok(&["send", "--version"]).contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(world.ok(&["help"]), world.ok(&["--help"]));
    assert_eq!(world.ok(&["help", "team", "create"]), world.ok(&["team", "create", "--help"]));
}

#[test]
fn the_overview_names_every_command_and_fits_a_screen() {
    let world = World::new();
    let page = world.ok(&["--help"]);
    for command in COMMANDS.iter().filter(|command| !command.contains(' ')) {
        assert!(page.split_whitespace().any(|word| word == *command), "{command}: {page}");
    }
    assert!(page.lines().count() <= 45, "{page}");
}

#[test]
fn topics_are_answered_whatever_the_settings_say() {
    let world = World::new();
    let settings = world.home().join(".config/atm");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "nonsense").unwrap();
    for (topic, words) in [
        ("exit-codes", "accepted, not written yet"),
        ("json", "JSON Lines"),
        ("environment", "ATM_ROOT"),
        ("files", "ROOT/teams/TEAM/config.json"),
    ] {
        let page = world.ok(&["help", topic]);
        assert!(page.contains(words), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
    let answer = world.atm(&["help", "exit-code"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    let answer = world.atm(&["help", "todo"]);
    assert!(answer.stderr.contains("`atm task` does that"), "{answer:?}");
}

/// An old name, or a word that somebody would try, leads to the command that does it.
#[test]
fn a_wrong_command_is_answered_with_the_one_that_was_meant() {
    let world = World::new();
    for (line, command) in [
        ("presence bob", "atm status NAME --why"),
        ("verify 0199aa", "atm track ID|TEXT"),
        ("nudge bob", "atm wake NAME --type [LINE]"),
        ("rotate --over 10", "atm archive --over SIZE"),
        ("team repair", "atm doctor TEAM --fix"),
        ("-t dev todo", "atm task"),
        ("who", "atm members"),
        ("status?", "atm status"),
        ("ls", "atm members"),
        ("team new", "atm team create NAME"),
        ("task help", "atm help task"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = world.atm(&words);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(answer.stderr.contains(&format!("tip: `{command}` does that")), "{answer:?}");
        let answer = world.atm(&[&["--json"], words.as_slice()].concat());
        assert_eq!(answer.error()["hint"], format!("`{command}` does that"));
    }
    for (line, hint) in [
        ("send all hello", "`atm broadcast TEXT` writes to everybody"),
        ("send alice,bob hello", "`atm broadcast --to alice,bob TEXT` writes to several"),
        ("send * hello", "`atm broadcast TEXT` writes to everybody"),
    ] {
        let world = World::with_team();
        let answer = world.atm(&line.split(' ').chain(["--json"]).collect::<Vec<_>>());
        assert_eq!(answer.error()["hint"], hint, "{answer:?}");
    }
    let misspelled = world.atm(&["sendd", "bob", "hello"]);
    assert!(misspelled.stderr.contains("'send'"), "{misspelled:?}");
}
