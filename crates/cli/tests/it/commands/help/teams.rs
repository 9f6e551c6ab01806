//! Teams and who is in them.

use insta::assert_snapshot;

use super::helps;

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
