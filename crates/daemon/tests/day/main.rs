//! The presence of a scripted day: what is recorded is the truth, with its times and its evidence, by the schedule of the
//! daemon and the rules of the office, with a clock and a machine that are test doubles.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod script;
mod world;

use std::collections::BTreeSet;

use atm_daemon::schedule::{Done, Schedule};

use crate::script::{PEOPLE, SCRIPT, TRUTH, time, truth, words};
use crate::world::Day;

/// The daemon: its schedule, with visits that judge who is there.
struct Daemon {
    schedule: Schedule,
}

impl Daemon {
    fn new(day: &Day) -> Self {
        let mut schedule = Schedule::default();
        schedule.set_teams(&BTreeSet::from([day.team.name().clone()]), day.office.now());
        Self { schedule }
    }

    /// Does what is due, when it is due, until then.
    fn run_until(&mut self, day: &Day, until: i64) {
        while let Some((at, _)) = self.schedule.next() {
            let at = at.as_millis().max(day.office.now().as_millis());
            if at > until {
                break;
            }
            day.set(at);
            self.work(day);
        }
        day.set(until);
    }

    fn work(&mut self, day: &Day) {
        let now = day.office.now();
        while let Some(job) = self.schedule.due(now) {
            self.schedule.begin(&job);
            let mut done = Done::default();
            if job.look || job.presence {
                let mut team = day.office.team(day.team.name()).unwrap();
                team.look().unwrap();
                if job.presence {
                    done.presence_next = team.presence_round().next;
                }
            }
            self.schedule.end(&job, &done, now);
        }
    }
}

/// Moments that differ, and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// The moments at which somebody looks, at most 20 minutes apart.
fn looks(seed: u64) -> Vec<i64> {
    let mut dice = Dice(seed);
    let mut at = time("07:00");
    std::iter::from_fn(|| {
        at += 1 + dice.below(20 * 60_000);
        (at < time("18:00")).then_some(at)
    })
    .collect()
}

/// Somebody looks: what is said is the truth.
fn look(day: &Day, at: i64) {
    day.set(at);
    for member in day.office.members(day.team.name()).unwrap() {
        let expected = truth(&member.name, at);
        assert_eq!(member.state.as_str(), expected, "{} at {}: {}", member.name, words(at), member.why);
    }
}

fn assert_is_the_truth(day: &Day) {
    let recorded = day.recorded();
    let shown: Vec<String> = recorded
        .iter()
        .map(|(at, name, state, why)| format!("{} {name} {state}: {why}", words(*at)))
        .collect();
    let shown = shown.join("\n");
    assert_eq!(recorded.len(), TRUTH.len(), "{shown}");
    for ((at, name, state, why), expected) in recorded.iter().zip(TRUTH) {
        assert_eq!(
            (*at, name.as_str(), state.as_str()),
            (time(expected.0), expected.1, expected.2),
            "{shown}"
        );
        assert!(why.contains(expected.3), "{expected:?}\n{shown}");
    }
}

#[test]
fn what_a_daemon_records_is_the_truth_and_others_who_look_change_nothing() {
    for seed in [None, Some(1)] {
        let mut day = Day::new();
        let mut daemon = Daemon::new(&day);
        let mut looks = seed.map(looks).unwrap_or_default().into_iter().peekable();
        for (at, event) in SCRIPT {
            while let Some(earlier) = looks.next_if(|look| *look < time(at)) {
                daemon.run_until(&day, earlier);
                look(&day, earlier);
            }
            daemon.run_until(&day, time(at));
            let news = day.happen(event);
            daemon.schedule.happened(day.team.name(), news, day.office.now());
        }
        daemon.run_until(&day, time("18:00"));
        assert_is_the_truth(&day);
    }
}

/// Without a daemon, less is known, and nothing else.
#[test]
fn what_is_recorded_without_a_daemon_is_a_part_of_the_truth() {
    for seed in [1, 2] {
        let mut day = Day::new();
        let mut looks = looks(seed).into_iter().peekable();
        for (at, event) in SCRIPT {
            while let Some(earlier) = looks.next_if(|look| *look < time(at)) {
                look(&day, earlier);
            }
            day.set(time(at));
            day.happen(event);
        }
        look(&day, time("18:00"));
        for name in PEOPLE {
            let mut truth = TRUTH.iter().filter(|(_, of, ..)| *of == name);
            let mut last = "unknown";
            for (at, _, state, why) in day.recorded().into_iter().filter(|(_, of, ..)| of == name) {
                assert_ne!(state, last, "seed {seed}: {name} became {state} twice at {}", words(at));
                let found = truth.find(|(from, _, expected, _)| *expected == state && time(from) <= at);
                let (from, _, expected, _) =
                    found.unwrap_or_else(|| panic!("seed {seed}: {name} was not {state} at {}", words(at)));
                // A time that is no bound is the time itself.
                assert!(
                    why.contains("no_later_than") || at == time(from),
                    "seed {seed}: {name} {state}: {why}"
                );
                last = expected;
            }
            assert_eq!(last, self::truth(name, time("18:00")), "seed {seed}: {name}");
        }
    }
}

/// The machine sleeps, or its clock is set: what happened meanwhile is known once, and nothing twice.
#[test]
fn a_sleep_and_a_clock_that_is_set_double_nothing() {
    let mut day = Day::new();
    let mut daemon = Daemon::new(&day);
    let mut sleeps_until = 0;
    for (at, event) in SCRIPT {
        // From before the question until after the death.
        if time(at) == time("08:40") {
            sleeps_until = time("09:05");
        }
        if time(at) < sleeps_until {
            day.set(time(at));
        } else {
            day.set(day.office.now().as_millis().max(sleeps_until));
            daemon.run_until(&day, time(at));
        }
        let news = day.happen(event);
        daemon.schedule.happened(day.team.name(), news, day.office.now());
        if at == "12:30" {
            daemon.run_until(&day, time("13:00"));
            let before = day.recorded();
            for (hour, what) in
                [("11:00", "back"), ("13:00", "right again"), ("15:00", "ahead"), ("13:00", "right")]
            {
                day.set(time(hour));
                daemon.work(&day);
                assert_eq!(day.recorded(), before, "the clock is {what}");
            }
        }
    }
    daemon.run_until(&day, time("18:00"));
    let recorded = day.recorded();
    let bob = recorded.iter().filter(|(_, name, ..)| name == "bob");
    let bob: Vec<(String, &str)> = bob.map(|(at, _, state, _)| (words(*at), state.as_str())).collect();
    let expected = [
        ("08:01:00.000", "online"),
        ("08:05:00.000", "idle"),
        ("08:20:00.000", "online"),
        // Nobody was awake when he stalled and came back; that he was dead was seen at once.
        ("09:05:00.000", "offline"),
        ("09:10:00.000", "online"),
        ("12:00:00.000", "idle"),
        ("12:30:00.000", "offline"),
    ];
    assert_eq!(bob, expected.map(|(at, state)| (at.to_owned(), state)));
}
