//! What happens on that day, and what is true then.

use atm_wire::Stamp;

/// Midnight.
const DAY: i64 = 1_794_787_200_000;
pub(crate) const PEOPLE: [&str; 3] = ["team-lead", "bob", "carol"];

/// `08:30` or `08:30:01.5`, of that day.
pub(crate) fn time(text: &str) -> i64 {
    let parts: Vec<f64> = text.split(':').map(|part| part.parse().unwrap()).collect();
    let seconds = parts[0] * 3600.0 + parts[1] * 60.0 + parts.get(2).unwrap_or(&0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a day has few milliseconds")]
    let millis = (seconds * 1000.0).round() as i64;
    DAY + millis
}

pub(crate) fn words(at: i64) -> String {
    Stamp::from_millis(at).to_string()[11..23].to_owned()
}

/// What happens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// The lead's session does something else.
    Session(&'static str),
    /// A process begins, and its client says so in the configuration.
    Starts(u64, &'static str),
    /// One is killed: nobody writes anything.
    Dies(u64),
    /// A turn of bob begins or ends.
    Turn(bool),
    /// The lead asks bob whether he is there.
    Asked,
    /// Bob says so.
    Alive,
    /// Carol says that she has nothing to do.
    Idle,
}

pub(crate) use Event::{Alive as SaysAlive, Asked, Dies, Idle as SaysIdle, Session, Starts, Turn};

pub(crate) const LEAD: u64 = 100;

pub(crate) const SCRIPT: [(&str, Event); 16] = [
    ("08:00", Starts(LEAD, "")),
    ("08:00:02", Session("busy")),
    ("08:01", Starts(4242, "bob@demo")),
    ("08:05", Turn(false)),
    ("08:20", Turn(true)),
    ("08:30", Session("idle")),
    ("08:31", Session("waiting")),
    ("08:40", Asked),
    ("08:42", SaysAlive),
    ("09:00", Dies(4242)),
    ("09:10", Starts(4300, "bob@demo")),
    ("09:11", Turn(true)),
    ("10:00", SaysIdle),
    ("12:00", Turn(false)),
    ("12:30", Dies(4300)),
    ("17:00", Dies(LEAD)),
];

/// Who is in which state from when on, and what shows it.
pub(crate) const TRUTH: [(&str, &str, &str, &str); 17] = [
    ("07:00", "team-lead", "online", "sent mail"),
    // Nobody heard of it for a quarter of an hour, and nothing else happens.
    ("07:15:00.001", "team-lead", "unknown", "does not say"),
    ("08:00:02", "team-lead", "online", "session 0b7e runs (process 100, working)"),
    ("08:01", "bob", "online", "process 4242 runs"),
    ("08:05", "bob", "idle", "isActive is false"),
    ("08:20", "bob", "online", "process 4242 runs"),
    ("08:30", "team-lead", "idle", "session 0b7e runs (process 100, idle)"),
    ("08:31", "team-lead", "online", "session 0b7e runs (process 100, waiting)"),
    // Known half a minute later; then it is so since the question.
    ("08:40", "bob", "stalled", "has not answered the health check"),
    ("08:42", "bob", "online", "process 4242 runs"),
    ("09:00", "bob", "offline", "process 4242, which ran with its --agent-id, is gone"),
    ("09:10", "bob", "online", "process 4300 runs"),
    ("10:00", "carol", "idle", "said that it is idle"),
    ("10:15:00.001", "carol", "unknown", "does not say"),
    ("12:00", "bob", "idle", "isActive is false"),
    ("12:30", "bob", "offline", "process 4300, which ran with its --agent-id, is gone"),
    ("17:00", "team-lead", "offline", "its process 100 is gone"),
];

/// A question is answered within half a minute, or the member is stalled.
const PATIENCE: i64 = 30_000;

/// The state that a member is in, as it can be known then.
pub(crate) fn truth(name: &str, now: i64) -> &'static str {
    let is_known = |at: &str, state: &str| time(at) + if state == "stalled" { PATIENCE } else { 0 } <= now;
    let mut states = TRUTH.iter().rev().filter(|(at, of, state, _)| *of == name && is_known(at, state));
    states.next().map_or("unknown", |(_, _, state, _)| state)
}
