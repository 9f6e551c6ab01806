//! `--help` and `--version`

mod agents;
mod teams;

use insta::assert_snapshot;

use crate::scene::World;

/// The short help of a command, without what every command takes. The long one must have all of it.
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
    format!("== {}\n{after}", own.join("\n"))
}

pub(crate) fn helps(commands: &[&str]) -> String {
    let world = World::new();
    commands.iter().map(|command| help(&world, command)).collect()
}

#[test]
fn the_first_help_names_every_command() {
    let world = World::new();
    assert_snapshot!(world.ok(&["-h"]), @"
    Durable mail for teams of coding agents

    Usage: atm [OPTIONS] <COMMAND>

    Commands:
      demo         Play a team's day in a throw-away root, with real files
      team         Make, list, show, join, mend and delete teams
      member       Add, remove and change members
      members      Who is in the team, who is on, and what waits for whom
      status       The team in one look: who is on, and what waits for whom
      presence     Whether a member is there, and why we say so
      send         Send a message
      broadcast    Send a message to everybody else
      reply        Answer a message
      inbox        Look into an inbox; changes nothing
      read         Read your unread mail, and mark it as read once it is shown
      watch        Show mail as it comes; changes nothing
      ack          Tell a message's sender that it arrived
      request      Ask somebody, and wait for the answer
      respond      Answer a request
      plan         Plans: hand one in, approve, reject, list
      shutdown     Ask a member to end; approve or reject that
      idle         Tell your lead that you have nothing to do
      heartbeat    Tell your lead that you are alive, and how far
      health       Ask a member whether it is alive
      task         The shared task list: who does what, and what waits for what
      artifacts    What members left for others: reports, logs and files
      track        What became of a message: its stages, with the evidence
      pending      What waits for whom: queued, not acknowledged, or lost by a client
      retry        Offer queued mail again that nobody acted on, then escalate it
      tend         Do what is due by the clock: offer mail again, wake, check who is silent, archive
      search       Search everything ever sent or seen
      thread       Show a conversation
      log          The trace: what was sent to whom, when, and how far it came
      stats        Rates and waiting times
      verify       Is it there, and was it processed?
      validate     Check files against the rules of their formats; changes nothing
      spawn        Start a member in a tmux pane
      kill         End a member: close its pane
      respawn      Start a member again that is off, with its inbox
      attach       Show a member's pane in this terminal
      peek         The last lines of a member's screen
      nudge        Wake a member that waits and has new mail
      wake         Wake a member for which mail came, by its client's own way
      doctor       Look for what is wrong with teams, files and the ledger, and mend it
      archive      Move mail that was read out of the inboxes into the archive
      rotate       Make inboxes that have grown too large small again
      clean        Clear up: old mail that was read, old archives, what dead processes left
      mcp          Serve the team's mail and tasks to an agent client (Model Context Protocol)
      migrate      Bring a team's files to the current version of their format
      config       Show the settings and where each is from
      install      Set up in an agent's client, or take out again
      primer       What an agent needs to know to use this
      hook         Called by agents' clients: new mail for the agent, in the client's own format
      schema       The JSON Schemas of the files and of every answer
      completions  Print completions for a shell
      man          Print the manual page, or write all of them to a folder
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Global options:
          --root <DIR>    The shared tree [default: $ATM_ROOT, $CLAUDE_CONFIG_DIR, ~/.claude]
          --state <DIR>   Our own state [default: $ATM_STATE, $XDG_STATE_HOME/atm]
      -t, --team <TEAM>   The team [default: $ATM_TEAM, the only one, or the one whose lead works here]
          --as <NAME>     Who you are [default: $ATM_AS]
          --json          Answer with JSON on stdout, errors as JSON on stderr
      -q, --quiet         Say only what was asked for
          --color <WHEN>  Use colours [possible values: auto, always, never]

    A name is NAME, or NAME@TEAM. Without --as you send as `user`; reading mail needs --as.
    Environment: ATM_ROOT ATM_STATE ATM_TEAM ATM_AS. Settings: ~/.config/atm/config.toml, then .atm.toml
    of the project.
    Exit codes: 0 done, 2 usage, 3 no such team, member or message, 4 refused, 5 busy (nothing written),
    6 bad data (nothing changed), 7 input or output failed, 8 written but the awaited stage did not
    come.
    ");
    let version = concat!("atm ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(world.ok(&["--version"]), version);
    assert!(world.ok(&["send", "--version"]).contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(world.ok(&["help"]), world.ok(&["--help"]));
    assert_eq!(world.ok(&["help", "team", "create"]), world.ok(&["team", "create", "--help"]));
}

#[test]
fn help_about_mail() {
    assert_snapshot!(helps(&["send", "broadcast", "reply"]), @r#"
    == Send a message

    Usage: atm send [OPTIONS] [TO] [TEXT]

    Arguments:
      [TO]    To whom: NAME or NAME@TEAM
      [TEXT]  The text, or `-` to read it from stdin

    Options:
          --file <FILE>          Read the text from a file
          --summary <TEXT>       A short version [default: the first words]
          --priority <PRIORITY>  How urgent it is [default: normal] [possible values: high, normal, low]
          --reply-to <ID>        The id of the message that this one answers
          --ack-by <TIME>        Wants to be acknowledged within this time: 10m, 1h
          --wait <STAGE>         Wait until it came this far; exit 8 if it does not [possible values:
                                 taken, seen, acked, done]
          --timeout <TIME>       How long to wait [default: 30s]
          --batch                Read many messages from stdin: JSON Lines with to, text and, if you
                                 like, summary, priority, reply_to, id
          --create               Make an inbox for a name that is not a member
          --strict               Refuse an inbox that does not parse (exit 6), instead of setting it
                                 aside and going on
          --no-tag               Do not put a [PENDING ACTION …] tag before mail for somebody who is
                                 offline

    Examples:
      atm send bob "please look at the build"
      git diff | atm send reviewer - --summary "diff to review"
      printf '%s\n' '{"to":"bob","text":"one"}' '{"to":"eve","text":"two"}' | atm send --batch
    == Send a message to everybody else

    Usage: atm broadcast [OPTIONS] [TEXT]

    Arguments:
      [TEXT]  The text, or `-` to read it from stdin

    Options:
          --file <FILE>          Read the text from a file
          --summary <TEXT>       A short version [default: the first words]
          --priority <PRIORITY>  How urgent it is [default: normal] [possible values: high, normal, low]
          --to <NAMES>           Only to these, separated by commas
          --create               Make an inbox for a name that is not a member
          --strict               Refuse an inbox that does not parse (exit 6), instead of setting it
                                 aside and going on
          --no-tag               Do not put a [PENDING ACTION …] tag before mail for somebody who is
                                 offline
    == Answer a message

    Usage: atm reply [OPTIONS] <ID> [TEXT]

    Arguments:
      <ID>    The message in your inbox: its id, or at least six characters of its start or end
      [TEXT]  The text, or `-` to read it from stdin

    Options:
          --file <FILE>          Read the text from a file
          --summary <TEXT>       A short version [default: the first words]
          --priority <PRIORITY>  How urgent it is [default: normal] [possible values: high, normal, low]
          --create               Make an inbox for a name that is not a member
          --strict               Refuse an inbox that does not parse (exit 6), instead of setting it
                                 aside and going on
          --no-tag               Do not put a [PENDING ACTION …] tag before mail for somebody who is
                                 offline
    "#);
    assert_snapshot!(helps(&["inbox", "read", "watch"]), @"
    == Look into an inbox; changes nothing

    Usage: atm inbox [OPTIONS] [NAME]

    Arguments:
      [NAME]  Whose inbox [default: yours]

    Options:
          --archived      Look into the archive instead; it is there also when the team is gone
          --unread        Only what is not read
          --pending       Only what waits: written while its reader was off, not acknowledged, or taken
                          without a sign of work
          --from <NAME>   Only from this sender
          --type <TYPE>   Only of this type, like task_assignment
          --since <TIME>  Only sent then or later
          --until <TIME>  Only sent then or earlier
          --last <N>      Only the last N of those

    Times are ISO 8601, or how long ago: 30s, 10m, 2h, 7d.
    == Read your unread mail, and mark it as read once it is shown

    Usage: atm read [OPTIONS]

    Options:
          --peek             Leave it unread
          --wait <TIME>      Wait for mail, at the most this long: 30, 30s, 5m
          --limit <N>        At the most so many
          --format <FORMAT>  How to show it [default: text] [possible values: text, json, context]
    == Show mail as it comes; changes nothing

    Usage: atm watch [OPTIONS] [NAMES]...

    Arguments:
      [NAMES]...  Whose inboxes [default: yours; without --as, everybody's]

    Options:
          --all         Show what is there already, too
          --count <N>   Stop after N messages
          --for <TIME>  Stop after this long: 30s, 10m
    ");
}

#[test]
fn help_about_settings_and_setting_up() {
    assert_snapshot!(helps(&["config", "install", "primer", "hook", "completions", "man"]), @"
    == Show the settings and where each is from

    Usage: atm config [OPTIONS] [COMMAND]

    Commands:
      trust  Let a project's .atm.toml say everything, as long as it stays as it is
      help   Print this message or the help of the given subcommand(s)

    Options:
    == Set up in an agent's client, or take out again

    Usage: atm install [OPTIONS] [CLIENT]

    Arguments:
      [CLIENT]  Which client [possible values: claude, codex, gemini, opencode, cursor]

    Options:
          --user          For you, in all folders; this is the default
          --project       For everybody who works in this folder
          --dry-run       Show what would change
          --uninstall     Take it out again
          --check         Ask the client itself whether it works; all clients, if none is named
          --wake          Claude Code: start a turn when mail comes while it waits; needs --as
          --plugin <DIR>  Write a Claude Code plugin to this folder instead

    Only what is ours is put in and taken out; the rest of a file keeps its bytes, comments and order.
    Trust is yours to give: what the client wants of you is said at the end.
    Give --as NAME and --team TEAM to make the client that member.
    == What an agent needs to know to use this

    Usage: atm primer [OPTIONS]

    Options:
          --skill    As a skill: SKILL.md, with its front matter
    == Called by agents' clients: new mail for the agent, in the client's own format

    Usage: atm hook [OPTIONS] [EVENT]

    Arguments:
      [EVENT]  session-start, user-prompt-submit, post-tool-use, stop, teammate-idle, session-end; in
               any client's spelling [default: what stdin says]

    Options:
          --client <CLIENT>  Whose hook this is [default: told from stdin] [possible values: claude,
                             codex, gemini, cursor]
    == Print completions for a shell

    Usage: atm completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  Which shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:

    Examples:
      atm completions bash > ~/.local/share/bash-completion/completions/atm
      atm completions zsh > ~/.zfunc/_atm
      atm completions fish > ~/.config/fish/completions/atm.fish
    == Print the manual page, or write all of them to a folder

    Usage: atm man [OPTIONS] [FOLDER]

    Arguments:
      [FOLDER]  Write a page for every command into this folder

    Options:

    Examples:
      atm man | man -l -
      atm man ~/.local/share/man/man1
    ");
}
