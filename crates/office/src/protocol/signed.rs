//! Leads that sign their mail. We have no key of theirs and never forge: it is only told what that means.

use atm_wire::MemberName;
use atm_wire::TeamName;
use atm_wire::json::Object;
use atm_wire::team::TeamConfig;

use crate::error::OfficeError;
use crate::office::Office;

/// The keys under which a signature stands in entries and payloads.
const KEYS: [&str; 2] = ["lead_sig", "leadSig"];

/// What a signing lead means for mail in its name.
pub const WARNING: &str = "this lead signs; unsigned mail in its name will be shown as unverified, and an unsigned \
                           shutdown request is refused by its members";

impl Office {
    /// Whether the team's lead signs its mail: by its configuration, or by a signed message in a member's inbox.
    pub fn lead_signs(&self, team: &TeamName) -> Result<bool, OfficeError> {
        Ok(self.signs(team, &self.folder(team)?.load()?))
    }

    fn signs(&self, team: &TeamName, config: &TeamConfig) -> bool {
        config.signed
            || config.members.iter().filter_map(|m| m.checked_name().ok()).any(|n| self.has_signed(team, &n))
    }

    fn has_signed(&self, team: &TeamName, name: &MemberName) -> bool {
        let messages = self.mailbox(team, name).list().map(|listing| listing.messages).unwrap_or_default();
        messages.iter().any(|message| {
            message.extra.iter().any(|(key, _)| KEYS.contains(&key.as_str())) || is_signed(&message.text)
        })
    }

    pub(crate) fn signature_warning(&self, team: &TeamName, config: &TeamConfig) -> Option<String> {
        self.signs(team, config).then(|| WARNING.to_owned())
    }
}

fn is_signed(text: &str) -> bool {
    text.starts_with('{')
        && Object::parse(text).is_ok_and(|payload| KEYS.iter().any(|key| payload.get(key).is_some()))
}
