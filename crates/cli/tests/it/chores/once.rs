//! Eight runners at once.

use serde_json::json;

use super::{drain, drained, settings, steps, together};
use crate::scene::World;

/// After a long pause several steps of the policy are due by their times. Eight runners took one each, one after the
/// other: seven offers of the same mail, and an escalation.
#[test]
fn mail_that_lies_unread_after_an_offer_is_not_offered_again() {
    let world = World::with_team();
    settings(
        &world,
        "[delivery]\nretry_after = [\"1ms\", \"2ms\", \"3ms\", \"4ms\", \"5ms\", \"6ms\", \"7ms\"]\n\
         escalate_to = [\"lead\", \"user\", \"alice\"]\n",
    );
    let id = drained(&world, "review this");
    for number in [2, 3] {
        let taken = steps(&together(&world, &["retry"]));
        assert_eq!(taken, [json!({"id": id, "to": "bob", "step": "offer", "number": number})]);
        assert_eq!(world.texts_for("bob").len(), 1, "it lies there once");
        drain(&world, "bob");
    }
    assert!(world.texts_for("team-lead").is_empty());
}
