//! The machines whose keys are trusted: one file, replaced whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atm_store::files::{read_small, replace_own};
use atm_store::{Sole, StoreError};
use atm_wire::Stamp;
use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};

use crate::envelope::codec::Keys;
use crate::keys::{self, KeyError};
use crate::name::Machine;

/// More machines than anybody has.
const LARGEST: u64 = 8 << 20;

/// A machine whose key is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trusted {
    /// Its public key.
    pub key: String,
    /// Whether its lead may shut members of this machine down, decide their plans and assign them tasks.
    #[serde(default)]
    pub as_lead: bool,
    /// Since when.
    pub since: Stamp,
}

/// Trust that cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is not what we wrote.
    #[error("{}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Not a public key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Another key is trusted for this machine.
    #[error(
        "another key of {0} is trusted already; `atm bridge trust --remove {0}` first, if that machine really has a new one"
    )]
    OtherKey(Machine),
}

/// The machines whose keys are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    machines: BTreeMap<Machine, Trusted>,
}

impl Trust {
    /// What this file says; nobody, where there is none.
    pub fn load(path: &Path) -> Result<Self, TrustError> {
        let Some(file) = read_small(path, LARGEST)? else { return Ok(Self::default()) };
        let unreadable = |why: String| TrustError::Unreadable { path: path.to_owned(), why };
        let trust: Self =
            serde_json::from_slice(&file.bytes).map_err(|error| unreadable(error.to_string()))?;
        for (machine, trusted) in &trust.machines {
            keys::parse_public(&trusted.key).map_err(|error| unreadable(format!("{machine}: {error}")))?;
        }
        Ok(trust)
    }

    /// Changes what this file says, as one step among all processes; `change` says whether there is anything to write.
    pub fn update<E: From<TrustError>>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let _turn = Sole::hold(&keys::lock_of(path)).map_err(TrustError::from)?;
        let mut trust = Self::load(path)?;
        let has_changed = change(&mut trust)?;
        if has_changed {
            trust.save(path)?;
        }
        Ok(has_changed)
    }

    /// Puts it in the file's place.
    fn save(&self, path: &Path) -> Result<(), TrustError> {
        // Names, texts and flags: that cannot fail.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        Ok(replace_own(path, &(text + "\n"))?)
    }

    /// Trusts a machine's key; says whether that changes anything. A key never replaces another one silently.
    pub fn add(
        &mut self,
        machine: Machine,
        key: &str,
        as_lead: bool,
        now: Stamp,
    ) -> Result<bool, TrustError> {
        let key = keys::public_text(&keys::parse_public(key)?);
        if let Some(known) = self.machines.get_mut(&machine) {
            if known.key != key {
                return Err(TrustError::OtherKey(machine));
            }
            let changes = known.as_lead != as_lead;
            known.as_lead = as_lead;
            return Ok(changes);
        }
        self.machines.insert(machine, Trusted { key, as_lead, since: now });
        Ok(true)
    }

    /// Trusts a machine no longer; says whether it was trusted.
    pub fn remove(&mut self, machine: &Machine) -> bool {
        self.machines.remove(machine).is_some()
    }

    /// All of them, by name.
    pub fn machines(&self) -> &BTreeMap<Machine, Trusted> {
        &self.machines
    }

    /// Whether this machine's lead counts as ours.
    pub fn is_as_lead(&self, machine: &Machine) -> bool {
        self.machines.get(machine).is_some_and(|trusted| trusted.as_lead)
    }
}

impl Keys for Trust {
    fn key_of(&self, machine: &Machine) -> Option<VerifyingKey> {
        keys::parse_public(&self.machines.get(machine)?.key).ok()
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;

    fn key(seed: u8) -> String {
        keys::public_text(&SigningKey::from_bytes(&[seed; 32]).verifying_key())
    }

    fn now() -> Stamp {
        Stamp::from_millis(1_800_000_000_000)
    }

    #[test]
    fn trust_survives_in_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge").join("trust.json");
        let add = |trust: &mut Trust| trust.add("hub".parse().unwrap(), &key(1), true, now());
        assert!(Trust::update(&path, add).unwrap());
        assert!(!Trust::update(&path, add).unwrap());
        let trust = Trust::load(&path).unwrap();
        assert!(trust.is_as_lead(&"hub".parse().unwrap()));
        assert!(trust.key_of(&"hub".parse().unwrap()).is_some());
        assert!(trust.key_of(&"laptop".parse().unwrap()).is_none());
    }

    /// Each read the file, and the last one to write it undid the others.
    #[test]
    fn of_many_that_trust_at_once_none_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge").join("trust.json");
        std::thread::scope(|scope| {
            for number in 1..9 {
                let path = &path;
                scope.spawn(move || {
                    let machine = format!("machine-{number}").parse().unwrap();
                    Trust::update(path, |trust| trust.add(machine, &key(number), false, now())).unwrap();
                });
            }
        });
        assert_eq!(Trust::load(&path).unwrap().machines().len(), 8);
    }

    #[test]
    fn a_key_never_replaces_another_silently() {
        let (mut trust, hub) = (Trust::default(), "hub".parse::<Machine>().unwrap());
        trust.add(hub.clone(), &key(1), false, now()).unwrap();
        assert!(matches!(trust.add(hub.clone(), &key(2), false, now()), Err(TrustError::OtherKey(_))));
        assert!(!trust.add(hub.clone(), &key(1), false, now()).unwrap());
        assert!(trust.add(hub.clone(), &key(1), true, now()).unwrap());
        assert!(trust.remove(&hub));
        assert!(trust.add(hub, &key(2), false, now()).unwrap());
    }

    #[test]
    fn a_file_that_was_damaged_trusts_nobody_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trust.json");
        for text in
            ["", "{", "{\"machines\":{\"hub\":{\"key\":\"x\",\"since\":\"2026-11-17T00:00:00.000Z\"}}}"]
        {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(Trust::load(&path), Err(TrustError::Unreadable { .. })), "{text}");
        }
    }
}
