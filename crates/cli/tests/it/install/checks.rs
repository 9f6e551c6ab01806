//! `atm install --check`: what clients themselves say, whatever their exit codes are.

use insta::assert_snapshot;

use crate::scene::World;

#[test]
fn the_words_count_and_not_the_exit_code() {
    let world = World::new();
    for (client, script) in [
        (
            "claude",
            "[ \"$2\" = list ] && echo 'other: x - ✔ Connected' && echo 'atm: atm mcp - ✘ Failed to connect'; exit 0",
        ),
        ("gemini", "printf '\\033[32m✓\\033[0m atm: atm mcp (stdio) - Connected\\n' >&2; exit 1"),
        ("opencode", "echo '●  ✓ other connected'"),
        (
            "codex",
            "read a; read b; read c; read d; echo noise; echo '{\"id\":1,\"result\":{}}'; \
             echo '{\"id\":3,\"result\":{\"data\":[{\"hooks\":[{\"command\":\"atm hook Stop\",\"trustStatus\":\"untrusted\"},\
             {\"command\":\"say done\",\"trustStatus\":\"trusted\"}]}]}}'; \
             echo '{\"id\":2,\"result\":{\"data\":[{\"name\":\"atm\",\"tools\":{\"send\":{},\"read\":{}}}]}}'; cat >/dev/null",
        ),
    ] {
        world.program_is(client, script);
    }
    for client in ["claude", "codex", "gemini", "opencode"] {
        // Claude Code's own command is a script here, so the project's file is used.
        world.installs(&[client, "--project"]);
    }
    let answer = world.install(&["--check", "--project"]);
    assert_snapshot!(answer.shown(), @"
    claude    set up; does not work: atm: atm mcp - ✘ Failed to connect
    codex     set up; works: connected, 2 tools; hooks: 1, 1 of them skipped until you review them in /hooks
    gemini    set up; works: ✓ atm: atm mcp (stdio) - Connected
    qwen      not set up; the client is not on your path
    opencode  set up; does not work: it does not list the server `atm`
    cursor    not set up; the client is not on your path
    [exit 7]
    ");
    assert_eq!(world.install(&["gemini", "--check", "--project"]).code, Some(0));
    assert_eq!(world.install(&["claude", "--check", "--project"]).code, Some(7));
    let documents: serde_json::Value =
        serde_json::from_str(&world.install(&["--check", "--project", "--json"]).stdout).unwrap();
    assert_eq!(documents[1]["state"], "works");
    assert_eq!(documents[5]["client"], "cursor");
}

#[test]
fn a_client_that_is_not_there_or_not_set_up_is_not_asked() {
    let world = World::new();
    assert_snapshot!(world.install(&["codex", "--check"]).shown(), @"
    codex     not set up; the client is not on your path
    [exit 3]
    ");
    world.program_is("gemini", "echo 'atm: Connected'");
    assert_snapshot!(world.install(&["gemini", "--check"]).shown(), @"
    gemini    not set up; so it was not asked
    [exit 3]
    ");
    world.program_is("gemini", "echo '○ atm: atm mcp (stdio) - Disabled'");
    world.installs(&["gemini"]);
    assert_snapshot!(world.install(&["gemini", "--check"]).shown(), @"
    gemini    set up; does not work: ○ atm: atm mcp (stdio) - Disabled: you do not trust this folder (/permissions)
    [exit 7]
    ");
    world.program_is(
        "codex",
        "read a; read b; read c; read d; echo '{\"id\":2,\"error\":{}}'; echo '{\"id\":3,\"error\":{}}'",
    );
    world.installs(&["codex"]);
    assert_snapshot!(world.install(&["codex", "--check"]).shown(), @"
    codex     set up; does not work: failed: it does not list the server `atm`
    [exit 7]
    ");
}
