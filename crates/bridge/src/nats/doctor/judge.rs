//! What to say of a server by what it tells of itself: pure decisions.

use std::time::Duration;

use async_nats::jetstream::stream::{Config, RetentionPolicy, State, StorageType};

use super::super::bounds::{self, Part};
use super::{Check, Outcome};
use crate::name::Realm;
use crate::subject;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Smaller messages make many letters go through the object store.
const SMALL_PAYLOAD: usize = 256 * 1024;

pub(super) fn jetstream(is_there: bool) -> Check {
    if is_there {
        return Check::good("jetstream", "JetStream is there");
    }
    let change = "turn it on in the server's configuration, for this account too: `jetstream: enabled`";
    Check::not(Outcome::Bad, "jetstream", "JetStream does not answer", change)
}

/// Whether others can read along: bodies are sealed, names and times are not.
pub(super) fn transport(host: &str, wants_tls: bool) -> Check {
    let is_here = host == "127.0.0.1" || host == "localhost" || host == "::1";
    if wants_tls {
        return Check::good("transport", "the server wants TLS");
    }
    if is_here {
        return Check::good("transport", "the server is on this machine, without TLS");
    }
    let found = "without TLS: passwords, names and times can be read on the way";
    Check::not(
        Outcome::Fair,
        "transport",
        found,
        "`tls { … }` in its configuration, and tls:// in the address",
    )
}

pub(super) fn version(version: &str, is_new_enough: bool) -> Check {
    if is_new_enough {
        return Check::good("version", format!("nats-server {version}"));
    }
    Check::not(Outcome::Bad, "version", format!("nats-server {version}"), "install nats-server 2.11 or newer")
}

pub(super) fn payload(most: usize) -> Check {
    if most >= SMALL_PAYLOAD {
        return Check::good("payload", format!("messages may have {} KiB", most / 1024));
    }
    let found = format!("messages may have {} KiB: larger letters go through the object store", most / 1024);
    Check::not(Outcome::Fair, "payload", found, "raise max_payload to 1MB")
}

/// Whether the stream is kept so that nothing is lost before its time.
pub(super) fn stream(realm: &Realm, config: &Config, state: &State) -> Vec<Check> {
    let name = &config.name;
    let mut checks = Vec::new();
    let mut bad =
        |found: String, change: &str| checks.push(Check::not(Outcome::Bad, "stream", found, change));
    if config.retention != RetentionPolicy::Limits {
        bad(
            format!("{name} has retention {:?}: acknowledging deletes", config.retention),
            "make it anew with limits retention",
        );
    }
    if config.storage != StorageType::File {
        bad(format!("{name} is kept in memory"), "make it anew with file storage");
    }
    if !config.subjects.contains(&subject::all(realm)) {
        bad(format!("{name} does not take {}", subject::all(realm)), "add that subject to the stream");
    }
    let mut fair =
        |found: String, change: &str| checks.push(Check::not(Outcome::Fair, "stream", found, change));
    for (found, change) in bounds::flaws(Part::Stream, name, config, state.bytes) {
        fair(found, &change);
    }
    if !(7 * DAY..=30 * DAY).contains(&config.max_age) {
        fair(
            format!("{name} keeps messages for {} days", config.max_age.as_secs() / DAY.as_secs()),
            "`atm bridge init --max-age-days 14`",
        );
    }
    if checks.is_empty() {
        let found = format!(
            "{name}: {} messages, {} KiB, {} replica(s)",
            state.messages,
            state.bytes / 1024,
            config.num_replicas
        );
        checks.push(Check::good("stream", found));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::super::setup::{Limits, stream_config};
    use super::*;

    fn realm() -> Realm {
        "home".parse().unwrap()
    }

    fn state() -> State {
        let state = r#"{"messages":3,"bytes":4096,"first_seq":1,"last_seq":3,"consumer_count":1,
            "first_ts":"2026-11-17T00:00:00Z","last_ts":"2026-11-17T00:00:00Z"}"#;
        serde_json::from_str(state).unwrap()
    }

    #[test]
    fn a_stream_as_init_makes_it_is_fit() {
        let checks = stream(&realm(), &stream_config(&realm(), Limits::default()), &state());
        assert_eq!(checks, [Check::good("stream", "atm-home: 3 messages, 4 KiB, 1 replica(s)")]);
    }

    #[test]
    fn what_would_lose_mail_is_an_error_and_names_the_way_out() {
        type Change = fn(&mut Config);
        let rows: [(Change, Outcome, &str, &str); 7] = [
            (|it| it.retention = RetentionPolicy::WorkQueue, Outcome::Bad, "acknowledging deletes", "limits"),
            (|it| it.retention = RetentionPolicy::Interest, Outcome::Bad, "acknowledging deletes", "limits"),
            (|it| it.storage = StorageType::Memory, Outcome::Bad, "in memory", "file storage"),
            (
                |it| it.subjects = vec!["atm.work.>".into()],
                Outcome::Bad,
                "does not take atm.home.>",
                "add that",
            ),
            (|it| it.max_age = 2 * DAY, Outcome::Fair, "for 2 days", "--max-age-days"),
            (|it| it.max_age = 31 * DAY, Outcome::Fair, "for 31 days", "--max-age-days"),
            (|it| it.max_bytes = -1, Outcome::Fair, "may fill the disk", "init"),
        ];
        for (change, outcome, found, hint) in rows {
            let mut config = stream_config(&realm(), Limits::default());
            change(&mut config);
            let checks = stream(&realm(), &config, &state());
            let [check] = checks.as_slice() else { panic!("{found}: {checks:?}") };
            assert_eq!(check.outcome, outcome, "{check:?}");
            assert!(check.found.contains(found), "{check:?}");
            assert!(check.change.as_ref().is_some_and(|change| change.contains(hint)), "{check:?}");
        }
    }

    #[test]
    fn an_old_server_is_an_error_and_small_messages_are_a_warning() {
        assert_eq!(version("2.11.0", true).outcome, Outcome::Good);
        let old = version("2.9.10", false);
        assert_eq!((old.outcome, old.found.as_str()), (Outcome::Bad, "nats-server 2.9.10"));
        assert!(old.change.is_some_and(|change| change.contains("2.11")));
        assert_eq!(payload(1 << 20).outcome, Outcome::Good);
        assert_eq!(payload(SMALL_PAYLOAD).outcome, Outcome::Good);
        let small = payload(64 * 1024);
        assert_eq!(small.outcome, Outcome::Fair);
        assert!(small.found.contains("64 KiB") && small.change.is_some(), "{small:?}");
    }

    #[test]
    fn a_way_that_others_can_read_is_a_warning_but_on_this_machine() {
        for (host, wants_tls, outcome) in [
            ("10.0.0.7", true, Outcome::Good),
            ("127.0.0.1", false, Outcome::Good),
            ("10.0.0.7", false, Outcome::Fair),
            ("0.0.0.0", false, Outcome::Fair),
        ] {
            assert_eq!(transport(host, wants_tls).outcome, outcome, "{host}");
        }
        assert_eq!(jetstream(false).outcome, Outcome::Bad);
    }
}
