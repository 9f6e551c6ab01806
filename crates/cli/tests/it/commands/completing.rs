//! Completions, as a shell asks for them.

use std::fs;
use std::process::Stdio;
use std::time::SystemTime;

use crate::scene::{World, tree};
use crate::terminal::Terminal;

/// What is offered after these words; the last one is the beginning of what is wanted.
fn offered(world: &World, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut ask = world.command(&[&["--", "atm"], words.as_slice()].concat());
    ask.env("ATM_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n");
    let output = ask.output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(ToOwned::to_owned).collect()
}

/// All files with the time of their last change.
fn state_of(world: &World) -> Vec<(std::path::PathBuf, SystemTime)> {
    let folders = [world.root(), world.state(), world.home()];
    let all = folders.iter().flat_map(|folder| tree(folder));
    all.map(|path| (path.clone(), fs::symlink_metadata(&path).unwrap().modified().unwrap())).collect()
}

fn team_at_work() -> World {
    let world = World::with_team();
    world.ok(&["task", "create", "Fix the build"]);
    world.ok(&["task", "create", "Release"]);
    world.ok(&["--as", "alice", "send", "bob", "please look"]);
    world
}

#[test]
fn members_teams_tasks_and_ids_are_offered() {
    let world = team_at_work();
    assert_eq!(offered(&world, "send "), ["team-lead", "alice", "bob"]);
    assert_eq!(offered(&world, "send al"), ["alice"]);
    assert_eq!(offered(&world, "inbox bo"), ["bob"]);
    assert_eq!(offered(&world, "-t d"), ["dev"]);
    assert_eq!(offered(&world, "team delete "), ["dev"]);
    assert_eq!(offered(&world, "--as al"), ["alice"]);
    assert_eq!(offered(&world, "broadcast --to alice,b"), ["alice,bob"]);
    assert_eq!(offered(&world, "task show "), ["1", "2"]);
    assert_eq!(offered(&world, "task block 2 --by 1,"), ["1,1", "1,2"]);
    let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    let short = &id[id.len() - 8..];
    assert_eq!(offered(&world, "track "), [short]);
    assert_eq!(offered(&world, &format!("track {}", &id[..9])), [id.as_str()]);
    assert_eq!(offered(&world, "--as bob reply "), [short]);
    // Where there is no name to offer, options are.
    let is_option = |word: &String| word.starts_with("--");
    assert!(offered(&world, "--as alice reply ").iter().all(is_option));
    assert!(offered(&world, "member add ").iter().all(is_option));
    assert!(offered(&world, "sen").contains(&"send".to_owned()));
    assert!(offered(&world, "send bob --pri").contains(&"--priority".to_owned()));
}

