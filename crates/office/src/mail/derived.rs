//! Ids that are made of what a message is for, so that a step that is carried out again writes the same message.

use atm_ledger::{InboxKey, StepKey};
use uuid::Uuid;

/// The id of the letter that `purpose` demands because of the message `id` in `inbox`. The ledger refuses an id that it
/// knows, so the letter is sent once, whichever process repeats the step.
pub(crate) fn letter_id(inbox: &InboxKey, id: &str, purpose: &str) -> String {
    let InboxKey { root, team, name } = inbox;
    let text = format!("{root}\n{team}\n{name}\n{purpose}\n{id}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, text.as_bytes()).to_string()
}

/// The id of what a step of a chore makes for `purpose`, the same for everybody who carries the step out.
pub(crate) fn step_id(key: &StepKey, purpose: &str) -> Uuid {
    let StepKey { root, team, chore, subject, number } = key;
    let text = format!("{root}\n{team}\n{chore}\n{subject}\n{number}\n{purpose}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_id_is_of_one_inbox_message_and_purpose() {
        let inbox = |name| InboxKey::new(Path::new("/r"), "dev", name);
        let id = letter_id(&inbox("bob"), "m", "ack");
        assert_eq!(id, letter_id(&inbox("bob"), "m", "ack"));
        for other in [
            letter_id(&inbox("alice"), "m", "ack"),
            letter_id(&inbox("bob"), "n", "ack"),
            letter_id(&inbox("bob"), "m", "escalation 1"),
        ] {
            assert_ne!(id, other);
        }
    }
}
