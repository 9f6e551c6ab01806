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
    // It comes back, and passes their places: they go again in the room that they have, and what is behind them waits for that.
    let passed = [("hub", stream.last)];
    let due: Vec<u64> =
        (200..203).flat_map(|second| due_in(&mut outbox, &mut stream, &passed, second)).collect();
    assert_eq!(due, (1..=10).collect::<Vec<_>>());
    for n in 1..=10 {
        assert!(confirmed(&mut outbox, "hub", "bob", &format!("id-{n}")).is_some());
    }
    let passed = [("hub", stream.last)];
    assert_eq!(due_in(&mut outbox, &mut stream, &passed, 203), (11..=20).collect::<Vec<_>>());
}

/// Ten letters for bob fill what there is for hub, and those for eve wait behind them.
fn full_of_mail_for_bob() -> (Outbox, StreamView) {
    let (mut outbox, mut stream) = (Outbox::default(), small_stream(40, 1, 0));
    for n in 1..=20 {
        let to = if n <= 10 { "bob" } else { "eve" };
        outbox.add(&Outgoing { to: to.into(), ..kilobyte(n, "hub") });
    }
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 0), (1..=10).collect::<Vec<_>>());
    (outbox, stream)
}

/// When the mail for eve is published, within a minute, if hub passes all of the stream from the second second on.
fn room_for_eve(outbox: &mut Outbox, stream: &mut StreamView) -> Option<u64> {
    (2..60).find(|second| {
        let passed = [("hub", stream.last)];
        due_in(outbox, stream, &passed, *second).contains(&11)
    })
}

#[test]
fn what_nobody_answers_has_its_room_until_its_lane_is_held() {
    let (mut outbox, mut stream) = full_of_mail_for_bob();
    // Four attempts, and the backoffs between them.
    let second = room_for_eve(&mut outbox, &mut stream);
    assert!(second.is_some_and(|second| (10..25).contains(&second)), "{second:?}");
}

#[test]
fn mail_for_who_is_not_there_has_no_room() {
    let (mut outbox, mut stream) = full_of_mail_for_bob();
    outbox.hold(&"hub".parse().unwrap(), (1, "id-1", 1), now());
    assert_eq!(room_for_eve(&mut outbox, &mut stream), Some(2));
}

#[test]
fn what_is_accepted_has_no_room_when_its_place_is_passed() {
    let (mut outbox, mut stream) = full_of_mail_for_bob();
    for n in 1..=10 {
        accepted(&mut outbox, "hub", "bob", &format!("id-{n}"));
    }
    assert!(due_in(&mut outbox, &mut stream, &[], 1).is_empty(), "its server still has it for hub");
    assert_eq!(room_for_eve(&mut outbox, &mut stream), Some(2));
}

/// Newer letters took the room of older ones that the stream had dropped because of their age.
#[test]
fn what_the_stream_has_lost_goes_again_in_its_own_room() {
    let (mut outbox, mut stream) = full_of_mail_for_bob();
    stream.most_age = Some(Duration::from_secs(60));
    stream.first = 6;
    let count = |outbox: &mut Outbox, second: u64| {
        // All is counted, and not looked through yet.
        outbox.next_look = Some(now().saturating_add(Duration::from_secs(second + 1)));
    };
    outbox.add(&Outgoing { to: "eve".into(), ..kilobyte(21, "hub") });
    outbox.windows.open();
    count(&mut outbox, 60);
    assert!(due_in(&mut outbox, &mut stream, &[], 60).is_empty());
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 61), (1..=5).collect::<Vec<_>>());
}

/// A stream that is made anew may be smaller.
#[test]
fn what_a_larger_stream_has_lost_has_only_the_room_that_there_is() {
    let (mut outbox, _) = full_of_mail_for_bob();
    let mut stream = StreamView { stream: "t".into(), ..small_stream(20, 1, 0) };
    assert_eq!(due_in(&mut outbox, &mut stream, &[], 1), (1..=5).collect::<Vec<_>>());
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
