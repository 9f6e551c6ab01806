//! `--help` and `--version`

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
fn help_about_teams() {
    let commands = ["demo", "team", "team create", "team list", "team show", "team delete"];
    assert_snapshot!(helps(&commands), @"
    == Play a team's day in a throw-away root, with real files

    Usage: atm demo [OPTIONS]

    Options:
          --keep     Keep the files, and say where they are
    == Make, list, show, join, mend and delete teams

    Usage: atm team [OPTIONS] <COMMAND>

    Commands:
      create   Make a team
      list     List all teams, those that clients made by themselves too
      show     Show a team and its members
      join     Lead a team whose lead is gone
      alias    Call a team by another name, too
      repair   Find phantom inboxes, repeated names and leads that are gone, and mend them
      delete   Take a team out of the tree; its files are kept in the state folder
      convert  Keep a team's mail in the other layout
      backup   Put a team into one file, while it is at work
      restore  Make a team of a backup
      export   Write all that is known of a team: for people, for mail programs, to be imported
      import   Add what is in an export to a team
      help     Print this message or the help of the given subcommand(s)

    Options:
    == Make a team

    Usage: atm team create [OPTIONS] <NAME>

    Arguments:
      <NAME>  The name: lower-case letters, digits and hyphens, 3 to 64 characters

    Options:
          --description <DESCRIPTION>  What it is for, 1 to 500 characters [default: the name]
          --layout <LAYOUT>            How mail is kept [default: array] [possible values: array, log]
          --lead <NAME>                The lead's name [default: team-lead]
          --group <NAME>               Let this group of users read it: 0640, folders 0750

    The team's files are yours alone: 0600, folders 0700. With --group they are the group's, 0640 and
    0750: it can read mail, members and tasks (`atm inbox`, `watch`, `members`; its users have state
    folders of their own), and write nothing. The folder hands the group on to all that is made in it
    later, by atm or by others. The folders above the team are left as they are; if one of them keeps
    the group out, you are told.
    == List all teams, those that clients made by themselves too

    Usage: atm team list [OPTIONS]

    Options:
    == Show a team and its members

    Usage: atm team show [OPTIONS] [NAME]

    Arguments:
      [NAME]  Which [default: the one that commands would use here]

    Options:
    == Take a team out of the tree; its files are kept in the state folder

    Usage: atm team delete [OPTIONS] <NAME>

    Arguments:
      <NAME>  Which

    Options:
          --force    Even if there is unread mail
    ");
}

#[test]
fn help_about_members() {
    assert_snapshot!(helps(&["member", "member add", "member remove", "member set", "members"]), @"
    == Add, remove and change members

    Usage: atm member [OPTIONS] <COMMAND>

    Commands:
      add     Add a member and make its inbox
      remove  Take a member off the list; its inbox stays
      set     Change a member
      help    Print this message or the help of the given subcommand(s)

    Options:
    == Add a member and make its inbox

    Usage: atm member add [OPTIONS] <NAME>

    Arguments:
      <NAME>  The name: lower-case letters, digits and hyphens, 3 to 64 characters

    Options:
          --type <TYPE>           What kind of agent it is [default for a new one: general-purpose]
          --model <MODEL>         haiku, sonnet, opus, or a model's full id [default for a new one:
                                  sonnet]
          --prompt <PROMPT>       What it is started with
          --member-color <COLOR>  blue, green, yellow, magenta, cyan, red, … or #rrggbb [default for a
                                  new one: the next in turn]
          --pane <PANE>           Its tmux pane, like %14
          --cwd <DIR>             Where it works
          --inactive              It does not run yet
    == Take a member off the list; its inbox stays

    Usage: atm member remove [OPTIONS] <NAME>

    Arguments:
      <NAME>  Who

    Options:
    == Change a member

    Usage: atm member set [OPTIONS] <NAME>

    Arguments:
      <NAME>  Who

    Options:
          --type <TYPE>           What kind of agent it is [default for a new one: general-purpose]
          --model <MODEL>         haiku, sonnet, opus, or a model's full id [default for a new one:
                                  sonnet]
          --prompt <PROMPT>       What it is started with
          --member-color <COLOR>  blue, green, yellow, magenta, cyan, red, … or #rrggbb [default for a
                                  new one: the next in turn]
          --pane <PANE>           Its tmux pane, like %14
          --cwd <DIR>             Where it works
          --active <BOOL>         Whether it runs [possible values: true, false]
          --wake <WAY>            How it is woken when mail comes: auto, poll, rewake, codex, opencode,
                                  pane or none
          --session <ID>          Its client's conversation, for waking it by codex or opencode
          --server <URL>          Its client's server on this machine, for waking it by opencode
    == Who is in the team, who is on, and what waits for whom

    Usage: atm members [OPTIONS]

    Options:
    ");
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
fn help_about_teams_that_need_mending() {
    assert_snapshot!(helps(&["team join", "team alias", "team repair"]), @"
    == Lead a team whose lead is gone

    Usage: atm team join [OPTIONS] [NAME]

    Arguments:
      [NAME]  Which [default: the one that commands would use here]

    Options:
          --session <ID>  The conversation that leads from now on [default: $CLAUDE_CODE_SESSION_ID]
          --pid <PID>     Record this process as the lead's, so that nobody else joins while it runs
          --force         Even if the lead of before runs

    You lead as the lead of before, or with --as under another name. Refused (exit 4) while the lead's
    recorded process
    or its pane runs, or cannot be asked from here.
    == Call a team by another name, too

    Usage: atm team alias [OPTIONS] [NAME] [TEAM]

    Arguments:
      [NAME]  What to call it
      [TEAM]  The team, or another of its names

    Options:
          --remove   Forget this name

    `--team` and NAME@TEAM take an alias as they take a team's name. Teams that a client made by itself
    (session-…) can
    also be called by the folder that their lead works in. Without arguments: all aliases.
    == Find phantom inboxes, repeated names and leads that are gone, and mend them

    Usage: atm team repair [OPTIONS] [NAME]

    Arguments:
      [NAME]  Which [default: the one that commands would use here]

    Options:
          --apply                 Do it
          --route <PHANTOM=NAME>  Whose mail a phantom's really is, where nothing or too much is similar

    Says what it would do; --apply does it. It finds inboxes of names that are nobody's (their mail goes
    to the member that
    was meant, as it stands; `atm doctor --undo` brings it back), names that stand several times in the
    list
    of members, and leads whose process has ended (entered as off; `atm team join` takes their place). A
    name that once
    sent something is somebody who left, and no phantom.
    ");
}