#[test]
fn the_team_on_the_line_counts() {
    let world = team_at_work();
    world.ok(&["team", "create", "night", "--lead", "nora"]);
    assert_eq!(offered(&world, "-t night send "), ["nora"]);
    assert_eq!(offered(&world, "--team=night send "), ["nora"]);
    // Nothing says which: each name says its team, and an id is enough.
    let all = ["team-lead@dev", "alice@dev", "bob@dev", "nora@night"];
    assert_eq!(offered(&world, "send "), all);
    assert_eq!(offered(&world, "send bo"), ["bob@dev"]);
    assert_eq!(offered(&world, "--as no"), ["nora@night"]);
    assert_eq!(offered(&world, "-t dev -t night inbox b"), ["bob@dev"]);
    assert_eq!(offered(&world, "-t dev send nora@"), ["nora@night"]);
    let id = world.json(&["-t", "dev", "inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(offered(&world, "track "), [&id[id.len() - 8..]]);
    assert!(offered(&world, "--team gone send ").iter().all(|word| word.starts_with("--")));
}

#[test]
fn asking_changes_nothing_and_no_name_is_more_than_a_word() {
    let world = team_at_work();
    let inboxes = world.root().join("teams/dev/inboxes");
    for name in ["$(touch evil)", "a b", "x;y", "`id`"] {
        fs::write(inboxes.join(format!("{name}.json")), "[]").unwrap();
    }
    let before = state_of(&world);
    for line in ["send ", "track ", "task show ", "-t ", "--as bob reply ", "sen"] {
        offered(&world, line);
    }
    assert_eq!(state_of(&world), before);
    assert_eq!(offered(&world, "send "), ["team-lead", "alice", "bob"]);
    let empty = World::new();
    assert!(offered(&empty, "send ").iter().all(|word| word.starts_with("--")));
    assert_eq!(tree(&empty.state()), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn a_real_bash_completes() {
    let world = team_at_work();
    let file = world.home().join("atm.bash");
    fs::write(&file, world.ok(&["completions", "bash"])).unwrap();
    for (line, expected) in [("rea", "read\n"), ("send al", "alice\n"), ("send ", "team-lead\nalice\nbob\n")]
    {
        // As a user's shell does: read the script, and call the function that it registered.
        let ask = "source \"$0\"; line=\"$1\"; COMP_LINE=\"atm $line\"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; \
                   IFS=' ' read -ra given <<< \"$line\"; [[ $line == *' ' ]] && given+=(''); \
                   COMP_WORDS=(atm \"${given[@]}\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                   f=$(complete -p atm | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
                   $f atm \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
        let bash = world.program("bash").args(["-c", ask]).arg(&file).arg(line).stdin(Stdio::null()).output();
        let bash = bash.expect("bash; `cargo xtask setup` installs it");
        assert_eq!(String::from_utf8_lossy(&bash.stdout), expected, "{line}: {bash:?}");
    }
}

/// For bash `@` begins another word, and it completed the machine's own name there.
#[test]
fn a_real_bash_completes_names_with_their_team() {
    let world = team_at_work();
    world.ok(&["team", "create", "night", "--lead", "bob"]);
    fs::write(world.home().join("atm.bash"), world.ok(&["completions", "bash"])).unwrap();
    let terminal = Terminal::new(world, 80, 20);
    terminal.enter("clear; exec bash --norc --noprofile");
    terminal.enter("source ~/atm.bash; PS1='bash> '; clear");
    terminal.wait_for("bash>");
    for (line, expected) in [
        ("send al", "bash> atm send alice@dev"),
        ("send bob@n", "bash> atm send bob@night"),
        ("--as alice@dev send bo", "bash> atm --as alice@dev send bob"),
        ("--as alice@dev send bob@ni", "bash> atm --as alice@dev send bob@night"),
    ] {
        terminal.type_in(&format!("atm {line}"));
        terminal.press("Tab");
        terminal.wait_for(expected);
        terminal.press("C-c");
        terminal.enter("clear");
    }
}

/// What a shell is installed for is tried in that shell: `cargo xtask setup` brings it.
#[test]
fn a_real_fish_completes() {
    let world = team_at_work();
    let folder = world.home().join(".config/fish/completions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("atm.fish"), world.ok(&["completions", "fish"])).unwrap();
    let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    let short = &id[id.len() - 8..];
    for (line, expected) in [
        ("atm -t ", vec!["dev"]),
        ("atm send al", vec!["alice"]),
        ("atm send ", vec!["team-lead", "alice", "bob"]),
        ("atm task show ", vec!["1", "2"]),
        ("atm track ", vec![short]),
    ] {
        let mut fish = world.program("fish");
        fish.args(["-c", "complete -C $argv[1]", line]).stdin(Stdio::null());
        let output = fish.output().expect("fish; `cargo xtask setup` installs it");
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = answer.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(words, expected, "{line}: {output:?}");
    }
}

/// As the packages install it, in a folder of `fpath`: at the first Tab already.
#[test]
fn a_real_zsh_completes_at_the_first_tab() {
    let world = team_at_work();
    let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    let short = &id[id.len() - 8..];
    fs::create_dir_all(world.home().join("functions")).unwrap();
    fs::write(world.home().join("functions/_atm"), world.ok(&["completions", "zsh"])).unwrap();
    let start = "fpath=(~/functions $fpath); autoload -Uz compinit; compinit -u; PS1='zsh> '";
    fs::write(world.home().join(".zshrc"), start).unwrap();
    let terminal = Terminal::new(world, 80, 20);
    for (line, expected) in [
        ("send al", "zsh> atm send alice".to_owned()),
        ("-t d", "zsh> atm -t dev".to_owned()),
        ("track ", format!("zsh> atm track {short}")),
        // What fits several is listed, with what each is.
        ("task show ", "2  -- pending: Release".to_owned()),
    ] {
        terminal.enter("clear; exec zsh -i");
        terminal.wait_for("zsh>");
        terminal.type_in(&format!("atm {line}"));
        terminal.press("Tab");
        terminal.wait_for(&expected);
        terminal.press("C-c");
        terminal.enter("clear; PS1='ready> ' exec sh");
        terminal.wait_for("ready>");
    }
}

/// Read into a shell that runs already, it registers itself.
#[test]
fn a_real_zsh_takes_the_script_as_a_source() {
    let terminal = Terminal::new(team_at_work(), 80, 20);
    let start = "autoload -Uz compinit; compinit -u; source <(atm completions zsh); PS1='zsh> '";
    fs::write(terminal.world.home().join(".zshrc"), start).unwrap();
    terminal.enter("clear; exec zsh -i");
    terminal.wait_for("zsh>");
    terminal.type_in("atm inbox bo");
    terminal.press("Tab");
    terminal.wait_for("zsh> atm inbox bob");
}
