//! Leads that sign their mail. We have no key of theirs and never forge: it is only told what that means.

use atm_wire::Message;
use atm_wire::json::Object;

use crate::team::Team;

/// The fact, in the ledger, that somebody signs.
pub(crate) const SIGNS: &str = "signs";
/// The keys under which a signature stands in entries and payloads.
const KEYS: [&str; 2] = ["lead_sig", "leadSig"];

/// What a signing lead means for mail in its name.
pub const WARNING: &str = "this lead signs; unsigned mail in its name will be shown as unverified, and an unsigned \
                           shutdown request is refused by its members";

impl Team<'_> {
    /// Whether its lead signs its mail: by its configuration, or by a signed message that was seen. The ledger must be up to
    /// date.
    pub fn lead_signs(&self) -> bool {
        let seen = || {
            let lead = self.inbox_key(self.lead().ok()?);
            self.office().books.with(|ledger| ledger.fact(&lead, SIGNS)).ok()?
        };
        self.config().signed || seen().is_some()
    }

    /// What to tell who speaks for a lead that signs.
    pub(crate) fn signature_warning(&self) -> Option<String> {
        self.lead_signs().then(|| WARNING.to_owned())
    }
}

/// Whether a message, or the payload in it, is signed.
pub(crate) fn is_signed(message: &Message) -> bool {
    let in_text = || {
        let payload = message.text.starts_with('{').then(|| Object::parse(&message.text).ok()).flatten();
        payload.is_some_and(|payload| KEYS.iter().any(|key| payload.get(key).is_some()))
    };
    message.extra.iter().any(|(key, _)| KEYS.contains(&key.as_str())) || in_text()
}
