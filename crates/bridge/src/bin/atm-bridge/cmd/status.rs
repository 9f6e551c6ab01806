//! `atm bridge status`.

use atm_bridge::house::Share;
use atm_bridge::protocol::outbox::Backlog;
use atm_bridge::run::status::{Fill, Status as Report, Unplaced};
use atm_wire::Stamp;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Show whether the bridge runs, is connected, and what waits
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge status
  atm bridge status --json

Exit codes: 0, also when no bridge runs.")]
pub(crate) struct Status {}

impl Status {
    pub(crate) fn run(context: &Context) -> Result<i32, Failure> {
        let is_running = context.office().machines().is_served();
        let report = Report::load(&context.files());
        let missing = report.as_ref().map(|report| missing_teams(context, report)).unwrap_or_default();
        if context.json {
            let mut document = match &report {
                Some(report) => serde_json::to_value(report).unwrap_or_default(),
                None => json!({}),
            };
            document["running"] = is_running.into();
            if !is_running {
                document["connected"] = false.into();
            }
            document["missingTeams"] = missing.into();
            output::json(&document)?;
            return Ok(0);
        }
        output::lines(&describe(report.as_ref(), is_running, &missing, Context::now()))?;
        Ok(0)
    }
}

/// The shared teams that are not here, by their names here.
fn missing_teams(context: &Context, report: &Report) -> Vec<String> {
    let shares = Share::parse_all(report.teams.iter().map(String::as_str)).unwrap_or_default();
    let office = context.office();
    let missing = shares.iter().filter(|share| !office.has_team(&share.local));
    missing.map(|share| share.local.to_string()).collect()
}

fn describe(report: Option<&Report>, is_running: bool, missing: &[String], now: Stamp) -> String {
    let Some(report) = report else {
        return "no bridge has run here: `atm bridge run --nats URL --team NAME` starts one".to_owned();
    };
    let ago = |at: Stamp| format!("{} ago", span(now, at));
    let mut lines = Vec::new();
    let Report { machine, realm, nats, pid, since, .. } = report;
    if is_running {
        let connected = if report.connected { "connected to" } else { "not connected to" };
        lines.push(format!(
            "{machine} in realm {realm}: {connected} {nats} (process {pid}, for {})",
            span(now, *since)
        ));
    } else {
        lines.push(format!(
            "{machine} in realm {realm}: no bridge runs, mail for other machines waits; `atm bridge run` starts one"
        ));
    }
    if let Some(since) = report.namesake_since.filter(|_| is_running) {
        lines.push(format!(
            "name      another bridge is called {machine}, too, for {}: nothing is carried while both run; give one another name: \
             `atm bridge run --machine NAME`",
            span(now, since)
        ));
    }
    lines.push(format!("teams     {}", report.teams.join(", ")));
    for team in missing {
        lines.push(format!(
            "          {team} is not here: it is shared when it is; `atm team list` shows those that are"
        ));
    }
    lines.push(match &report.stream {
        Some(stream) => format!("stream    messages {} to {}", stream.first, stream.last),
        None => "stream    out of reach".to_owned(),
    });
    lines.extend(mail(report, is_running, now));
    if let Some(percent) = report.task_bytes.and_then(Fill::alarming) {
        lines.push(format!(
            "tasks     their bucket is {percent} % full: when it is full, no task is made or claimed, in any team; \
             `atm bridge init --bucket-mib N` makes it larger (deleted tasks stay in it)"
        ));
    }
    if let Some(offset) = report.clock_offset_ms {
        lines.push(format!("clock     at most {offset} ms ahead of the server's"));
    }
    let tally = &report.tally;
    lines.push(format!(
        "counted   published {} ({} again), confirmed {}, taken in {}, receipts {}, refused {}, dead {}",
        tally.published,
        tally.published_again,
        tally.confirmed,
        tally.taken_in,
        tally.receipts,
        tally.all_refused(),
        tally.dead
    ));
    for (why, count) in &tally.refused {
        let last = tally.last_refused.iter().rev().find(|(other, _)| other == why);
        let from = last.map(|(_, from)| format!(", last from {from}")).unwrap_or_default();
        lines.push(format!("          refused as {why}: {count}{from}"));
    }
    for (name, machine) in &report.machines {
        // Without a bridge nobody listens; and while one does, when a machine was heard is kept to ten seconds only.
        let state = match (is_running, machine.present) {
            (true, true) => "present".to_owned(),
            (true, false) => format!("away, heard from {}", ago(machine.seen_at)),
            (false, _) => format!("unknown, heard from {}", ago(machine.seen_at)),
        };
        lines.push(format!("machine   {name} {state}, {} members", machine.members));
    }
    for held in &report.held_elsewhere {
        lines.push(format!(
            "name      {} of team {} is held by {}: rename yours, or `atm bridge take {} --team {}`",
            held.name, held.team, held.machine, held.name, held.team
        ));
    }
    for Unplaced { team, name, machine, why } in &report.unplaced {
        lines.push(format!("name      {name} of team {team} on {machine} has no place here: {why}"));
    }
    if let Some(trouble) = &report.last_error {
        lines.push(format!("error     {} ({})", trouble.what, ago(trouble.at)));
    }
    lines.join("\n")
}

