//! Which team a command means when nobody says, and that it asks rather than guesses.

use std::fs;

use insta::assert_snapshot;

use crate::scene::World;

/// Teams `dev` and `ops`, whose leads work in folders of these names.
fn world_of_two() -> World {
    let world = World::new();
    for name in ["dev", "ops"] {
        fs::create_dir(world.home().join(name)).unwrap();
        world.session(&format!("cd {name} && atm team create {name}"));
    }
    world
}

fn chosen(world: &World, line: &str) -> String {
    let said = world.session(line);
    let team = said.lines().find_map(|line| line.strip_prefix("commands here use "));
    team.unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn the_only_team_is_meant() {
    let world = World::with_team();
    assert_eq!(chosen(&world, "atm config"), "team dev");
}

#[test]
fn the_team_whose_lead_works_here_is_meant() {
    let world = world_of_two();
    assert_eq!(chosen(&world, "cd dev && atm config"), "team dev");
    assert_eq!(chosen(&world, "cd ops && atm config"), "team ops");
    assert_eq!(chosen(&world, "ln -s ops link && cd link && atm config"), "team ops");
}

#[test]
fn with_several_and_nothing_said_it_asks_and_names_them() {
    let world = world_of_two();
    let session = world.session(
        "
        atm members
        atm --json send bob hello
        atm config | tail -n 1
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm members
    2> error: there are several teams, and nothing says which one is meant
    2>   hint: use --team with one of: dev, ops
    [exit 3]
    $ atm --json send bob hello
    2> {"error":{"code":"which_team","message":"there are several teams, and nothing says which one is meant","hint":"use --team with one of: dev, ops"}}
    [exit 3]
    $ atm config | tail -n 1
    commands here use no team: there are several teams, and nothing says which one is meant
    "#);
}

#[test]
fn two_leads_in_one_folder_are_not_told_apart_by_guessing() {
    let world = world_of_two();
    world.session("cd dev && atm team create third");
    assert_snapshot!(world.session("cd dev && atm members"), @"
    $ cd dev && atm members
    2> error: there are several teams, and nothing says which one is meant
    2>   hint: use --team with one of: dev, ops, third
    [exit 3]
    ");
}

#[test]
fn what_is_said_is_stronger_than_where_one_is_and_the_flag_is_the_strongest() {
    let world = world_of_two();
    world.session("mkdir -p dev/sub && cd dev && atm team create third && atm team create fourth");
    fs::write(world.home().join("dev/.atm.toml"), "team = \"ops\"\n").unwrap();
    assert_eq!(chosen(&world, "cd dev/sub && atm config"), "team ops");
    assert_eq!(chosen(&world, "cd dev && ATM_TEAM=third atm config"), "team third");
    assert_eq!(chosen(&world, "cd dev && ATM_TEAM=third atm -t fourth config"), "team fourth");
}

#[test]
fn a_name_that_has_its_team_says_which() {
    let world = world_of_two();
    world.ok(&["-t", "ops", "member", "add", "eve"]);
    world.ok(&["-t", "dev", "member", "add", "bob"]);
    let session = world.session(
        "
        atm --as eve@ops send bob@dev hello
        atm inbox bob@dev
        atm --as bob@dev read
        atm --as eve@ops config | tail -n 1
        atm send bob@dev 'from the person at the keyboard'
        atm send bbo@dev hello
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --as eve@ops send bob@dev hello
    delivered for bob@dev, id [ID]
    $ atm inbox bob@dev
    eve → bob  just now  unread  [ID]
      hello
    $ atm --as bob@dev read
    eve → bob  just now  [ID]
      hello
    $ atm --as eve@ops config | tail -n 1
    commands here use team ops
    $ atm send bob@dev 'from the person at the keyboard'
    delivered for bob@dev, id [ID]
    $ atm send bbo@dev hello
    2> error: team dev has no member "bbo"
    2>   hint: did you mean bob? (--create makes an inbox for a new name)
    [exit 3]
    "#);
}

#[test]
fn a_team_that_is_not_there_is_never_replaced_by_another() {
    let world = World::with_team();
    let session = world.session(
        "
        atm -t ops send bob hello
        ATM_TEAM=ops atm send bob hello
        atm --as alice@ops send bob hello
        atm send bob@ops hello
        atm -t ../dev send bob hello
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm -t ops send bob hello
    2> error: there is no team "ops"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ ATM_TEAM=ops atm send bob hello
    2> error: there is no team "ops"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm --as alice@ops send bob hello
    2> error: there is no team "ops"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm send bob@ops hello
    2> error: there is no team "ops"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm -t ../dev send bob hello
    2> error: team name "../dev": must not contain "/"
    [exit 2]
    "#);
    assert_eq!(world.json(&["inbox", "bob"]), serde_json::json!([]));
}

#[test]
fn without_any_team_it_says_where_it_looked() {
    assert_snapshot!(World::new().session("atm members\natm --as bob read"), @"
    $ atm members
    2> error: there is no team below [ROOT]
    2>   hint: `atm team create NAME` makes one; `atm install claude` makes sessions reachable without one; `atm config` shows which root is used, and why
    [exit 3]
    $ atm --as bob read
    2> error: there is no team below [ROOT]
    2>   hint: `atm team create NAME` makes one; `atm install claude` makes sessions reachable without one; `atm config` shows which root is used, and why
    [exit 3]
    ");
}
