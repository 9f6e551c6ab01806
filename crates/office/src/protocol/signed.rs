//! Leads that sign their mail. We have no key of theirs and never forge: it is only told what that means.

use atm_wire::json::Object;
use atm_wire::team::TeamConfig;
use atm_wire::{Message, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::team::Team;

/// The fact, in the ledger, that somebody signs.
pub(crate) const SIGNS: &str = "signs";
/// The keys under which a signature stands in entries and payloads.
const KEYS: [&str; 2] = ["lead_sig", "leadSig"];

/// What a signing lead means for mail in its name.
pub const WARNING: &str = "this lead signs; unsigned mail in its name will be shown as unverified, and an unsigned \
                           shutdown request is refused by its members";

impl Office {
    /// Whether the team's lead signs its mail: by its configuration, or by a signed message that was seen.
    pub fn lead_signs(&self, team: &TeamName) -> Result<bool, OfficeError> {
        Ok(self.team(team)?.lead_signs())
    }

    /// What to tell who speaks for a lead that signs. The ledger must be up to date.
    pub(crate) fn signature_warning(&self, team: &TeamName, config: &TeamConfig) -> Option<String> {
        let seen = || {
            let lead = self.lead_of(team, config).ok()?;
            self.books.with(|ledger| ledger.fact(&self.inbox_key(team, &lead), SIGNS)).ok()?
        };
        (config.signed || seen().is_some()).then(|| WARNING.to_owned())
    }
}

impl Team<'_> {
    /// Whether its lead signs its mail.
    pub fn lead_signs(&self) -> bool {
        self.office().signature_warning(self.name(), self.config()).is_some()
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
