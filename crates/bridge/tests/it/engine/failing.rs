//! A ledger that fails while the engine finds what to publish.

use super::*;

/// What was made before counted as published, and nothing ended that: these letters, those behind them and all receipts waited until the
/// bridge was started again.
#[test]
fn what_was_made_before_the_ledger_failed_is_published_too() {
    for calls in 0..5 {
        let ledger = ledger();
        for number in 0..300 {
            ledger.0.borrow_mut().send(format!("id-{number}"), "bob", &hub(), 0);
        }
        let desk: Machine = "desk".parse().unwrap();
        for machine in [&desk, &hub()] {
            ledger.0.borrow_mut().tell(machine, "mine");
        }
        let mut engine = laptop(&ledger);
        engine.set_trusted([desk, hub()]);
        ledger.0.borrow_mut().fails_after = Some(calls);
        let (mut letters, mut batches, mut troubles, mut seq) = (Vec::new(), 0, 0, 0);
        for second in 0..3 {
            let Polled { posts, trouble } = engine.poll(at(second), Room { letters: 1_000, bytes: 1 << 20 });
            troubles += usize::from(trouble.is_some());
            for post in posts {
                seq += 1;
                engine.published(&post.ticket, Some(Position { stream: "s".into(), seq }), at(second));
                match post.ticket {
                    Ticket::Letter { n, .. } => letters.push(n),
                    _ => batches += 1,
                }
            }
        }
        assert_eq!(letters, (1..=300).collect::<Vec<_>>(), "after {calls} calls");
        assert_eq!((batches, troubles), (2, 1), "after {calls} calls");
    }
}
