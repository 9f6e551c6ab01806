//! `atm config`: each value and where it is from.

use std::fs;

use insta::assert_snapshot;

use crate::scene::World;

/// Columns are as wide as their content, and that holds paths of the temp folder: one gap is as good as another.
fn squeezed(text: &str) -> String {
    let mut text = text.to_owned();
    while text.contains("   ") {
        text = text.replace("   ", "  ");
    }
    text
}

/// The same shell line without the variables that name root and state.
const BARE: &str = "unset ATM_ROOT ATM_STATE; ";

#[test]
fn without_any_setting_everything_is_below_home() {
    let world = World::new();
    assert_snapshot!(squeezed(&world.session(&format!("{BARE}atm config"))), @"
    $ unset ATM_ROOT ATM_STATE; atm config
    KEY  VALUE  FROM
    root  [HOME]/.claude  default
    state  [HOME]/.local/state/atm  default
    team  -  default
    as  -  default
    color  auto  default
    delivery.retry_after  5 min, 15 min  default
    delivery.escalate_to  lead, user  default
    delivery.expire_after  7 d  default
    archive.keep  1000  default
    archive.older_than  -  default
    archive.compress_after  7 d  default
    archive.shrink_over  1 MB  default
    archive.rotate_over  10 MB  default
    archive.quarantine_for  90 d  default
    wake.after  0 ms, 2 min, 10 min  default
    pending.unread_after  10 min  default
    daemon.autostart  never  default
    web.port  -  default
    web.read_only  false  default
    claude.native_peers  false  default
    context.budget  2000 tokens  default
    notify.command  -  default
    notify.webhook  -  default
    notify.desktop  false  default
    notify.tmux  -  default
    notify.on  escalation, permission, death, disk, ledger  default
    notify.quiet_hours  -  default
    notify.disk_below  -  default
    settings file [HOME]/.config/atm/config.toml (not there)
    settings file [HOME]/.atm.toml (not there)
    commands here use no team: there is no team below [HOME]/.claude
    ");
    assert!(world.home().read_dir().unwrap().next().is_none(), "looking made nothing");
}

#[test]
fn each_place_is_stronger_than_the_one_before() {
    let world = World::with_team();
    let user = world.home().join(".config/atm");
    fs::create_dir_all(&user).unwrap();
    let inner = world.home().join("project/src/deep");
    fs::create_dir_all(&inner).unwrap();
    fs::write(
        user.join("config.toml"),
        "root = \"~/elsewhere\"\nstate = \"state\"\nteam = \"users\"\nas = \"alice\"\ncolor = \"never\"\n",
    )
    .unwrap();
    let from_user = world.session(&format!("{BARE}atm config"));
    fs::write(world.home().join("project/.atm.toml"), "root = \"tree\"\nteam = \"projects\"\n").unwrap();
    world.ok(&["config", "trust", "project"]);
    let from_project = world.session(&format!("cd project/src/deep && {BARE}atm config"));
    let from_environment = world.session(&format!(
        "cd project && {BARE}CLAUDE_CONFIG_DIR=/client ATM_TEAM=environments ATM_AS=bob NO_COLOR=1 atm config"
    ));
    let from_flags = world.session(
        "cd project && ATM_TEAM=environments ATM_AS=bob atm config -t dev --as eve --root tree --state s --color always",
    );
    assert_snapshot!(squeezed(&from_user), @r#"
    $ unset ATM_ROOT ATM_STATE; atm config
    KEY  VALUE  FROM
    root  [HOME]/elsewhere  [HOME]/.config/atm/config.toml
    state  [HOME]/.config/atm/state  [HOME]/.config/atm/config.toml
    team  users  [HOME]/.config/atm/config.toml
    as  alice  [HOME]/.config/atm/config.toml
    color  never  [HOME]/.config/atm/config.toml
    delivery.retry_after  5 min, 15 min  default
    delivery.escalate_to  lead, user  default
    delivery.expire_after  7 d  default
    archive.keep  1000  default
    archive.older_than  -  default
    archive.compress_after  7 d  default
    archive.shrink_over  1 MB  default
    archive.rotate_over  10 MB  default
    archive.quarantine_for  90 d  default
    wake.after  0 ms, 2 min, 10 min  default
    pending.unread_after  10 min  default
    daemon.autostart  never  default
    web.port  -  default
    web.read_only  false  default
    claude.native_peers  false  default
    context.budget  2000 tokens  default
    notify.command  -  default
    notify.webhook  -  default
    notify.desktop  false  default
    notify.tmux  -  default
    notify.on  escalation, permission, death, disk, ledger  default
    notify.quiet_hours  -  default
    notify.disk_below  -  default
    settings file [HOME]/.config/atm/config.toml (read)
    settings file [HOME]/.atm.toml (not there)
    commands here use no team: there is no team "users"
    "#);
    assert_snapshot!(without_defaults(&squeezed(&from_project)), @r#"
    $ cd project/src/deep && unset ATM_ROOT ATM_STATE; atm config
    KEY  VALUE  FROM
    root  [HOME]/project/tree  [HOME]/project/.atm.toml
    state  [HOME]/.config/atm/state  [HOME]/.config/atm/config.toml
    team  projects  [HOME]/project/.atm.toml
    as  alice  [HOME]/.config/atm/config.toml
    color  never  [HOME]/.config/atm/config.toml
    settings file [HOME]/.config/atm/config.toml (read)
    settings file [HOME]/project/.atm.toml (read)
    commands here use no team: there is no team "projects"
    "#);
    assert_snapshot!(without_defaults(&squeezed(&from_environment)), @r#"
    $ cd project && unset ATM_ROOT ATM_STATE; CLAUDE_CONFIG_DIR=/client ATM_TEAM=environments ATM_AS=bob NO_COLOR=1 atm config
    KEY  VALUE  FROM
    root  /client  $CLAUDE_CONFIG_DIR
    state  [HOME]/.config/atm/state  [HOME]/.config/atm/config.toml
    team  environments  $ATM_TEAM
    as  bob  $ATM_AS
    color  never  $NO_COLOR
    settings file [HOME]/.config/atm/config.toml (read)
    settings file [HOME]/project/.atm.toml (read)
    commands here use no team: there is no team "environments"
    "#);
    let from_flags = from_flags.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    assert_snapshot!(without_defaults(&squeezed(&from_flags)), @r#"
    $ cd project && ATM_TEAM=environments ATM_AS=bob atm config -t dev --as eve --root tree --state s --color always
    KEY  VALUE  FROM
    root  tree  --root
    state  s  --state
    team  dev  --team
    as  eve  --as
    color  always  --color
    settings file [HOME]/.config/atm/config.toml (read)
    settings file [HOME]/project/.atm.toml (read)
    commands here use no team: there is no team "dev"
    "#);
}

/// The lines of what somebody has set.
fn without_defaults(shown: &str) -> String {
    let lines: Vec<&str> = shown.lines().filter(|line| !line.ends_with("  default")).collect();
    lines.join("\n")
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let world = World::new();
    let session =
        world.session("ATM_ROOT= ATM_STATE= ATM_TEAM= ATM_AS= NO_COLOR= CLAUDE_CONFIG_DIR= atm config");
    assert_snapshot!(squeezed(&session), @"
    $ ATM_ROOT= ATM_STATE= ATM_TEAM= ATM_AS= NO_COLOR= CLAUDE_CONFIG_DIR= atm config
    KEY  VALUE  FROM
    root  [HOME]/.claude  default
    state  [HOME]/.local/state/atm  default
    team  -  default
    as  -  default
    color  auto  default
    delivery.retry_after  5 min, 15 min  default
    delivery.escalate_to  lead, user  default
    delivery.expire_after  7 d  default
    archive.keep  1000  default
    archive.older_than  -  default
    archive.compress_after  7 d  default
    archive.shrink_over  1 MB  default
    archive.rotate_over  10 MB  default
    archive.quarantine_for  90 d  default
    wake.after  0 ms, 2 min, 10 min  default
    pending.unread_after  10 min  default
    daemon.autostart  never  default
    web.port  -  default
    web.read_only  false  default
    claude.native_peers  false  default
    context.budget  2000 tokens  default
    notify.command  -  default
    notify.webhook  -  default
    notify.desktop  false  default
    notify.tmux  -  default
    notify.on  escalation, permission, death, disk, ledger  default
    notify.quiet_hours  -  default
    notify.disk_below  -  default
    settings file [HOME]/.config/atm/config.toml (not there)
    settings file [HOME]/.atm.toml (not there)
    commands here use no team: there is no team below [HOME]/.claude
    ");
}

#[test]
fn a_settings_file_that_is_wrong_is_named_with_the_place() {
    let world = World::with_team();
    let mut said = String::new();
    let user = world.home().join(".config/atm");
    fs::create_dir_all(&user).unwrap();
    for bad in [
        "team = \"dev\nas = \"bob\"\n",
        "team = \"dev\"\nteem = \"x\"\n",
        "team = 7\n",
        "color = \"green\"\n",
    ] {
        fs::write(user.join("config.toml"), bad).unwrap();
        said.push_str(&world.session("atm send bob hello"));
    }
    fs::write(user.join("config.toml"), "as = [").unwrap();
    said.push_str(&world.session("atm members --json"));
    assert_snapshot!(said, @r#"
    $ atm send bob hello
    2> error: [HOME]/.config/atm/config.toml: TOML parse error at line 1, column 12
    2>   |
    2> 1 | team = "dev
    2>   |            ^
    2> invalid basic string, expected `"`
    2>   hint: known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake], [pending], [context], [daemon], [notify], [web], [claude], [bridge]
    [exit 6]
    $ atm send bob hello
    2> error: [HOME]/.config/atm/config.toml: TOML parse error at line 2, column 1
    2>   |
    2> 2 | teem = "x"
    2>   | ^^^^
    2> unknown field `teem`, expected one of `root`, `state`, `team`, `as`, `color`, `delivery`, `archive`, `wake`, `pending`, `context`, `daemon`, `notify`, `web`, `claude`, `bridge`
    2>   hint: known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake], [pending], [context], [daemon], [notify], [web], [claude], [bridge]
    [exit 6]
    $ atm send bob hello
    2> error: [HOME]/.config/atm/config.toml: TOML parse error at line 1, column 8
    2>   |
    2> 1 | team = 7
    2>   |        ^
    2> invalid type: integer `7`, expected a string
    2>   hint: known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake], [pending], [context], [daemon], [notify], [web], [claude], [bridge]
    [exit 6]
    $ atm send bob hello
    2> error: [HOME]/.config/atm/config.toml: color = "green": must be auto, always or never
    2>   hint: known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake], [pending], [context], [daemon], [notify], [web], [claude], [bridge]
    [exit 6]
    $ atm members --json
    2> {"error":{"code":"bad_settings","message":"[HOME]/.config/atm/config.toml: TOML parse error at line 1, column 7\n  |\n1 | as = [\n  |       ^\nunclosed array, expected `]`","hint":"known keys: root, state, team, as, color, and the tables [delivery], [archive], [wake], [pending], [context], [daemon], [notify], [web], [claude], [bridge]"}}
    [exit 6]
    "#);
    assert_eq!(fs::read(world.root().join("teams/dev/inboxes/bob.json")).unwrap(), b"[]");
}

#[test]
#[expect(clippy::too_many_lines, reason = "the document has a line for each setting")]
fn the_document_names_values_and_files() {
    let world = World::with_team();
    assert_snapshot!(world.session("atm config --json"), @r#"
    $ atm config --json
    {
      "files": [
        {
          "found": false,
          "ignored": [],
          "path": "[HOME]/.config/atm/config.toml",
          "trusted": true
        },
        {
          "found": false,
          "ignored": [],
          "path": "[HOME]/.atm.toml",
          "trusted": false
        }
      ],
      "settings": [
        {
          "from": "$ATM_ROOT",
          "key": "root",
          "value": "[ROOT]"
        },
        {
          "from": "$ATM_STATE",
          "key": "state",
          "value": "[STATE]"
        },
        {
          "from": "default",
          "key": "team",
          "value": null
        },
        {
          "from": "default",
          "key": "as",
          "value": null
        },
        {
          "from": "default",
          "key": "color",
          "value": "auto"
        },
        {
          "from": "default",
          "key": "delivery.retry_after",
          "value": "5 min, 15 min"
        },
        {
          "from": "default",
          "key": "delivery.escalate_to",
          "value": "lead, user"
        },
        {
          "from": "default",
          "key": "delivery.expire_after",
          "value": "7 d"
        },
        {
          "from": "default",
          "key": "archive.keep",
          "value": "1000"
        },
        {
          "from": "default",
          "key": "archive.older_than",
          "value": null
        },
        {
          "from": "default",
          "key": "archive.compress_after",
          "value": "7 d"
        },
        {
          "from": "default",
          "key": "archive.shrink_over",
          "value": "1 MB"
        },
        {
          "from": "default",
          "key": "archive.rotate_over",
          "value": "10 MB"
        },
        {
          "from": "default",
          "key": "archive.quarantine_for",
          "value": "90 d"
        },
        {
          "from": "default",
          "key": "wake.after",
          "value": "0 ms, 2 min, 10 min"
        },
        {
          "from": "default",
          "key": "pending.unread_after",
          "value": "10 min"
        },
        {
          "from": "default",
          "key": "daemon.autostart",
          "value": "never"
        },
        {
          "from": "default",
          "key": "web.port",
          "value": null
        },
        {
          "from": "default",
          "key": "web.read_only",
          "value": "false"
        },
        {
          "from": "default",
          "key": "claude.native_peers",
          "value": "false"
        },
        {
          "from": "default",
          "key": "context.budget",
          "value": "2000 tokens"
        },
        {
          "from": "default",
          "key": "notify.command",
          "value": null
        },
        {
          "from": "default",
          "key": "notify.webhook",
          "value": null
        },
        {
          "from": "default",
          "key": "notify.desktop",
          "value": "false"
        },
        {
          "from": "default",
          "key": "notify.tmux",
          "value": null
        },
        {
          "from": "default",
          "key": "notify.on",
          "value": "escalation, permission, death, disk, ledger"
        },
        {
          "from": "default",
          "key": "notify.quiet_hours",
          "value": null
        },
        {
          "from": "default",
          "key": "notify.disk_below",
          "value": null
        }
      ],
      "team_here": "dev"
    }
    "#);
}

#[test]
fn settings_are_obeyed_and_not_only_shown() {
    let world = World::with_team();
    world.ok(&["team", "create", "ops"]);
    let project = world.home().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join(".atm.toml"), "team = \"dev\"\nas = \"alice\"\n").unwrap();
    let session = world.session(
        "
        cd project && atm send bob hello && atm inbox bob --from alice
        cd project && atm --as bob read
        cd project && ATM_TEAM=ops atm send bob hello
        ",
    );
    assert_snapshot!(session, @r#"
    $ cd project && atm send bob hello && atm inbox bob --from alice
    delivered for bob@dev, id [ID]
    alice → bob  just now  unread  [ID]
      hello
    $ cd project && atm --as bob read
    alice → bob  just now  [ID]
      hello
    $ cd project && ATM_TEAM=ops atm send bob hello
    2> error: team ops has no member "bob"
    2>   hint: `atm members` shows the names (--create makes an inbox for a new name)
    [exit 3]
    "#);
}
