//! A send waits a little for the word of another machine, if a bridge runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use atm_office::OfficeError;
use atm_office::machines::Stage;
use atm_wire::message::Delivery;

use crate::world::{Machine, carry, laptop_and_desk, name, team};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

/// A laptop that waits, and a desk, with a bridge between them while `work` runs.
fn bridged<T>(work: impl FnOnce(&Machine, &Machine) -> T) -> T {
    let (mut laptop, desk) = laptop_and_desk();
    laptop.office = laptop.office.clone().with_machine_patience(LONG);
    let _serving = laptop.office.machines().serve().unwrap().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                carry(&[&laptop, &desk]);
                thread::sleep(Duration::from_millis(2));
            }
        });
        let done = work(&laptop, &desk);
        is_over.store(true, Ordering::SeqCst);
        done
    })
}

#[test]
fn it_is_answered_as_written_when_the_word_comes_in_time() {
    let sent = bridged(|laptop, _| laptop.send("alice", "bob", "now"));
    assert_eq!((sent.stage, sent.status), (Stage::Written, Delivery::Delivered));
}

#[test]
fn a_refused_order_is_answered_with_its_reason() {
    let error = bridged(|laptop, _| {
        let mut handle = laptop.office.team(&team()).unwrap();
        handle.request_shutdown(&name("team-lead"), &name("bob"), None, None).unwrap_err()
    });
    assert!(matches!(&error, OfficeError::Elsewhere { .. }), "{error}");
    assert_eq!(error.code(), "elsewhere");
    assert!(error.to_string().contains("trusted as lead"), "{error}");
}

#[test]
fn later_stages_of_another_machine_are_waited_for() {
    let track = bridged(|laptop, desk| {
        let sent = laptop.send("alice", "bob", "read me");
        thread::scope(|scope| {
            scope.spawn(|| desk.read("bob"));
            laptop.office.wait_for_stage(&team(), &sent.id, Stage::Seen, LONG).unwrap()
        })
    });
    assert_eq!(track.stage, Stage::Seen);
}

#[test]
fn without_a_bridge_nobody_waits() {
    let (mut laptop, _desk) = laptop_and_desk();
    laptop.office = laptop.office.clone().with_machine_patience(LONG);
    let begun = Instant::now();
    assert!(laptop.send("alice", "bob", "later").is_only_accepted());
    assert!(begun.elapsed() < LONG);
    assert_eq!(
        laptop.office.deliveries().sent(),
        atm_office::MailSent { has_written: false, has_accepted: true }
    );
}
