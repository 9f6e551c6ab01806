//! `--help`

use insta::assert_snapshot;

use crate::commands::help::helps;

#[test]
fn help_about_tasks() {
    let commands = ["task", "task create", "task list", "task update", "task claim", "task complete"];
    assert_snapshot!(helps(&commands), @r#"
    == The shared task list: who does what, and what waits for what

    Usage: atm task [OPTIONS] <COMMAND>

    Commands:
      create          Make a task
      list            The tasks of the team
      show            All of one task
      update          Change a task
      assign          Give a task to somebody, who is told
      claim           Take a task for yourself, for a time; of many who try, one gets it
      release         Give a task back (its owner or the lead)
      complete        A task is done (its owner or the lead)
      block           Make a task wait for others
      unblock         Make a task wait for others no more
      delete          Remove a task, and what others say of it (its owner or the lead)
      status-request  Ask who has a task how far it is
      status          Say how far a task is: to the member that asked, else to the lead
      graph           What waits for what, as a tree or a picture
      help            Print this message or the help of the given subcommand(s)

    Options:
    == Make a task

    Usage: atm task create [OPTIONS] <SUBJECT>

    Arguments:
      <SUBJECT>  The title

    Options:
      -d, --description <TEXT>    All that is to be done
          --active-form <TEXT>    What to show while it is being done, like "Fixing the build"
          --owner <NAME>          Who shall do it; is told
          --blocked-by <ID,…>     The tasks that it waits for
          --blocks <ID,…>         The tasks that wait for it
          --metadata <KEY=VALUE>  Something to keep with it; the value is JSON, or else text
    == The tasks of the team

    Usage: atm task list [OPTIONS]

    Options:
          --status <STATUS>  Only those that are as far as this [possible values: pending, in_progress,
                             completed]
          --owner <NAME>     Only those of one member
          --mine             Only yours
          --ready            Only those that anybody could claim now
          --blocked          Only those that wait for others
          --board            Show them in three columns
    == Change a task

    Usage: atm task update [OPTIONS] <ID>

    Arguments:
      <ID>  The task

    Options:
          --subject <TEXT>        Another title
      -d, --description <TEXT>    Another text
          --active-form <TEXT>    What to show while it is being done
          --status <STATUS>       How far it is (its owner or the lead) [possible values: pending,
                                  in_progress, completed]
          --owner <NAME>          Who shall do it; is told (its owner or the lead)
          --no-owner              Nobody's any more (its owner or the lead)
          --metadata <KEY=VALUE>  Something to keep with it; `KEY=` takes it away
    == Take a task for yourself, for a time; of many who try, one gets it

    Usage: atm task claim [OPTIONS] <ID|--next>

    Arguments:
      [ID]  The task

    Options:
          --next          The first task that you can have: yours, or nobody's; exit 3 if there is none
          --lease <TIME>  For how long it is yours; claim it again to keep it for as long again
                          [default: 300s]
    == A task is done (its owner or the lead)

    Usage: atm task complete [OPTIONS] <ID>

    Arguments:
      <ID>  The task

    Options:
          --hours <NUMBER>  How long it took
          --notes <TEXT>    What is worth knowing
          --no-message      Do not tell the lead
    "#);
}

#[test]
fn help_about_links_and_questions() {
    let commands = ["task block", "task unblock", "task status-request", "task status", "task graph"];
    assert_snapshot!(helps(&commands), @"
    == Make a task wait for others

    Usage: atm task block [OPTIONS] --by <ID,…> <ID>

    Arguments:
      <ID>  The task that has to wait

    Options:
          --by <ID,…>      The tasks that it waits for
          --reason <TEXT>  Why; if the task is yours, the lead is told
    == Make a task wait for others no more

    Usage: atm task unblock [OPTIONS] <ID>

    Arguments:
      <ID>  The task that has waited

    Options:
          --from <ID,…>  The tasks that it waits for no more [default: all]
    == Ask who has a task how far it is

    Usage: atm task status-request [OPTIONS] <ID>

    Arguments:
      <ID>  The task

    Options:
          --timeout <TIME>  How long to wait for the answer; exit 8 if none comes [default: 30s]
          --no-wait         Do not wait; prints the request's id
    == Say how far a task is: to the member that asked, else to the lead

    Usage: atm task status [OPTIONS] <ID>

    Arguments:
      <ID>  The task

    Options:
          --progress <PERCENT>  Percent done
          --eta <TEXT>          When it should be done, in your own words or as a time
          --status <STATUS>     What to say of it [default: as the task says] [possible values: pending,
                                in_progress, completed]
          --request <ID>        The question that this answers [default: the newest about this task]
    == What waits for what, as a tree or a picture

    Usage: atm task graph [OPTIONS]

    Options:
          --svg <FILE>  Write it as SVG
    ");
}

#[test]
fn help_about_artifacts() {
    let commands = ["artifacts", "artifacts put", "artifacts get", "artifacts tail", "artifacts report"];
    assert_snapshot!(helps(&commands), @"
    == What members left for others: reports, logs and files

    Usage: atm artifacts [OPTIONS] <COMMAND>

    Commands:
      list    What members left: their report, their log, their files
      put     Leave a file for others
      get     Get a file that a member left
      tail    The end of what a member's process wrote
      report  Say what you are doing, and what it cost
      help    Print this message or the help of the given subcommand(s)

    Options:
    == Leave a file for others

    Usage: atm artifacts put [OPTIONS] <FILE>

    Arguments:
      <FILE>  The file, or `-` for stdin

    Options:
          --as-name <NAME>  Under another name
    == Get a file that a member left

    Usage: atm artifacts get [OPTIONS] <NAME> <FILE>

    Arguments:
      <NAME>  Whose
      <FILE>  Which

    Options:
          --out <PATH>  Where to [default: stdout]
    == The end of what a member's process wrote

    Usage: atm artifacts tail [OPTIONS] <NAME>

    Arguments:
      <NAME>  Whose

    Options:
      -n, --lines <N>   How many lines [default: 10]
      -f, --follow      Go on as it grows
          --for <TIME>  Stop after this long: 30s, 10m
    == Say what you are doing, and what it cost

    Usage: atm artifacts report [OPTIONS] <STATE>

    Arguments:
      <STATE>  What you are doing [possible values: running, idle, complete, error]

    Options:
          --detail <TEXT>  What went wrong, of an error
          --tokens <N>     Tokens spent since your last report
    ");
}