#[test]
fn help_about_members_in_panes() {
    assert_snapshot!(helps(&["spawn", "respawn", "kill", "attach", "peek", "nudge"]), @"
    == Start a member in a tmux pane

    Usage: atm spawn [OPTIONS] <NAME> [-- <COMMAND>...]

    Arguments:
      <NAME>        The name: lower-case letters, digits and hyphens, 3 to 64 characters
      [COMMAND]...  What to run [default: the client's own program]

    Options:
          --prompt <PROMPT>       What it is told first
          --client <CLIENT>       The agent client [default: by the command's name] [possible values:
                                  claude, codex, gemini, opencode]
          --model <MODEL>         haiku, sonnet, opus, or a model's full id
          --cwd <DIR>             Where it works [default: here; of one that returns, where it did]
          --plan-mode             It needs the lead's leave for its plans
          --place <PLACE>         Where its pane goes [default: window] [possible values: window, split]
          --backend <BACKEND>     What it runs in: tmux [default: tmux]
          --socket <PATH>         The tmux server's socket [default: the server that you are in, else
                                  atm's own]
          --type <TYPE>           What kind of agent it is [default: general-purpose]
          --member-color <COLOR>  blue, green, yellow, magenta, cyan, red, … or #rrggbb [default: the
                                  next in turn]

    The member's pane is on the tmux server that you are in, else on one of atm's own (`atm attach`
    shows it).
    It gets ATM_AS, ATM_TEAM, ATM_ROOT and ATM_STATE, so that `atm read` and `atm send` are its own.
    Its prompt is the first message in its inbox. Claude Code also gets the flags of a separate-process
    member.
    == Start a member again that is off, with its inbox

    Usage: atm respawn [OPTIONS] <NAME> [-- <COMMAND>...]

    Arguments:
      <NAME>        Who
      [COMMAND]...  What to run [default: the client's own program]

    Options:
          --prompt <PROMPT>    What it is told first
          --client <CLIENT>    The agent client [default: by the command's name] [possible values:
                               claude, codex, gemini, opencode]
          --model <MODEL>      haiku, sonnet, opus, or a model's full id
          --cwd <DIR>          Where it works [default: here; of one that returns, where it did]
          --plan-mode          It needs the lead's leave for its plans
          --place <PLACE>      Where its pane goes [default: window] [possible values: window, split]
          --backend <BACKEND>  What it runs in: tmux [default: tmux]
          --socket <PATH>      The tmux server's socket [default: the server that you are in, else atm's
                               own]

    The same name inherits the inbox. Unread mail of before is tagged, so that it is acted on; shutdown
    requests of
    before are set aside. What is not said anew is as it was: command, client, model, prompt, folder.
    == End a member: close its pane

    Usage: atm kill [OPTIONS] <NAME>

    Arguments:
      <NAME>  Who

    Options:

    It is not asked: `atm shutdown request NAME` does that.
    == Show a member's pane in this terminal

    Usage: atm attach [OPTIONS] [NAME]

    Arguments:
      [NAME]  Whose pane [default: the first member's that runs]

    Options:

    Inside the same tmux server it switches to the pane; else it attaches. With --json it only says what
    it would run.
    == The last lines of a member's screen

    Usage: atm peek [OPTIONS] <NAME>

    Arguments:
      <NAME>  Whose screen

    Options:
          --lines <N>  How many lines [default: 40]
    == Wake a member that waits and has new mail

    Usage: atm nudge [OPTIONS] <NAME> [TEXT]

    Arguments:
      <NAME>  Who
      [TEXT]  What to type [default: how much mail there is, and how to read it]

    Options:

    Only into a pane that waits: its screen does not move, nobody scrolls there, and either the member's
    last word was
    that it is idle, or a shell shows its prompt there. Only once for each new message; never for mail
    that is read.
    ");
}

#[test]
fn help_about_agent_clients() {
    assert_snapshot!(helps(&["mcp"]), @"
    == Serve the team's mail and tasks to an agent client (Model Context Protocol)

    Usage: atm mcp [OPTIONS]

    Options:
          --tools <LIST>    Which tools to offer [default: all] [possible values: core, all]
          --http <IP:PORT>  Serve on a local port instead of standard input and output; port 0 is any
                            that is free

    With --as NAME (or ATM_AS) the server is that member's: it sends as NAME, reads NAME's mail, and
    nobody else's.
    Without it, it is the lead's. Add it to a client by hand:
      claude mcp add atm -- atm mcp --as team-lead
      codex mcp add atm --env ATM_AS=bob --env ATM_TEAM=dev -- atm mcp --tools core
    ");
}

#[test]
fn help_about_settings_and_setting_up() {
    assert_snapshot!(helps(&["config", "install", "primer", "hook", "completions", "man"]), @"
    == Show the settings and where each is from

    Usage: atm config [OPTIONS]

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
