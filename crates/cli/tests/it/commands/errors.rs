//! Errors: what is wrong, with what, what to do next, and a number for scripts.

use insta::assert_snapshot;

use crate::scene::World;

#[test]
fn with_json_an_error_is_a_document_on_stderr_and_stdout_is_empty() {
    let world = World::with_team();
    let session = world.session(
        "
        atm --json send bobb hello
        atm --json -t dve members
        atm --json --as alice reply 123456 hello
        atm --json read
        atm --json team create dev
        atm --json member add Carol
        atm --json member add carol --pane 14
        atm --json send bob ''
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --json send bobb hello
    2> {"error":{"code":"no_such_member","message":"team dev has no member \"bobb\"","hint":"did you mean bob? (--create makes an inbox for a new name)"}}
    [exit 3]
    $ atm --json -t dve members
    2> {"error":{"code":"no_such_team","message":"there is no team \"dve\"","hint":"did you mean dev?"}}
    [exit 3]
    $ atm --json --as alice reply 123456 hello
    2> {"error":{"code":"no_such_message","message":"alice has no message \"123456\" in team dev","hint":"`atm inbox alice` shows the ids"}}
    [exit 3]
    $ atm --json read
    []
    $ atm --json team create dev
    2> {"error":{"code":"exists","message":"team dev exists already","hint":null}}
    [exit 4]
    $ atm --json member add Carol
    2> {"error":{"code":"bad_name","message":"member name \"Carol\": must be kebab-case: lower-case letters and digits, single hyphens between them","hint":null}}
    [exit 2]
    $ atm --json member add carol --pane 14
    2> {"error":{"code":"bad_field","message":"--pane: must be \"%<number>\", \"leader\", \"in-process\" or empty","hint":null}}
    [exit 2]
    $ atm --json send bob ''
    2> {"error":{"code":"empty_message","message":"the message is empty","hint":"give the text as an argument, `-` for stdin, or --file"}}
    [exit 2]
    "#);
}

#[test]
fn a_command_is_known_by_its_place_not_by_its_name() {
    let world = World::with_team();
    let session = world.session(
        "
        atm member add send
        atm --as send send bob read
        atm -t send members
        atm --team send
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm member add send
    added send@dev
    $ atm --as send send bob read
    delivered for bob@dev, id [ID]
    $ atm -t send members
    2> error: there is no team "send"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm --team send
    2> error: there is no team "send"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    "#);
}

#[test]
fn a_document_of_an_error_has_these_keys_and_no_others() {
    let world = World::with_team();
    for args in
        [&["send", "bobb", "hello"][..], &["send"], &["idle"], &["team", "show", "nope"], &["--nonsense"]]
    {
        let answer = world.atm(&[&["--json"], args].concat());
        assert_eq!(answer.stdout, "", "{answer:?}");
        let error = answer.error();
        let keys: Vec<_> = error.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["code", "hint", "message"], "{answer:?}");
        assert!(error["code"].is_string() && error["message"].is_string(), "{answer:?}");
    }
}

#[test]
fn a_wrong_command_line_is_told_in_the_manner_that_was_asked_for() {
    let world = World::with_team();
    let session = world.session(
        "
        atm --json send
        atm send bob hello --jsno
        atm --json send bob hello --prioritty high
        atm --json inbox bob --last x
        atm send bob hello --priority urgent
        atm sned bob hello
        atm --json sned bob hello
        atm --json send bob hello --priority urgent
        ",
    );
    assert_snapshot!(session, @r#"
    $ atm --json send
    2> {"error":{"code":"usage","message":"the following required arguments were not provided: <TO>","hint":"see `atm --help`"}}
    [exit 2]
    $ atm send bob hello --jsno
    2> error: unexpected argument '--jsno' found
    2>
    2>   tip: a similar argument exists: '--json'
    2>
    2> Usage: atm send --json <TO> <TEXT>
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm --json send bob hello --prioritty high
    2> {"error":{"code":"usage","message":"unexpected argument '--prioritty' found","hint":"a similar argument exists: '--priority'"}}
    [exit 2]
    $ atm --json inbox bob --last x
    2> {"error":{"code":"usage","message":"invalid value 'x' for '--last <N>': invalid digit found in string","hint":"see `atm --help`"}}
    [exit 2]
    $ atm send bob hello --priority urgent
    2> error: invalid value 'urgent' for '--priority <PRIORITY>'
    2>   [possible values: high, normal, low]
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm sned bob hello
    2> error: unrecognized subcommand 'sned'
    2>
    2>   tip: some similar subcommands exist: 'tend', 'send'
    2>
    2> Usage: atm [OPTIONS] [COMMAND]
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm --json sned bob hello
    2> {"error":{"code":"usage","message":"unrecognized subcommand 'sned'","hint":"some similar subcommands exist: 'tend', 'send'"}}
    [exit 2]
    $ atm --json send bob hello --priority urgent
    2> {"error":{"code":"usage","message":"invalid value 'urgent' for '--priority <PRIORITY>' [possible values: high, normal, low]","hint":"see `atm --help`"}}
    [exit 2]
    "#);
}

#[test]
fn without_a_command_there_is_the_teams_state() {
    let world = World::with_team();
    assert_eq!(world.ok::<&str>(&[]), world.ok(&["status"]));
    assert_eq!(world.ok(&["-t", "dev"]), world.ok(&["status"]));
}

#[test]
fn a_text_that_looks_like_an_option_does_not_change_how_errors_are_told() {
    let world = World::with_team();
    // Not ours to obey: this `--json` is the message.
    for args in [&["send", "bobb", "--", "--json"][..], &["send", "a/b", "--", "--json"]] {
        let answer = world.atm(args);
        assert!(answer.stderr.starts_with("error: "), "{answer:?}");
    }
}