/// The mail on its way, out and in.
fn mail(report: &Report, is_running: bool, now: Stamp) -> Vec<String> {
    let mut lines = Vec::new();
    let outbox: usize = report.outbox.values().sum();
    let by_machine: Vec<String> =
        report.outbox.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let by_machine =
        if by_machine.is_empty() { String::new() } else { format!(": {}", by_machine.join(", ")) };
    lines.push(format!("outbound  {outbox} unconfirmed{by_machine}"));
    for (name, Backlog { unsent, stored, passed, unanswered, oldest_at }) in &report.outbound {
        let oldest = oldest_at.map(|at| format!("; the oldest for {}", span(now, at))).unwrap_or_default();
        lines.push(format!(
            "          {name}: {unsent} not on the server, {stored} not processed there, {passed} processed and not confirmed{oldest}"
        ));
        if *unanswered > 0 {
            lines.push(format!(
                "          {name} processes them and answers none: does it trust this machine? There: `atm bridge trust {} KEY`, \
                 with what `atm bridge key` prints here; its `atm bridge status` says why it refuses them",
                report.machine
            ));
        }
    }
    for absent in &report.absent {
        lines.push(format!(
            "          {} for {} of team {}, whom {} does not have: sent when a machine does",
            absent.letters, absent.name, absent.team, absent.machine
        ));
    }
    let (lag, held) = (report.lag, report.held);
    lines.push(match report.lag_at.filter(|_| !is_running || report.stream.is_none()) {
        // Nobody can be asked now.
        Some(at) => {
            format!("inbound   {lag} waiting at the server {} ago, {held} held for order", span(now, at))
        }
        None => format!("inbound   {lag} waiting at the server, {held} held for order"),
    });
    lines
}

