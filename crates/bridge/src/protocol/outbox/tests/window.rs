//! How much of the stream the letters for one machine may be.

use super::*;

/// A stream of so many letters of 1 KiB, of which a quarter is one machine's.
fn small_stream(letters: u64, first: u64, last: u64) -> StreamView {
    let most_bytes = Some(letters * 2_048);
    StreamView { first, most_bytes, ..stream(last) }
}

/// The numbers that are due for machines that have passed so much; they are stored, one behind the other.
fn due_in(outbox: &mut Outbox, stream: &mut StreamView, passed: &[(&str, u64)], second: u64) -> Vec<u64> {
    let now = now().saturating_add(Duration::from_secs(second));
    stream.at = now;
    let view = |(name, seq): &(&str, u64)| {
        let passed = Some(Position { stream: "s".into(), seq: *seq });
        (name.parse().unwrap(), PeerView { passed, seen_at: now })
    };
    let peers: BTreeMap<Machine, PeerView> = passed.iter().map(view).collect();
    let trusted = ["hub", "desk"].map(|name| name.parse().unwrap()).into();
    let due = outbox.due(now, stream, &peers, &trusted, 1_000);
    for &n in &due {
        let attempt = outbox.begin(n, 0, now).unwrap().attempt;
        stream.last += 1;
        outbox.end(n, attempt, Some(Position { stream: "s".into(), seq: stream.last }), now);
    }
    due
}

fn kilobyte(n: u64, machine: &str) -> Outgoing {
    Outgoing { letter: "x".repeat(1_024), ..letter(n, machine, "bob") }
}

/// Everything was published at once, and what the stream dropped of it at every look.
#[test]
fn a_machine_that_is_off_has_a_quarter_of_the_stream_and_the_rest_waits() {
    let (mut outbox, mut stream) = (Outbox::default(), small_stream(40, 1, 0));
    for n in 1..=30 {
        outbox.add(&kilobyte(n, "hub"));
    }
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 0), (1..=10).collect::<Vec<_>>());
    // Later ones do not overtake those that wait, and other machines' mail goes on.
    for n in 31..=60 {
        outbox.add(&kilobyte(n, if n % 2 == 0 { "hub" } else { "desk" }));
    }
    let odd = |range: std::ops::Range<u64>| range.filter(|n| n % 2 == 1).collect::<Vec<_>>();
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 0), odd(31..51), "before the next look");
    for second in 1..100 {
        assert!(due_in(&mut outbox, &mut stream, &[], second).is_empty());
    }
    // The stream drops all of it for other reasons: there is no more room by that.
    stream.first = stream.last + 1;
    for second in 100..200 {
        assert!(due_in(&mut outbox, &mut stream, &[], second).is_empty());
    }
    // It comes back: what it has passed without an answer goes again, and what is behind it has room.
    let passed = [("hub", stream.last)];
    let due: Vec<u64> =
        (200..203).flat_map(|second| due_in(&mut outbox, &mut stream, &passed, second)).collect();
    assert_eq!(due, (11..=20).collect::<Vec<_>>());
}

#[test]
fn what_is_confirmed_makes_room_for_what_waits() {
    let (mut outbox, mut stream) = (Outbox::default(), small_stream(40, 1, 0));
    for n in 1..=100 {
        outbox.add(&kilobyte(n, "hub"));
    }
    let mut published = Vec::new();
    // Without a look for what is due meanwhile: half a second is long for a machine that is there.
    while let due = due_in(&mut outbox, &mut stream, &[("hub", 0)], 0)
        && !due.is_empty()
    {
        for n in due {
            published.push(n);
            assert!(confirmed(&mut outbox, "hub", "bob", &format!("id-{n}")).is_some());
        }
    }
    assert_eq!(published, (1..=100).collect::<Vec<_>>());
}

#[test]
fn a_stream_that_was_lost_is_filled_again_and_one_large_letter_goes_alone() {
    let (mut outbox, mut stream) = (Outbox::default(), small_stream(40, 1, 0));
    let large = Outgoing { letter: "x".repeat(1 << 20), ..letter(1, "hub", "bob") };
    outbox.add(&large);
    for n in 2..=30 {
        outbox.add(&kilobyte(n, "hub"));
    }
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 0), [1]);
    assert!(due_in(&mut outbox, &mut stream, &[], 1).is_empty());
    assert!(confirmed(&mut outbox, "hub", "bob", "id-1").is_some());
    let first: Vec<u64> = (2..=11).collect();
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 2), first);
    // It ends before they came, as one that has lost its last minutes.
    stream.last = 1;
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 3), first);
    // Its disk is lost.
    let made = |position: &str| StreamView { stream: position.into(), ..small_stream(40, 1, 0) };
    assert_eq!(due_in(&mut outbox, &mut made("t"), &[], 4), first);
}
