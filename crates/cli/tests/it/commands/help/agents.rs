//! Members that run, and the clients that they run in.

use insta::assert_snapshot;

use super::helps;

#[test]
fn help_about_members_in_panes() {
    assert_snapshot!(helps(&["spawn", "respawn", "kill", "attach", "peek", "nudge"]), @"
    == Start a member in a tmux pane

    Usage: atm spawn [OPTIONS] <NAME> [-- <COMMAND>...]

    Arguments:
      <NAME>        The name: lower-case letters, digits and hyphens, 3 to 64 characters
      [COMMAND]...  What to run [default: the client's own program]

    Options:
          --prompt <PROMPT>         What it is told first
          --client <CLIENT>         The agent client [default: by the command's name] [possible values:
                                    claude, codex, gemini, opencode]
          --model <MODEL>           haiku, sonnet, opus, or a model's full id
          --cwd <DIR>               Where it works [default: here; of one that returns, where it did]
          --plan-mode               It needs the lead's leave for its plans
          --permission-mode <MODE>  What it may do without asking, in its client's own word; for Claude
                                    Code: acceptEdits, plan, …
          --place <PLACE>           Where its pane goes [default: window] [possible values: window,
                                    split]
          --backend <BACKEND>       What it runs in: tmux [default: tmux]
          --socket <PATH>           The tmux server's socket [default: the server that you are in, else
                                    atm's own]
          --type <TYPE>             What kind of agent it is [default: general-purpose]
          --member-color <COLOR>    blue, green, yellow, magenta, cyan, red, … or #rrggbb [default: the
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
          --prompt <PROMPT>         What it is told first
          --client <CLIENT>         The agent client [default: by the command's name] [possible values:
                                    claude, codex, gemini, opencode]
          --model <MODEL>           haiku, sonnet, opus, or a model's full id
          --cwd <DIR>               Where it works [default: here; of one that returns, where it did]
          --plan-mode               It needs the lead's leave for its plans
          --permission-mode <MODE>  What it may do without asking, in its client's own word; for Claude
                                    Code: acceptEdits, plan, …
          --place <PLACE>           Where its pane goes [default: window] [possible values: window,
                                    split]
          --backend <BACKEND>       What it runs in: tmux [default: tmux]
          --socket <PATH>           The tmux server's socket [default: the server that you are in, else
                                    atm's own]

    The same name inherits the inbox. Unread mail of before is tagged, so that it is acted on; shutdown
    requests of
    before are set aside. What is not said anew is as it was: command, client, model, permission mode,
    prompt, folder.
    The prompt of before is told again only if no unread mail waits.
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
    assert_snapshot!(helps(&["mcp"]), @r#"
    == Serve the team's mail and tasks to an agent client (Model Context Protocol)

    Usage: atm mcp [OPTIONS]

    Options:
          --tools <LIST>    Which tools to offer [default: all] [possible values: core, all]
          --http <IP:PORT>  Serve on a local port instead of standard input and output; port 0 is any
                            that is free. The first line says the address, with the token that every
                            request needs

    With --as NAME (or ATM_AS) the server is that member's: it sends as NAME, reads NAME's mail, and
    nobody else's.
    It serves one team: that of NAME@TEAM or --team; without one, the team that commands in this folder
    use or, if there are several, the one that the first call names.
    Without it, it is the lead's. Add it to a client by hand:
      claude mcp add atm -- atm mcp --as team-lead
      codex mcp add atm --env ATM_AS=bob --env ATM_TEAM=dev -- atm mcp --tools core

    With --http every request needs the token: as "Authorization: Bearer TOKEN", or in the address,
    as printed, for clients that cannot send that. Every member's server has another one. They are
    derived from http.token in the state folder; remove that file for new ones.
    "#);
}