/// The time between two moments, in its largest unit.
fn span(now: Stamp, at: Stamp) -> String {
    let seconds = now.since(at).as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_refused_is_named_and_nobody_is_present_while_no_bridge_listens() {
        let at = Stamp::from_millis(1_800_000_000_000);
        let (machine, realm) = ("hub".parse().unwrap(), "home".parse().unwrap());
        let mut report = Report::new(machine, realm, "nats://hub".into(), Vec::new(), at);
        let (team, machine, why) = ("alpha".to_owned(), "hub".parse().unwrap(), "too long".to_owned());
        report.unplaced = vec![Unplaced { team, name: "bob".to_owned(), machine, why }];
        report.tally.refuse("untrusted", "eve");
        report.tally.refuse("untrusted", "mallory");
        let other = atm_bridge::run::status::MachineStatus { present: true, seen_at: at, members: 2 };
        report.machines.insert("laptop".parse().unwrap(), other);
        let now = Stamp::from_millis(at.as_millis() + 9_000);
        let shown = describe(Some(&report), true, &[], now);
        assert!(shown.contains("refused as untrusted: 2, last from mallory"), "{shown}");
        assert!(shown.contains("bob of team alpha on hub has no place here: too long"), "{shown}");
        assert!(shown.contains("laptop present, 2 members"), "{shown}");
        let shown = describe(Some(&report), false, &[], now);
        assert!(shown.contains("laptop unknown, heard from 9 s ago, 2 members"), "{shown}");
    }

    #[test]
    fn mail_that_is_not_confirmed_is_told_by_how_far_it_came() {
        let at = |seconds: i64| Stamp::from_millis(1_800_000_000_000 + seconds * 1_000);
        let (machine, realm) = ("laptop".parse().unwrap(), "home".parse().unwrap());
        let mut report = Report::new(machine, realm, "nats://hub".into(), Vec::new(), at(0));
        let mut backlog = Backlog { unsent: 1, stored: 2, passed: 3, unanswered: 0, oldest_at: Some(at(0)) };
        report.outbound.insert("desk".parse().unwrap(), backlog.clone());
        let shown = describe(Some(&report), true, &[], at(300));
        let line = "desk: 1 not on the server, 2 not processed there, 3 processed and not confirmed; the oldest for 5 min";
        assert!(shown.contains(line) && !shown.contains("does it trust"), "{shown}");
        backlog.unanswered = 6;
        report.outbound.insert("desk".parse().unwrap(), backlog);
        let shown = describe(Some(&report), true, &[], at(300));
        assert!(
            shown.contains("does it trust this machine? There: `atm bridge trust laptop KEY`"),
            "{shown}"
        );
    }

    #[test]
    fn a_bucket_of_tasks_that_is_nearly_full_is_told_with_what_makes_it_larger() {
        let at = Stamp::from_millis(1_800_000_000_000);
        let (machine, realm) = ("laptop".parse().unwrap(), "home".parse().unwrap());
        let mut report = Report::new(machine, realm, "nats://hub".into(), Vec::new(), at);
        for (used, is_told) in [(79, false), (83, true)] {
            report.task_bytes = Some(Fill { used, most: 100 });
            let shown = describe(Some(&report), true, &[], at);
            assert_eq!(shown.contains("is 83 % full"), is_told, "{shown}");
            assert_eq!(shown.contains("--bucket-mib"), is_told, "{shown}");
        }
    }

    #[test]
    fn what_waits_at_the_server_is_as_it_was_told_last_while_that_is_out_of_reach() {
        let at = |seconds: i64| Stamp::from_millis(1_800_000_000_000 + seconds * 1_000);
        let (machine, realm) = ("laptop".parse().unwrap(), "home".parse().unwrap());
        let mut report = Report::new(machine, realm, "nats://hub".into(), Vec::new(), at(0));
        (report.lag, report.lag_at) = (5, Some(at(0)));
        let shown = describe(Some(&report), true, &[], at(300));
        assert!(shown.contains("5 waiting at the server 5 min ago"), "{shown}");
        report.stream = Some(atm_bridge::run::status::StreamStatus { made: "1".into(), first: 1, last: 2 });
        let shown = describe(Some(&report), true, &[], at(300));
        assert!(shown.contains("5 waiting at the server, 0 held"), "{shown}");
    }

    #[test]
    fn times_are_shown_in_their_largest_unit() {
        let at = Stamp::from_millis(1_800_000_000_000);
        for (seconds, shown) in
            [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (200_000, "2 days")]
        {
            assert_eq!(span(Stamp::from_millis(at.as_millis() + seconds * 1_000), at), shown);
        }
        assert_eq!(span(at, Stamp::from_millis(at.as_millis() + 5_000)), "0 s", "clocks may differ");
    }
}
