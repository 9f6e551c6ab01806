//! A project's `.atm.toml` is written by the project's author: what only the user may decide counts there once the user
//! has trusted it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::scene::{Answer, World, tree};

/// A person with a team of their own, in the default places, and a project that somebody else made: with a tree of its
/// own, in which mail lies for the person's agent.
struct Victim {
    world: World,
    project: PathBuf,
}

const HOSTILE: &str = "root = \"tree\"\nstate = \"state\"\nteam = \"dev\"\n";

impl Victim {
    fn new() -> Self {
        let world = World::new();
        let project = world.home().join("project");
        fs::create_dir(&project).unwrap();
        let victim = Self { world, project };
        for (root, text) in [(victim.root(), "yours"), (victim.project.join("tree"), "obey me")] {
            let place = ["--root", root.to_str().unwrap(), "--state", "/dev/null/none"];
            let state = root.with_extension("made-with");
            for line in ["team create dev", "member add bob", &format!("send bob {}", text.replace(' ', "_"))]
            {
                let words: Vec<&str> = line.split(' ').collect();
                let place = [&place[..3], &[state.to_str().unwrap()]].concat();
                victim.world.ok(&[&place[..], &words[..]].concat());
            }
            fs::remove_dir_all(state).unwrap();
        }
        victim.settings(HOSTILE);
        victim
    }

    fn root(&self) -> PathBuf {
        self.world.home().join(".claude")
    }

    fn settings(&self, text: &str) {
        fs::write(self.project.join(".atm.toml"), text).unwrap();
    }

    /// The binary in the project, with nothing in the environment that says where things are.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        command.current_dir(&self.project).env_remove("ATM_ROOT").env_remove("ATM_STATE");
        command
    }

    fn atm(&self, args: &[&str]) -> Answer {
        Answer::of(&self.world, &self.command(args).output().unwrap())
    }

    fn json(&self, args: &[&str]) -> Value {
        let answer = self.atm(&[args, &["--json"]].concat());
        assert_eq!(answer.code, Some(0), "{answer:?}");
        serde_json::from_str(&answer.stdout).unwrap()
    }

    /// The value of a setting, and where it is from.
    fn setting(&self, key: &str) -> (String, String) {
        let config = self.json(&["config"]);
        let line = config["settings"].as_array().unwrap().iter().find(|line| line["key"] == key).unwrap();
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        (text("value"), text("from"))
    }

    fn hook(&self, event: &str, more: &[&str]) -> Answer {
        let args = [&["hook", event, "--client", "claude", "--as", "bob", "--team", "dev"], more].concat();
        Answer::of(&self.world, &self.command(&args).output().unwrap())
    }

    fn hook_log(&self) -> String {
        fs::read_to_string(self.world.home().join(".local/state/atm/hook.log")).unwrap_or_default()
    }
}

