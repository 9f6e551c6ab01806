//! The primer, the skill and the plugin, from one source.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::scene::World;

#[test]
fn the_primer_says_who_you_are() {
    let world = World::with_team();
    let first = |args: &[&str]| world.ok(args).lines().next().unwrap().to_owned();
    assert_eq!(first(&["--as", "bob", "primer"]), "You are bob in team dev. `atm` is your mail.");
    assert!(first(&["primer"]).starts_with("`atm` is the mail of team dev."));
    assert!(World::new().ok(&["primer"]).starts_with("`atm` is your team's mail."));
    assert_eq!(
        world.json(&["primer"])["text"].as_str().unwrap().trim_end(),
        world.ok(&["primer"]).trim_end()
    );
    assert!(world.ok(&["primer", "--skill"]).starts_with("---\nname: atm\ndescription: \""));
    assert_eq!(world.atm(&["--as", "a/b", "primer"]).code, Some(2));
}

#[test]
fn every_command_that_the_primer_names_is_one() {
    let world = World::new();
    let primer = world.ok(&["primer"]);
    let commands: Vec<&str> =
        primer.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("atm ")).collect();
    assert!(commands.len() >= 15, "{commands:?}");
    for command in commands {
        let lower = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let words: Vec<&str> = command.split(' ').take_while(lower).take(2).collect();
        let options: Vec<&str> = command.split(' ').filter(|word| word.starts_with("--")).collect();
        let asked = world.atm(&[&words[..], &["--help"]].concat());
        let asked = if asked.code == Some(0) { asked } else { world.atm(&[words[0], "--help"]) };
        assert_eq!(asked.code, Some(0), "{command}");
        assert!(options.iter().all(|option| asked.stdout.contains(option)), "{command}: {}", asked.stdout);
    }
}

#[test]
fn a_plugin_is_written_and_written_again() {
    let world = World::new();
    assert_snapshot!(world.mask(&world.installs(&["claude", "--plugin", "plugin"])), @"
    wrote .claude-plugin/plugin.json
    wrote .mcp.json
    wrote hooks/hooks.json
    wrote skills/atm/SKILL.md
    check it: claude plugin validate [HOME]/plugin
    use it:   claude --plugin-dir [HOME]/plugin
    ");
    let read = |name: &str| fs::read_to_string(world.home().join("plugin").join(name)).unwrap();
    let manifest: Value = serde_json::from_str(&read(".claude-plugin/plugin.json")).unwrap();
    assert_eq!(manifest["name"], "atm");
    let hooks: Value = serde_json::from_str(&read("hooks/hooks.json")).unwrap();
    assert_eq!(hooks["hooks"]["Stop"][0]["hooks"][0]["args"][1], "Stop");
    let servers: Value = serde_json::from_str(&read(".mcp.json")).unwrap();
    assert_eq!(servers["mcpServers"]["atm"]["command"], "atm");
    assert_eq!(read("skills/atm/SKILL.md").trim_end(), world.ok(&["primer", "--skill"]).trim_end());
    fs::write(world.home().join("plugin/.mcp.json"), "{}").unwrap();
    world.installs(&["claude", "--plugin", "plugin"]);
    assert!(read(".mcp.json").contains("mcp"));
    world.installs(&["claude", "--plugin", "other", "--dry-run"]);
    assert!(!world.home().join("other").exists());
}
