//! `--help` of the team's protocol

use insta::assert_snapshot;

use crate::commands::help::helps;

#[test]
fn help_about_plans_and_shutdowns() {
    let commands = ["plan", "plan submit", "plan approve", "plan reject", "plan list"];
    assert_snapshot!(helps(&commands), @"
    == Plans: hand one in, approve, reject, list

    Usage: atm plan [OPTIONS] <COMMAND>

    Commands:
      submit   Ask your lead whether you may carry out a plan; prints the request's id
      approve  The member may go on (the lead decides)
      reject   The member has to change its plan (the lead decides)
      list     The plans of the team, and what became of them
      help     Print this message or the help of the given subcommand(s)

    Options:
    == Ask your lead whether you may carry out a plan; prints the request's id

    Usage: atm plan submit [OPTIONS] [TEXT]

    Arguments:
      [TEXT]  The text, or `-` to read it from stdin

    Options:
          --file <FILE>          Read the text from a file
          --summary <TEXT>       A short version [default: the first words]
          --priority <PRIORITY>  How urgent it is [default: normal] [possible values: high, normal, low]
          --wait                 Wait for the decision: exit 0 for yes, 4 for no, 8 if none comes
          --timeout <TIME>       How long [default: 30s]
    == The member may go on (the lead decides)

    Usage: atm plan approve [OPTIONS] <REQUEST>

    Arguments:
      <REQUEST>  The request's id

    Options:
          --feedback <TEXT>         What to mind
          --permission-mode <MODE>  The mode that the member goes on in, like `default` or `acceptEdits`
    == The member has to change its plan (the lead decides)

    Usage: atm plan reject [OPTIONS] --feedback <TEXT> <REQUEST>

    Arguments:
      <REQUEST>  The request's id

    Options:
          --feedback <TEXT>  What to change
    == The plans of the team, and what became of them

    Usage: atm plan list [OPTIONS]

    Options:
          --open     Only those that nobody has decided
    ");
    let commands = ["shutdown", "shutdown request", "shutdown approve", "shutdown reject"];
    assert_snapshot!(helps(&commands), @"
    == Ask a member to end; approve or reject that

    Usage: atm shutdown [OPTIONS] <COMMAND>

    Commands:
      request  Ask a member to end (the lead may); prints the request's id
      approve  You end: tell the lead so, and be recorded as offline
      reject   You stay
      help     Print this message or the help of the given subcommand(s)

    Options:
    == Ask a member to end (the lead may); prints the request's id

    Usage: atm shutdown request [OPTIONS] <NAME>

    Arguments:
      <NAME>  Whom

    Options:
          --reason <TEXT>   Why
          --wait            Wait for the decision: exit 0 for yes, 4 for no, 8 if none comes
          --timeout <TIME>  How long [default: 30s]
    == You end: tell the lead so, and be recorded as offline

    Usage: atm shutdown approve [OPTIONS] [REQUEST]

    Arguments:
      [REQUEST]  The request's id [default: the newest that is open]

    Options:
    == You stay

    Usage: atm shutdown reject [OPTIONS] --reason <TEXT> [REQUEST]

    Arguments:
      [REQUEST]  The request's id [default: the newest that is open]

    Options:
          --reason <TEXT>  Why
    ");
}

#[test]
fn help_about_who_is_there() {
    assert_snapshot!(helps(&["idle", "heartbeat", "health", "presence", "status"]), @"
    == Tell your lead that you have nothing to do

    Usage: atm idle [OPTIONS]

    Options:
          --reason <REASON>  Why you have nothing to do [default: available] [possible values:
                             available, interrupted, waiting_response, task_complete]
          --task <ID>        The task you have just finished with
          --summary <TEXT>   What there is to say
    == Tell your lead that you are alive, and how far

    Usage: atm heartbeat [OPTIONS]

    Options:
          --task <ID>           The task you work on
          --progress <PERCENT>  Percent done
          --request <ID>        The health check that this answers [default: all that are open]
    == Ask a member whether it is alive

    Usage: atm health [OPTIONS] [NAME]

    Arguments:
      [NAME]  Whom to ask

    Options:
          --timeout <TIME>  How long to wait for the heartbeat; exit 8 if none comes [default: 30s]
          --stalled         Do not ask: tell everybody that it does not answer (the lead may)
          --tasks <IDS>     With --stalled, the tasks that others may take: 5,6
          --sweep           Take the steps that are due for all members that work, in the lead's name
          --dry-run         With --sweep, only say what is due

    A sweep asks members that hold a claim and were silent for as long as it is good for. Who does not
    answer within 30 s
    is stalled: its tasks are released, and everybody is told. Run it every minute or so; several at
    once do no harm.
    == Whether a member is there, and why we say so

    Usage: atm presence [OPTIONS] <NAME>

    Arguments:
      <NAME>  Who

    Options:
          --why      Show every trace, and how much it counts
    == The team in one look: who is on, and what waits for whom

    Usage: atm status [OPTIONS]

    Options:
          --watch       Show it again whenever something changes (with --json, JSON Lines)
          --for <TIME>  With --watch, stop after this long: 30s, 10m
          --count <N>   With --watch, stop after N times
    ");
}
