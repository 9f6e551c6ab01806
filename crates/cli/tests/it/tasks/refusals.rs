//! Everything that is refused, with its exit code and what to do next.

use insta::assert_snapshot;

use super::with_tasks;

#[test]
fn what_is_no_task() {
    let world = with_tasks(&["Build"]);
    assert_snapshot!(world.session("
        atm task show 9
        atm task show ../../teams/dev/config
        atm task show 01
        atm task delete -- -1
        atm task create ''
        atm task create x --blocked-by 9
        atm task update 1 --metadata nonsense
        atm task update 1 --metadata claimed_at=now
        atm task update 1 --status napping
        atm task complete 1 --hours many
        atm --as bob task claim
        atm --as bob task claim 1 --next
        atm task claim 1
        atm --as nobody task claim 1
        atm task assign 1 bobb
        atm task status-request 1
    "), @r#"
    $ atm task show 9
    2> error: team dev has no task 9
    2>   hint: `atm task list` shows the tasks
    [exit 3]
    $ atm task show ../../teams/dev/config
    2> error: invalid value '../../teams/dev/config' for '<ID>': "../../teams/dev/config" is not a task's number; write it in digits, like 7
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm task show 01
    2> error: invalid value '01' for '<ID>': "01" is not a task's number; write it in digits, like 7
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm task delete -- -1
    2> error: invalid value '-1' for '<ID>': "-1" is not a task's number; write it in digits, like 7
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm task create ''
    2> error: a task needs a subject
    [exit 2]
    $ atm task create x --blocked-by 9
    2> error: team dev has no task 9
    2>   hint: `atm task list` shows the tasks
    [exit 3]
    $ atm task update 1 --metadata nonsense
    2> error: invalid value 'nonsense' for '--metadata <KEY=VALUE>': write it as KEY=VALUE
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm task update 1 --metadata claimed_at=now
    2> error: the metadata key "claimed_at" belongs to claims
    2>   hint: use `atm task claim` and `atm task release`
    [exit 2]
    $ atm task update 1 --status napping
    2> error: invalid value 'napping' for '--status <STATUS>'
    2>   [possible values: pending, in_progress, completed]
    2>
    2>   tip: a similar value exists: 'pending'
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm task complete 1 --hours many
    2> error: invalid value 'many' for '--hours <NUMBER>': not a number
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm --as bob task claim
    2> error: the following required arguments were not provided:
    2>   <ID|--next>
    2>
    2> Usage: atm task claim <ID|--next>
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm --as bob task claim 1 --next
    2> error: the argument '[ID]' cannot be used with '--next'
    2>
    2> Usage: atm task claim <ID|--next>
    2>
    2> For more information, try '--help'.
    [exit 2]
    $ atm task claim 1
    2> error: who are you? this is a member's own word
    2>   hint: use --as NAME, or set ATM_AS
    [exit 2]
    $ atm --as nobody task claim 1
    2> error: team dev has no member "nobody", who would be the sender
    2>   hint: `atm member add nobody` makes them a member; without --as you are `user`
    [exit 3]
    $ atm task assign 1 bobb
    2> error: team dev has no member "bobb"
    2>   hint: did you mean bob?
    [exit 3]
    $ atm task status-request 1
    2> error: task 1 has no owner
    2>   hint: `atm task assign 1 NAME` gives it to somebody
    [exit 4]
    "#);
}

#[test]
fn what_is_not_yours_or_not_possible_now() {
    let world = with_tasks(&["Build", "Test", "Ship"]);
    assert_snapshot!(world.session("
        atm --as bob task claim 1 --quiet
        atm --as alice task complete 1
        atm --as alice task release 1
        atm --as alice task update 1 --status completed
        atm --as alice task assign 1 alice
        atm --as alice task delete 1
        atm task block 2 --by 1 --quiet
        atm task block 1 --by 2
        atm task block 1 --by 1
        atm --as alice task claim 2
        atm task assign 3 bob --quiet
        atm --as alice task claim 3
        atm --as alice task claim --next
        atm task complete 1 --quiet --no-message
        atm task complete 1
        atm task release 1
        atm --as bob task claim 1
        atm --as alice task status 1 --request req-1
    "), @r#"
    $ atm --as bob task claim 1 --quiet
    task 1  Build
      status      in_progress
      owner       bob
      lease       until [......TIME.......]
      claimed_at: "[.........TIME.........]"
      claim_expiry_seconds: 300
    $ atm --as alice task complete 1
    2> error: alice may not: task 1 is bob's; only bob or the lead may do that
    [exit 4]
    $ atm --as alice task release 1
    2> error: alice may not: task 1 is bob's; only bob or the lead may do that
    [exit 4]
    $ atm --as alice task update 1 --status completed
    2> error: alice may not: task 1 is bob's; only bob or the lead may do that
    [exit 4]
    $ atm --as alice task assign 1 alice
    2> error: alice may not: task 1 is bob's; only bob or the lead may do that
    [exit 4]
    $ atm --as alice task delete 1
    2> error: alice may not: task 1 is bob's; only bob or the lead may do that
    [exit 4]
    $ atm task block 2 --by 1 --quiet
    $ atm task block 1 --by 2
    2> error: tasks would wait for each other: 1 waits for 2 waits for 1
    2>   hint: `atm task graph` shows what waits for what
    [exit 4]
    $ atm task block 1 --by 1
    2> error: tasks would wait for each other: 1 waits for 1
    2>   hint: `atm task graph` shows what waits for what
    [exit 4]
    $ atm --as alice task claim 2
    2> error: task 2 waits for task 1
    2>   hint: `atm task unblock 2` if that is not so any more
    [exit 4]
    $ atm task assign 3 bob --quiet
    $ atm --as alice task claim 3
    2> error: task 3 is held by bob
    2>   hint: bob or the lead can give it back: atm task release 3
    [exit 4]
    $ atm --as alice task claim --next
    2> error: team dev has no task that can be claimed now
    2>   hint: `atm task list` shows who has what, and what waits for what
    [exit 3]
    $ atm task complete 1 --quiet --no-message
    $ atm task complete 1
    2> error: task 1 is completed already
    2>   hint: its owner or the lead can open it again: atm task update 1 --status pending
    [exit 4]
    $ atm task release 1
    2> error: task 1 is completed already
    2>   hint: its owner or the lead can open it again: atm task update 1 --status pending
    [exit 4]
    $ atm --as bob task claim 1
    2> error: task 1 is completed already
    2>   hint: its owner or the lead can open it again: atm task update 1 --status pending
    [exit 4]
    $ atm --as alice task status 1 --request req-1
    2> error: alice may not: there is no request "req-1"
    [exit 4]
    "#);
}