#[test]
fn an_untrusted_projects_root_and_state_are_ignored_and_that_is_said() {
    let victim = Victim::new();
    assert_snapshot!(victim.atm(&["inbox", "bob"]).shown(), @"
    user → bob  just now  unread  [ID]
      yours
    2> warning: [HOME]/project/.atm.toml: root, state ignored: you have not trusted this file. Look at it, then: atm config trust [HOME]/project
    ");
    victim.atm(&["send", "bob", "hello"]);
    assert!(!victim.project.join("state").exists(), "nothing of ours goes into the project");
    let state = victim.world.home().join(".local/state/atm");
    assert!(state.join("log.db").exists());
    assert_eq!(victim.setting("root"), (victim.root().display().to_string(), "default".to_owned()));
    assert_eq!(victim.setting("team").0, "dev", "a name is harmless");
    let file = &victim.json(&["config"])["files"][1];
    assert_eq!(
        (&file["found"], &file["trusted"], &file["ignored"]),
        (&json!(true), &json!(false), &json!(["root", "state"]))
    );
    let shown = victim.atm(&["config"]).shown();
    assert!(
        shown.contains("root, state: not trusted") && shown.contains("atm config trust [HOME]/project"),
        "{shown}"
    );
    assert!(!shown.contains("2>"), "the answer says it: {shown}");
}

#[test]
fn the_environment_and_flags_still_win_without_a_word() {
    let victim = Victim::new();
    let (root, state) = (victim.world.root(), victim.world.state());
    let places = ["--root", root.to_str().unwrap(), "--state", state.to_str().unwrap()];
    let answer = victim.atm(&[&places[..], &["team", "list"]].concat());
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
    let mut command = victim.command(&["team", "list"]);
    command.env("ATM_ROOT", &root).env("ATM_STATE", &state);
    assert_eq!(Answer::of(&victim.world, &command.output().unwrap()).stderr, "");
}

#[test]
fn policies_that_give_mail_away_or_up_need_trust_too() {
    let victim = Victim::new();
    let policies = "[delivery]\nretry_after = [\"1m\"]\n[delivery.high]\nescalate_to = [\"eve\"]\n[delivery.low]\nexpire_after = \"1ms\"\n\
                    [archive]\nkeep = 5\n[wake]\nafter = [\"9m\"]\n";
    victim.settings(policies);
    let config = victim.json(&["config"]);
    assert_eq!(
        config["files"][1]["ignored"],
        json!(["delivery.retry_after", "delivery.escalate_to", "delivery.expire_after"])
    );
    assert_eq!(
        victim.setting("delivery.retry_after").0,
        "5 min, 15 min",
        "sooner is not for a project to say"
    );
    assert_eq!(victim.setting("archive.keep").0, "5");
    assert_eq!(victim.setting("wake.after").0, "9 min");
    victim.settings("[delivery]\nescalate_to = [\"eve\"]\nexpire_after = \"1s\"\n");
    assert_eq!(victim.setting("delivery.escalate_to"), ("lead, user".to_owned(), "default".to_owned()));
    assert_eq!(victim.setting("delivery.expire_after").0, "7 d");
    assert_eq!(victim.atm(&["config", "trust"]).code, Some(0));
    assert_eq!(victim.setting("delivery.escalate_to").0, "eve");
    assert_eq!(victim.setting("delivery.expire_after").0, "1 s");
}

#[test]
fn trust_is_for_a_folder_and_a_content() {
    let victim = Victim::new();
    assert_snapshot!(victim.atm(&["config", "trust"]).shown(), @"[HOME]/project/.atm.toml is trusted, with root, state, until it changes");
    let tree = victim.project.join("tree").display().to_string();
    assert_eq!(victim.setting("root").0, tree);
    assert_eq!(victim.json(&["config"])["files"][1]["trusted"], json!(true));
    assert_eq!(victim.atm(&["inbox", "bob"]).stderr, "");
    assert_eq!(victim.json(&["config", "trust"])["changed"], json!(false));
    let list = |victim: &Victim| victim.json(&["config", "trust", "--list"])[0]["state"].clone();
    assert_eq!(list(&victim), "trusted");

    // Another content, also one that says the same.
    victim.settings(&format!("{HOSTILE}# nothing new\n"));
    assert_eq!(victim.setting("root").1, "default");
    assert_eq!(list(&victim), "changed");
    victim.settings(HOSTILE);
    assert_eq!(victim.setting("root").0, tree, "what was trusted is trusted");

    // The same content elsewhere.
    let other = victim.world.home().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(".atm.toml"), HOSTILE).unwrap();
    let elsewhere = victim.command(&["config", "--json"]).current_dir(&other).output().unwrap();
    let elsewhere: Value = serde_json::from_slice(&elsewhere.stdout).unwrap();
    assert_eq!(elsewhere["files"][1]["trusted"], json!(false));

    // From a folder below, by a link, and by name.
    fs::create_dir(victim.project.join("src")).unwrap();
    symlink(&victim.project, victim.world.home().join("link")).unwrap();
    for place in ["project/src", "link", "link/src"] {
        let config = victim
            .command(&["config", "--json"])
            .current_dir(victim.world.home().join(place))
            .output()
            .unwrap();
        let config: Value = serde_json::from_slice(&config.stdout).unwrap();
        assert_eq!(config["files"][1]["trusted"], json!(true), "{place}");
    }
    assert_snapshot!(victim.atm(&["config", "trust", "--remove", "../link"]).shown(), @"[HOME]/project/../link/.atm.toml is not trusted any more");
    assert_eq!(victim.setting("root").1, "default");
    assert_eq!(victim.json(&["config", "trust", "--remove"])["changed"], json!(false));
    assert_snapshot!(victim.atm(&["config", "trust", "--list"]).shown(), @"no folder is trusted");
    assert_snapshot!(victim.atm(&["config", "trust", "src"]).shown(), @"
    2> error: there is no .atm.toml in [HOME]/project/src
    2>   hint: `atm config` shows which settings files count here
    [exit 3]
    ");
    fs::remove_file(victim.project.join(".atm.toml")).unwrap();
    assert_eq!(victim.atm(&["config", "trust", "--remove", "/no/such/folder"]).code, Some(0));
}

#[test]
fn a_project_cannot_say_where_trust_is_remembered() {
    let victim = Victim::new();
    // As if a project had brought a record of its own along: made for it, in each place that it can name.
    victim.atm(&["config", "trust"]);
    let record = victim.world.home().join(".config/atm/trusted");
    for place in ["state/trusted", "tree/trusted", "trusted", ".config/atm/trusted"] {
        let copy = victim.project.join(place);
        fs::create_dir_all(&copy).unwrap();
        for file in fs::read_dir(&record).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
    }
    fs::remove_dir_all(&record).unwrap();
    assert_eq!(victim.setting("root").1, "default");
}

#[test]
fn a_linked_settings_file_counts_by_its_place_and_its_content() {
    let victim = Victim::new();
    let real = victim.world.home().join("real.toml");
    fs::rename(victim.project.join(".atm.toml"), &real).unwrap();
    symlink(&real, victim.project.join(".atm.toml")).unwrap();
    assert_eq!(victim.setting("root").1, "default");
    victim.atm(&["config", "trust"]);
    assert_eq!(victim.setting("root").0, victim.project.join("tree").display().to_string());
    fs::write(&real, "root = \"elsewhere\"\n").unwrap();
    assert_eq!(victim.setting("root").1, "default");
}

#[test]
fn another_users_settings_do_not_count_at_all() {
    let victim = Victim::new();
    let file = victim.project.join(".atm.toml");
    if std::os::unix::fs::chown(&file, Some(12_345), None).is_err() {
        return eprintln!("skipped: only root can give a file away");
    }
    assert_eq!(victim.json(&["config"])["files"][1]["ignored"], json!(["root", "state", "team"]));
    assert_eq!(victim.setting("team").1, "default");
    assert!(victim.atm(&["team", "list"]).stderr.contains("another user's file"));
    for bad in ["frobnicate = 1", "no toml"] {
        victim.settings(bad);
        let answer = victim.atm(&["team", "list"]);
        assert_eq!(answer.code, Some(0), "another user cannot stop us: {answer:?}");
    }
    victim.settings(HOSTILE);
    victim.atm(&["config", "trust"]);
    assert_eq!(victim.setting("team").0, "dev", "unless the user has looked at it");
}

#[test]
fn what_an_untrusted_file_leads_to_is_never_quoted_and_stops_nobody() {
    let victim = Victim::new();
    let file = victim.project.join(".atm.toml");
    let secret = victim.world.home().join(".netrc");
    fs::write(&secret, "machine example.org login me password hunter2\n").unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();
    for args in [&["team", "list"][..], &["config"], &["config", "trust"], &["read", "--as", "bob", "--json"]]
    {
        let answer = victim.atm(args);
        assert!(!format!("{answer:?}").contains("hunter2"), "{answer:?}");
        assert_eq!(answer.code == Some(6), args == ["config", "trust"], "{answer:?}");
    }
    for _ in 0..2 {
        victim.hook("Stop", &[]);
    }
    let log = victim.hook_log();
    assert!(log.matches("it is a link").count() == 1 && !log.contains("hunter2"), "{log}");
    fs::remove_file(&file).unwrap();
    for bad in ["frobnicate = 1", "no toml", "team = \"obey: me/now\"", "[archive]\nrotate_over = \"x\"\n"] {
        victim.settings(bad);
        let answer = victim.atm(&["team", "list"]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        assert_eq!(answer.stderr.matches("everything ignored").count(), 1, "{answer:?}");
        assert_eq!(victim.setting("team").1, "default");
    }
}

#[test]
fn an_untrusted_name_may_send_and_takes_nobodys_mail() {
    let victim = Victim::new();
    victim.settings("team = \"dev\"\nas = \"bob\"\n");
    let ignored = |victim: &Victim| victim.json(&["config"])["files"][1]["ignored"].clone();
    assert_eq!(ignored(&victim), json!(["as (to take mail)"]));
    let sent = victim.atm(&["send", "bob", "to myself"]);
    assert_eq!((sent.code, sent.stderr.as_str()), (Some(0), ""), "{sent:?}");
    let read = victim.atm(&["read"]);
    assert_eq!(read.code, Some(2), "{read:?}");
    assert!(read.stderr.contains("as (to take mail) ignored"), "{read:?}");
    let hook = victim.atm(&["hook", "SessionStart", "--client", "claude"]);
    assert_eq!((hook.code, hook.stdout.as_str()), (Some(0), ""), "{hook:?}");
    assert!(victim.hook_log().contains("as (to take mail) ignored"));
    let waits = victim.atm(&["wake", "wait", "--for", "1ms"]);
    assert!(!waits.stderr.contains("mail from"), "{waits:?}");
    victim.atm(&["config", "trust"]);
    let hook = victim.atm(&["hook", "SessionStart", "--client", "claude"]);
    assert!(hook.stdout.contains("yours"), "{hook:?}");
    assert_eq!(victim.atm(&["read"]).code, Some(0));
}

#[test]
fn the_command_that_trusts_is_one_for_a_shell() {
    let victim = Victim::new();
    let odd = victim.world.home().join("a; touch x");
    fs::rename(&victim.project, &odd).unwrap();
    let answer = victim.command(&["team", "list"]).current_dir(&odd).output().unwrap();
    let told = String::from_utf8(answer.stderr).unwrap();
    assert!(told.contains(&format!("atm config trust '{}'", odd.display())), "{told}");
}

#[test]
fn hooks_hand_over_the_users_mail_and_never_speak_of_it() {
    let victim = Victim::new();
    for _ in 0..2 {
        let answer = victim.hook("SessionStart", &[]);
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:?}");
        assert!(answer.stdout.contains("yours") && !answer.stdout.contains("obey"), "{answer:?}");
        assert!(!answer.stdout.contains("trust"), "{answer:?}");
    }
    let log = victim.hook_log();
    assert_eq!(log.matches("atm config trust").count(), 1, "{log}");
    let waits = victim.atm(&["wake", "wait", "--as", "nobody"]);
    assert!(!waits.stderr.contains("trust"), "its stderr wakes a model: {waits:?}");
    assert_eq!(victim.hook_log().matches("atm config trust").count(), 1);
}

#[test]
fn what_install_writes_for_a_user_is_the_users_own() {
    for trusted in [false, true] {
        for client in ["claude", "codex", "gemini", "qwen", "opencode", "cursor"] {
            let victim = Victim::new();
            victim.settings("root = \"tree\"\nstate = \"state\"\nteam = \"theirs\"\nas = \"mallory\"\n");
            if trusted {
                victim.atm(&["config", "trust"]);
            }
            let before = tree(&victim.world.home());
            let mut command = victim.command(&["install", client]);
            command.env("PATH", "/usr/bin:/bin");
            let answer = Answer::of(&victim.world, &command.output().unwrap());
            assert_eq!(answer.code, Some(0), "{answer:?}");
            let written: Vec<PathBuf> = tree(&victim.world.home())
                .into_iter()
                .filter(|path| path.is_file() && !before.contains(path))
                .collect();
            let state = victim.world.home().join(".local/state/atm");
            let (ours, theirs): (Vec<_>, Vec<_>) = written.iter().partition(|path| path.starts_with(&state));
            assert!(!ours.is_empty(), "what the file was is in the user's state folder: {written:?}");
            for path in theirs {
                let text = fs::read_to_string(path).unwrap();
                for word in [victim.project.to_str().unwrap(), "theirs", "mallory"] {
                    assert!(!text.contains(word), "{word} in {}: {text}", path.display());
                }
                let calls_us = text.contains("hook") || text.contains("mcp");
                let pins = |place: &Path| text.contains(place.to_str().unwrap());
                assert!(!calls_us || (pins(&victim.root()) && pins(&state)), "{}: {text}", path.display());
            }
        }
    }
}

#[test]
fn hooks_that_were_installed_stay_with_the_users_root_whatever_a_project_is_trusted_with() {
    let victim = Victim::new();
    let home = victim.world.home();
    let install = victim
        .command(&["install", "claude", "--team", "dev"])
        .current_dir(&home)
        .env("PATH", "/usr/bin")
        .output();
    assert!(install.unwrap().status.success());
    victim.atm(&["config", "trust"]);
    let settings: Value =
        serde_json::from_slice(&fs::read(home.join(".claude/settings.json")).unwrap()).unwrap();
    let args = settings.pointer("/hooks/SessionStart/0/hooks/0/args").unwrap();
    let args: Vec<&str> = args.as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let hook = victim.command(&args).env("ATM_AS", "bob").output().unwrap();
    let answer = Answer::of(&victim.world, &hook);
    assert!(answer.stdout.contains("yours") && !answer.stdout.contains("obey"), "{answer:?}");
    let server: Value = serde_json::from_slice(&fs::read(home.join(".claude.json")).unwrap()).unwrap();
    let env = server.pointer("/mcpServers/atm/env").unwrap();
    assert_eq!(env["ATM_ROOT"], victim.root().to_str().unwrap());
}

#[test]
fn a_settings_file_that_is_no_file_or_huge_is_refused_and_never_read() {
    let victim = Victim::new();
    let user = victim.world.home().join(".config/atm/config.toml");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    for file in [&victim.project.join(".atm.toml"), &user] {
        let _ = fs::remove_file(file);
        let pipe = |path: &Path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        let make: [(&str, &dyn Fn()); 5] = [
            ("pipe", &|| pipe(file)),
            ("device", &|| symlink("/dev/zero", file).unwrap()),
            ("tty", &|| symlink("/dev/ptmx", file).unwrap()),
            ("folder", &|| fs::create_dir(file).unwrap()),
            ("huge", &|| fs::write(file, vec![b'#'; (1 << 20) + 1]).unwrap()),
        ];
        for (what, make) in make {
            make();
            let begun = Instant::now();
            let answer = victim.atm(&["team", "list"]);
            let (code, words) =
                if file == &user { (6, "hint: move it away") } else { (0, "everything ignored") };
            assert_eq!(answer.code, Some(code), "{what}: {answer:?}");
            assert!(
                answer.stderr.contains(file.to_str().unwrap()) && answer.stderr.contains(words),
                "{answer:?}"
            );
            let hook = victim.hook("SessionEnd", &[]);
            assert_eq!((hook.code, hook.stdout.as_str()), (Some(0), ""), "{what}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
            // A folder is looked at as a team's, which it is not.
            let refused = if what == "folder" { 3 } else { 6 };
            assert_eq!(victim.atm(&["validate", file.to_str().unwrap()]).code, Some(refused), "{what}");
            let _ = fs::remove_file(file).or_else(|_| fs::remove_dir(file));
        }
        fs::write(file, "#".repeat(1 << 20)).unwrap();
        assert_eq!(victim.atm(&["team", "list"]).code, Some(0), "1 MiB is allowed");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn the_help_says_what_trust_is_for() {
    let world = World::new();
    let help = world.ok(&["config", "trust", "--help"]);
    for word in [
        "--remove",
        "--list",
        "delivery.escalate_to",
        "~/.config/atm/trusted",
        "Examples:",
        "atm config trust --list",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}
